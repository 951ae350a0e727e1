"""A token or password in a file."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.secrets import secrets
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Level, Source

LIMIT = 20
VARIABLES = {"huggingface": "HF_TOKEN", "wandb": "WANDB_API_KEY", "openai": "OPENAI_API_KEY", "github": "GITHUB_TOKEN"}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if not document.text or document.role in ("override", "script") or document.part:
        return
    where: dict[int, set[str]] = {}
    for kind, offset in secrets(document.text):
        where.setdefault(document.text.count("\n", 0, offset) + 1, set()).add(kind)
    command = document.kind in ("command", "slurm")
    on_command_lines = {n for c in document.commands for n in range(c.line, c.end_line + 1)} if command else set()
    for line, kinds in list(where.items())[:LIMIT]:
        if line in on_command_lines:
            continue
        variable = next((VARIABLES[k] for k in sorted(kinds) if k in VARIABLES), None)
        if document.file.rpartition("/")[2].startswith(".env"):
            yield Wrong(
                says=say("secrets stand here, as they may in this file: keep it out of version control"),
                line=line,
                instead=say("a line `.env` in .gitignore"),
                level="note",
            )
            return
        level: Level = "warning" if document.kind == "text" and document.format == "text" else "error"
        yield Wrong(
            says=say("a secret ({kinds}) stands in this line: whoever reads the file can use it; revoke it", kinds=", ".join(sorted(kinds))), line=line,
            instead=say("the variable {name}, set outside of the file", name=variable) if variable else say("an environment variable, set outside of the file"), level=level,
        )  # fmt: skip


RULE = Rule(
    id="TR450",
    name="secret-in-file",
    level="error",
    status="stable",
    check=check,
    applies="*",
    what="A token, key or password in a config, a script or a log. It is never repeated in the answer.",
    why="Configs are committed, logs are pasted into issues; a token that was once public must be revoked.",
    known_problems="In a log it is a warning: the damage is done, and the file is not a config.",
    source=Source(kind="rule", ref="the patterns of core/redact.py"),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nhub_token: hf_" + "aB3dE5gH7jK9" * 3 + "\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\npush_to_hub: true\n",
)
