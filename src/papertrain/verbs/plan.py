"""`plan`: which parameters, why, does it fit, how long, what else would work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from papertrain.core.params import Arg, DryRunArg, EnvArg, ModeArg, OverwriteArg
from papertrain.core.report import Report
from papertrain.verbs.check import COLUMNS

if TYPE_CHECKING:
    from papertrain.core.training import TrainingPlan
    from papertrain.plan.derive_question import Question
    from papertrain.report.plan import Difference


def plan(
    target: Annotated[
        str, Arg("a model (folder, config.json, Hugging Face name, or a size such as 7B), or a workspace", "MODEL|WORK")
    ],
    *,
    data: Annotated[Path | None, Arg("the training data; without it the plan is provisional", "PATH")] = None,
    columns: Annotated[Sequence[str], COLUMNS] = (),
    test: Annotated[
        Path | None, Arg("rows kept out of training, predicted after it and scored; recorded in study.toml", "FILE")
    ] = None,
    gpu: Annotated[
        str | None, Arg('the cards: "4x A100-80GB", "8*4090", cpu (default: this machine\'s)', "SPEC")
    ] = None,
    nodes: Annotated[int | None, Arg("machines with those cards each", "N")] = None,
    host_ram: Annotated[str | None, Arg("memory of one machine, for offload: 512GB", "SIZE")] = None,
    disk: Annotated[str | None, Arg("free disk: 2TB", "SIZE")] = None,
    task: Annotated[
        str | None,
        Arg(
            "what is trained (default: by the data's format)",
            choices=("sft", "pt", "dpo", "kto", "orpo", "simpo", "rm", "ppo", "grpo", "classification", "image"),
        ),
    ] = None,
    method: Annotated[
        str | None,
        Arg("how (default: adapters from 1 B on)", choices=("full", "lora", "qlora", "dora", "rslora", "freeze")),
    ] = None,
    seq_len: Annotated[
        int | None, Arg("tokens of one sequence (default: 99 % of the examples are kept whole)", "N")
    ] = None,
    sets: Annotated[Sequence[str], Arg("fix one parameter; the reason then says so", "NAME=VALUE", name="set")] = (),
    rules: Annotated[
        Literal["method", "evidence"] | None, Arg("the published method (default), or what the evidence supports")
    ] = None,
    name: Annotated[str | None, Arg("the method's name in the study (default: ours)", "NAME")] = None,
    fine_grained: Annotated[bool, Arg("the task is fine-grained: LoRA rank 64-128")] = False,
    calibrate: Annotated[
        Path | None,
        Arg("a run of yours (folder, trainer_state.json, nvidia-smi csv, OOM log) to move the estimate by", "RUN"),
    ] = None,
    sweep: Annotated[
        str | None,
        Arg(
            "plan two more runs around a derived value; the same budget for every method",
            choices=("learning_rate", "beta", "weight_decay", "lora_rank", "epochs", "global_batch_size"),
        ),
    ] = None,
    online: Annotated[bool, Arg("ask the Hugging Face hub for a model that is not known here")] = False,
    confirm: Annotated[bool, Arg("you read the plan and stand by it")] = False,
    output: Annotated[
        Path | None,
        Arg(
            "the workspace to write; without it a question writes nothing, and WORK that is planned again is its own",
            "DIR",
            short="o",
            name="output",
        ),
    ] = None,
    mode: ModeArg = None,
    overwrite: OverwriteArg = False,
    dry_run: DryRunArg = False,
    env: EnvArg = None,
) -> Report:
    """Derive training parameters with their reasons; say whether it fits, how long it takes, and what else would work.

    Every parameter stands with its value and why; `-v` shows all of them with sources and doubts, and
    `papertrain explain NAME --plan WORK` the chain behind one. "fits" is yes, tight (the 90 % range passes the card),
    no, or unknown. Alternatives say whether they change only the execution, or the experiment.

    papertrain plan Qwen/Qwen2.5-7B-Instruct --data train.jsonl --gpu "4x A100-80GB" --method lora -o work
    papertrain plan ./encoder --data train.csv --test test.csv -o work
    papertrain plan ./my-model --data qa.jsonl --columns prompt=question,answer=reply -o work
    papertrain plan ./my-model --gpu "8x 4090" --method full --seq-len 4096 --set zero_stage=3
    papertrain plan work --sweep learning_rate           three runs around the derived value, chosen on the validation split
    papertrain plan work --set learning_rate=1e-4        derive again from the stored inputs and show what changes
    """
    from papertrain.core.environment import ENVIRONMENT, remembered
    from papertrain.core.errors import PapertrainError
    from papertrain.core.gate import decide_mode
    from papertrain.core.units import show_number
    from papertrain.core.workspace import NAME, Workspace
    from papertrain.plan.derive_question import read_sets
    from papertrain.verbs.planning import sweeps
    from papertrain.verbs.planning.report import command_of, report_of

    asked = dict(locals())
    command = command_of(asked)
    again = Workspace.is_workspace(Path(target)) and not (Path(target) / "config.json").is_file()
    place = output or (Path(target) if again else None)
    chosen = decide_mode(mode, place)
    env = env if env is not None or place is None else remembered(Workspace(place).state(ENVIRONMENT))
    fixed = read_sets(sets)
    if name is not None and not NAME.fullmatch(name):
        raise PapertrainError(f"{name!r} cannot be a name: letters, digits, - and _ only", code="bad-name")
    before: TrainingPlan | None
    if again:
        question, before = _stored(Path(target), name)
        question = _changed(question, locals())
        fixed, method, task, seq_len = _new(question, before, fixed, method, task, seq_len)
    else:
        question, before = _asked(locals()), _earlier(place, name or "ours")
    question = _with_sets(question, fixed, method=method, task=task, seq_len=seq_len)
    notes: list[str] = []
    if calibrate is not None:
        question, notes = _calibrated(question, calibrate)
    held, doubts = ("", []) if test is None else _held(test, question)
    derived, diffs = _derive(question)
    where = place if chosen != "exploratory" else None
    sweep = sweep or sweeps.declared(where, derived.name)
    around = _around(question, derived, sweep, where)
    doubts = [*_slips(question), *doubts, *sweeps.unequal(where, derived.name, sweep)]
    if before is not None and not again and chosen != "exploratory" and not (overwrite or dry_run):
        _same_model(before, derived, place, command)
    wrote: list[str] = []
    written = place is not None and chosen != "exploratory"
    if place is not None and chosen != "exploratory":
        wrote = _write(
            place, [(question, derived, diffs), *around], sweep, confirm=confirm, overwrite=overwrite, dry_run=dry_run, test=test, env=env,
        )  # fmt: skip
    elif confirm:
        raise PapertrainError("--confirm needs a workspace to record it in: name one with -o", code="no-workspace")
    return report_of(
        derived, diffs, place=place, mode=chosen, before=before, wrote=wrote, notes=notes, asked=asked, host_ram=_host_ram(question, derived), written=written and not dry_run, env=env,
        test=held, doubts=doubts, swept=[f"{p.name}: {sweep} {show_number(p.values()[sweep])}" for _, p, _ in [(question, derived, diffs), *around]] if sweep else [],
    )  # fmt: skip


def _same_model(before: TrainingPlan, derived: TrainingPlan, place: Path | None, command: str) -> None:
    """A folder that holds the plan of another model is not taken over by a slip of the hand."""
    from papertrain.core.commands import quoted
    from papertrain.core.errors import Refused
    from papertrain.facts.catalogue import key

    if place is None or key(before.model.name) == key(derived.model.name):
        return
    raise Refused(
        f"the plan {before.name} there is for {before.model.name}, not for {derived.model.name}",
        code="other-model",
        file=place,
        ask=["--name NAME adds this one beside it", "--overwrite replaces it", "or another folder with -o"],
        command=f"{command} --name {key(derived.model.name).replace('.', '-')[:40]} -o {quoted(place)}",
    )


def _asked(o: dict[str, Any]) -> Question:
    """The question in the user's words, read: model, cards, data, in the order in which mistakes are cheapest to see."""
    from papertrain.core.errors import PapertrainError
    from papertrain.data.columns import parse
    from papertrain.plan.derive_question import Question
    from papertrain.plan.steps_task import sequence_length, task_of
    from papertrain.verbs.planning import questions

    model = questions.model_for(o["target"], online=o["online"])
    compute = questions.compute_of(o["gpu"], o["nodes"], o["host_ram"], o["disk"])
    if o["seq_len"] is not None:
        if o["seq_len"] < 8:
            raise PapertrainError(f"--seq-len {o['seq_len']}: at least 8 tokens", code="bad-value")
        sequence_length(model, o["task"] or "sft", None, o["seq_len"])
    columns = parse(o["columns"])
    if columns and o["data"] is None:
        raise PapertrainError("--columns names columns of the training data: add --data FILE", code="no-data")
    length = o["seq_len"] or o["fixed"].get("sequence_length")
    data = None if o["data"] is None else questions.profile_of(o["data"], model, o["task"], length, columns)
    task = task_of(model, data, o["task"])
    return Question(
        model=questions.with_head(model, task, data), compute=compute, dataset=data, task=task, method=o["method"], seq_len=o["seq_len"],
        columns=columns, rules=o["rules"] or "method", name=o["name"] or "ours", fine_grained=o["fine_grained"],
        validation=questions.validation_of(o["output"], o["data"]),
    )  # fmt: skip


def _stored(work: Path, name: str | None) -> tuple[Question, TrainingPlan]:
    from papertrain.core.workspace import Workspace
    from papertrain.verbs.planning import questions

    space = Workspace.open(work)
    before = space.plan(name)
    stored = questions.read_question(space.plan_path(before.name).with_name(questions.QUESTION))
    return questions.relocated(stored, space.root, Path()), before


def _earlier(place: Path | None, name: str) -> TrainingPlan | None:
    """The plan that stands in that place already, if it can be read."""
    from papertrain.core.errors import PapertrainError
    from papertrain.core.workspace import Workspace

    try:
        return None if place is None or not Workspace(place).plan_path(name).is_file() else Workspace(place).plan(name)
    except PapertrainError:
        return None


def _changed(q: Question, o: dict[str, Any]) -> Question:
    """The stored question with what this call says anew."""
    from msgspec import structs

    from papertrain.data.columns import parse
    from papertrain.verbs.planning import questions

    if any(o[k] is not None for k in ("gpu", "nodes", "host_ram", "disk")):
        if o["gpu"] is not None:
            q = structs.replace(q, compute=questions.compute_of(o["gpu"], o["nodes"], o["host_ram"], o["disk"]))
        else:
            from papertrain.core.units import parse_bytes

            c = q.compute
            ram = c.host_memory_bytes if o["host_ram"] is None else parse_bytes(o["host_ram"])
            space = c.disk_bytes if o["disk"] is None else parse_bytes(o["disk"])
            q = structs.replace(
                q, compute=structs.replace(c, nodes=o["nodes"] or c.nodes, host_memory_bytes=ram, disk_bytes=space)
            )
    columns = parse(o["columns"]) or q.columns
    again = q.dataset is not None and (questions.moved(q.dataset) or columns != q.columns)
    if o["data"] is None and q.dataset is not None and again:
        o = {**o, "data": Path(q.dataset.path)}
    if o["data"] is not None:
        data = questions.profile_of(o["data"], q.model, o["task"] or q.task, o["seq_len"] or q.seq_len, columns)
        q = structs.replace(q, dataset=data, columns=columns)
    return structs.replace(q, rules=o["rules"] or q.rules, fine_grained=o["fine_grained"] or q.fine_grained)


def _new(
    q: Question, before: TrainingPlan, fixed: dict[str, Any], method: str | None, task: str | None, seq_len: int | None
) -> tuple[dict[str, Any], str | None, str | None, int | None]:
    """What was asked for anew: a value that the plan has already changes nothing, not even its reason."""
    from papertrain.plan.derive import derive

    if derive(q).values() != before.values():  # data, cards or rules changed: what is said now is to stay
        return fixed, method, task, seq_len
    has = {**before.values(), "task": before.task}
    kept = {k: v for k, v in fixed.items() if k in q.sets or k not in has or has[k] != v}
    return (
        kept,
        None if method == has["method"] else method,
        None if task == has["task"] else task,
        None if seq_len == has["sequence_length"] else seq_len,
    )


def _with_sets(
    q: Question, fixed: dict[str, Any], *, method: str | None, task: str | None, seq_len: int | None
) -> Question:
    """--set method=, task= and sequence_length= are the options of the same meaning."""
    from msgspec import structs

    from papertrain.core.errors import PapertrainError

    fixed = dict(fixed)
    for option, name, said in (
        ("method", "method", method),
        ("task", "task", task),
        ("seq-len", "sequence_length", seq_len),
    ):
        if said is not None and fixed.get(name, said) != said:
            raise PapertrainError(
                f"--{option} {said} and --set {name}={fixed[name]} contradict each other", code="contradiction"
            )
    return structs.replace(
        q, method=method or fixed.pop("method", None) or q.method, task=task or fixed.pop("task", None) or q.task,
        seq_len=seq_len or fixed.pop("sequence_length", None) or q.seq_len, sets={**q.sets, **fixed},
    )  # fmt: skip


def _derive(q: Question) -> tuple[TrainingPlan, list[Difference]]:
    """The plan, and where the other rule set differs."""
    from msgspec import structs

    from papertrain.plan.derive import derive
    from papertrain.verbs.planning import questions

    derived = derive(q)
    other = derive(structs.replace(q, rules="evidence" if q.rules == "method" else "method"))
    return derived, questions.differences(derived, other)


def _calibrated(q: Question, path: Path) -> tuple[Question, list[str]]:
    from msgspec import structs

    from papertrain.core.errors import PapertrainError
    from papertrain.core.files import read_text
    from papertrain.plan.derive import derive
    from papertrain.plan.derive_calibrate import calibrate, observe, run_files

    if not path.exists():
        raise PapertrainError("no such run", code="no-file", file=path)
    plain = derive(structs.replace(q, memory_shift=1.0, time_shift=1.0))
    seen = []
    for file in run_files(path):
        try:
            seen += observe(file.name, read_text(file))
        except PapertrainError:
            if path.is_file():
                raise
    if not seen:
        raise PapertrainError(
            "nothing in it says what the run used", code="no-measurement", file=path,
            ask=["trainer_state.json or trainer_log.jsonl (time)", "nvidia-smi --query-gpu=memory.used --format=csv (memory)", "a log with the OOM message"],
        )  # fmt: skip
    m, t = plain.memory, plain.duration
    predicted = {
        "device": m.device_bytes.value if m else None, "allocated": m.allocated_bytes.value if m else None,
        "step_seconds": t.step_seconds.value if t else None,
    }  # fmt: skip
    found = calibrate(seen, predicted)
    return structs.replace(q, memory_shift=found.memory, time_shift=found.time), list(found.says)


Made = tuple["Question", "TrainingPlan", "list[Difference]"]


def _host_ram(q: Question, p: TrainingPlan) -> str:
    """The smallest usual memory of a machine with which an offload would fit, where nobody said how much there is."""
    from msgspec import structs

    from papertrain.core.units import parse_bytes
    from papertrain.plan.derive import derive

    if p.fits != "no" or q.compute.host_memory_bytes is not None:
        return ""
    if not any(a.fits == "unknown" and "offload" in a.changes for a in p.alternatives):
        return ""
    for size in ("64GB", "128GB", "256GB", "512GB", "1TB", "2TB", "4TB"):
        tried = derive(
            structs.replace(q, compute=structs.replace(q.compute, host_memory_bytes=parse_bytes(size))), ways=False
        )
        if tried.fits in ("yes", "tight") or any(a.fits in ("yes", "tight") for a in tried.alternatives):
            return size
    return ""


def _slips(q: Question) -> list[str]:
    """Labels of the data that may be slips of the pen, in the words of `check`."""
    from papertrain.configs.checks.odd_labels import in_words

    data = q.dataset
    return [] if data is None else [says for _, says in in_words(data.odd_labels, data.labels)]


def _held(file: Path, q: Question) -> tuple[str, list[str]]:
    """(the test file in words, what to know of it)."""
    from papertrain.core.texts import say
    from papertrain.verbs.planning.test_set import read_test

    found, doubts = read_test(file, q)
    return say("{n} examples of {file}, predicted after training", n=f"{found.examples:,}", file=file.name), doubts


def _around(q: Question, p: TrainingPlan, sweep: str | None, place: Path | None) -> list[Made]:
    from papertrain.core.errors import PapertrainError
    from papertrain.verbs.planning import sweeps

    if sweep is None:
        return []
    if place is None:
        raise PapertrainError("--sweep writes three plans: name a workspace with -o", code="no-workspace")
    return [(t, *_derive(t)) for t in sweeps.trials(q, p, sweep)]


def _write(
    place: Path, made: list[Made], sweep: str | None, *, confirm: bool, overwrite: bool, dry_run: bool, test: Path | None = None, env: str | None = None,
) -> list[str]:  # fmt: skip
    """plan.json, plan.md and the inputs of each plan, in one atomic write; then the confirmation."""
    import json

    from papertrain.core.environment import ENVIRONMENT
    from papertrain.core.errors import Refused
    from papertrain.core.gate import confirm as record
    from papertrain.core.gate import confirmation
    from papertrain.core.training import write_plan
    from papertrain.core.workspace import STUDY, SWEEP, Workspace
    from papertrain.core.writing import HIDDEN, Writer
    from papertrain.report.plan import markdown
    from papertrain.verbs.generate import said_in_files
    from papertrain.verbs.planning import questions, sweeps, test_set
    from papertrain.verbs.status import said_in_plan

    space = Workspace(place)
    writer = Writer(place, overwrite=overwrite, dry_run=dry_run)
    try:
        with writer as w:
            for q, p, diffs in made:
                q, p = questions.relocated(q, Path(), place), questions.relocated(p, Path(), place)
                text, path = write_plan(p), space.plan_path(p.name)
                same = path.is_file() and path.read_bytes() == text.encode()
                known = confirmation(space, p.name) if same else None
                state = "confirmed" if confirm else f"confirmed at {known.at}" if known else "unconfirmed"
                folder = f"plans/{p.name}"
                w.text(f"{folder}/plan.json", text)
                w.text(f"{folder}/{questions.QUESTION}", questions.write_question(q))
                w.text(f"{folder}/plan.md", markdown(p, state=state, differences=diffs))
            if sweep is not None:
                w.text(f"plans/{made[0][1].name}/{SWEEP}", sweeps.record(sweep, [p for _, p, _ in made]))
            if env not in (None, "auto"):  # the launch and the lines that lead to it take the same one
                w.text(f"{HIDDEN}/{ENVIRONMENT}", json.dumps({"path": str(Path(str(env)).absolute())}) + "\n")
            if test is not None:  # after the plans: a study that names a method which is not there yet is none
                w.text(STUDY, test_set.study_with(place, test, made[0][0]))
    except Refused as error:
        if test is not None and any(c.path == STUDY and c.kind == "edited" for c in writer.changes):
            raise test_set.by_hand(place, test, error) from None
        raise
    if confirm and not dry_run:
        for _, p, _ in made:
            said_in_plan(space, p.name, record(space, p.name).at)
        said_in_files(space)
    return [
        f"{'would write' if dry_run else 'wrote' if c.kind != 'same' else 'same'} {place / c.path}"
        for c in writer.changes
        if not c.path.startswith(HIDDEN)
    ]
