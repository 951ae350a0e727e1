"""A run that was planned for the processor is told nothing of nvidia-smi."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "configs"))
from plans import make_plan

from papertrain.monitor.history import History
from papertrain.monitor.states import states


def test_no_card_is_asked_for_where_none_is_used() -> None:
    for card, words in (("cpu", "no card is used"), ("a100", "nvidia-smi")):
        rows = {s.name: s for s in states(History("x", (), make_plan(card=card, cards=1)), (), {})}
        for name in ("gpu_utilization", "gpu_memory"):
            assert rows[name].level == "unknown" and words in rows[name].says
