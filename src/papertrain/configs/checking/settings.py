"""What a project says about the rules: `papertrain.toml`, or `[tool.papertrain]` in pyproject.toml, nearest one first.

select = ["TR2", "TR3"]
ignore = ["TR305"]
preview = true
baseline = "papertrain-baseline.json"
[per-file-ignores]
"configs/old/*" = ["TR211"]
"""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from pathlib import Path
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text
from papertrain.core.findings import Finding, matches
from papertrain.core.values import Value


class Settings(Value, frozen=True, kw_only=True):
    file: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preview: bool = False
    baseline: str = ""
    per_file_ignores: dict[str, tuple[str, ...]] = {}

    def ignored_in(self, file: str) -> tuple[str, ...]:
        """Rules that are off in this file."""
        path = Path(file).as_posix()
        return tuple(
            r
            for pattern, rules in self.per_file_ignores.items()
            if fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(path, "*/" + pattern)
            for r in rules
        )

    def off(self, finding: Finding) -> bool:
        """Whether the finding's rule is off in its file."""
        return any(matches(finding.rule, finding.name, (rule,)) for rule in self.ignored_in(finding.file))


def find_settings(start: Path) -> Settings:
    """The settings that hold for a file or folder; empty ones where nobody wrote any."""
    try:
        folder = start.resolve() if start.is_dir() else start.resolve().parent
    except RuntimeError:  # a link that leads to itself
        folder = start.parent.absolute()
    for place in (folder, *folder.parents):
        own, project = place / "papertrain.toml", place / "pyproject.toml"
        if own.is_file():
            return _settings(own, _load(own))
        if project.is_file():
            table = _load(project).get("tool", {}).get("papertrain")
            if isinstance(table, dict):
                return _settings(project, table)
        if (place / ".git").exists():
            break
    return Settings()


def _load(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(file, limit=2**20))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise PapertrainError(
            f"not valid TOML: {error}", code="not-toml", file=file, line=int(found[1]) if found else 0
        ) from None


def _settings(file: Path, table: dict[str, Any]) -> Settings:
    def texts(key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise PapertrainError(
                f'`{key}` must be a list of rule ids such as ["TR305"]', code="bad-settings", file=file
            )
        return tuple(value)

    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict) or not all(isinstance(v, list) for v in per_file.values()):
        raise PapertrainError(
            "`per-file-ignores` must map a file pattern to a list of rule ids", code="bad-settings", file=file
        )
    return Settings(file=str(file), select=texts("select"), ignore=texts("ignore"), preview=table.get("preview") is True,
                    baseline=str(table.get("baseline", "")), per_file_ignores={k: tuple(map(str, v)) for k, v in per_file.items()})  # fmt: skip


def read_baseline(file: Path) -> frozenset[str]:
    """The ids of findings that were there before, so that only new ones are shown."""
    try:
        value = json.loads(read_text(file))
        return frozenset(map(str, value["findings"]))
    except (ValueError, KeyError, TypeError):
        raise PapertrainError(
            "not a baseline: `papertrain check … --write-baseline FILE` writes one", code="bad-baseline", file=file
        ) from None


def check_patterns(patterns: tuple[str, ...], known: dict[str, Any], where: str) -> None:
    """Every pattern names at least one rule. Raises PapertrainError with the nearest one."""
    from papertrain.core.errors import nearest

    names = {rule.name for rule in known.values()}
    for pattern in patterns:
        if pattern != "ALL" and pattern not in names and not any(id.startswith(pattern.upper()) for id in known):
            raise PapertrainError(
                f"{where}: no rule {pattern!r}", code="unknown-rule", nearest=nearest(pattern, [*known, *names])
            )
