"""Sixty ways in which a key, a home folder, a host, an address or an author could leave with a package: none does."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import pickle
import re
import sqlite3
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest
import scene
from runner import tree

from papertrain import verbs

SECRET = "hf_" + "qZ7kLm2Vt9XbR4nWs8Yc1Pd6Gh3Jf5TaEu"
AUTHOR, OTHER, THIRD = "Quentín Zweigelt-Ström", "Anna Maria Long", "王小明"
PAPER = f"authors: [{AUTHOR}, {OTHER}, {THIRD}]\naffiliation: Zentrum Zwirbeltal\nemail: qzw@zwirbeltal.example\n"
NEEDLES = re.compile(r"(?i)zweigelt|quent.{1,14}zw|qzweigelt|zwirbel|qzw\b|qznode|anna\s\S*\s?long|a\. ?m?\.? ?long|王小明|secret-repo|kommissar|deadbeefcafe|(?<=[/\\])qzw(?=[/\\])")  # fmt: skip
LINE = f"by {AUTHOR} at Zentrum Zwirbeltal on qznode17, qzw@zwirbeltal.example, /home/qzw/x, {SECRET}"


def zipped(name: str, text: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.comment = b"by Quentin Zweigelt"
        z.writestr(name, text)
    return out.getvalue()


def tarred(text: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        info = tarfile.TarInfo("x.txt")
        info.size, info.uname = len(text.encode()), "qzw"
        t.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def database(text: str) -> bytes:
    with sqlite3.connect(":memory:") as db:
        db.execute("create table t (x text)")
        db.execute("insert into t values (?)", (text,))
        return db.serialize()


def png(kind: bytes, data: bytes) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) + chunk(kind, data) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")  # fmt: skip


PDF = b"%%PDF-1.4\n1 0 obj\n<</Author (%s)>>\nendobj\nstream\n%s\nendstream\n"
ATTEMPTS: dict[str, bytes] = {
    # files of other kinds
    "notes.docx": zipped("word/document.xml", LINE), "table.xlsx": zipped("xl/sharedStrings.xml", LINE), "talk.pptx": zipped("x", LINE), "x.npy.bak": zipped("x", LINE), "renamed.log": zipped("x", LINE),
    "archive": tarred(LINE), "x.tar": tarred(LINE), "log.1": gzip.compress(LINE.encode()), "log.2": bz2.compress(LINE.encode()), "log.3": lzma.compress(LINE.encode()), "log.gz": gzip.compress(LINE.encode()),
    "twice.gz": gzip.compress(gzip.compress(LINE.encode())), "store": database(LINE), "tracker.db": database(LINE), "state": pickle.dumps({"a": LINE}), "args.pkl": pickle.dumps(LINE),
    "a.png": png(b"tEXt", b"Author\0" + LINE.encode()), "b.png": png(b"zTXt", b"Author\0\0" + zlib.compress(LINE.encode())), "c.png": png(b"eXIf", LINE.encode()), "d.png": png(b"prVt", LINE.encode()),
    "e.jpg": b"\xff\xd8\xff\xe1" + struct.pack(">H", len(LINE.encode()) + 2) + LINE.encode() + b"\xff\xda\x00\x02x", "f.gif": b"GIF89a\x01\x00\x01\x00\x00\x00\x00!\xfe" + bytes([200]) + LINE.encode()[:200] + b"\x00;",
    "g.webp": b"RIFF\x00\x00\x00\x00WEBPEXIF" + LINE.encode(), "h.tiff": b"II*\x00\x08\x00\x00\x00" + LINE.encode() + b"\x00", "i.svg": f"<svg><metadata><dc:creator>{LINE}</dc:creator></metadata></svg>".encode(),
    "j.eps": f"%!PS-Adobe-3.0 EPSF-3.0\n%%For: {LINE}\n".encode(), "k.pdf": PDF % (LINE.encode(), b""), "l.pdf": PDF % (b"", zlib.compress(LINE.encode())), "m.dvi": b"\xf7\x02" + LINE.encode() + b"\x00",
    # codings
    "u16le.log": LINE.encode("utf-16-le"), "u16be.log": LINE.encode("utf-16-be"), "u16.log": LINE.encode("utf-16"), "u32.log": LINE.encode("utf-32"), "latin.log": (("step 1 loss 1.5\n" * 30) + f"by {AUTHOR} and M\xfcller\n").encode("latin-1"),
    "gbk.log": (("step 1 loss 1.5\n" * 30) + f"作者 {THIRD} 训练\n").encode("gb18030"), "bom.txt": b"\xef\xbb\xbf" + LINE.encode(), "broken.log": b"\xff\xfe\xfd step 1 loss 2\n" * 3 + LINE.encode(),
    "nul.log": b"step 1\x00" + LINE.encode() + b"\x00", "escaped.json": json.dumps({"a": LINE}).encode(), "twice.json": json.dumps({"a": json.dumps({"b": LINE})}).encode(), "ansi.log": f"by Quentin \x1b[1mZweigelt\x1b[0m {SECRET[:9]}\x1b[0m{SECRET[9:]}\n".encode(),
    "folded.log": f"by Quentin\nZweigelt-Strom\n{SECRET}\n".encode(),
    # spellings
    "tex.tex": rb"\author{Quent{\'\i}n Zweigelt-Str{\"o}m \and Quent\'in Zweigelt-Str\"om}", "bib.bib": rb'author = {Zweigelt-Str\"{o}m, Quent\'{i}n and Long, Anna M.}', "page.html": b"Quent&iacute;n Zweigelt-Str&ouml;m, Anna&nbsp;Long",
    "logins.txt": b"qzweigelt q.zweigelt quentin.zweigelt zweigeltq quentin_zweigelt-strom QuentinZweigeltStrom", "middle.txt": b"Anna Long, Anna M. Long, A. M. Long, Long, Anna; Quentin B. Zweigelt-Strom", "cjk.md": f"作者：{THIRD}。{THIRD}_run".encode(),
    "mail.txt": b"Author: Q. Zweigelt <qzw@zwirbeltal.example>; qzw@cs.zwirbeltal.example",
    # programs
    "nccl.log": b"qznode17:123:456 [0] NCCL INFO Bootstrap\nqzw@qznode17:~/x$ ls\n[qzw@qznode17 ~]$ ls\n", "ls.log": b"drwxr-xr-x 2 qzw staff 64 Jan 1 x\nuid=1001(qzw) gid=1(staff)\n", "env.log": b"USER=qzw\nHOME=/home/qzw\nHOSTNAME=qznode17\nSLURM_JOB_USER=qzw\n",
    "freeze.txt": f"-e git+ssh://git@github.com/kommissar/secret-repo@deadbeefcafe#egg=x\ny @ file:///home/qzw/y\nz @ git+https://{SECRET}@github.com/kommissar/secret-repo\n".encode(), "hub.log": b"/data/hub/models--kommissar--secret-repo/snapshots/x kommissar/secret-repo https://huggingface.co/kommissar/secret-repo\n",
    "windows.log": rb"C:\Users\qzw\x C:/Users/qzw/x \\srv\home\qzw\x", "paths.log": b"/export/home3/qzw/x /var/home/qzw/x /u/qzw/x /afs/cs/user/qzw/x file:///home/qzw/x ~qzw/x /scratch/qzw/y /tmp/ray_qzw/z",
    "wandb.log": f"wandb: Currently logged in as: qzw (kommissar)\nWANDB_API_KEY={'0123456789abcdef' * 2}01234567\nhttps://wandb.ai/kommissar/secret-repo/runs/x\n".encode(), "commit.log": b"commit deadbeefcafedeadbeefcafedeadbeefcafe0123 (deadbeefcafe)\n",
    "trace.log": f"Traceback (most recent call last):\n  File \"/home/qzw/secret/x.py\", line 3, in f\nHTTPError: 401 for url: https://qzw:{SECRET}@host/x?token={SECRET}\n".encode(), "notebook.ipynb": json.dumps({"cells": [{"outputs": [{"text": [LINE]}]}], "metadata": {"author": AUTHOR}}).encode(),
    "Quentin_Zweigelt.txt": b"x", f"{SECRET}.txt": b"x", "qznode17/x.txt": b"x", "qzw/x.txt": b"x",
}  # fmt: skip


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    root = tmp_path_factory.mktemp("leaks")
    work = scene.build(root)
    (root / "paper-project.yaml").write_text(PAPER)
    run = work / "runs/ours.toy.1"
    record = json.loads((run / "record.json").read_text())
    record |= {"host": "qznode17", "git_commit": "deadbeefcafedeadbeefcafedeadbeefcafe0123", "git_remote": "git@github.com:kommissar/secret-repo.git\n"}  # fmt: skip
    record["environment"] |= {"USER": "qzw", "HF_TOKEN": SECRET}
    (run / "record.json").write_text(json.dumps(record))
    for name, data in ATTEMPTS.items():
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_bytes(data)
    verbs.load("evaluate")([work])
    for anonymous in (False, True):
        verbs.load("package")(work, output=root / f"b{anonymous:d}", anonymous=anonymous)
    return {anonymous: root / f"b{anonymous:d}" for anonymous in (False, True)}


def readings(data: bytes, depth: int = 3) -> list[str]:
    """Everything that somebody could read in it."""
    found = [data.decode(c, "ignore") for c in ("utf-8", "latin-1", "gb18030", "utf-16-le", "utf-16-be")]
    found += [data.replace(b"\x00", b"").decode("utf-8", "ignore")]
    for m in re.finditer(rb"[A-Za-z0-9+/]{60,}={0,2}", data):
        found.append(base64.b64decode(m[0] + b"==", validate=False).decode("utf-8", "ignore"))
    opened: list[bytes] = []
    for unpack in (gzip.decompress, bz2.decompress, lzma.decompress, zlib.decompress):
        try:
            opened.append(unpack(data))
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
            continue
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            opened += [z.comment, *(z.read(n) for n in z.namelist())]
    for m in re.finditer(rb"stream\r?\n(.*?)endstream|zTXt.*?\0\0(.*)", data, re.DOTALL):
        try:
            opened.append(zlib.decompressobj().decompress(m[1] or m[2]))
        except zlib.error:
            continue
    return found + [text for part in opened if depth for text in readings(part, depth - 1)]


def test_there_are_sixty_attempts() -> None:
    assert len(ATTEMPTS) >= 60


@pytest.mark.parametrize("anonymous", [False, True], ids=["named", "anonymous"])
def test_no_attempt_takes_a_secret_or_somebody_out(packed: dict[bool, Path], anonymous: bool) -> None:
    found = []
    for name, data in tree(packed[anonymous]).items():
        for text in [name, *readings(data)]:
            if SECRET[8:24] in text.replace("\n", "") or "qzw:" in text:
                found.append((name, "the secret"))
            if "/home/qzw" in text or "Users\\qzw" in text:
                found.append((name, "the home folder"))
            if anonymous and (m := NEEDLES.search(text)):
                found.append((name, text[max(0, m.start() - 30) : m.end() + 30]))
    assert not found, "\n".join(map(str, dict.fromkeys(found)))


def test_what_is_left_behind_is_listed_and_what_is_packed_verifies(packed: dict[bool, Path]) -> None:
    for place in packed.values():
        manifest = json.loads((place / "MANIFEST.json").read_text())
        runs = [n for n in manifest["files"] if n.startswith("runs/ours.toy.1/")]
        left = [x for x in manifest["left_out"] if x["name"].startswith("runs/ours.toy.1/")]
        assert all(x["why"] for x in left) and len(runs) + len(left) >= len(ATTEMPTS)
        assert verbs.load("package")(verify=place).data["verified"]
