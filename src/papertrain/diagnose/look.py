"""From sources to a case: the pass over every log, then what lies beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any

from papertrain.core.errors import PapertrainError
from papertrain.core.findings import Signal
from papertrain.diagnose.case import Case
from papertrain.diagnose.catalogue import literals
from papertrain.diagnose.configs import Config
from papertrain.diagnose.log import LogFile
from papertrain.diagnose.scan import scan
from papertrain.diagnose.sources import Source, chunks


def look(
    sources: Sequence[Source],
    *,
    configs: Sequence[Config] = (),
    plan: Any = None,
    versions: Mapping[str, str] | None = None,
    signals: Sequence[Signal] = (),
    stdin: IO[bytes] | None = None,
) -> Case:
    """Read everything once. Raises PapertrainError for what cannot be read or is no text."""
    words = literals()
    logs = []
    for s in sources:
        try:
            logs.append(LogFile(s.name, scan(chunks(s, stdin), words, s.name), words))
        except PapertrainError:
            if not s.inside:
                raise
    return Case(logs, configs, plan, versions, signals)


def look_at_text(text: str | bytes, name: str = "train.log", configs: Sequence[Config] = ()) -> Case:
    """A case from a text in memory: samples, tests, and pages."""
    return look_at_texts({name: text}, configs)


def look_at_texts(texts: Mapping[str, str | bytes], configs: Sequence[Config] = ()) -> Case:
    """A case from several texts in memory, by name: one per rank, or a job's two streams."""
    words = literals()
    logs = [LogFile(n, scan([t if isinstance(t, bytes) else t.encode()], words, n), words) for n, t in texts.items()]
    return Case(logs, configs)
