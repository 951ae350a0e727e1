"""Some three hundred kinds of secret in every place where they stand, and the words that only look like some."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import grows_with_length_only

from papertrain.core.redact import holds_secret, redact, redact_json
from papertrain.core.secret_names import what_it_says, wordlike
from papertrain.core.secret_shapes import scrambled

sys.path.insert(0, str(Path(__file__).parent))
from secret_kinds import kinds

AROUND = {
    "alone": "{}", "in a log": "2026-01-02 03:04:05 [INFO] got {} ok", "coloured": "\x1b[32m{}\x1b[0m", "in a comment": "# {}",
    "between Windows lines": "a\r\n{}\r\nb", "indented": "\t{}\t", "quoted in a sentence": "it said `{}`",
}  # fmt: skip
SINKS: dict[str, Callable[[str], str]] = {
    "a file": lambda t: redact(t, terminal=True),
    "a pipe": redact,
    "JSON": lambda t: redact_json(json.dumps({"says": t, "all": ["a", t]}).encode()).decode(),
    "JSON in JSON": lambda t: redact_json(
        json.dumps({"says": json.dumps({"says": t}, ensure_ascii=False)}).encode()
    ).decode(),
}

BY_LINES = {"yamlargs", "putty", "pgpass"}
"""Known by the line they stand on alone; where the line break itself was written as an escape they are not looked for."""


def shown(secret: str, out: str) -> bool:
    """Whether the middle or the end of the secret's longest line is in it."""
    line = max(secret.replace("\\n", "\n").split("\n"), key=len).rstrip("=")
    middle = line[len(line) // 2 - 4 : len(line) // 2 + 6] if len(line) > 12 else line
    return middle in out or line[-9:] in out


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_kind_of_secret_passes_any_sink_in_any_place(seed: int) -> None:
    planted = kinds(seed)
    assert len(planted) > 300
    leaked = {
        f"{name}, {place}, {sink}"
        for name, (before, secret, after) in planted.items()
        for place, around in AROUND.items()
        for sink, clean in SINKS.items()
        if not (sink == "JSON in JSON" and name in BY_LINES)
        and shown(secret, clean(around.replace("{}", before + secret + after)))
    }
    assert not leaked, sorted(leaked)[:20]


def test_what_is_replaced_is_also_told() -> None:
    untold = [n for n, (before, secret, after) in kinds(4).items() if not holds_secret(before + secret + after)]
    assert not untold


def test_replacing_once_is_enough() -> None:
    changed = [
        n for n, (before, secret, after) in kinds(5).items()
        if redact(redact(before + secret + after)) != redact(before + secret + after)
    ]  # fmt: skip
    assert not changed


PAIRS = [
    ("WANDB_API_KEY", "0123456789abcdef0123456789abcdef01234567"), ("clientSecret", "x9Kq2mTz81LpQw"), ("password", "swordfish"), ("password", 12345678),
    ("db-password", "correct horse"), ("refreshToken", "aB3dE5gH7jK9mN1p"), ("PGPASSWORD", "hunter22"), ("key", "0123456789abcdef0123456789abcdef"),
    ("token", "aB3dE5gH7jK9mN1pQ3sT5"), ("auth", "dXNlcjpwYXNzd29yZDEyMw=="), ("privateKey", "aB3dE5gH7jK9mN1p"), ("MY_SERVICE_TOKEN", "canary-value"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), PAIRS)
def test_the_value_of_a_telling_name_is_replaced_in_every_notation(name: str, value: str | int) -> None:
    document = json.dumps({"a": 1, name: value, "num_tokens": 5})
    assert str(value) not in redact_json(document.encode()).decode()
    assert json.loads(redact_json(document.encode()))["num_tokens"] == 5
    assert str(value) not in redact(document) and str(value) not in redact(json.dumps(document))
    assert str(value) not in redact_json(json.dumps({"name": name, "value": str(value)}).encode()).decode() or name in (
        "key",
        "token",
        "auth",
    )
    if isinstance(value, str) and " " not in value and name not in ("key", "token", "auth"):
        for text in (f"{name}: {value}", f"export {name}={value}", f"--{name} {value}x1", f"{name} = '{value}'", f"<{name}>{value}</{name}>", f'os.environ["{name}"] = "{value}"'):  # fmt: skip
            assert value not in redact(text), text


ORDINARY = [
    "template_thinking_key: thinking", "image_key: image_path", "sort_key: created_at", "reward_key: reward.score", "primary_key: id", "key: model.layers.0.self_attn.q_proj.weight",
    "token: <|im_end|>", "token: thinking", "image_token: '<image>'", "boundary_token: stop", "api_key: EMPTY", "api_key: null", "api_key=os.environ['OPENAI_API_KEY']", "token=args.hf_token",
    "hf_token=hf_token,", "hub_token: ${HF_TOKEN}", 'api_key: "{{ secrets.KEY }}"', "password: getpass()", "use_auth_token: true", "use_auth_token=True", "pass: 3", "forward_pass: slow",
    "pwd: /srv/paper", "PWD=/home", "ssh_key: ~/.ssh/id_ed25519", "GOOGLE_APPLICATION_CREDENTIALS=/etc/sa.json", "tokens_per_second: 123456.7", "num_input_tokens_seen: 1234567",
    "loss_per_token: 1.234567", "max_tokens=4096", "stop_token_ids: [128009]", "token_type_ids", "key_value_heads: 8", "cache_key: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "commit 0123456789abcdef0123456789abcdef01234567", "wandb: version 0.18.1 of commit 0123456789abcdef0123456789abcdef01234567", "wandb: Run data is saved locally in wandb/run-20260102_030405-3kx9z2ab",
    "wandb: View run at https://wandb.ai/team/project/runs/3kx9z2ab", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "checkpoint-500/model-00001-of-00003.safetensors",
    "LlamaForCausalLM Qwen2_5_VLForConditionalGeneration", "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traits", "the token was refused", "a basic authorization header",
    "meta-llama/Llama-3.1-8B-Instruct", "run qwen2-7B-sft-lora-r16-20260102-final", "events.out.tfevents.1700000000.node-3.12345.0", "the key insight is that secrets are rare", "https://huggingface.co/a/b/resolve/main/x?download=true",
    "https://x.org/d?key=layers", "monitor key: eval_loss", "['input_ids', 'api_key', 'label', 'attention_mask']", "--tokenizer gpt2 --token_len 5", "git+https://github.com/a/b.git@v1.2.3", "docker://ubuntu:20.04",
    "sk-learn and sk-image", "npm_config_cache", "a task-based-evaluation-of-large-models", "hf_transfer hf_hub_download", "ms-swift ms-marco-MiniLM-L-6-v2",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_config_keys_tokenizer_words_digests_and_names_of_models_survive(text: str) -> None:
    assert redact(text, terminal=True) == text
    assert json.loads(redact_json(json.dumps({"says": text}).encode(), terminal=True)) == {"says": text}


def test_a_harmless_pair_survives_as_an_entry_of_json() -> None:
    document = {"template_thinking_key": "thinking", "pad_token": "<pad>", "key": "eval_loss", "token": "Ġthe", "keys": ["password", "label"], "num_tokens": 40961}  # fmt: skip
    assert json.loads(redact_json(json.dumps(document).encode())) == document


TOKEN = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG"[:34]


@pytest.mark.parametrize("fold", ["\n", "\r\n", "\\\n", "\n    ", "\n> ", "\n# "])
@pytest.mark.parametrize("at", [4, 9, 20, 33])
def test_a_token_that_was_folded_at_the_end_of_a_line_is_found(fold: str, at: int) -> None:
    assert len(TOKEN) == 37
    out = redact(f"token was {TOKEN[:at]}{fold}{TOKEN[at:]}\nStep 5 of 10")
    assert TOKEN[at:] not in out and "Step 5 of 10" in out


def test_the_next_line_of_an_ordinary_word_is_left_alone() -> None:
    assert redact("hf_transfer\nStep5 of 10") == "hf_transfer\nStep5 of 10"


@pytest.mark.parametrize("mark", ["\u200b", "\u2060", "\ufeff", "\u00ad", "\x00", "\x1b[K", "\u202e"])
def test_a_token_with_something_unseen_in_it_is_found(mark: str) -> None:
    assert TOKEN[20:] not in redact(TOKEN[:20] + mark + TOKEN[20:])


def test_a_secret_in_the_name_of_a_file_is_found() -> None:
    for name in (f"train{TOKEN}.log", f"runs/{TOKEN}/x.json", f"a_{TOKEN}_b.csv", f"s3://bucket/{TOKEN}.pt"):
        assert TOKEN[12:] not in redact(name)


def test_a_telling_word_in_front_hides_no_pair_behind_it() -> None:
    for text in ("title=TR201 unknown-key::`k--hub_token x1Y2z3A4b5C6d7E8` is no key", "unknown-key: `api_key = x1Y2z3A4b5C6d7E8`", "key: token: password: x1Y2z3A4b5C6d7E8"):  # fmt: skip
        assert "x1Y2z3A4b5C6d7E8" not in redact(text), text


def test_names_say_what_they_hold() -> None:
    assert what_it_says("dbPassword") == what_it_says("PGPASSWORD") == "password"
    assert what_it_says("--hub_token") == what_it_says("clientSecret") == what_it_says("MY_OWN_TOKEN") == "secret"
    assert what_it_says("pad_token") == what_it_says("num_tokens") == what_it_says("sort_key") == "never"
    assert what_it_says("key") == what_it_says("token") == "rarely" and what_it_says("odd_key") == "perhaps"


def test_made_up_runs_and_words_are_told_apart() -> None:
    assert scrambled("aB3dE5gH7jK9mN1p") and scrambled("7f3a9c01b2d4e6f8")
    assert not scrambled("LlamaForCausalLM") and not scrambled("checkpoint500") and not scrambled("20260102")
    assert wordlike("qwen2-7B-sft") and wordlike("created_at") and not wordlike("aB3dE5gH7jK9mN1p")


SHORT = ["key=", "token:", "a.b.", "password=", '"key":"', "sk-", "eyJ", "://a:", "curl ", "wandb ", "cookie:", "authorization: ", "gl", "xoxb", ".A", "a-", "A1", "\\n", "hf_\n", "-- BEGIN A PRIVATE KEY", "secret is ", "x:5432:a:b:", "'''", "login a password ", "value", "bearer "]  # fmt: skip


@pytest.mark.parametrize("piece", SHORT)
def test_any_piece_repeated_takes_time_that_grows_with_the_length_only(piece: str) -> None:
    def act(text: str) -> None:
        redact(text)
        redact_json(json.dumps({"x": text}).encode())

    assert grows_with_length_only(act, piece)


def test_base64_with_slashes_is_no_path_to_a_file_because_more_stands_behind_it() -> None:
    secret = "8VV1u/jt7e2YFDYln6Tb30OvwUYEZm/A0ii15Evr"
    assert secret[-8:] not in redact(f"wrote AWS_SECRET_ACCESS_KEY={secret}/plans/ours/plan.json")
    kept = "HF_TOKEN_FILE=runs/3f2a9c1b7d8e4f60a1b2c3d4e5f60718293a4b5c/token.txt"
    assert redact(kept) == kept
