"""A made sentence is found by its template; nothing is lost on the way; and what has no Chinese yet is counted."""

from __future__ import annotations

import ast
import re
import string
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import quick

from papertrain import verbs
from papertrain.cli import main
from papertrain.core.errors import PapertrainError
from papertrain.core.sentences import COMMENT, translated
from papertrain.core.texts import CATALOGUES, language, of_locale
from papertrain.core.wide import folded, width

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "papertrain"
FILES = {f.stem: tomllib.loads(f.read_text("utf-8")) for f in CATALOGUES.glob("zh-*.toml")}
ENTRIES = {k: v for tables in FILES.values() for table in tables.values() for k, v in table.items()}
CHINESE = re.compile("[\u4e00-\u9fff]")
SHARE_OF_ERRORS = 0.85  # new errors come every day; what is missing is printed
SHARE_OF_REASONS = 0.97
SHARE_OF_CAUSES = 0.97
SHARE_OF_RULES = 0.97


@pytest.fixture
def zh() -> Iterator[None]:
    token = language.set("zh")
    yield
    language.reset(token)


def fields(text: str) -> list[str]:
    return sorted(name for _, name, *_ in string.Formatter().parse(text) if name is not None)


def templates(node: ast.expr) -> list[str]:
    """The sentences that an expression may make, with their values numbered."""

    def parts(n: ast.expr) -> list[list[str | None]]:
        if isinstance(n, ast.Constant) and isinstance(n.value, str):
            return [[n.value]]
        if isinstance(n, ast.JoinedStr):
            return [[str(v.value) if isinstance(v, ast.Constant) else None for v in n.values]]
        if isinstance(n, ast.IfExp):
            return parts(n.body) + parts(n.orelse)
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add):
            return [a + b for a in parts(n.left) for b in parts(n.right)]
        return [[None]]

    found = []
    for one in parts(node):
        text, n = "", 0
        for piece in one:
            text += f"{{{n}}}" if piece is None else piece.replace("{", "{{").replace("}", "}}")
            n += piece is None
        found.append(text)
    return found


def errors() -> set[str]:
    """Every sentence of an error in the code."""
    found = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if isinstance(node, ast.Call) and name in ("PapertrainError", "Refused") and node.args and not isinstance(node.args[0], ast.Call):  # fmt: skip
                found |= {t for t in templates(node.args[0]) if re.search("[A-Za-z]{2}", re.sub(r"\{\d\}", "", t))}
    return found


def test_nearly_every_error_has_chinese() -> None:
    said = errors()
    missing = sorted(said - ENTRIES.keys())
    share = 1 - len(missing) / len(said)
    print(f"{share:.1%} of {len(said)} errors have Chinese; missing: {missing}")
    assert len(said) > 300 and share >= SHARE_OF_ERRORS, missing


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_template_keeps_its_values_and_is_chinese(name: str) -> None:
    for table in FILES[name].values():
        for english, chinese in table.items():
            assert fields(english) == fields(chinese), english
            assert CHINESE.search(chinese), english


QUESTIONS = [
    ("Qwen/Qwen2.5-7B-Instruct", "4x A100-80GB", "lora", True),
    ("Qwen/Qwen2.5-7B-Instruct", "1x 4090", "qlora", True),
    ("Qwen/Qwen2.5-7B-Instruct", "8x H100", "full", False),
    ("Qwen/Qwen2.5-0.5B", "1x V100", "full", True),
    ("meta-llama/Llama-2-13b-hf", "2x 4090", "lora", False),
    ("Qwen/Qwen2.5-72B-Instruct", "8x A100-80GB", "full", True),
    ("7B", "2x 3090", "full", True),
    ("Qwen/Qwen2.5-1.5B", "2 nodes x 8 A100-80GB", "full", False),
    ("Qwen/Qwen2.5-0.5B-Instruct", "cpu", "lora", True),
]


def test_nearly_every_reason_of_a_plan_has_chinese(zh: None) -> None:
    data = ROOT / "examples" / "first-minutes" / "reviews.jsonl"
    seen: dict[str, bool] = {}
    for model, cards, method, with_data in QUESTIONS:
        found = verbs.load("plan")(model, gpu=cards, method=method, data=data if with_data else None).data
        for why in [d["why"] for d in found["decisions"]]:
            told = translated(why)
            seen[why] = bool(CHINESE.search(told)) and not re.search("[a-z]{3,} [a-z]{3,} [a-z]{2,}", told)
            assert sorted(re.findall(r"\d[\d.,]*\d|\d", why)) == sorted(re.findall(r"\d[\d.,]*\d|\d", told)), (
                why,
                told,
            )
    missing = [w for w, there in seen.items() if not there]
    share = 1 - len(missing) / len(seen)
    print(f"{share:.1%} of {len(seen)} reasons have Chinese; missing: {missing}")
    assert len(seen) > 60 and share >= SHARE_OF_REASONS, missing


def test_nearly_every_cause_and_change_that_diagnose_names_has_chinese(zh: None) -> None:
    import papertrain.diagnose.rules as rules
    from papertrain.core.discover import discover

    found = discover(rules, "RULE").values()
    named = {x for r in found for x in (r.what, r.why, *(f.title for f in r.fixes)) if " " in x}
    missing = sorted(n for n in named if not CHINESE.search(translated(n)))
    share = 1 - len(missing) / len(named)
    print(f"{share:.1%} of {len(named)} causes and changes have Chinese; missing: {missing}")
    assert len(named) > 550 and share >= SHARE_OF_CAUSES, missing


def test_nearly_every_rule_of_every_verb_is_explained_in_chinese(zh: None) -> None:
    """`explain TR…` and the next check of a diagnosis: of a command to copy only the comment behind it is words."""
    from papertrain.verbs.explaining.lookups import every_rule

    said = [(r.id, text) for _, r in every_rule() for text in (r.what, r.why, r.known_problems) if text]
    said += [(r.id, r.applies) for room, r in every_rule() if room == "monitor"]
    checks = [(r.id, str(getattr(r, "next_check", ""))) for _, r in every_rule()]
    said += [
        (id, text.partition(COMMENT)[2]) for id, text in checks if COMMENT in text and " " in text.partition(COMMENT)[2]
    ]
    missing = [(id, text) for id, text in said if not in_chinese(text)]
    share = 1 - len(missing) / len(said)
    print(f"{share:.1%} of {len(said)} texts of rules have Chinese; missing: {missing}")
    assert len(said) > 700 and share >= SHARE_OF_RULES, missing
    assert all(translated(text).split(COMMENT)[0] == text.split(COMMENT)[0] for _, text in checks if COMMENT in text)


def test_every_doubt_about_a_plan_and_every_note_on_a_card_is_there_in_chinese(zh: None) -> None:
    """What the facts say in words, beside the addresses of their sources."""
    said = set()
    for file in (SRC / "facts").rglob("*.toml"):
        said |= set(worded(tomllib.loads(file.read_text("utf-8"))))
    missing = sorted(s for s in said if not in_chinese(s))
    assert len(said) > 90 and not missing, missing


def worded(x: object, key: str = "") -> Iterator[str]:
    if isinstance(x, dict):
        for k, v in x.items():
            yield from worded(v, k)
    elif isinstance(x, list):
        for v in x:
            yield from worded(v, key)
    elif isinstance(x, str) and " " in x and key in ("says", "note", "notes", "why"):
        yield x


def in_chinese(text: str) -> bool:
    """Chinese all through: no five English words in a row but what is quoted from a program."""
    told = re.sub(r"`[^`]*`|'[^']*'", "", translated(text))
    return bool(CHINESE.search(told)) and not re.search("[a-z]{3,} [a-z]{2,} [a-z]{3,} [a-z]{2,} [a-z]{2,}", told)


def test_a_short_template_does_not_swallow_a_long_sentence(zh: None) -> None:
    """`{0} tokens` once made half a sentence Chinese."""
    assert (
        translated("nobody has ever told why it takes so many tokens")
        == "nobody has ever told why it takes so many tokens"
    )
    assert CHINESE.search(translated("1,024 tokens"))


def test_english_stays_as_it_is() -> None:
    assert translated("no such folder") == "no such folder"


def test_an_error_keeps_its_values_its_place_and_its_code(zh: None) -> None:
    error = PapertrainError("no plan for method 'a {b} c'", code="no-plan", file="work", line=3, nearest="ours")
    assert error.one_line() == "work:3: 方法 'a {b} c' 没有计划；是否指 ours？"
    assert error.error()["says"] == "方法 'a {b} c' 没有计划" and error.error()["code"] == "no-plan"
    assert PapertrainError("the moon is made of cheese").one_line() == "the moon is made of cheese"


def test_values_that_stand_side_by_side_are_found_as_one(zh: None) -> None:
    told = translated("ours (seed 1): 15 of 60 predictions are no gold label and count as wrong: 'neg' (15) …")
    assert told == "ours (seed 1)：60 条预测中有 15 条不是标准标签，按错误计：'neg' (15) …"


def test_what_an_error_names_is_chinese_too(zh: None) -> None:
    assert translated("file expected, this is a folder") == "应为 文件，这里是 文件夹"
    assert "UTF-8" in translated(r"a name in the plan is not UTF-8, and no config can hold it: a\xff")[-30:]
    assert not re.search("[a-z]{4}", translated("results file expected, this is made by the system as it is read"))


@pytest.mark.parametrize(
    ("word", "language"),
    [("zh", "zh"), ("zh_CN.UTF-8", "zh"), ("zh-Hans", "zh"), ("ZH", "zh"), ("en_US.UTF-8", "en"), ("C", "en"), ("C.UTF-8", "en"), ("fr_FR", None), ("", None), ("zhuyin", None)],
)  # fmt: skip
def test_a_language_may_be_named_as_a_locale_is(word: str, language: str | None) -> None:
    assert of_locale(word) == language


@pytest.mark.parametrize("argv", [["next", "/nope", "--lang", "zh_CN.UTF-8"], ["--lang=zh-Hans", "next", "/nope"]])
def test_the_option_takes_what_the_variable_takes(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert "没有这个文件夹" in capsys.readouterr().err
    assert main(["next", "/nope", "--lang", "fr"]) == 2
    assert "choose from en, zh" in capsys.readouterr().err


def test_two_sentences_are_translated_one_by_one(zh: None) -> None:
    assert translated("one device: nothing to share; not needed") == "只有一个设备：没有可分摊的；不需要"
    assert translated("set by the user; the rule gives 3: 10 % of 135 steps") == "用户指定；规则给出 3：135 步的 10 %"


@pytest.mark.parametrize("text", ["{0} {x} }{", "a" * 10**6, "; " * 1500, "{0}: {1} is not {2}" * 100, "", "   ", "\x00\x1b[2J"])  # fmt: skip
def test_any_text_comes_back_quickly_and_unharmed(zh: None, text: str) -> None:
    began = time.process_time()
    assert isinstance(translated(text), str)
    assert quick(time.process_time() - began, 1)


@pytest.mark.parametrize("room", [10, 30, 80])
def test_lines_of_chinese_keep_to_their_columns_and_lose_nothing(room: int) -> None:
    text = "每卡 19.8 GiB（共 80.0 GiB）：模型在每张卡上都放得下，因此用普通数据并行；the rest is English, 一直到结尾。"
    lines = folded(text, room)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(width(line) <= room + 4 for line in lines) and not any(line[0] in "，。；：）" for line in lines)
    assert folded("plain English words", 12) == ["plain", "English", "words"]


def test_what_is_kept_in_a_workspace_does_not_hang_on_the_language_of_who_asked(tmp_path: Path) -> None:
    """A plan that is derived again in another language is the same plan: its confirmation is bound to its bytes."""
    data = ROOT / "examples" / "first-minutes" / "reviews.jsonl"
    kept = {}
    for lang in ("en", "zh"):
        token = language.set(lang)
        try:
            work = tmp_path / lang / "work"
            verbs.load("plan")("Qwen/Qwen2.5-7B-Instruct", data=data, gpu="4x A100-80GB", method="lora", output=work)
            verbs.load("generate")(work)
        finally:
            language.reset(token)
        files = [p for p in work.rglob("*") if p.is_file()]
        kept[lang] = {p.relative_to(work).as_posix(): p.read_bytes() for p in files}
    assert len(kept["en"]) > 20 and kept["en"] == kept["zh"]


def test_the_tables_of_a_paper_are_the_same_whoever_asked(tmp_path: Path) -> None:
    """Tables, statements and legends go into a manuscript: they are English in every language of the terminal."""
    there, kept = ROOT / "examples" / "first-minutes", {}
    for lang in ("en", "zh"):
        token = language.set(lang)
        try:
            out = tmp_path / lang
            systems = [f"ours={there / 'ours.csv'}", f"base={there / 'baseline.csv'}"]
            told = verbs.load("compare")([], system=systems, ours="ours", baseline="base", output=out)
        finally:
            language.reset(token)
        texts = [p for p in out.rglob("*") if p.suffix in (".tex", ".md", ".csv", ".html", ".txt")]
        kept[lang] = {p.relative_to(out).as_posix(): p.read_text("utf-8").replace(str(out), "") for p in texts}
    assert CHINESE.search(told.result + told.body) and len(kept["en"]) > 4
    assert kept["en"] == kept["zh"]


def test_a_command_line_that_is_none_is_told_so_in_the_language_it_asks_for() -> None:
    exe = str(Path(sys.executable).with_name("papertrain"))

    def told(*words: str) -> str:
        return subprocess.run([exe, *words], capture_output=True, text=True, timeout=60, check=False).stderr

    assert "缺少必需的参数" in told("check", "--lang", "zh") and "缺少必需的参数" in told("check", "--lang=zh")
    assert "没有命令" in told("plam", "--lang", "zh") and "no verb" in told("plam")
