"""Bad input by its whole kinds: one line that says what was found and what was expected, exit 2; what can be read is used."""

from __future__ import annotations

import gzip
import json
import os
import socket
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import writers

from papertrain.core.errors import PapertrainError
from papertrain.monitor import said
from papertrain.monitor.run import examine
from papertrain.verbs.watch import watch

ROWS = [{"step": i, "loss": 2 - i / 100, "_timestamp": 1.7e9 + 5 * i} for i in range(1, 61)]
LINES = "".join(json.dumps(r) + "\n" for r in ROWS)


def refused(path: Path) -> str:
    with pytest.raises(PapertrainError) as caught:
        watch([path])
    assert caught.value.exit == 2 and "\n" not in caught.value.one_line()
    return caught.value.one_line()


@pytest.mark.parametrize(
    ("name", "data", "word"),
    [
        ("train.log.gz", gzip.compress(LINES.encode(), mtime=0), "compressed (gzip)"),
        ("train.log", b"\x28\xb5\x2f\xfd" + bytes(range(256)) * 20, "compressed (zstd)"),
        ("model.log", b"\x7fELF" + bytes(range(256)) * 20, "a program"),
        ("x.txt", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, "a picture"),
        ("array.log", b"\x93NUMPY" + bytes(range(256)) * 20, "NumPy"),
        ("zeros.log", b"\0" * 10_000, "binary"),
        ("prose.txt", b"the loss of step 3 was felt by all\n" * 30, "no row of training numbers"),
        ("header.csv", b"step,loss\n", "no row of training numbers"),
        ("empty.log", b"", "is empty"),
    ],
)
def test_a_file_that_is_no_log_is_called_what_it_is(tmp_path, name, data, word):
    path = tmp_path / name
    path.write_bytes(data)
    said_of_it = refused(path)
    assert word in said_of_it and name in said_of_it


def test_a_zip_says_how_to_unpack_it(tmp_path):
    with zipfile.ZipFile(tmp_path / "logs.log", "w") as z:
        z.writestr("train.log", LINES)
    with pytest.raises(PapertrainError) as caught:
        watch([tmp_path / "logs.log"])
    assert caught.value.command == f"unzip {tmp_path / 'logs.log'}"


def test_a_folder_without_a_log_says_what_is_in_it(tmp_path):
    assert "holds nothing, no training log" in refused(tmp_path)
    (tmp_path / "README.md").write_text("hello")
    (tmp_path / "train.log").touch()
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere")
    (tmp_path / "again").symlink_to(tmp_path)
    words = refused(tmp_path)
    assert all(x in words for x in ("1 .md file", "1 empty file", "1 pipe")) and "expected a training log" in words


def test_links_that_lead_in_a_circle_and_pipes_inside_a_folder_are_never_waited_for(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/up").symlink_to(tmp_path)
    (tmp_path / "run/self.log").symlink_to(tmp_path / "run/self.log")
    os.mkfifo(tmp_path / "run/stdout.log")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(tmp_path / "run/s.log"))
        (tmp_path / "run/t.jsonl").write_text(LINES)
        assert examine([tmp_path / "run"])[0].steps == 60
        assert refused(tmp_path / "run/s.log")
    assert "symbolic links" in refused(tmp_path / "run/self.log")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/proc/self/mem"])
def test_devices_are_refused(device):
    assert refused(Path(device))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_said(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(LINES)
    path.chmod(0)
    assert "permission denied" in refused(path)
    assert "1 unreadable file" in refused(tmp_path)


def test_what_may_not_be_read_is_said_also_where_the_test_is_root(tmp_path, monkeypatch):
    (tmp_path / "train.log").write_text(LINES)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "permission denied" in refused(tmp_path / "train.log")
    assert said.folder(tmp_path) == "1 unreadable file"
    assert "1 unreadable file" in refused(tmp_path)


def broken(kind: str) -> bytes:
    data = bytearray(writers.events([(i, "train/loss", 2 - i / 100) for i in range(1, 61)]))
    if kind == "every checksum":
        at = 0
        while at < len(data):
            length = struct.unpack_from("<Q", data, at)[0]
            data[at + 12 + length] ^= 0xFF
            at += 16 + length
    elif kind == "the first length":
        data[9] ^= 0xFF
    elif kind == "the middle":
        data[600:640] = bytes(b ^ 0xFF for b in data[600:640])
    elif kind == "cut":
        data = data[: len(data) // 2 + 3]
    return bytes(data)


def test_an_events_file_whose_every_checksum_is_wrong_is_exit_2(tmp_path):
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(broken("every checksum"))
    words = refused(path)
    assert "TensorBoard event file" in words and "wrong checksum" in words and "none of 61 records" in words


@pytest.mark.parametrize("kind", ["the first length", "the middle", "cut"])
def test_of_a_damaged_events_file_the_rest_is_used_and_the_damage_said(tmp_path, kind):
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(broken(kind))
    report = watch([path])
    assert (
        report.data["steps"] >= 29
        and report.data["skipped_lines"] >= 1
        and any("damaged" in w for w in report.warnings)
    )


def test_a_document_of_which_nothing_can_be_read_is_exit_2_and_half_a_one_is_used(tmp_path):
    (tmp_path / "deep.json").write_text('{"log_history": ' + "[" * 200_000)
    assert "none of 1 records" in refused(tmp_path / "deep.json")
    rows = ", ".join(json.dumps({"step": i, "loss": 2 - i / 100, "epoch": i / 10}) for i in range(1, 31))
    (tmp_path / "half.json").write_text('{"log_history": [' + rows + ', {"step": 31, "lo')
    report = watch([tmp_path / "half.json"])
    assert report.data["steps"] == 30 and report.warnings == ("one damaged line was passed over",)


def test_a_clock_that_goes_backwards_is_said_and_nothing_is_concluded_from_it(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(dict(r, _timestamp=1.7e9 - 60 * i)) + "\n" for i, r in enumerate(ROWS)))
    report = watch([path])
    assert report.data["level"] == "normal" and any("clock goes backwards" in w for w in report.warnings)
    assert next(s for s in report.data["signals"] if s["name"] == "heartbeat")["level"] == "unknown"


def test_a_log_with_a_hole_at_its_head_is_read(tmp_path):
    """logrotate's copytruncate under a writer that keeps its place leaves zeros."""
    path = tmp_path / "train.log"
    path.write_bytes(b"\0" * 3_000_000 + b"".join(b"step=%d loss=%.2f\n" % (r["step"], r["loss"]) for r in ROWS))
    assert examine([path])[0].steps == 60


def test_utf_16_appended_to_another_encoding_does_not_make_a_log_binary(tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes(
        b"".join(b"step=%d loss=%.2f\n" % (r["step"], r["loss"]) for r in ROWS)
        + "step=61 loss=1.30\r\n".encode("utf-16-le")
    )
    assert examine([path])[0].steps == 61


def test_iterations_that_begin_after_thousands_of_lines_of_a_launcher_are_found(tmp_path):
    head = [f"+ module load something-{i}" for i in range(9000)]
    rows = [
        f" iteration {i:8d}/     200 | elapsed time per iteration (ms): 512.3 | learning rate: 1.0E-04 | lm loss: {3 - i / 200:.6E} | loss scale: 1.0 | grad norm: 0.912 |"
        for i in range(1, 61)
    ]
    path = tmp_path / "slurm.out"
    path.write_text("\n".join([*head, *rows, *head]))
    found = examine([path])[0]
    assert (found.format, found.steps) == ("megatron", 60)


def test_a_table_of_experiments_is_no_run(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text(
        "experiment,config,final_f1,status\n" + "".join(f"run_{c},c.yaml,0.0,failed\n" for c in "abcdefghi")
    )
    assert refused(path)


@pytest.mark.slow
def test_one_line_of_a_gigabyte_takes_no_memory(tmp_path):
    """300 MB of it here; the peak is that of the program itself."""
    path = tmp_path / "train.log"
    with path.open("wb") as f:
        f.write(b"step=1 loss=2.0\n")
        f.truncate(300 << 20)
        f.seek(0, os.SEEK_END)
        f.write(b"x\nstep=2 loss=1.9\nstep=3 loss=1.8\nstep=4 loss=1.7\n")
    code = "import resource,sys; from pathlib import Path; from papertrain.monitor.run import examine; e = examine([Path(sys.argv[1])])[0]; print(e.steps, int(next(x for x in open('/proc/self/status') if x.startswith('VmHWM')).split()[1]) // 1024)"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    steps, peak = map(int, done.stdout.split())
    assert steps >= 3 and peak < 120
