"""What nvidia-smi and the kernel print of a card, in their own forms, as the node's pre-flight reads it. No card is needed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "src/papertrain/configs/targets/script_files/preflight.py"


@pytest.fixture
def preflight(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, with a stand-in for torch: none of what is read here needs it."""
    torch, distributed = ModuleType("torch"), ModuleType("torch.distributed")
    monkeypatch.setattr(torch, "distributed", distributed, raising=False)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    spec = importlib.util.spec_from_file_location("preflight_of_a_node", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_uncorrected_errors_are_counted_and_a_card_without_ecc_has_none(preflight: ModuleType) -> None:
    """`--format=csv,noheader,nounits`: a number, or `[N/A]` (older drivers: `[Not Supported]`)."""
    assert preflight.ecc_errors("0, 0\n1, 3\n2, [N/A]\n3, [Not Supported]\n") == ["card 1: 3 uncorrected ECC errors"]
    assert preflight.ecc_errors("No devices were found\n") == []


def test_rows_that_wait_or_could_not_be_remapped_are_told(preflight: ModuleType) -> None:
    """`nvidia-smi -q -d ROW_REMAPPER` and its query say Yes and No."""
    text = "0, No, No\n1, Yes, No\n2, No, Yes\n3, [N/A], [N/A]\n"
    assert preflight.row_remaps(text) == ["card 1: a row waits to be remapped: reset the card", "card 2: a row could not be remapped"]  # fmt: skip
    assert preflight.row_remaps('Field "remapped_rows.pending" is not a valid field to query.\n') == []


LOG = """[12345.678901] NVRM: Xid (PCI:0000:4f:00): 79, pid=1234, GPU has fallen off the bus.
[12345.678902] NVRM: Xid (PCI:0000:4f:00): 79, pid=1234, GPU has fallen off the bus.
[  991.000000] NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected
[  992.000000] NVRM: Xid (PCI:0000:65:00): 64, pid='N/A', Row Remapper: Failed to remap row
[  100.000000] NVRM: Xid (PCI:0000:3b:00): 13, pid=77, name=python, Graphics SM Warp Exception
[  101.000000] NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=python, Ch 00000010, MMU Fault
[  102.000000] NVRM: Xid (PCI:0000:3b:00): 43, pid=77, name=python, Ch 00000008
[  103.000000] NVRM: Xid (PCI:0000:3b:00): 45, pid=77, name=python, Ch 00000008
[  104.000000] NVRM: Xid (PCI:0000:3b:00): 63, pid='N/A', Row Remapper: New row marked for remapping, reset gpu to activate.
[  105.000000] NVRM: Xid (PCI:0000:3b:00): 94, pid=77, Contained: CE User Channel (0x9). RST: No, D-RST: No
[  106.000000] usb 1-1: device descriptor read/64, error -71
"""


def test_only_errors_of_the_hardware_keep_a_node_out(preflight: ModuleType) -> None:
    """A program that crashed here last week (13, 31, 43, 45) and memory that mended itself (63, 94) stay in the log for good."""
    assert preflight.xids(LOG) == [
        "card at 0000:3b:00: Xid 48 (double bit ECC)",
        "card at 0000:4f:00: Xid 79 (fallen off the bus)",
        "card at 0000:65:00: Xid 64 (row remapping failed)",
    ]
    assert preflight.xids("dmesg: read kernel buffer failed: Operation not permitted\n") == []


def test_a_card_that_cannot_be_reached_is_told_in_the_tools_own_words(preflight: ModuleType) -> None:
    text = "Unable to determine the device handle for GPU0000:4F:00.0: Unknown Error\n"
    assert preflight.lost_cards(text) == [text.strip()]
    other = "Unable to determine the device handle for GPU 0000:4F:00.0: GPU is lost.  Reboot the system to recover this GPU\n"
    assert len(preflight.lost_cards(other)) == 1 and preflight.lost_cards("0, 0\n") == []


def test_all_tools_are_asked_and_each_may_be_missing(preflight: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"ecc": ("0, 2\n", 0), "remapped": ("0, No, Yes\n", 0), "dmesg": (LOG, 0)}

    def run(words: tuple[str, ...], **_: object) -> SimpleNamespace:
        name = "dmesg" if words[0] == "dmesg" else "remapped" if "remapped" in words[-1] else "ecc"
        if name not in said:
            raise FileNotFoundError(words[0])
        text, code = said[name]
        return SimpleNamespace(stdout=text, stderr="", returncode=code)

    monkeypatch.setattr(preflight.subprocess, "run", run)
    assert len(preflight.card_errors()) == 5
    said["remapped"] = ('Field "remapped_rows.pending" is not a valid field to query.\n', 2)
    assert len(preflight.card_errors()) == 4
    said["ecc"] = ("Unable to determine the device handle for GPU0000:4F:00.0: Unknown Error\n", 255)
    assert preflight.card_errors()[0].startswith("Unable to determine")
    del said["dmesg"], said["ecc"], said["remapped"]
    assert preflight.card_errors() == []

    def slow(words: tuple[str, ...], **_: object) -> SimpleNamespace:
        raise subprocess.TimeoutExpired(words[0], 30)

    monkeypatch.setattr(preflight.subprocess, "run", slow)
    assert preflight.card_errors() == []
