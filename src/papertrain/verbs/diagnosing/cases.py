"""What `diagnose` and `fix` share: from paths to a case, in a workspace or with loose files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.commands import quoted
from papertrain.core.errors import PapertrainError
from papertrain.core.files import written_at
from papertrain.core.findings import LogLine

if TYPE_CHECKING:
    from papertrain.core.findings import Signal
    from papertrain.core.workspace import Workspace
    from papertrain.diagnose.case import Case
    from papertrain.diagnose.configs import Config
    from papertrain.diagnose.decide import Answer

CURVE_FILES = (".wandb", ".csv")
CONFIG_LIMIT = 2**20


class Look:
    """A case with its answer, and where it lies. `work` is the workspace, `run` the run's id, `method` its plan's."""

    def __init__(self, case: Case, answer: Answer, work: Workspace | None, run: str, method: str) -> None:
        self.case, self.answer, self.work, self.run, self.method = case, answer, work, run, method


def look_at(paths: Sequence[Path], config: Sequence[Path], plan: Path | None, env: str | None) -> Look:
    """Read everything that was named, and in a workspace what belongs to its run. Raises PapertrainError."""
    from papertrain.core.environment import read_environment
    from papertrain.diagnose.decide import decide
    from papertrain.diagnose.look import look
    from papertrain.diagnose.sources import expand, logs_in
    from papertrain.verbs.diagnosing.ranks import by_ranks, gathered, recorded

    work, run = workspace_of(paths)
    method = run.partition(".")[0] or (method_of(work) if work else "")
    targets = [work.run_path(run)] if work and run and _is_root(paths, work) else list(paths)
    dumps = recorded(targets)
    ranks = gathered(targets, dumps)
    signals, texts = curves([t for t in targets if t not in dumps])
    if ranks:
        texts = [t for t in texts if str(t) == "-" or not Path(t).is_dir() or logs_in(Path(t))]
    sources = expand(texts) if texts else []
    environment = read_environment(env, near=Path.cwd()) if env else None
    value, plan_config = read_plan_of(work, method, plan)
    configs = [*named(config), *plan_config, *(() if config else beside(work, method, paths))]
    case = look(
        sources,
        configs=configs,
        plan=value,
        versions=dict(environment.versions) if environment else {},
        signals=signals,
    )
    if case.logs and not signals and not any(log.scan.size for log in case.logs):
        raise PapertrainError(
            "the log is empty: nothing can be said about the run",
            code="empty-log",
            file=case.logs[0].name,
            ask=["what the program printed, standard error included: command > train.log 2>&1"],
        )
    case.data = data_of(work, run, case)
    case.derived = lambda knob: derived(work, method, knob) if work else None
    answer = decide(case)
    if ranks and (suspect := by_ranks(ranks)) is not None:
        # What a recorder counted outweighs what a log leads to suspect.
        from msgspec.structs import replace

        rest = tuple(
            m for m in answer.matches if m.rule.name != suspect.rule.name and m.confidence < suspect.confidence
        )
        first = tuple(
            m for m in answer.matches if m.confidence >= suspect.confidence and m.rule.name != suspect.rule.name
        )
        answer = replace(answer, matches=(*first, suspect, *rest)[:5], benign=(), healthy="", unjudged="", stops="")
    if not answer.matches and not answer.failed:
        # Where the log names no failure, the monitor's word on its curves is the answer.
        from msgspec.structs import replace

        from papertrain.verbs.diagnosing.watched import by_monitor, outlived

        if told := outlived(by_monitor(targets), case):
            answer = replace(answer, matches=told, benign=(), healthy="", unjudged="", stops="")
    return Look(case, answer, work, run, method)


def workspace_of(paths: Sequence[Path]) -> tuple[Workspace | None, str]:
    """The workspace that the first path is or lies in, and the run that is meant: the named or the worst, newest one."""
    from papertrain.core.workspace import Workspace

    if not paths or str(paths[0]) == "-" or not Path(paths[0]).exists():
        return None, ""
    first = Path(paths[0]).absolute()
    root = next((p for p in (first, *list(first.parents)[:4]) if Workspace.is_workspace(p)), None)
    if root is None:
        return None, ""
    work = Workspace(root)
    inside = first.relative_to(root).parts
    if len(inside) >= 2 and inside[0] == "runs":
        return work, inside[1]
    if inside:
        return work, ""
    order = {"failed": 0, "interrupted": 1, "running": 2, "done": 3}
    runs = [r for r in work.grid() if r.state in order]
    newest = sorted(runs, key=lambda r: (order[r.state], -written_at(work.run_path(r.id))))
    if newest:
        return work, newest[0].id
    folders = sorted((p for p in (root / "runs").glob("*") if p.is_dir()), key=written_at)
    if not folders:
        raise PapertrainError(
            "no run in this workspace yet",
            code="no-run",
            file=root,
            command=f"papertrain launch {quoted(paths[0])} --smoke",
        )
    return work, folders[-1].name


def _is_root(paths: Sequence[Path], work: Workspace) -> bool:
    return Path(paths[0]).absolute() == work.root


def method_of(work: Workspace) -> str:
    known = work.methods()
    return known[0] if len(known) == 1 else "ours" if "ours" in known else (known[0] if known else "")


def curves(paths: Sequence[Path]) -> tuple[list[Signal], list[Path]]:
    """Curves of event files, W&B files and CSV tables through the monitor's readers; the other paths are texts."""
    from papertrain.diagnose.sources import walk

    found: list[Signal] = []
    texts: list[Path] = []
    for path in paths:
        path = Path(path)
        if str(path) == "-" or not path.exists():
            texts.append(path)
            continue
        files = [path] if path.is_file() else [p for p in walk(path) if is_curve(p)]
        mine = [x for file in files if is_curve(file) for x in _signals(file)]
        found += mine
        if not (path.is_file() and is_curve(path)) or (path.suffix == ".csv" and not mine):
            # A table without a curve is read as text: the reader says that it is binary, or empty.
            texts.append(path)
    if found:
        from papertrain.diagnose.sources import logs_in

        texts = [p for p in texts if not (p.is_dir() and not logs_in(p))]
    return found, texts


def data_of(work: Workspace | None, run: str, case: Case) -> list[tuple[str, str]]:
    """Training data that the run read: what its arguments name, what the plan was made for, or what was given as a config."""
    from papertrain.core.files import read_text

    found = {c.name: c.text for c in case.configs if c.name.endswith((".jsonl", ".csv", ".tsv"))}
    names: list[str] = []
    if work is not None and run:
        arguments = arguments_of(work.run_path(run))
        for key in ("num_labels", "labels"):
            if arguments.get(key):
                case.facts.put(
                    key,
                    arguments[key],
                    LogLine(file=str(work.run_path(run) / "args.json"), line=0, text=f"{key}: {arguments[key]}"),
                    3,
                )
        names = [str(work.root / str(arguments["train_file"]))] if arguments.get("train_file") else []
    if case.plan is not None and case.plan.dataset is not None and not names:
        names = [case.plan.dataset.path]
    for name in names:
        try:
            found.setdefault(name, read_text(Path(name), limit=50 * 2**20))
        except PapertrainError:
            continue
    return list(found.items())


def arguments_of(run: Path) -> dict[str, Any]:
    """`args.json` of the script, which it writes before the first step; {} where there is none."""
    import json

    from papertrain.core.files import read_text

    try:
        value = json.loads(read_text(run / "args.json", limit=CONFIG_LIMIT))
    except (PapertrainError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def derived(work: Workspace, method: str, knob: str) -> Any:
    """What the method derives for a knob when nobody fixes it; None where the plan cannot be derived again."""
    from msgspec import structs

    from papertrain.plan.derive import derive
    from papertrain.verbs.planning import questions

    try:
        question = questions.read_question(work.plan_path(method).with_name(questions.QUESTION))
        found = derive(structs.replace(question, sets={k: v for k, v in question.sets.items() if k != knob})).decision(
            knob
        )
    except (PapertrainError, OSError, ValueError):
        return None
    return None if found is None else found.value


def is_curve(path: Path) -> bool:
    return path.name.startswith("events.out.tfevents") or path.suffix in CURVE_FILES


def _signals(file: Path) -> list[Signal]:
    from papertrain.core.findings import Signal
    from papertrain.monitor.curves import lines_of, read

    try:
        found = lines_of(read(file))
    except PapertrainError:
        return []
    steps = [
        (step, {"train_loss": "loss"}.get(name, name), value, c.unit)
        for name, c in found.items()
        for step, value in zip(c.steps, c.values)
    ]
    return [
        Signal(name=n, value=v, step=s, unit=unit, file=str(file))
        for s, n, v, unit in sorted(steps, key=lambda x: x[0])
    ]


def read_plan_of(work: Workspace | None, method: str, plan: Path | None) -> tuple[Any, list[Config]]:
    """The plan named, or the run's own; with its file as a config, so that a fix can name it."""
    from papertrain.core.files import read_text
    from papertrain.core.workspace import Workspace
    from papertrain.diagnose.configs import Config

    if plan is not None:
        path = Path(plan)
        path = Workspace.open(path).plan_path(method or method_of(Workspace(path))) if path.is_dir() else path
    elif work is not None and method in work.methods():
        path = work.plan_path(method)
    else:
        return None, []
    import msgspec

    from papertrain.core.training import read_plan

    text = read_text(path, what="plan")
    try:
        value = read_plan(text)
    except msgspec.MsgspecError as e:
        raise PapertrainError(f"not a plan: {e}", code="bad-plan", file=path) from None
    return value, [Config(str(path), text)]


def named(config: Sequence[Path]) -> list[Config]:
    """Configs that the user named: one that cannot be read is an error."""
    from papertrain.core.files import read_text
    from papertrain.diagnose.configs import read

    return [read(Path(c), read_text(Path(c), limit=CONFIG_LIMIT, what="config")) for c in config]


def beside(work: Workspace | None, method: str, paths: Sequence[Path]) -> list[Config]:
    """Configs that belong to the run: the workspace's generated ones, or those in the folder that was named."""
    from papertrain.core.files import read_text
    from papertrain.diagnose.configs import try_read
    from papertrain.diagnose.sources import CONFIG_SUFFIXES, walk

    if work is not None:
        folders = [work.root / "configs" / method]
    else:
        folders = [Path(p) for p in paths if str(p) != "-" and Path(p).is_dir()]
    found = []
    for folder in folders:
        for file in list(walk(folder, 3))[:200]:
            if file.suffix.lower() not in CONFIG_SUFFIXES or file.stat().st_size > 200_000 or file.name in NOT_CONFIGS:
                continue
            c = try_read(file, read_text(file, limit=CONFIG_LIMIT))
            if c is not None and c.kind != "other":
                found.append(c)
    return found[:20]


NOT_CONFIGS = frozenset({"trainer_state.json", "all_results.json", "train_results.json", "eval_results.json", "record.json", "tokenizer.json", "tokenizer_config.json",
                         "config.json", "generation_config.json", "special_tokens_map.json", "vocab.json", "adapter_config.json", "model.safetensors.index.json"})  # fmt: skip
