"""Flight-recorder files and stack dumps among what `diagnose` was given: grouped, and the rank that the others wait for named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papertrain.core.findings import LogLine

if TYPE_CHECKING:
    from papertrain.diagnose.rule import Match
    from papertrain.monitor.ranks import Ranks

SURE, LIKELY = 0.92, 0.82
MOST = 4096


def recorded(paths: Sequence[Path]) -> list[Path]:
    """The paths that are flight-recorder dumps: pickles that no reader of texts opens."""
    from papertrain.core.files import made_as_read
    from papertrain.monitor import flight
    from papertrain.monitor.ranks import HEAD

    found = []
    for path in [p for p in map(Path, paths) if str(p) != "-"][:MOST]:
        try:
            if path.is_file() and not made_as_read(path):
                with path.open("rb") as f:
                    if flight.looks_like(f.read(HEAD)):
                        found.append(path)
        except OSError:
            continue
    return found


def gathered(paths: Sequence[Path], dumps: Sequence[Path]) -> Ranks:
    """Everything of ranks in the folders that were named, and the dumps that were."""
    from papertrain.monitor import flight
    from papertrain.monitor.ranks import LARGEST, Ranks, in_folder

    parts = [in_folder(Path(p)) for p in paths if str(p) != "-" and Path(p).is_dir()]
    flights, problems = [f for p in parts for f in p.flights], [x for p in parts for x in p.problems]
    for path in dumps:
        try:
            with path.open("rb") as f:
                flights.append(flight.read(f.read(LARGEST), path, path.parent))
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{path.name}: {str(error)[:120]}")
    return Ranks(stacks=tuple(s for p in parts for s in p.stacks), flights=tuple(flights), problems=tuple(problems))


def by_ranks(found: Ranks) -> Match | None:
    """The suspect, as a class of failure; nothing where the ranks agree."""
    from papertrain.diagnose.catalogue import causes
    from papertrain.diagnose.rule import Match
    from papertrain.monitor.ranks import behind

    suspect = behind(found)
    if suspect is None or suspect.cls not in causes():
        return None
    rule = causes()[suspect.cls]
    who = (f"rank {suspect.rank}" if suspect.rank is not None else "one process") + (f" on {suspect.host}" if suspect.host else "")  # fmt: skip
    return Match(
        rule=rule,
        confidence=SURE if suspect.sure else LIKELY,
        evidence=(LogLine(file=suspect.file, line=suspect.line, text=suspect.says),),
        title=f"{rule.what}; the suspect is {who}",
        cause=f"{rule.why} {suspect.says[:1].upper()}{suspect.says[1:]}.",
    )
