"""`check main.tex`: the numbers and claims of a manuscript, held against the evidence beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from papertrain.core.commands import quoted
from papertrain.core.errors import PapertrainError
from papertrain.core.report import Report
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.core.findings import Finding
    from papertrain.results.manuscript.held import Held
    from papertrain.results.manuscript.known import Ground, Known
    from papertrain.results.manuscript.tex import Page

EVIDENCE = "evidence.jsonl"
ABOVE = 4


def manuscript(files: Sequence[Path], options: Mapping[str, Any]) -> tuple[Report, list[Path]]:
    """(the manuscripts among the files, held against the evidence; the other files, which are checked as ever)."""
    tex = [f for f in files if f.suffix.lower() == ".tex"]
    named = [root for f in files if f not in tex and (root := _root(f)) is not None]
    rest = [f for f in files if f not in tex and _root(f) is None]
    return _held(tex, named, options), rest


def _root(path: Path) -> Path | None:
    """The folder that holds the evidence, where a file or folder was named for it."""
    if path.name == EVIDENCE and path.is_file():
        return path.parent
    return path if path.is_dir() and (path / EVIDENCE).is_file() else None


def _held(tex: Sequence[Path], named: Sequence[Path], options: Mapping[str, Any]) -> Report:
    from papertrain.results.manuscript.claims import claims
    from papertrain.results.manuscript.held import hold
    from papertrain.results.manuscript.tex import pages

    found: list[Page] = []
    missing: list[str] = []
    for file in tex:
        here, gone = pages(file)
        known = {p.file for p in found}
        found += [p for p in here if p.file not in known]
        missing += gone
    root = named[0] if named else _evidence_near(tex[0], found)
    ground = _ground(root)
    held = hold(found, ground)
    findings = sorted(
        [*held.findings, *claims(found, ground)], key=lambda f: ([p.file for p in found].index(f.file), f.line, f.rule)
    )
    return _report(found, held, _chosen(findings, found, options), ground, root, missing, options)


def _evidence_near(tex: Path, found: Sequence[Page]) -> Path:
    """Beside what the manuscript inputs, beside it, above it, or in a folder beside it. Raises PapertrainError."""
    here = tex.resolve().parent
    inputs = [Path(p.file).resolve().parent for p in found]
    above = [here, *list(here.parents)[:ABOVE]]
    places = [*(p for i in inputs for p in (i, i.parent)), *above, *_folders(here)]
    hit = next((p for p in places if (p / EVIDENCE).is_file()), None)
    if hit is not None:
        return _short(hit)
    raise PapertrainError(
        "no evidence.jsonl beside it, above it, or where its \\input files lie", code="no-evidence", file=tex,
        ask=["the workspace, or the folder that compare -o wrote"], command=f"papertrain check {quoted(tex)} WORK",
    )  # fmt: skip


def _short(path: Path) -> Path:
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def _folders(here: Path) -> Iterator[Path]:
    try:
        inside = sorted(p for p in here.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return
    yield from inside[:100]


def _ground(root: Path) -> Ground:
    """All numbers that may be said: evidence, tables, tests, plans, data, and what the runs cost."""
    from papertrain.core.evidence import read_evidence, stale, superseded
    from papertrain.core.workspace import Workspace
    from papertrain.results.manuscript import known as k

    entries = read_evidence(root)
    # Evidence beside loose files names them as the user typed them: their place is not known, so nothing is said of them.
    inside = Workspace.is_workspace(root)
    old = superseded(entries, (lambda file: (root / file).is_file()) if inside else (lambda file: True))
    claimed, tested = k.tests(_rows(root / "tables" / "tests.csv"))
    found = k.scores(entries, old)
    labels, ours, baseline = {}, "", ""
    if inside:
        study = Workspace(root).study
        labels = {m.name: m.label for m in study.methods if m.label}
        ours, baseline = study.ours or "", next(iter(study.baselines), "")
    first = {t.a for t in claimed if t.primary}
    ours = ours or (next(iter(first)) if len(first) == 1 else "")  # compare puts ours first in each of its tests
    methods = list(
        dict.fromkeys([*(x.method for x in found if x.method), *labels, *(x for t in claimed for x in (t.a, t.b))])
    )
    datasets = list(dict.fromkeys(x.dataset for x in found if x.dataset))
    metrics = list(dict.fromkeys(x.metric for x in found if x.metric))
    every = [
        *found,
        *k.of_table(_rows(root / "tables" / "main.csv")),
        *tested,
        *k.differences(found),
        *(_settings(root) if inside else ()),
    ]
    shown = frozenset(r["metric"] for r in _rows(root / "tables" / "main.csv") if r.get("metric"))
    return k.Ground(
        known=tuple(every), tests=tuple(claimed), methods=k.plain_names(methods, labels), datasets=k.plain_names(datasets, {}), metrics=k.metric_names(metrics), ours=ours,
        baseline=baseline,
        shown=shown, stale=stale(root, entries) if inside else {},
    )  # fmt: skip


def _rows(path: Path) -> list[dict[str, str]]:
    """A table that compare wrote; nothing where it is not there, or is none."""
    from papertrain.verbs.comparing.against import rows_of

    try:
        return rows_of(path) if path.is_file() else []
    except PapertrainError as error:
        if error.code != "bad-table":
            raise
        return []


def _settings(root: Path) -> list[Known]:
    """Decisions of the plans, counts of the data, and measured costs: numbers that a paper states and that are no scores."""
    from papertrain.core.workspace import Workspace
    from papertrain.results.manuscript.known import Known

    work, out = Workspace(root), []
    for method in work.methods():
        try:
            plan = work.plan(method)
        except PapertrainError:
            continue
        for d in plan.decisions():
            if isinstance(d.value, (int, float)) and not isinstance(d.value, bool):
                scales = (1.0, 100.0) if 0 < abs(d.value) < 1 else (1.0,)
                out.append(
                    Known(
                        value=float(d.value),
                        kind="setting",
                        said=f"{d.name} of {method}",
                        evidence=f"plans/{method}/plan.json",
                        scales=scales,
                    )
                )
        data = plan.dataset
        counts = (
            (data.rows, data.examples, data.tokens, data.trainable_tokens, data.truncated_examples)
            if data is not None
            else ()
        )
        out += [
            Known(
                value=float(n),
                kind="setting",
                said=f"data of {method}",
                evidence=f"plans/{method}/plan.json",
                scales=(1.0, 1e-3, 1e-6),
            )
            for n in counts
            if n is not None
        ]
    for r in _rows(root / "tables" / "compute.csv"):
        for name, text in r.items():
            try:
                out.append(
                    Known(
                        value=float(text),
                        kind="setting",
                        said=f"{name} of {r.get('method', '')}",
                        evidence="tables/compute.csv",
                    )
                )
            except ValueError:
                continue
    return out


def _chosen(findings: Sequence[Finding], found: Sequence[Page], options: Mapping[str, Any]) -> list[Finding]:
    """Without what was deselected here or in the project, silenced on its line, or known before."""
    from papertrain.configs.checking.engine import silenced
    from papertrain.verbs.checking.choosing import choose, every_rule

    choice, settings = choose(
        Path(found[0].file), **{k: options[k] for k in ("select", "ignore", "preview", "baseline")}
    )
    rules, texts = every_rule(), {page.file: page.text for page in found}
    return [
        f for f in findings
        if choice.takes(rules[f.rule]) and f.id not in choice.known and not settings.off(f) and not silenced(f, texts[f.file])
    ]  # fmt: skip


def _report(
    found: Sequence[Page],
    held: Held,
    findings: Sequence[Finding],
    ground: Ground,
    root: Path,
    missing: Sequence[str],
    options: Mapping[str, Any],
) -> Report:
    from papertrain.configs.checking import outputs
    from papertrain.core.findings import worst
    from papertrain.core.values import plain
    from papertrain.core.version import __version__
    from papertrain.results.manuscript import rules

    wrong = [f for f in findings if f.rule in (rules.CONTRADICTS.id, rules.ZERO_P.id, rules.NO_MACRO.id)]
    claims = [f for f in findings if f.rule == rules.UNTESTED.id]
    open_ = [f for f in findings if f.rule == rules.NO_EVIDENCE.id]
    name = found[0].file
    parts = []
    if wrong:
        parts.append(
            say("1 number contradicts the evidence")
            if len(wrong) == 1
            else say("{n} numbers contradict the evidence", n=len(wrong))
        )
    if claims:
        parts.append(
            say("1 claim without its test") if len(claims) == 1 else say("{n} claims without their test", n=len(claims))
        )
    if open_:
        parts.append(
            say("1 number rests on nothing") if len(open_) == 1 else say("{n} numbers rest on nothing", n=len(open_))
        )
    result = (
        say("{name}: {what}", name=name, what=", ".join(parts))
        if parts
        else say("{name}: nothing contradicts the evidence", name=name)
    )
    says = say(
        "{agree} numbers and {macros} macros agree with {root}, {cited} are cited from others, {other} are counts and settings of which no evidence speaks",
        agree=held.agree, macros=held.macros, root=root / EVIDENCE, cited=held.cited, other=held.other,
    )  # fmt: skip
    told = list(missing)
    if not ground.tests:
        told.append(
            say(
                "no tables/tests.csv in {root}: compare writes the tests that claims of significance rest on", root=root
            )
        )
    body = "\n".join(f"  {f.file}:{f.line} {f.says}" for f in findings)
    data: dict[str, Any] = {
        "findings": [{k: v for k, v in plain(f).items() if k not in ("seen", "fixes")} for f in findings],
        "accounting": {**dict.fromkeys(("rows", "examples", "tokens", "trainable_tokens", "truncated_examples", "steps_per_epoch", "total_steps")), "reason": say("a manuscript has no training data")},
        "known_up_to": {},
        "files": [{"file": p.file, "kind": "manuscript"} for p in found],
        "numbers": {"agree": held.agree, "macros": held.macros, "cited": held.cited, "other": held.other, "contradict": len(wrong), "unheld": len(open_)},
        "evidence": str(root / EVIDENCE),
    }  # fmt: skip
    printed = {
        "github": lambda: outputs.github(findings),
        "sarif": lambda: outputs.sarif(findings, {r.id: r for r in rules.RULES}, __version__),
        "json": lambda: _printed(data),
    }.get(options["output_format"])
    if printed is not None:
        data["printed"] = printed()
    first = next((e for f in wrong for e in _ids(f.says)), None)
    action = (
        f"papertrain explain {first} --plan {quoted(root)}"
        if first
        else f"papertrain explain {findings[0].rule}"
        if findings
        else f"papertrain compare {quoted(root)}"
    )
    return Report(verb="check", result=result, explanation=says, action=action if findings or _is_workspace(root) else "papertrain compare --help", body=body if printed is None else "",
                  head=data["printed"] if printed is not None else "", data=data, warnings=tuple(told[:8]), mode=options["mode"] or "quick", level=worst([f.level for f in findings]))  # fmt: skip


def _is_workspace(root: Path) -> bool:
    from papertrain.core.workspace import Workspace

    return Workspace.is_workspace(root)


def _ids(text: str) -> list[str]:
    from papertrain.core.evidence import IDS

    return IDS.findall(text)


def _printed(data: Mapping[str, Any]) -> str:
    import json

    return json.dumps(data, indent=1, ensure_ascii=False)


def both(a: Report, b: Report, output_format: str) -> Report:
    """Manuscript and configs in one answer."""
    import json

    from papertrain.core.findings import worst

    data = {
        **b.data,
        "findings": [*a.data["findings"], *b.data["findings"]],
        "files": [*a.data["files"], *b.data["files"]],
        "numbers": a.data["numbers"],
        "evidence": a.data["evidence"],
    }
    if output_format == "json":
        data["printed"] = _printed({k: v for k, v in data.items() if k != "printed"})
    elif output_format == "github":
        data["printed"] = "\n".join(t for t in (a.data["printed"], b.data["printed"]) if t)
    elif output_format == "sarif":
        whole, more = json.loads(a.data["printed"]), json.loads(b.data["printed"])["runs"][0]
        run = whole["runs"][0]  # one run: a code host takes no second one of the same tool
        run["results"] += more["results"]
        run["tool"]["driver"]["rules"] += more["tool"]["driver"]["rules"]
        data["printed"] = json.dumps(whole, indent=1)
    return msgspec.structs.replace(
        b, head=data.get("printed", b.head), result=f"{a.result}; {b.result}", explanation=f"{a.explanation}; {b.explanation}", action=a.action if a.level != "ok" else b.action, aside=a.aside if a.level != "ok" else b.aside,
        body="\n".join(t for t in (a.body, b.body) if t), data=data, warnings=(*a.warnings, *b.warnings), level=worst([a.level, b.level]),
    )  # fmt: skip
