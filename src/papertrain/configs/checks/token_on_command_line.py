"""A token on a command line, and one that the tracker would not even use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.secrets import NAME_OF_ONE, secrets
from papertrain.configs.checking.shell import Command
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import commands
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

NAMES = re.compile(
    r"(?:.*_)?(?:api_?key|secret_?key|access_?key|password|passwd|secret)"
    r"|(?:(?:push_to_hub|hf_hub|ms_hub|om_hub|hub|hf|ms|auth|access|bearer|login|wandb|github|gitlab|comet|neptune|swanlab)_)?token"
)
# `--eos_token "<|im_end|>"` is a token of another kind: only names of credentials count.
VARIABLES = {"wandb": "WANDB_API_KEY", "wandb_api_key": "WANDB_API_KEY"}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for command in commands(document):
        told: set[int] = set()
        for argument in command.arguments:
            name = argument.name.replace("-", "_").lower()
            given = isinstance(argument.value, str) and len(argument.value) >= 6 and not argument.value.startswith("$")
            if (
                given
                and NAMES.fullmatch(name)
                and not ("secret" in name and NAME_OF_ONE.fullmatch(str(argument.value)))
            ):
                told.add(argument.line)
                yield _wrong(document, command, name, argument.line)
        for line, kinds in _elsewhere(document, command).items():
            if line not in told:
                yield Wrong(says=say("a secret ({kinds}) stands on this command line: every user of the machine sees it in the process list", kinds=kinds), line=line,
                            instead=say("an environment variable, set outside of the script"))  # fmt: skip


def _wrong(document: ConfigDocument, command: Command, name: str, line: int) -> Wrong:
    tracker = next((str(a.value) for a in command.arguments if a.name.replace("-", "_") == "report_to"), "")
    useless = (
        say("; `report_to {tracker}` does not use it: its key is WANDB_API_KEY", tracker=tracker)
        if tracker == "wandb" and "hub" in name
        else ""
    )
    variable = "HF_TOKEN" if "hub" in name or "hf" in name else VARIABLES.get(name, name.upper())
    return Wrong(says=say("`--{name}` puts a token on the command line, where every user of the machine and every log sees it{useless}", name=name, useless=useless), line=line,
                 instead=say("remove `--{name}`; log in once (`hf auth login`), or set {variable} outside of the script", name=name, variable=variable))  # fmt: skip


def _elsewhere(document: ConfigDocument, command: Command) -> dict[int, str]:
    start, end = command.words[0].start, command.words[-1].end
    found: dict[int, set[str]] = {}
    for kind, offset in secrets(document.text[start:end]):
        found.setdefault(document.text.count("\n", 0, start + offset) + 1, set()).add(kind)
    return {line: ", ".join(sorted(kinds)) for line, kinds in found.items()}


RULE = Rule(
    id="TR451",
    name="token-on-command-line",
    level="error",
    status="stable",
    check=check,
    applies="command slurm",
    what="A token, key or password given as an option. It is never repeated in the answer.",
    why="The process list, the shell history, the scheduler's database and the tracker's run page keep it.",
    source=Source(kind="rule", ref="proc(5): /proc/PID/cmdline is readable by every user"),
    fires="== push.sh\npython train.py --report_to wandb --push_to_hub --hub_token hf_" + "aB3dE5gH7jK9" * 3 + "\n",
    quiet="== push.sh\npython train.py --report_to wandb --push_to_hub\n",
)
