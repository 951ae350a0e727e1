"""Documents meet rules: findings with ids, patches and the reader's own exceptions to the rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from papertrain.configs import checks
from papertrain.configs.checking.document import ConfigDocument, Edit, Wrong
from papertrain.configs.checking.patches import patch
from papertrain.configs.checking.world import World
from papertrain.core.discover import discover
from papertrain.core.files import sha256_text
from papertrain.core.findings import Change, Finding, Fix, Rule, finding_id, matches
from papertrain.core.values import AppliesTo, Level, Value


class Choice(Value, frozen=True, kw_only=True):
    """Which rules count: prefixes (`TR3`, `TR305`) or names; nothing selected means all. preview: the rules on trial too."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preview: bool = False
    known: frozenset[str] = frozenset()

    def takes(self, rule: Rule) -> bool:
        chosen = not self.select or matches(rule.id, rule.name, self.select)
        named = any(s in (rule.id, rule.name) for s in self.select)
        return (
            chosen
            and not matches(rule.id, rule.name, self.ignore)
            and (rule.status == "stable" or self.preview or named)
        )


@lru_cache
def rules() -> dict[str, Rule]:
    """Every rule of this room, by id."""
    found: dict[str, Rule] = dict(sorted(discover(checks, "RULE").items()))
    return found


class Hit(Value, frozen=True, kw_only=True):
    """A finding, the document that it is about, and the edits that mend it. by: the file whose document the rule looked at."""

    finding: Finding
    by: str
    document: ConfigDocument
    edits: tuple[Edit, ...]


def inspect(
    world: World, documents: Sequence[ConfigDocument] | None = None, choice: Choice | None = None
) -> list[Finding]:
    """What the rules find in the documents (in all of the world's without them), in the order of the files."""
    return [hit.finding for hit in hits(world, documents, choice)]


def hits(world: World, documents: Sequence[ConfigDocument] | None = None, choice: Choice | None = None) -> list[Hit]:
    """The same with the edits that each finding proposes."""
    choice = choice or Choice()
    found: list[tuple[int, Hit]] = []
    seen: set[str] = set()
    order = {d.file: i for i, d in reversed(list(enumerate(world.documents)))}
    for document in world.documents if documents is None else documents:
        for rule in rules().values():
            if not choice.takes(rule) or not _applies(rule, document):
                continue
            for wrong in rule.check(document, world):
                home = wrong.within or document
                finding = _finding(rule, wrong, home)
                if finding.id not in seen and finding.id not in choice.known and not silenced(finding, home.text):
                    seen.add(finding.id)
                    found.append(
                        (
                            order.get(finding.file, len(order)),
                            Hit(finding=finding, by=document.file, document=home, edits=wrong.edits),
                        )
                    )
    return [h for _, h in sorted(found, key=lambda p: (p[0], p[1].finding.line, p[1].finding.rule))]


def _applies(rule: Rule, document: ConfigDocument) -> bool:
    return rule.applies == "*" or document.kind in rule.applies.split()


def _finding(rule: Rule, wrong: Wrong, document: ConfigDocument) -> Finding:
    level: Level = wrong.level or ("error" if rule.level == "critical" else rule.level)
    line = wrong.line or (document.line(*wrong.at) if wrong.at else document.start)
    effect = wrong.effect or rule.effect
    id = finding_id(rule.id, document.file, wrong.says)
    applies_to = (AppliesTo(file=document.file, sha256=sha256_text(document.text)),) if document.text else ()
    diff = patch(document, wrong.edits) if wrong.edits else ""
    fixes: tuple[Fix, ...] = ()
    if diff:
        edits = tuple(
            Change(
                knob=".".join(map(str, e.path)) or e.old,
                old=_old(document, e.path),
                new=e.value if e.op == "set" else e.new or None,
                file=document.file,
            )
            for e in wrong.edits
        )
        fixes = (
            Fix(id=id, title=wrong.instead or rule.name, effect=effect, edits=edits, patch=diff, applies_to=applies_to),
        )
    return Finding(rule=rule.id, name=rule.name, level=level, says=wrong.says, id=id, file=document.file, line=line, instead=wrong.instead,
                   patch=diff, effect=effect, fixes=fixes, applies_to=applies_to)  # fmt: skip


def _old(document: ConfigDocument, path: tuple[str | int, ...]) -> object:
    here: object = document.settings
    for part in path:
        here = here.get(part) if isinstance(here, dict) else None
    return here if isinstance(here, (str, int, float, bool, list, dict)) else None


_SILENCE = re.compile(r"(?:#|//|%)\s*papertrain:\s*ignore(?P<file>-file)?(?:\[(?P<rules>[^\]\n]*)\])?")


def silenced(finding: Finding, text: str) -> bool:
    """`# papertrain: ignore[TR305] reason` on the line or on the one above it; `ignore-file[…]` anywhere."""
    if "papertrain:" not in text:
        return False
    lines = text.splitlines()
    for i, line in enumerate(lines, 1):
        m = _SILENCE.search(line)
        if m is None:
            continue
        named = [p.strip() for p in (m["rules"] or "").split(",") if p.strip()]
        if named and not matches(finding.rule, finding.name, named):
            continue
        if m["file"] or i == finding.line or (i == finding.line - 1 and line.lstrip().startswith(("#", "//", "%"))):
            return True
    return False
