"""`papertrain estimate`: memory and speed of one configuration, or of thousands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from papertrain.core.commands import quoted
from papertrain.core.params import Arg
from papertrain.core.report import Report

LIMIT = 2**29
"""Bytes of a cases file."""
MOST = 10**9
USUAL_LENGTH = 2048


def estimate(
    model: Annotated[str | None, Arg("a model: a name of the catalogue, a folder or a config.json")] = None,
    *,
    cases: Annotated[Path | None, Arg("a file with one configuration a line (JSON Lines)", "FILE.jsonl")] = None,
    gpu: Annotated[str | None, Arg("the cards", '"4x A100-80GB"')] = None,
    method: Annotated[Literal["full", "lora", "rslora", "dora", "qlora"], Arg("how it is trained")] = "lora",
    seq_len: Annotated[int, Arg("tokens of the longest padded sequence")] = USUAL_LENGTH,
    micro_batch_size: Annotated[int, Arg("sequences per device")] = 1,
    gradient_accumulation_steps: Annotated[int, Arg("micro-batches per step")] = 1,
    framework: Annotated[str, Arg("who runs the loop: llamafactory, trl, torchtune …")] = "llamafactory",
    quantization: Annotated[
        Literal["none", "nf4", "nf4-double", "gptq4", "awq4", "int8"] | None, Arg("of the frozen base")
    ] = None,
    precision: Annotated[Literal["bf16", "fp16", "fp32", "pure_bf16"], Arg("of the computation")] = "bf16",
    lora_rank: Annotated[int, Arg("rank of the adapters")] = 8,
    optimizer: Annotated[str, Arg("adamw, adamw_fused, adamw_8bit, paged_adamw_8bit, adafactor …")] = "adamw",
    gradient_checkpointing: Annotated[Literal["none", "full", "selective"], Arg("recompute activations")] = "full",
    attention: Annotated[Literal["eager", "sdpa", "flash"], Arg("the attention kernel")] = "sdpa",
    loss: Annotated[
        Literal["full_logits", "fused_ce", "fused_linear_ce", "chunked_ce"], Arg("how the loss is computed")
    ] = "full_logits",
    sharding: Annotated[
        Literal["none", "ddp", "zero1", "zero2", "zero3", "fsdp1", "fsdp2"] | None, Arg("over several cards")
    ] = None,
    offload: Annotated[Literal["none", "optimizer", "params+optimizer"], Arg("to host memory")] = "none",
) -> Report:
    """Say how much memory a configuration needs, and how fast it is.

    Per GPU: allocated is what torch holds live, reserved what its allocator keeps, device what nvidia-smi shows; each
    with its 90 % range. `fits` is yes where even the high end is on the card. A part that cannot be said is null, with
    its reason. Fields of a cases file: id model n_params method base_quantization weights_dtype lora_rank optimizer
    micro_batch_size sequence_length gradient_checkpointing attention loss n_gpus sharding offload gpu framework …

        papertrain estimate meta-llama/Llama-3.1-8B --gpu "1x RTX4090" --method qlora
        papertrain estimate Qwen/Qwen2.5-7B --gpu "4x A100-80GB" --method full --sharding zero3
        papertrain estimate --cases runs.jsonl --json
    """
    from papertrain.core.errors import PapertrainError, nearest
    from papertrain.plan.derive_question import OPTIMIZERS
    from papertrain.plan.memory_state import is_optimizer

    if cases is not None:
        if model is not None:
            raise PapertrainError(f"{model} and --cases: a file names the model of every case itself", code="contradiction")  # fmt: skip
        return _many(cases)
    if model is None:
        raise PapertrainError(
            "estimate needs a model, or --cases FILE.jsonl",
            code="missing-model",
            ask=["MODEL", "--cases"],
            command='papertrain estimate meta-llama/Llama-3.1-8B --gpu "1x RTX4090" --method qlora',
        )
    sizes = (("--seq-len", seq_len), ("--micro-batch-size", micro_batch_size), ("--lora-rank", lora_rank), ("--gradient-accumulation-steps", gradient_accumulation_steps))  # fmt: skip
    for name, value in sizes:
        if value < 1:
            raise PapertrainError(f"{name} {value}: must be 1 or more", code="bad-size")
        if value > MOST:
            raise PapertrainError(f"{name} {value}: more than {MOST:,} is no training", code="bad-size")
    if not is_optimizer(optimizer):
        raise PapertrainError(f"--optimizer {optimizer}: no optimizer of that name", code="unknown-name", nearest=nearest(optimizer, OPTIMIZERS),
                              ask=[", ".join(OPTIMIZERS)])  # fmt: skip
    if method == "full" and quantization not in (None, "none"):
        raise PapertrainError(
            f"a base quantised to {quantization} cannot be trained in full",
            code="bad-combination",
            ask=["--method qlora", "--quantization none"],
        )
    from papertrain.facts.hardware import parse_compute
    from papertrain.facts.models import find_model
    from papertrain.plan.setup import Setup
    from papertrain.verbs.planning.as_plan import command

    spec = find_model(model)
    compute = parse_compute(gpu) if gpu else None
    n = compute.gpus if compute else 1
    pure, half = precision == "pure_bf16", "fp16" if precision == "fp16" else "bf16"
    setup = Setup(
        model=spec, gpu=compute.gpu if compute else None, n_gpus=n, n_nodes=compute.nodes if compute else 1, framework=framework,
        method=method, quantization=quantization if quantization != "none" or method == "qlora" else None,
        weights_dtype="fp32" if precision == "fp32" else half, autocast="none" if pure or precision == "fp32" else half,
        trainable_dtype=half if pure else None, lora_rank=lora_rank, lora_targets="all-linear", optimizer=optimizer,
        micro_batch_size=micro_batch_size, sequence_length=seq_len, gradient_checkpointing=gradient_checkpointing,
        attention=attention, loss=loss, sharding=sharding or ("ddp" if n > 1 else "none"), offload=offload,
        gradient_accumulation_steps=gradient_accumulation_steps,
        network_bytes_per_second=compute.network_bytes_per_second if compute else None,
    )  # fmt: skip
    return _one(setup, command(setup, precision, seq_len if seq_len != USUAL_LENGTH else None))


def _one(setup: Any, plan: str) -> Report:
    from papertrain.core.sentences import translated
    from papertrain.core.texts import say
    from papertrain.core.units import show_bytes, show_number
    from papertrain.core.wide import padded
    from papertrain.plan.derive_refusals import copied
    from papertrain.plan.memory import UNSAID, fits, predict
    from papertrain.plan.memory_nearest import nearest
    from papertrain.plan.time import duration
    from papertrain.report.plan import wrapped

    if setup.model.kind in UNSAID:
        return _unsaid(setup, UNSAID[setup.model.kind], plan)
    memory = predict(setup)
    accumulation = setup.gradient_accumulation_steps or 1
    time = duration(setup, total_steps=None, gradient_accumulation_steps=accumulation)
    verdict = fits(memory)
    runs = nearest(setup)
    speed = time.tokens_per_second_per_gpu
    case = {
        "id": setup.model.name,
        **{
            k: _range(getattr(memory, k))
            for k in ("allocated_bytes", "reserved_bytes", "device_bytes", "host_bytes", "disk_bytes")
        },
        "components": {k: int(v) for k, v in memory.components.items()},
        "phases": {k: int(v) for k, v in memory.phases.items()},
        "peak_phase": memory.peak_phase,
        "basis": [*memory.basis, *runs],
        "fits": verdict,
        "tokens_per_second_per_gpu": _range(speed),
        "unknown": speed.unknown,
        "ask": speed.ask,
    }
    device = memory.device_bytes
    room = memory.capacity_bytes
    here = setup.gpu is not None and setup.gpu.id == "cpu"
    result = say(
        "{value} on this machine ({low} to {high}){room}: {verdict}" if here else "{value} on each card ({low} to {high}){room}: {verdict}",
        value=show_bytes(device.value), low=show_bytes(device.low), high=show_bytes(device.high),
        room=say(" of {size}", size=show_bytes(room)) if room else "", verdict=_says(verdict),
    )  # fmt: skip
    lines = [f"{padded(translated(k), 12)} {show_bytes(v):>10}" for k, v in memory.components.items() if v > 0]
    lines += [
        "",
        f"{'allocated':12} {show_bytes(memory.allocated_bytes.value):>10}",
        f"{'reserved':12} {show_bytes(memory.reserved_bytes.value):>10}",
    ]
    if speed.value is not None:
        lines.append(
            f"{padded(say('speed'), 12)} {show_number(round(speed.value)):>10} "
            + say(
                "tokens/s ({low:,.0f} to {high:,.0f})" if here else "tokens/s on each card ({low:,.0f} to {high:,.0f})",
                low=speed.low,
                high=speed.high,
            )
        )
    if here:
        lines += ["", *wrapped("", translated(time.basis))]
    else:
        lines += [
            "",
            say("measured runs most like it, and how far the estimate is off them:"),
            *(f"  {translated(x)[:98]}" for x in runs),
        ]
    return Report(
        verb="estimate",
        result=result,
        explanation=say(
            "the peak is in the {phase} phase; {basis}",
            phase=memory.peak_phase.replace("_", " "),
            basis="; ".join(map(translated, memory.basis)),
        ),
        action=plan,
        warnings=(translated(doubt),) if (doubt := copied(setup.model)) else (),
        body="\n".join(lines),
        data={"cases": [case]},
        level="error" if verdict == "no" else "ok",
    )


def _unsaid(setup: Any, why: str, plan: str) -> Report:
    """A kind of model whose memory is not predicted: what is known of it, and why the rest is not said."""
    from papertrain.core.sentences import translated
    from papertrain.core.texts import say
    from papertrain.core.units import show_count
    from papertrain.plan.answers import nothing

    m = setup.model
    return Report(
        verb="estimate",
        result=say(
            "memory and speed of {name} are unknown; it has {n} parameters", name=m.name, n=show_count(m.parameters)
        ),
        explanation=translated(why),
        action=plan,
        data={"cases": [nothing(m.name, why, "papertrain launch WORK --smoke measures it")]},
    )


def _says(verdict: str) -> str:
    from papertrain.core.texts import say

    words = {"yes": say("fits"), "tight": say("may fit"), "no": say("does not fit")}
    return words.get(verdict) or say("no card stated (--gpu)")


def _range(e: Any) -> dict[str, float] | None:
    return None if e.value is None else {"value": int(e.value), "low": int(e.low), "high": int(e.high)}


def _many(file: Path) -> Report:
    import gc

    from papertrain.core.errors import PapertrainError
    from papertrain.core.files import regular_file
    from papertrain.core.texts import say
    from papertrain.plan.answers import answers

    regular_file(file)
    size = file.stat().st_size
    if size > LIMIT:
        raise PapertrainError(f"{size:,} bytes; at most {LIMIT:,} are read", code="too-large", file=file)
    blob = file.read_bytes()
    if b"\0" in blob[:65536]:
        raise PapertrainError("not a text file; expected one JSON object a line (UTF-8)", code="binary-file", file=file)
    paused = gc.isenabled()
    gc.disable()  # the answers are one growing tree without cycles: scanning it again and again is a third of the time
    try:
        rows = list(answers(blob.removeprefix(b"\xef\xbb\xbf").split(b"\n")))
    finally:
        if paused:
            gc.enable()
    if not rows:
        raise PapertrainError("no cases in the file; expected one JSON object a line", code="no-cases", file=file)
    if all(r["id"] is None and r["unknown"].startswith("line ") for r in rows):
        raise PapertrainError(f"not a file of cases: {rows[0]['unknown']}", code="bad-cases", file=file, line=1)
    counts = dict.fromkeys(("yes", "tight", "no", "unknown"), 0)
    for row in rows:
        counts[row["fits"]] += 1
    silent = sum(r["device_bytes"] is None and r["tokens_per_second_per_gpu"] is None for r in rows)
    return Report(
        verb="estimate",
        result=say("{n} cases: {yes} fit, {tight} tight, {no} do not fit, {unknown} unknown", n=len(rows), **counts),
        explanation=say(
            "per GPU, with 90 % ranges; {silent} cases could not be estimated at all, each says why under unknown",
            silent=silent,
        ),
        action=f"papertrain estimate --cases {quoted(file)} --json",
        body="\n".join(_line(i, r) for i, r in enumerate(rows[:40], 1)) + (f"\n… {len(rows) - 40} more (--json)" if len(rows) > 40 else ""),
        data={"cases": rows},
        level="warning" if silent else "ok",
    )  # fmt: skip


def _line(number: int, row: dict[str, Any]) -> str:
    from papertrain.core.texts import say
    from papertrain.core.units import show_bytes

    device, speed = row["device_bytes"], row["tokens_per_second_per_gpu"]
    name = say("case {n}", n=number) if row["id"] is None else str(row["id"])
    if not device and not speed:
        return f"{name[:40]:40} {row['unknown']}"
    text = f"{name[:40]:40} "
    text += f"{show_bytes(device['value']):>9} {row['fits']:8}" if device else f"{'-':>9} {'-':8}"
    return text + (f"{speed['value']:>12,.0f} tokens/s" if speed else f" {row['unknown']}")
