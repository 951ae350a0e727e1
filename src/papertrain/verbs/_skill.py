"""The references of the skill, written from the facts: `python -m papertrain.verbs._skill` renews them, a test compares."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "skill" / "paper-train"
NOTE = "<!-- Written from the facts of papertrain; do not edit: python -m papertrain.verbs._skill -->\n"
CARDS = ("a100-sxm-80gb", "h100-sxm", "rtx-3090", "rtx-4090", "ascend-910b1")
DOUBTED = ("learning_rate", "warmup_steps", "epochs", "weight_decay", "lora_rank", "global_batch_size")


def references() -> dict[str, str]:
    """File name → text of every reference."""
    return {"recipes.md": recipes(), "results.md": results(), "failures.md": failures(), "commands.md": commands()}


def recipes() -> str:
    """What the planner answers for three sizes on the usual cards, and what contests it."""
    from papertrain.core.units import show_bytes, show_number
    from papertrain.facts.load import gpu
    from papertrain.facts.models import find_model
    from papertrain.verbs.planning.recipes import EXAMPLES, LENGTH, SIZES, Given, node, row

    models = [Given(size=size, model=find_model(name)) for size, name in SIZES]
    lines = []
    for r in (row(m, node(gpu(card), m.size)) for card in CARDS for m in models):
        memory = "unknown" if r.device_bytes is None else f"{show_bytes(r.device_bytes)} ({show_bytes(r.device_low)} to {show_bytes(r.device_high)})"  # fmt: skip
        rank = "" if r.lora_rank is None else f"{r.lora_rank}/{r.lora_alpha}"
        lines.append((r.gpu, r.size, r.cards, r.method, r.fits, f"{r.micro_batch_size}×{r.gradient_accumulation_steps}", show_number(r.learning_rate), rank,
                      r.precision, r.gradient_checkpointing, r.zero_stage, r.offload, memory))  # fmt: skip
    head = ("card", "size", "cards", "method", "fits", "batch×acc", "learning rate", "rank/alpha", "precision", "checkpointing", "ZeRO", "offload", "memory a card, 90 %")  # fmt: skip
    return "\n".join(
        [
            "# Recipes: how parameters are derived\n",
            NOTE,
            f"Computed by the planner for LoRA fine-tuning on {EXAMPLES:,} examples at a sequence length of {LENGTH:,}; `papertrain explain recipes`",
            "prints every card. Your data, cards and method give other values: run `papertrain plan`, never copy a row.\n",
            table(head, lines),
            "## What contests the usual values\n",
            "Pass doubts on with the value; `papertrain explain NAME --plan WORK` shows the chain of one.\n",
            *_doubts(),
            "## Two rule sets\n",
            "`--rules method` is the published method (default), `--rules evidence` what public recipes and sweeps support. Where they",
            'differ by more than 1.5×, `plan` shows both. `--set name=value` fixes one parameter and keeps "set by the user" as its reason.',
            "Estimates carry a 90 % range and are never measurements; `papertrain launch WORK --smoke` measures.\n",
        ]
    )


def _doubts() -> list[str]:
    from papertrain.facts.hardware import parse_compute
    from papertrain.facts.models import find_model
    from papertrain.plan.derive import derive
    from papertrain.plan.derive_question import Question

    asked = Question(model=find_model("Qwen/Qwen2.5-7B-Instruct"), compute=parse_compute("4x A100-80GB"), method="lora", task="sft")  # fmt: skip
    plan = derive(asked)
    found = []
    for name in DOUBTED:
        d = plan.decision(name)
        if d is not None:
            found += [f"- `{name}`: {d.why} ({d.source.kind}: {d.source.ref})"]
            found += [f"  - contested: {c.says} ({c.ref})" for c in d.contested_by]
    return [*found, ""]


def results() -> str:
    """The tests by name, and what is refused."""
    from papertrain.report.table import TESTS

    known = "\n".join(f"- `{k}`: {v}" for k, v in sorted(TESTS.items()))
    return "\n".join(
        [
            "# Results: which test when, and what is refused\n",
            NOTE,
            "`papertrain compare` chooses by what the files hold; state what it says, never another test:\n",
            "| what there is | test |\n| --- | --- |",
            f"| right or wrong of two systems on the same items | {TESTS['mcnemar-exact']}, interval of the paired difference |",
            f"| a number per item | {TESTS['paired-permutation']} |",
            f"| a score of the whole corpus (BLEU, F1) | {TESTS['approximate-randomisation']}, paired bootstrap interval |",
            f"| areas under ROC curves | {TESTS['delong']} |",
            f"| several seeds | the seed is the unit: {TESTS['paired-t']} over seeds; fewer than three: no test |",
            f"| several data sets | {TESTS['wilcoxon']} over them; three or more methods: Friedman |",
            "\nEvery test that can appear in `tests[].test`:\n",
            known,
            "\nSeveral comparisons are corrected by Holm. State difference, interval, n with its unit, adjusted p and signature; p is never 0.\n",
            "Refused, with the reason and what would repair it: other items, metrics or splits under one heading, scores of mixed scale,",
            "a run with a limit on the items, a standard error of 0 on a score between 0 and 1, two runs with the same predictions.",
            "A missing cell stays unfilled. Causes are hypotheses: name the ablation that would test them.\n",
            "`papertrain explain E12 --plan WORK` walks from a number back to its file, line and digest.\n",
        ]
    )


def failures() -> str:
    """The names that `diagnose` gives, with what each means."""
    from papertrain.diagnose.catalogue import causes

    rows = [(f"`{c.name}`", "benign" if c.benign else c.branch, c.what) for c in sorted(causes().values(), key=lambda c: c.name)]  # fmt: skip
    return "\n".join(
        [
            "# Failures: the names in `diagnoses[].class`\n",
            NOTE,
            "A benign one is no failure. None fits: `unexplained` says what to look at next; say so, invent no name.\n",
            table(("class", "branch", "what"), rows),
        ]
    )


def commands() -> str:
    """Every verb with its first sentence and its examples."""
    from papertrain import verbs

    parts = ["# Commands\n", NOTE, "Every verb takes `--json` (one document), `--brief`, `--fields`, `--mode`, `--lang en|zh`, `--fail-on`.\n"]  # fmt: skip
    for name in verbs.names():
        doc = inspect.cleandoc(verbs.load(name).__doc__ or "")
        examples = [line.strip() for line in doc.splitlines() if line.strip().startswith("papertrain ")]
        shown = "\n".join(examples)
        parts.append(f"## {name}\n\n{doc.splitlines()[0]}\n\n```text\n{shown}\n```\n")
    return "\n".join(parts)


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(str(c).replace('|', '/') for c in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name, text in references().items():
        (FOLDER / "references" / name).write_text(text, "utf-8")
