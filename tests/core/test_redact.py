"""Secrets never pass the sink; words of tokenizers and metrics always do."""

from __future__ import annotations

import importlib
import json
import re
import string
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from patience import grows_with_length_only

from papertrain.core.redact import BARE, holds_secret, redact, redact_json
from papertrain.core.secret_names import named
from papertrain.core.secret_shapes import shapes_in

redact_module = importlib.import_module("papertrain.core.redact")

# Shapes that the services document for their tokens; every value here is made up.
SECRETS = {
    "hugging face": "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3",
    "hugging face org": "api_org_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE",
    "github": "ghp_" + "0123456789abcdefABCDEF0123456789abcd",
    "github fine-grained": "github_pat_" + "11ABCDEFG0abcdefghijkl_0123456789abcdefghij",
    "gitlab": "glpat-" + "abcdefABCDEF0123-_xy",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "google": "AIza" + "SyA-0123456789abcdefghijklmnopqrstuv",
    "openai": "sk-" + "proj-abcdefghijklmnopqrstuvwxT3BlbkFJabcd",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "slack hook": "https://hooks.slack.com/services/" + "T000/B000/abcdefABCDEF",
    "wandb new": "wandb_v1_" + "abcdefABCDEF0123456789",
    "npm": "npm_" + "abcdefghijklmnopqrstuvwxyzABCDEF0123",
    "stripe": "sk_live_" + "abcdefABCDEF0123456789",
    "databricks": "dapi" + "0123456789abcdef0123456789abcdef",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123456789\n-----END RSA PRIVATE KEY-----",
    "telegram": "123456789:" + "AAabcdefghijklmnopqrstuvwxyzABCDEFG",
}
NAMED = {
    "environment": ("WANDB_API_KEY=", "0123456789abcdef0123456789abcdef01234567"),
    "exported": ("export HF_TOKEN='", "abcdefGHIJKL0123"),
    "yaml": ("hub_token: ", "abcdefGHIJKL0123"),
    "flag": ("--hub_token ", "abcdefGHIJKL0123"),
    "json": ('"api_key": "', "abcdefGHIJKL0123"),
    "python": ("{'password': '", "correct-horse-battery"),
    "url": ("https://alice:", "hunter2hunter2"),
    "bearer": ("Authorization: Bearer ", "abcdef0123456789abcdef"),
    "signed url": ("https://bucket.example/x?X-Amz-Signature=", "abcdef0123456789"),
    "secret": ("AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"),
}
HARMLESS = [
    "num_tokens=4096 max_new_tokens: 512 tokens_per_second 1234567",
    "pad_token=<pad> eos_token: '<|im_end|>' bos_token=\"<s>\" unk_token=[UNK]",
    "special_tokens_map.json added_tokens.json tokenizer_config.json",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "run id 3kx9z2ab, sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "the token was refused by the server; a keyword; the key insight",
    "hub_token: null", "HF_TOKEN=$HF_TOKEN", "hub_token: <HUB_TOKEN>", "password: ********",
    "past_key_values, key_value_heads, num_key_value_heads: 8", "token_type_ids", "loss_token_mean 1.2345678",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("around", ["{}", "config: {} num_tokens=4096", "'{}'", "x\x1b[31m{}\x1b[0m"])
def test_a_secret_of_known_shape_is_replaced_wherever_it_stands(name: str, around: str) -> None:
    text = redact(around.format(SECRETS[name]))
    assert SECRETS[name] not in text and "[redacted-" in text


@pytest.mark.parametrize("name", NAMED)
def test_a_value_with_a_telling_name_is_replaced_and_the_name_stays(name: str) -> None:
    before, secret = NAMED[name]
    text = redact(f"{before}{secret}{'@example.org/x' if name == 'url' else ''}")
    assert secret not in text and "[redacted-" in text
    assert text.startswith(before.split("alice")[0].rstrip("'\""))


@pytest.mark.parametrize("text", HARMLESS)
def test_words_of_tokenizers_metrics_and_commits_survive(text: str) -> None:
    assert redact(text) == text


def test_a_secret_split_by_a_terminal_sequence_is_found() -> None:
    token = SECRETS["hugging face"]
    assert token[10:] not in redact(token[:10] + "\x1b[1m" + token[10:])


def test_replacements_are_consistent_so_that_diffs_line_up() -> None:
    a, b = SECRETS["github"], SECRETS["hugging face"]
    one, two, three = redact(a), redact(f"again {a}"), redact(b)
    assert two == f"again {one}" and three != one


def test_redacting_twice_changes_nothing_more() -> None:
    text = "\n".join([*SECRETS.values(), *(a + b for a, b in NAMED.values()), "/home/alice.smith/x a@example.org"])
    assert redact(redact(text)) == redact(text)


def test_home_folders_mails_and_inner_addresses_stay_on_the_terminal_only() -> None:
    text = "/home/alice.smith/train.py alice@example.org 10.0.0.5 /Users/bob/x"
    assert redact(text, terminal=True) == text
    clean = redact(text)
    assert not any(word in clean for word in ("alice", "bob", "10.0.0.5"))
    assert "/train.py" in clean


def test_control_sequences_and_reversing_marks_are_taken_out() -> None:
    assert redact("a\x1b]8;;http://x\x07b\x1b[2Jc\u202ed\te\n") == "abcd\te\n"


def test_json_keeps_its_structure_and_loses_its_secrets() -> None:
    document = {
        "a": SECRETS["github"],
        "hub_token": "abcdefGHIJKL0123",
        "num_tokens": 5,
        "x": ["/home/alice/y", "\x1b[31mred"],
    }
    clean = json.loads(redact_json(json.dumps(document).encode()))
    assert clean["num_tokens"] == 5 and clean["x"] == ["/home/[user]/y", "red"]
    assert SECRETS["github"] not in str(clean) and "abcdefGHIJKL0123" not in str(clean)


def test_the_place_of_a_secret_is_told_and_not_the_secret() -> None:
    found = holds_secret("a: 1\nhub_token: abcdefGHIJKL0123\n")
    assert [kind for kind, _ in found] == ["named"] and "abcdef" not in str(found)


def test_long_ordinary_text_is_quick_to_pass() -> None:
    line = "{'loss': 1.2345, 'grad_norm': 0.91, 'learning_rate': 1.9e-05, 'num_tokens': 51234, 'epoch': 0.51}\n"
    assert redact(line * 2000) == line * 2000


def test_the_users_own_patterns_widen_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = tmp_path / "patterns"
    patterns.write_text("# mine\nproject-[a-z]+\nno(valid\n.*?\n")
    monkeypatch.setenv("PAPERTRAIN_REDACT", str(patterns))
    redact_module._own_patterns.cache_clear()
    try:
        assert redact("in project-aurora at no(valid, step 3") == "in [redacted] at [redacted], step 3"
        assert SECRETS["github"] not in redact(SECRETS["github"])
        patterns.unlink()
        redact_module._own_patterns.cache_clear()
        with pytest.raises(SystemExit) as closed:
            redact("x")
        assert closed.value.code == 2, "closed rather than open"
    finally:
        monkeypatch.delenv("PAPERTRAIN_REDACT")
        redact_module._own_patterns.cache_clear()


@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        "a-",
        "key=",
        "a_key:",
        "eyJ",
        "eyJaaaaaaaa.",
        "http://a:",
        "a@",
        "/home/",
        "hf_",
        "sk-",
        "xoxb-",
        "-----BEGIN RSA PRIVATE KEY-----",
        "machine a login b password ",
        " ",
        "token ",
    ],
)
def test_endless_lines_take_time_that_grows_with_their_length_only(piece: str) -> None:
    def act(text: str) -> None:
        redact(text)
        redact_json(json.dumps({"x": text, text: 1}).encode())

    assert grows_with_length_only(act, piece)


def test_a_harmless_name_in_front_hides_no_secret_behind_it() -> None:
    token = "abcDEF123456ghi"
    assert token not in redact(f"unknown-key::`kdb_password: {token}` is no key")
    assert token not in redact(f"key: token: num_tokens=5 api_key={token}")
    assert SECRETS["hugging face"] not in redact("train" + SECRETS["hugging face"] + ".log")


def test_a_picture_in_a_page_stays_whole_and_the_text_around_it_does_not() -> None:
    """`eyJ` and sixty letters stand in one of four pictures by chance: taken for a token, the rest was no picture."""
    picture = "data:image/png;base64,iVBORw0KGgo" + "AbC1" * 20 + "eyJ" + "Zm9vYmFy" * 12 + "=="
    token = "hf_" + "AbCdEfGh12" * 4
    left = redact(f'<p>{token}</p><img src="{picture}"><p>{token}</p>')
    assert picture in left and token not in left and left.count("redacted") == 2
    assert token not in redact(f"data:image/png;base64,{token}")


@given(st.text(string.ascii_letters + string.digits, max_size=BARE))
@example("abcDEF123456")
@example("password1234")
def test_so_few_letters_and_digits_are_never_a_secret_by_themselves(text: str) -> None:
    """They are not searched for one, which is a fifth of the time of a large answer."""
    assert not list(shapes_in(text)) and not list(named(text))


def test_a_name_of_few_letters_is_replaced_all_the_same() -> None:
    assert redact("hartsworth9", extra=[re.compile("hartsworth")]) == "[redacted]9"
