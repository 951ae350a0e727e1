"""Which rules count in a check, of configs as of a manuscript: the options, then what the project says of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from papertrain.configs.checking.engine import Choice, rules
from papertrain.configs.checking.settings import Settings, check_patterns, find_settings, read_baseline
from papertrain.core.findings import Rule
from papertrain.core.writing import write_atomic


def choose(
    first: Path, *, select: Sequence[str], ignore: Sequence[str], preview: bool, baseline: Path | None
) -> tuple[Choice, Settings]:
    """Raises PapertrainError for a pattern that names no rule, and for a baseline that is none."""
    settings = find_settings(first)
    selected, ignored = _patterns(select) or settings.select, _patterns(ignore) + settings.ignore
    known = every_rule()
    check_patterns(selected, known, "--select")
    check_patterns(ignored, known, "--ignore")
    old = baseline or (Path(settings.file).parent / settings.baseline if settings.baseline else None)
    before = read_baseline(old) if old and (baseline or old.exists()) else frozenset()
    return Choice(select=selected, ignore=ignored, preview=preview or settings.preview, known=before), settings


def every_rule() -> dict[str, Rule]:
    """By id: those of configs, and those of a manuscript."""
    from papertrain.results.manuscript.rules import RULES

    return rules() | {rule.id: rule for rule in RULES}


def write_baseline(file: Path, ids: Iterable[str], dry_run: bool) -> None:
    """Today's findings, as known from now on."""
    import json

    text = json.dumps({"findings": sorted(set(ids))}, indent=1) + "\n"
    if not dry_run:
        write_atomic(file, text.encode())


def _patterns(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.strip() for text in texts for part in text.split(",") if part.strip())
