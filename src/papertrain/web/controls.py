"""The controls of the pages: knobs of a plan, the frame of a run, the box for a log. Every one has a label."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any

from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.report.html import tag
from papertrain.report.plan import result_line

CHOICES = {
    "method": ("full", "lora", "qlora", "dora", "freeze"),
    "zero_stage": ("0", "1", "2", "3"),
    "gradient_checkpointing": ("none", "selective", "full"),
    "precision": ("bf16", "fp16", "fp32", "pure_bf16"),
    "offload": ("none", "optimizer", "params+optimizer", "activations"),
}
SLIDERS = {"micro_batch_size": [2**i for i in range(9)], "sequence_length": [2**i for i in range(6, 18)]}
NUMBERS = ("learning_rate", "epochs", "global_batch_size", "lora_rank")


def knobs(plan: TrainingPlan, number: int, method: str, *, writing: bool) -> str:
    """The form beside a plan. An untouched knob leaves its value to the derivation."""
    cards = "" if plan.compute.gpu.id == "cpu" else f"{plan.compute.gpus}x {plan.compute.gpu.label}"
    placeholder = cards or "cpu"
    verdict = verdict_line(result_line(plan))
    fields = _text("gpu", say("cards"), placeholder) + _knob_fields(plan)
    write = f'<button type="button" id="write" hidden>{escape(say("Write these files"))}</button>' if writing else ""
    return (
        f'<form id="knobs" class="controls" data-work="{number}" data-method="{escape(method)}" action="#"><h2>{escape(say("What if"))}</h2>{fields}'
        f'<p><button type="reset">{escape(say("Back to the plan"))}</button> <button type="button" id="files">{escape(say("Show the files"))}</button> {write}</p>'
        f'<p id="said" role="status" class="small soft"></p><div id="bytes"></div>{verdict}</form>'
    )


def new_knobs() -> str:
    """The form of a plan from nothing."""
    verdict = verdict_line("")
    fields = _text("model", say("model"), "Qwen/Qwen2.5-7B-Instruct") + _text("gpu", say("cards"), "4x A100-80GB")
    fields += _text("host_ram", say("host memory"), "512GB") + _text("data", say("data (a file in the folder that is served)"), "train.jsonl")  # fmt: skip
    return (
        f'<form id="knobs" class="controls" action="#"><h2>{escape(say("What is trained, on what"))}</h2>{fields}{_knob_fields(None)}'
        f'<p><button type="reset">{escape(say("Start again"))}</button></p><p id="said" role="status" class="small soft"></p>{verdict}</form>'
    )


def verdict_line(says: str) -> str:
    """What the plan says, kept in sight where the plan itself stands far below the knobs."""
    return f'<p id="verdict" aria-hidden="true">{escape(says)}</p>'


def _knob_fields(plan: TrainingPlan | None) -> str:
    found = "".join(_select(n, c, _value(plan, n)) for n, c in CHOICES.items())
    found += "".join(_slider(n, steps, _value(plan, n)) for n, steps in SLIDERS.items())
    return found + "".join(_text(n, n, _value(plan, n) or "–" * (plan is not None)) for n in NUMBERS)


def _value(plan: TrainingPlan | None, name: str) -> str:
    d = plan.decision(name) if plan is not None else None
    return "" if d is None or d.value is None else f"{d.value:g}" if isinstance(d.value, float) else str(d.value)


def _text(name: str, label: str, shown: str) -> str:
    return f'<p><label for="k-{name}">{escape(label)}</label><input id="k-{name}" name="{name}" placeholder="{escape(shown)}" autocomplete="off" spellcheck="false"></p>'


def _select(name: str, choices: Sequence[str], now: str) -> str:
    derived = say("derived") + (f": {now}" if now else "")
    options = f'<option value="">{escape(derived)}</option>' + "".join(f"<option>{escape(c)}</option>" for c in choices)
    return f'<p><label for="k-{name}">{name}</label><select id="k-{name}" name="{name}">{options}</select></p>'


def _slider(name: str, steps: Sequence[int], now: str) -> str:
    at = next((i for i, s in enumerate(steps) if now.isdigit() and s >= int(now)), 0)
    return (
        f'<p><label for="k-{name}">{name} <output id="o-{name}">{escape(now)}</output></label>'
        f'<input type="range" id="k-{name}" data-name="{name}" data-steps="{",".join(map(str, steps))}" data-now="{escape(now)}" min="0" max="{len(steps) - 1}" step="1" value="{at}"></p>'
    )


def run_page(chosen: str, runs: Sequence[str], settings: dict[str, Any]) -> str:
    """Which run, what to lay over it, smoothing, and the frames that the script fills."""
    options = "".join(f'<option{" selected" if r == chosen else ""} value="{escape(r)}">{escape(r)}</option>' for r in runs)  # fmt: skip
    over = "".join(
        f'<label class="over"><input type="checkbox" name="over" value="{escape(r)}"> {escape(r)}</label>'
        for r in runs
        if r != chosen
    )
    overlay = f"<fieldset><legend>{escape(say('lay over'))}</legend>{over}</fieldset>" if over else ""
    data = escape(json.dumps(settings), quote=True)
    ask = f'<p class="do"><button type="button" id="why">{escape(say("Diagnose this run"))}</button></p><div id="diagnosis" class="answers" aria-live="polite"></div>'
    return (
        f'<form class="controls row" id="choose" method="get"><p><label for="run">{escape(say("run"))}</label><select id="run" name="run">{options}</select><noscript> <button>{escape(say("show"))}</button></noscript></p>'
        f'<p><label for="smooth">{escape(say("smoothing"))} <output id="o-smooth">0</output></label><input type="range" id="smooth" min="0" max="99" value="0"> <small class="soft">{escape(say("the raw line stays behind it, so no spike is hidden"))}</small></p>{overlay}</form>'
        f'<div id="live" data-settings="{data}"><p id="state" role="status">{tag(say("reading"), "unknown")}</p>{ask}<div id="curves" class="curves"></div></div>{words()}'
        f'<noscript><p class="warning">{escape(say("Live curves need the script of this page; the report shows the same curves without."))}</p></noscript>'
    )


def words() -> str:
    """What the script says, in the page's language."""
    told = {
        "copied": say("copied"),
        "apply": say("Apply this"),
        "readonly": say("this page only reads: start it with --write to apply it here, or use the command"),
        "reading": say("reading …"),
        "nolog": say("no log with anything in it yet"),
        "step": say("step"),
        "warning": say("warning"),
        "critical": say("critical"),
        "smooth": say("smoothed"),
    }
    return "<div id=words " + " ".join(f'data-{k}="{escape(v)}"' for k, v in told.items()) + " hidden></div>"


def log_part() -> str:
    """A log's tail, earlier pieces, and a search through the whole file."""
    return (
        f'<div class="controls row"><p><label for="logfile">{escape(say("file"))}</label><select id="logfile"></select></p>'
        f'<p><label for="search">{escape(say("search the whole file"))}</label><input id="search" type="search" autocomplete="off"></p>'
        f'<p><button type="button" id="earlier">{escape(say("earlier lines"))}</button></p></div><pre id="log" tabindex="0" role="log" aria-label="{escape(say("log"))}"></pre>'
    )


def diagnose_forms(runs: Sequence[tuple[str, str]]) -> str:
    """Three ways to say which log: a run, a file of the served folders, or a pasted text."""
    options = "".join(f'<option value="{escape(value)}">{escape(shown)}</option>' for value, shown in runs)
    button = f"<button>{escape(say('Diagnose'))}</button>"
    of_run = (
        f'<form id="ofrun" class="controls row" action="#"><p><label for="whichrun">{escape(say("a run of a workspace"))}</label><select id="whichrun">{options}</select></p><p>{button}</p></form>'
        if runs
        else ""
    )
    of_files = (
        f'<form id="offiles" class="controls row" action="#"><p><label for="logfile">{escape(say("a log in the folder that is served"))}</label><input id="logfile" placeholder="train.log" autocomplete="off" spellcheck="false"></p>'
        f'<p><label for="configfile">{escape(say("its config, which a fix may change"))}</label><input id="configfile" placeholder="ds_z2.json" autocomplete="off" spellcheck="false"></p><p>{button}</p></form>'
    )
    pasted = (
        f'<form id="paste" class="controls" action="#"><p><label for="logtext">{escape(say("a log: paste it, drop a file on the box, or choose one"))}</label>'
        f'<textarea id="logtext" rows="10" spellcheck="false"></textarea></p><p><label for="file">{escape(say("log file"))}</label><input type="file" id="file"></p>'
        f'<p><label for="config">{escape(say("its config, so that a fix is a patch of it (YAML or JSON; may stay empty)"))}</label><textarea id="config" rows="4" spellcheck="false"></textarea></p>'
        f"<p>{button}</p></form>"
    )
    return f'{of_run}{pasted}<details class="fold"><summary>{escape(say("a log and a config that lie in the folder that is served"))}</summary>{of_files}</details>'


def answer_part() -> str:
    """Where the answer comes; and how long the wait may be is said at once."""
    return f'<p id="said" role="status" class="soft">{escape(say("Cause, evidence, what was ruled out and the change come here."))}</p><div id="answer" class="answers"></div>{words()}'
