"""`evaluate`: score raw predictions, or say how to make them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from papertrain.core.commands import line, quoted
from papertrain.core.params import Arg, DryRunArg, ModeArg, OverwriteArg
from papertrain.core.report import Report
from papertrain.core.sentences import translated
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.core.results import Metric
    from papertrain.core.workspace import Workspace
    from papertrain.results.board import Entry
    from papertrain.results.collect import Collection
    from papertrain.results.records import Issue


def evaluate(
    targets: Annotated[Sequence[Path], Arg("prediction files, or a workspace", "PREDICTIONS|WORK")],
    *,
    metrics: Annotated[
        Sequence[str], Arg("only these scores (accuracy, macro_f1, auc, em, bleu, rougel, wer, …)", "NAME")
    ] = (),
    columns: Annotated[
        Sequence[str], Arg("which column is what: label=NAME,prediction=NAME,id=NAME,positive=CLASS", "ROLE=NAME")
    ] = (),
    tasks: Annotated[
        Sequence[str], Arg("the commands that evaluate every method on these tasks; launch --tasks starts them", "TASK")
    ] = (),
    shots: Annotated[int | None, Arg("few-shot examples of those commands", "N")] = None,
    seed: Annotated[int, Arg("seed of the resampled intervals, and of the evaluation commands", "N")] = 7,
    resamples: Annotated[int, Arg("bootstrap resamples", "N", advanced=True)] = 10_000,
    level: Annotated[float, Arg("level of the intervals", "SHARE", advanced=True)] = 0.95,
    mode: ModeArg = None,
    overwrite: OverwriteArg = False,
    dry_run: DryRunArg = False,
) -> Report:
    """Score raw predictions, with intervals, definitions and signatures.

    A file of predictions holds a label and a prediction (or a score, probabilities, generated text, right/wrong) per
    example, as CSV, JSON lines, parquet or npz. In a workspace every finished run is scored; the scores go to
    results/<run>/metrics.json and to evidence.jsonl. Stale runs are named, and test rows that stand in the training
    data (files up to 16 MiB; `check` compares larger ones). With --tasks nothing is run: the exact commands are shown, the same
    settings for every method; `papertrain launch WORK --tasks …` starts them.

    Answers are read as the plan of the workspace says: as text where it trains a model that writes, as classes where it
    trains a classifier. Without a plan they are read by what they look like, which is said; --metrics em,token_f1 reads
    them as text, --metrics accuracy,macro_f1 as classes.

    papertrain evaluate predictions.csv
    papertrain evaluate preds.jsonl --columns label=gold,prediction=output --metrics em,token_f1
    papertrain evaluate work
    papertrain evaluate work --tasks gsm8k,hellaswag --shots 5
    """
    from papertrain.core.errors import PapertrainError
    from papertrain.core.gate import decide_mode
    from papertrain.verbs.evaluating.scores import is_workspace

    if not targets:
        raise PapertrainError(
            "nothing to score: name prediction files or a workspace",
            code="missing-path",
            command="papertrain evaluate predictions.csv",
        )
    if seed < 0 or (shots or 0) < 0:
        raise PapertrainError("--seed and --shots are whole numbers from 0 on", code="bad-value")
    if not 0 < level < 1:
        raise PapertrainError(f"a level of {level} is no share between 0 and 1", code="bad-level")
    if not 100 <= resamples <= 1_000_000:
        raise PapertrainError("resamples from 100 to 1,000,000", code="bad-resamples")
    how = {"seed": seed, "resamples": resamples, "level": level}
    if is_workspace(list(targets)):
        from papertrain.core.workspace import Workspace

        work = Workspace.open(targets[0])
        where = decide_mode(mode, work.root)
        if tasks:
            return _commands(work, [t for x in tasks for t in x.split(",") if t], shots, seed, where)
        return _workspace(work, metrics, columns, how, where, overwrite=overwrite, dry_run=dry_run)
    if tasks:
        raise PapertrainError(
            "--tasks needs a workspace: it evaluates its methods", code="no-workspace", file=targets[0]
        )
    return _files(targets, metrics, columns, how, decide_mode(mode, None))


def _split(names: Sequence[str]) -> list[str]:
    return [n.strip() for text in names for n in text.split(",") if n.strip()]


def _files(
    targets: Sequence[Path], metrics: Sequence[str], columns: Sequence[str], how: dict[str, Any], mode: Any
) -> Report:
    from papertrain.core.errors import PapertrainError
    from papertrain.core.evidence import number_evidence
    from papertrain.core.values import plain
    from papertrain.results import board, checks, kinds, roles
    from papertrain.results.collect import collect
    from papertrain.verbs.evaluating.scores import evidence_of

    found = _doubted(collect([("", p) for p in targets], columns=columns))
    given = roles.parse(columns)
    wanted = _split(metrics)
    entries = board.measured_entries(found.items, wanted, given.get("positive", ""), everything=not wanted)
    read = [] if wanted else kinds.readings(found.items, {})
    reported = board.reported_entries(found.scores)
    said = [*found.issues, *read, *(i for e in entries for i in checks.answers(e))]
    if not entries and not reported:
        raise PapertrainError("no predictions in it", code="no-predictions", file=targets[0])
    proofs = number_evidence([], [evidence_of(e, None, "papertrain evaluate") for e in [*entries, *reported]])
    rows = [_metric(e, how, p.id) for e, p in zip([*entries, *reported], proofs)]
    data: dict[str, Any] = {
        "metrics": [_plain(m, e) for m, e in zip(rows, [*entries, *reported])],
        "evidence": [plain(p) for p in proofs],
        "issues": _issues(said),
    }
    data["read_as"] = [plain(p) for p in found.placed]
    data["confusion"] = _confusions(entries)
    several = len({(e.system, e.dataset, e.seed) for e in entries}) > 1
    body = "\n".join([_body(rows, [*entries, *reported], named=several), *_read(read)])
    main = rows[0]
    heads = [(m, e) for m, e in zip(rows, [*entries, *reported]) if m.metric == main.metric and m.value is not None]
    result = (
        f"{main.metric}: " + _heads(heads)
        if len(heads) > 1
        else say("{metric} {value} on {n:,} items", metric=main.metric, value=_value(main), n=main.n)
        if main.value is not None
        else say("no score: {why}", why=main.reason)
    )
    first = entries[0] if entries else None
    if reported and not entries:
        says = say(
            "these are scores that the file reports, not computed here: per-example outputs would allow intervals and paired tests"
        )
    else:
        says = say(
            "{definition}; interval: {method}",
            definition=translated(first.measured.definition) if first and first.measured else "",
            method=main.ci.method if main.ci else "none",
        )
    words: list[object] = ["papertrain", "compare", *targets]
    systems = list(dict.fromkeys(e.system for e in [*entries, *reported]))
    words += ["--ours", systems[0], "--baseline", systems[1]] if len(systems) > 1 else []
    words += ["--columns", ",".join(columns)] if columns else []
    action = line(*words)
    details = "\n".join(f"  {m.metric}: {translated(m.definition)}\n    {m.signature}" for m in rows)
    return Report(verb="evaluate", result=result, explanation=says, action=action, data=data, body=body, details=details, mode=mode,
                  warnings=tuple(translated(i.says) for i in said if i.level == "warning")[:8])  # fmt: skip


def _read(readings: Sequence[Issue]) -> list[str]:
    """How answers were read that can be read otherwise, below the scores."""
    return [_folded(translated(i.says)) for i in readings[:6]]


def _folded(text: str) -> str:
    """A sentence below a table, within the width of a terminal."""
    from textwrap import fill

    return fill(text, 98, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _doubted(found: Collection) -> Collection:
    """With what cannot be right about the outputs themselves among the issues."""
    import msgspec

    from papertrain.results import sanity

    doubts = [*sanity.of_items(found.items), *sanity.of_scores(found.scores)]
    return msgspec.structs.replace(found, issues=[*found.issues, *doubts])


def _heads(rows: Sequence[tuple[Metric, Entry]]) -> str:
    """Every run with its value; long lists end in a count."""
    said = [
        f"{' '.join(x for x in (e.system, e.dataset, e.seed and f'seed {e.seed}') if x)} {_value(m)}"
        for m, e in rows[:4]
    ]
    sizes = {m.n for m, _ in rows}
    more = say(", {n} more runs", n=len(rows) - 4) if len(rows) > 4 else ""
    return ", ".join(said) + more + (say(" on {n:,} items", n=rows[0][0].n) if len(sizes) == 1 and rows[0][0].n else "")


def _metric(e: Entry, how: dict[str, Any], evidence: str) -> Metric:
    """A score with its interval."""
    from papertrain.core.results import Metric
    from papertrain.results.checks import count
    from papertrain.results.metrics.measured import estimate, signed
    from papertrain.results.stats.outcome import stream

    if e.measured is None:
        signature = f"reported in the file, {e.score.pointer}" if e.score is not None else ""
        return Metric(dataset=e.dataset, metric=e.metric, value=e.value, n=count(e) or 0, evidence=evidence, signature=signature, reason=e.reason,
                      higher_is_better=e.higher_is_better is not False)  # fmt: skip
    rng = stream(how["seed"], "interval", e.metric)
    ci, why = estimate(
        e.measured,
        rng=rng,
        resamples=how["resamples"],
        level=how["level"],
        cluster=e.items.cluster if e.items is not None else None,
    )
    return Metric(dataset=e.dataset, metric=e.metric, value=e.measured.value, n=e.measured.n, ci=ci, signature=signed(e.measured, ci, rng, how["resamples"]), evidence=evidence,
                  definition=e.measured.definition, higher_is_better=e.measured.higher_is_better, reason=e.measured.reason or why)  # fmt: skip


def _plain(m: Metric, e: Entry) -> dict[str, Any]:
    from papertrain.core.values import plain
    from papertrain.results.stats.outcome import finite

    return dict(finite({**plain(m), "system": e.system, "seed": e.seed or None, "unit": e.scale}))


def _issues(issues: Sequence[Any]) -> list[dict[str, str]]:
    return [{"says": i.says, "file": i.file, "code": i.code, "level": i.level} for i in issues]


def _value(m: Metric) -> str:
    if m.value is None:
        return "–"
    digits = 4 if abs(m.value) < 10 else 2
    text = f"{m.value:.{digits}f}"
    return f"{text} [{m.ci.low:.{digits}f}, {m.ci.high:.{digits}f}]" if m.ci is not None else text


def _body(rows: Sequence[Metric], entries: Sequence[Entry], *, named: bool) -> str:
    from papertrain.report.markdown import aligned

    heads = [say("value"), say("interval"), "n", say("how")]
    lines = [["", *heads]] if not named else [["", "", *heads]]
    for m, e in zip(rows, entries):
        value, _, ci = _value(m).partition(" ")
        who = [" ".join(x for x in (e.system, e.dataset, e.seed and f"seed {e.seed}") if x)[:30]] if named else []
        lines.append(
            [
                *who,
                m.metric[:28],
                value,
                ci or (m.reason[:36] if m.value is None else ""),
                f"{m.n:,}",
                (translated(m.ci.method) if m.ci else "")[:22],
            ]
        )
    return "\n".join([aligned(lines[:60], left=2 if named else 1), *_without_interval(rows)])


def _without_interval(rows: Sequence[Metric]) -> list[str]:
    """Why scores that have a value have no interval: once per reason, with the scores that it is true of."""
    names: dict[str, list[str]] = {}
    for m in rows:
        if m.value is not None and m.ci is None and m.reason:
            names.setdefault(m.reason, []).append(m.metric)
    said = [f"{translated(why)} ({', '.join(dict.fromkeys(found))})" for why, found in names.items()]
    return [_folded(text) for text in said]


def _confusions(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    from papertrain.results.metrics.classify import confusion

    out = []
    for e in entries:
        if (
            e.metric == "accuracy"
            and e.items is not None
            and e.items.label is not None
            and e.items.prediction is not None
        ):
            names, counts = confusion(e.items.label, e.items.prediction)
            if len(names) <= 60:
                out.append(
                    {
                        "system": e.system,
                        "dataset": e.dataset,
                        "seed": e.seed or None,
                        "classes": names,
                        "counts": counts,
                        "rows": "gold",
                        "columns": "predicted",
                    }
                )
    return out


def _workspace(
    work: Workspace,
    metrics: Sequence[str],
    columns: Sequence[str],
    how: dict[str, Any],
    mode: Any,
    *,
    overwrite: bool,
    dry_run: bool,
) -> Report:
    """Score every run that left predictions; write metrics.json per run, and evidence."""
    import json

    from papertrain.core.evidence import append_evidence
    from papertrain.core.values import plain
    from papertrain.core.writing import Writer
    from papertrain.evidence.lines import launching, scorable, unscorable
    from papertrain.evidence.test_set import unpredicted
    from papertrain.results import board, checks, kinds, roles
    from papertrain.verbs.evaluating.scores import collect_grid, evidence_of, kinds_of, state_of, unconfirmed
    from papertrain.verbs.evaluating.standing import doubts

    given = roles.parse(columns)
    study, grid = work.study, work.grid()
    found = _doubted(collect_grid(work, grid, given))
    wanted = _split(metrics)
    known_kinds = kinds_of(work)
    entries = board.measured_entries(
        found.items, wanted, given.get("positive", ""), everything=not wanted, kinds=known_kinds
    )
    read = [] if wanted else kinds.readings(found.items, known_kinds)
    entries += [e for e in board.reported_entries(found.scores) if e.value is not None]
    said = [*found.issues, *read, *(i for e in entries for i in checks.answers(e))]
    scored = {f"{e.system}.{e.dataset}.{e.seed}" for e in entries}
    known = {r.id for r in grid}
    silent = {r.id: r for r in grid if unpredicted(work, r)}
    missing = [
        {
            "run": r.id,
            "because": state_of(work, r),
            "command": f"papertrain launch {quoted(work.root)} --run {quoted(r.id)}"
            if r.state == "missing"
            else scorable(work, r)
            if r.id in silent
            else launching(work, r),
        }
        for r in grid
        if r.id not in scored
    ]
    made_by = f"papertrain evaluate {quoted(work.root.name)}"
    with Writer(work.root, overwrite=overwrite, dry_run=dry_run or mode == "exploratory") as w:
        proofs = append_evidence(w, work.root, [evidence_of(e, work.root, made_by) for e in entries])
        rows = [_metric(e, how, p.id) for e, p in zip(entries, proofs)]
        for run in sorted(scored & known):
            mine = [(m, e) for m, e in zip(rows, entries) if f"{e.system}.{e.dataset}.{e.seed}" == run]
            document = {
                "run": run,
                "metrics": [_plain(m, e) for m, e in mine],
                "confusion": _confusions([e for _, e in mine]),
            }
            w.text(f"results/{run}/metrics.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    written = [c.path for c in w.changes if c.path.endswith("metrics.json")]
    data: dict[str, Any] = {"metrics": [_plain(m, e) for m, e in zip(rows, entries)], "evidence": [plain(p) for p in proofs], "issues": _issues(said),
                            "missing": missing, "files": written, "confusion": _confusions(entries)}  # fmt: skip
    main = [
        (m, e)
        for m, e in zip(rows, entries)
        if m.metric in ("accuracy", "macro_f1", "em", "token_f1", "rmse", "auc", "bleu", "loss") or len(rows) <= 40
    ]
    body = "\n".join([_body([m for m, _ in main], [e for _, e in main], named=True), *_read(read)]) if main else ""
    if missing:
        body += (
            "\n"
            + "\n".join(f"  {m['run']}: {m['because']}" for m in missing[:8])
            + (f"\n  … {len(missing) - 8} more" if len(missing) > 8 else "")
        )
    result = say("{n} of {all} runs scored", n=len(scored & known), all=len(grid))
    if dry_run or mode == "exploratory":
        result += say("; nothing written")
    elif written:
        result += say("; results/<run>/metrics.json and evidence.jsonl written")
    says = say("the test outputs of each run were scored here; -v shows definitions and signatures")
    if not scored:
        says = say("no run has left predictions yet, so there is no score")
        says = f"{says}: {unscorable(work, next(iter(silent.values())))}" if silent else says
    elif missing:
        says = say("{n} runs have no predictions, so they have no score; {says}", n=len(missing), says=says)
    action = (
        next((m["command"] for m in missing if m["run"] in silent), missing[0]["command"])
        if not scored and missing
        else f"papertrain compare {quoted(work.root)} -o {quoted(work.root)}"
    )
    if study.ours and study.baselines and scored:
        action = f"papertrain compare {quoted(work.root)} --ours {quoted(study.ours)} --baseline {quoted(study.baselines[0])} -o {quoted(work.root)}"
    details = "\n".join(
        f"  {m.metric}: {translated(m.definition)}\n    {m.signature}" for m in {m.metric: m for m in rows}.values()
    )
    return Report(verb="evaluate", result=result, explanation=says, action=action, data=data, body=body, details=details, mode=mode,
                  warnings=(*doubts(work, grid), *unconfirmed(work, mode), *[translated(i.says) for i in said if i.level == "warning"][:8]))  # fmt: skip


def _commands(work: Workspace, tasks: list[str], shots: int | None, seed: int, mode: Any) -> Report:
    """The commands that evaluate every method on the same tasks with the same settings; none is started."""
    from papertrain.verbs.evaluating.commands import commands

    rows = commands(work, tasks, shots, seed)
    body = "\n\n".join(
        f"  # {r['run']} · {r['with']}{' · ' + r['because'] if r['because'] else ''}\n  {r['command']}" for r in rows
    )
    result = say("{n} commands for {t} tasks; none was started", n=len(rows), t=len(tasks))
    says = say("same tasks, shots, seed and per-example output for every method, so that the results can be paired")
    few = ["--shots", shots] if shots is not None else []
    action = line("papertrain", "launch", work.root, "--tasks", ",".join(tasks), *few, "--yes")
    return Report(verb="evaluate", result=result, explanation=says, action=action, body=body,
                  data={"commands": rows, "metrics": []}, mode=mode)  # fmt: skip
