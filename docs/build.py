"""Writes docs/reference from the code: `make docs`. tests/test_docs.py rebuilds it in memory and fails on any difference."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from papertrain import verbs
from papertrain.cli import FIRST
from papertrain.core.answers import data_schema
from papertrain.core.discover import discover
from papertrain.core.params import parameters
from papertrain.core.schema import ENVELOPE, READING
from papertrain.core.units import show_bytes, show_count

HERE = Path(__file__).parent / "reference"
CHECKS, WATCHES = "papertrain.configs.checks", "papertrain.monitor.rules"
NOTE = "<!-- Written by `make docs` from the code; do not edit. -->\n"


def pages() -> dict[str, str]:
    """File name → text of every reference page."""
    return {
        "cli.md": cli(),
        "json.md": envelope(),
        "rules-check.md": rules("Rules of `check`", CHECKS),
        "rules-watch.md": rules("Rules of `watch`", WATCHES),
        **rule_pages(),
        "failures.md": failures(),
        "gpus.md": gpus(),
        "models.md": models(),
        "plugs.md": plugs(),
        "names.txt": names(),
    }


def cli() -> str:
    known = verbs.names()
    order = [n for n in FIRST if n in known] + [n for n in known if n not in FIRST]
    parts = [
        "# Command line\n",
        NOTE,
        "Every verb also takes `--json --brief --fields A,B.C -v -q --lang en|zh --fail-on error|warning|never --debug`.\n",
    ]
    parts.append(
        "| exit | meaning |\n| --- | --- |\n| 0 | done |\n| 1 | a finding at or above `--fail-on` |\n| 2 | input wrong or missing |\n| 3 | refused |\n| 4 | a fault of papertrain |\n| 130 | Ctrl-C |\n"
    )
    for name in order:
        verb = verbs.load(name)
        doc = inspect.cleandoc(verb.__doc__ or "")
        first, _, rest = doc.partition("\n")
        parts.append(f"## {name}\n\n{first}\n")
        if rest.strip():
            parts.append(f"```text\n{rest.strip()}\n```\n")
        rows = [
            (_spelling(p), p.arg.help or "", "" if p.default in (None, (), [], False) else f"`{p.default}`")
            for p in parameters(verb)
            if p.name != "passthrough"
        ]
        parts.append(table(("parameter", "what it is", "default"), rows))
    return "\n".join(parts)


def _spelling(p: Any) -> str:
    value = p.arg.metavar or ("|".join(p.choices) if p.choices else p.name.upper())
    if p.option is None:
        text = value if p.required else f"[{value}]"
        return f"`{text}{'…' if p.many else ''}`"
    text = p.option if p.kind is bool else f"{p.option} {value}"
    short = f" (`-{p.arg.short}`)" if p.arg.short else ""
    return f"`{text}`{'…' if p.many else ''}{short}"


def envelope() -> str:
    import json

    return "\n".join(
        [
            "# The envelope\n",
            NOTE,
            "What `--json` prints: exactly one document on standard output, for every exit code.\n",
            f"```json\n{json.dumps(ENVELOPE, indent=2)}\n```\n",
            "## `data` of each verb\n",
            "Keys may be added at any time; with `--fields` and after an error some are absent. A null has its reason beside it.\n",
            *(f"### {name}\n\n```json\n{json.dumps(data_schema(name)['properties'])}\n```\n" for name in READING),
        ]
    )


def rules(title: str, package: str) -> str:
    """Every rule of a kind in a line, each with a page of its own."""
    rows = [
        (f"[{r.id}](rules/{r.id}.md)", r.name, r.level, r.status, r.what.replace("|", "\\|"))
        for r in sorted(found_rules(package), key=lambda r: r.id)
    ]
    return "\n".join([f"# {title}\n", NOTE, table(("id", "name", "level", "status", "what"), rows)])


def found_rules(package: str) -> list[Any]:
    from importlib import import_module

    return list(discover(import_module(package), "RULE").values())


def rule_pages() -> dict[str, str]:
    """A page per rule of check and watch, and per class of failure."""
    from papertrain.diagnose.catalogue import causes

    everything = [*found_rules(CHECKS), *found_rules(WATCHES), *causes().values()]
    return {f"rules/{r.id}.md": rule_page(r) for r in everything}


def rule_page(rule: Any) -> str:
    kind = f"{rule.branch}, benign: no failure" if getattr(rule, "benign", False) else getattr(rule, "branch", rule.level)  # fmt: skip
    parts = [f"# {rule.id} {rule.name}\n", NOTE, f"*{kind}, {rule.status}*\n", f"**What.** {rule.what}\n", f"**Why.** {rule.why}\n"]  # fmt: skip
    if rule.applies:
        parts.append(f"**Holds for.** {rule.applies}\n")
    if rule.known_problems:
        parts.append(f"**Known problems.** {rule.known_problems}\n")
    if getattr(rule, "next_check", ""):
        parts.append(f"**The test that decides.** {rule.next_check}\n")
    if fixes := [f"- {f.title} ({f.effect})" for f in getattr(rule, "fixes", ()) if f.title]:
        parts.append("**What mends it.**\n\n" + "\n".join(fixes) + "\n")
    for word, text in (("Fires on", rule.fires), ("Quiet on", rule.quiet)):
        if isinstance(text, str) and text.strip():
            parts.append(f"{word}:\n\n```text\n{text.strip()[:1500]}\n```\n")
    parts.append(f"**Source.** {rule.source.kind}: {rule.source.ref}\n")
    parts.append(f"The same at a terminal: `papertrain explain {rule.id}`.\n")
    return "\n".join(parts)


def failures() -> str:
    from papertrain.diagnose.catalogue import causes

    rows = [
        (f"[{c.name}](rules/{c.id}.md)", c.id, c.branch + (", benign" if c.benign else ""), c.what.replace("|", "\\|"))
        for c in sorted(causes().values(), key=lambda c: c.name)
    ]
    head = ("class", "id", "branch", "what")
    return "\n".join(["# Classes of failure\n", NOTE, "The names that `papertrain diagnose` gives in `class`.\n", table(head, rows)])  # fmt: skip


def gpus() -> str:
    from papertrain.facts.load import gpus as load

    rows = []
    for gpu in sorted(load().values(), key=lambda g: g.id):
        peak = "none" if gpu.peak_bf16_dense_flops is None else f"{gpu.peak_bf16_dense_flops / 1e12:.0f}"
        half = "" if gpu.peak_fp16_dense_flops is None else f"{gpu.peak_fp16_dense_flops / 1e12:.0f}"
        link = "" if gpu.link_bytes_per_second is None else f"{gpu.link} {gpu.link_bytes_per_second / 1e9:.0f}"
        source = gpu.sources.get("memory_bytes") or next(iter(gpu.sources.values()), None)
        rows.append(
            (
                f"`{gpu.id}`",
                gpu.label,
                show_bytes(gpu.memory_bytes),
                peak,
                half,
                link,
                f"{source.kind}: {source.ref}" if source else "",
            )
        )
    head = ("id", "device", "memory", "bf16 dense TFLOP/s", "fp16", "link GB/s, one way", "source")
    return "\n".join(["# Devices\n", NOTE, table(head, rows)])


def models() -> str:
    from papertrain.facts.catalogue import catalogue_model, model_ids

    found = sorted((catalogue_model(i) for i in model_ids()), key=lambda m: m.name.lower())
    rows = [
        (f"`{m.name}`", m.architecture, m.kind, f"{m.parameters:,}", show_count(m.active_parameters)) for m in found
    ]
    head = ("model", "architecture", "kind", "parameters", "active")
    return "\n".join(
        [
            "# Models\n",
            NOTE,
            f"{len(rows)} models in the catalogue; counts are computed from their configs.\n",
            table(head, rows),
        ]
    )


def plugs() -> str:
    import papertrain.configs.targets as targets
    import papertrain.monitor.readers as readers
    import papertrain.results.readers as sources
    import papertrain.run.launchers as launchers

    parts = ["# Readers, targets, launchers\n", NOTE]
    for title, package, name in (
        ("Log readers", readers, "READER"),
        ("Result readers", sources, "READER"),
        ("Config targets", targets, "TARGET"),
        ("Launchers", launchers, "LAUNCHER"),
    ):
        found = discover(package, name)
        parts.append(f"## {title}\n")
        parts.append(
            table(
                ("id", "what"),
                [(f"`{i}`", getattr(t, "what", "") or getattr(t, "about", "") or "") for i, t in sorted(found.items())],
            )
        )
    return "\n".join(parts)


def names() -> str:
    """Public names, flags and ids: a ratchet, so that growth shows in the difference."""
    lines = []
    for name in verbs.names():
        lines.append(f"verb {name}")
        lines += [f"flag {name} {p.option or p.name}" for p in parameters(verbs.load(name))]
    lines += [f"tool {name}" for name in READING]
    import papertrain.configs.checks as checks
    import papertrain.monitor.rules as watching
    from papertrain.diagnose.catalogue import causes

    for package in (checks, watching):
        lines += [f"rule {r.id} {r.name}" for r in discover(package, "RULE").values()]
    lines += [f"class {c.id} {c.name}" for c in causes().values()]
    return "\n".join(sorted(lines)) + "\n"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    head = list(head)
    return "\n".join([line(head), line("---" for _ in head), *map(line, rows)]) + "\n"


def refresh(page: Path) -> str:
    """The page with each console block's output as the program prints it now. A block with `…` alone on a line is kept."""
    import os
    import re
    import shlex
    import shutil
    import subprocess
    import tempfile

    exe = Path(sys.executable).with_name("papertrain")

    def again(m: re.Match[str]) -> str:
        out = ""
        for part in re.split(r"^\$ ", m["body"], flags=re.MULTILINE)[1:]:
            command, _, old = part.partition("\n")
            if not command.startswith("papertrain"):
                out += f"$ {part}"
                continue
            words = shlex.split(command, comments=True)
            env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "HF_HUB_OFFLINE": "1"}
            done = subprocess.run([exe, *words[1:]], capture_output=True, text=True, cwd=place, env=env, check=False)
            if "…" in map(str.strip, old.splitlines()):
                out += f"$ {part}"
                continue
            text = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).rstrip().splitlines())
            out += f"$ {command}\n{text}\n"
        return f"```console\n{out}```"

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "first-minutes"
        shutil.copytree(HERE.parents[1] / "examples" / "first-minutes", place)
        return re.sub(r"```console\n(?P<body>.*?)```", again, page.read_text(), flags=re.DOTALL)


def main() -> int:
    import difflib

    if "--outputs" in sys.argv:
        root = HERE.parents[1]
        for page in [
            root / "README.md",
            *sorted(p for p in (root / "docs").rglob("*.md") if "reference" not in p.parts),
        ]:
            text = refresh(page)
            if text != page.read_text():
                print(f"{page.relative_to(root)}: outputs changed")
                page.write_text(text)
        return 0

    (HERE / "rules").mkdir(parents=True, exist_ok=True)
    built = pages()
    for name, text in built.items():
        file = HERE / name
        old = file.read_text() if file.exists() else ""
        if old != text:
            changed = (
                sum(1 for d in difflib.ndiff(old.splitlines(), text.splitlines()) if d[:1] in "+-")
                if len(old) < 200_000
                else 0
            )
            print(f"{file.name}: {changed or 'many'} lines changed")
            file.write_text(text)
    for file in HERE.rglob("*"):
        if file.is_file() and file.relative_to(HERE).as_posix() not in built:
            print(f"{file.name}: removed")
            file.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
