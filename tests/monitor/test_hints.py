"""What `watch` says to type can be typed."""

from __future__ import annotations

from papertrain.monitor.run import examine_text
from papertrain.monitor.states import HOW_TO_LOG
from papertrain.verbs.watching.text import signal_lines


def test_the_command_that_logs_the_cards_is_printed_whole():
    lines = signal_lines(examine_text("\n".join(f"step={i} loss={2 - 0.01 * i}" for i in range(1, 60))))
    command = HOW_TO_LOG["gpu_utilization"].partition(": ")[2]
    assert command.startswith("nvidia-smi") and any(line.strip() == command for line in lines)
