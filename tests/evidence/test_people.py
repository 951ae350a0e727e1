"""What a package for double-blind review must not say, wherever it stands and however it is written."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "security"))
import scene
from runner import tree

from papertrain import verbs
from papertrain.core.errors import Refused
from papertrain.core.redact import redact
from papertrain.evidence.cleaning import text_of, without_notes
from papertrain.evidence.people import MOST, patterns_of, people, who

PAPER = """title: A study
authors:
  - name: Wilhelmina Ötztürk-Cobblepot
    affiliation: University of Gotham
    email: w.oztcob@cs.uni-gotham.example
  - Bruce Wayne
  - {first: Selina, last: Kyle}
affiliations: [Gotham Institute of Technology]
acknowledgements: Funded by the Wayne Foundation under grant WF-12345.
anonymity: double-blind
"""
LOG = r"""wandb: Currently logged in as: bwayne (gothamnlp). Use `wandb login --relogin` to force relogin
wandb: View run at https://wandb.ai/gothamnlp/secretproject/runs/3kx9z2ab
gotham-node7:1234:1299 [0] NCCL INFO Bootstrap
selina@gotham-login1:~/x$ python train.py
University of Gotham, Gotham Institute of Technology, Wayne Foundation, WF-12345
Pushed to https://huggingface.co/gotham-nlp-lab/secret-model and to gothamnlp/secret-data
/lustre/home/skyle/x.py /data/users/bwayne/x /home/kyles/y
Kyle, Selina; B. Wayne; W. Ötztürk-Cobblepot; Wilhelmina Oetztuerk-Cobblepot; Wilhelmina Otzturk-Cobblepot; wilhelmina.ötztürk-cobblepot; WAYNE
{"by": "Wilhelmina \u00d6tzt\u00fcrk-Cobblepot"}
Alfred Pennyworth committed it; Lucius Fox-Dormer is thanked; git@github.com:gothamnlp/secretproject.git
step 3 loss 1.5 on Qwen/Qwen2.5-7B with meta-llama/Llama-3.1-8B; commit 0123456789abcdef0123456789abcdef01234567
"""
NEEDLES = ["wilhelmina", "ztürk", "00d6tzt", "oetzt", "otztu", "cobblepot", "oztcob", "gotham", "bruce", "wayne", "selina", "kyle", "skyle", "alfred", "pennyworth", "lucius", "dormer", "secretproject", "secret-model", "secret-data", "wf-12345", "node7"]  # fmt: skip


def png(*notes: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    texts = b"".join(chunk(b"tEXt", n) + chunk(b"zTXt", b"Comment\0\0" + zlib.compress(n)) for n in notes)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) + texts + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")  # fmt: skip


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(the workspace, its anonymous package)."""
    root = tmp_path_factory.mktemp("blind")
    work = scene.build(root)
    git = {"cwd": root, "check": True, "capture_output": True}
    env = os.environ | {"GIT_AUTHOR_NAME": "Alfred Pennyworth", "GIT_AUTHOR_EMAIL": "ap@example.org", "GIT_COMMITTER_NAME": "Wilhelmina Ötztürk-Cobblepot", "GIT_COMMITTER_EMAIL": "w@example.org"}  # fmt: skip
    subprocess.run(["git", "init", "-q", "."], **git)
    subprocess.run(["git", "remote", "add", "origin", "git@github.com:gothamnlp/secretproject.git"], **git)
    subprocess.run(["git", "remote", "add", "hub", "https://huggingface.co/gotham-nlp-lab/secret-model"], **git)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "x"], env=env, **git)
    (root / "CITATION.cff").write_text("authors:\n  - family-names: Fox-Dormer\n    given-names: Lucius\n")
    (root / "paper-project.yaml").write_text(PAPER)
    run = work / "runs/ours.toy.1"
    record = json.loads((run / "record.json").read_text())
    record |= {
        "host": "gotham-node7",
        "git_remote": "git@github.com:gothamnlp/secretproject.git",
        "git_diff": "+# Bruce Wayne",
    }
    record["environment"] |= {"USER": "selina", "SLURM_JOB_NODELIST": "gotham-node[7-9]", "WANDB_ENTITY": "gothamnlp"}
    (run / "record.json").write_text(json.dumps(record))
    (run / "slurm.out").write_text(LOG)
    (run / "windows.log").write_bytes(LOG.encode("utf-16"))
    (run / "notebook.ipynb").write_text(json.dumps({"cells": [LOG]}))
    (run / "bwayne.notes.txt").write_text("x")
    (run / "curve.png").write_bytes(png(b"Author\0Bruce Wayne", b"Source\0gothamnlp"))
    (run / "events.out.tfevents.1700000000.gotham-node7.1234.0").write_bytes(b"\x00\x01binary")
    (run / "table.bin2").write_bytes(b"\x00\x01" + b"made by Bruce Wayne" + b"\x00")
    (run / "run.wandb").write_bytes(b"\x00packed")
    verbs.load("evaluate")([work])
    verbs.load("package")(work, output=root / "bundle", anonymous=True)
    return work, root / "bundle"


def test_nobody_and_nothing_of_theirs_is_named_in_any_byte_or_name(blind: tuple[Path, Path]) -> None:
    found = {}
    for name, data in tree(blind[1]).items():
        text = f"{name}\n{text_of(data) or data.decode('latin-1')}".lower()
        if hits := [n for n in NEEDLES if n in text]:
            found[name] = hits
    assert not found, found


def test_what_is_public_and_what_was_measured_stays(blind: tuple[Path, Path]) -> None:
    log = (blind[1] / "runs/ours.toy.1/slurm.out").read_text()
    for word in (
        "Qwen/Qwen2.5-7B",
        "meta-llama/Llama-3.1-8B",
        "0123456789abcdef0123456789abcdef01234567",
        "step 3 loss 1.5",
        "NCCL INFO Bootstrap",
    ):
        assert word in log, word
    assert (blind[1] / "runs/ours.toy.1/trainer_state.json").read_bytes() == (
        blind[0] / "runs/ours.toy.1/trainer_state.json"
    ).read_bytes()


def test_the_anonymous_package_verifies_without_the_workspace(blind: tuple[Path, Path], tmp_path: Path) -> None:
    import shutil

    shutil.copytree(blind[1], tmp_path / "elsewhere")
    checked = verbs.load("package")(verify=tmp_path / "elsewhere")
    assert checked.data["verified"] and checked.data["reread"] > 5


def test_what_cannot_be_cleaned_stays_behind_and_says_why(blind: tuple[Path, Path]) -> None:
    left = {x["name"]: x["why"] for x in json.loads((blind[1] / "MANIFEST.json").read_text())["left_out"]}
    assert "names an author" in left["runs/ours.toy.1/table.bin2"]
    assert "cannot be searched" in left["runs/ours.toy.1/run.wandb"]
    files = set(tree(blind[1]))
    assert "runs/ours.toy.1/curve.png" in files, "a picture loses its notes and is packed"
    assert not [f for f in files if "wayne" in f] and [f for f in files if f.endswith(".notes.txt")]


def test_two_anonymous_packages_of_one_state_are_the_same_bytes(blind: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        verbs.load("package")(blind[0], output=tmp_path / name, anonymous=True)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as z:
        assert z.read("README.md") == (blind[1] / "README.md").read_bytes()


def test_words_of_the_field_are_no_names(tmp_path: Path) -> None:
    (tmp_path / "paper-project.yaml").write_text("authors: [Grace Long, Adam Young, Ada Page]\n")
    hide = patterns_of(people(tmp_path))
    text = "a long page of Adam steps on NVIDIA Grace Hopper with young gradients; Ada-generation L40S"
    for pattern in hide:
        text = pattern.sub("[x]", text)
    assert "long page of Adam steps on NVIDIA Grace Hopper with young gradients; Ada-generation" in text
    whole = "by Grace Long and A. Page"
    for pattern in hide:
        whole = pattern.sub("[x]", whole)
    assert not re.search("Long|Page", whole)


def test_a_figure_that_names_somebody_stops_the_package(tmp_path: Path) -> None:
    work = scene.build(tmp_path)
    (tmp_path / "paper-project.yaml").write_text("authors: [Bruce Wayne]\n")
    (work / "figures").mkdir()
    (work / "figures/main.pdf").write_bytes(b"%PDF-1.4\n1 0 obj\n<</Author (Bruce Wayne)>>\nendobj\n")
    with pytest.raises(Refused, match="the name of an author"):
        verbs.load("package")(work, output=tmp_path / "b", anonymous=True)
    stream = zlib.compress(b"drawn by Bruce Wayne")
    (work / "figures/main.pdf").write_bytes(b"%PDF-1.4\n1 0 obj\n<<>>\nstream\n" + stream + b"\nendstream\n")
    with pytest.raises(Refused, match="the name of an author"):
        verbs.load("package")(work, output=tmp_path / "b", anonymous=True)


SECRET = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("slurm-1.out", f"x {SECRET}\n".encode()), ("x.ipynb", json.dumps({"a": SECRET}).encode()), ("x.html", f"<b>{SECRET}</b>".encode()), ("job.slurm", f"export HF_TOKEN={SECRET}\n".encode()),
        (".env", f"HF_TOKEN={SECRET}\n".encode()), ("windows.txt", f"x {SECRET}\n".encode("utf-16")), ("x.cfg", f"a={SECRET}".encode()), ("x.unheard", f"a={SECRET}".encode()),
        ("x.dat", b"\x00\x01" + SECRET.encode() + b"\x00"), ("x.log.gz", __import__("gzip").compress(f"x {SECRET}".encode())), ("x.png", png(b"Comment\0" + SECRET.encode())),
        (f"{SECRET}.log", b"x"), ("x.pdf", b"%PDF-1.4\nstream\n" + zlib.compress(SECRET.encode()) + b"\nendstream\n"),
    ],
    ids=lambda x: x if isinstance(x, str) and SECRET not in x else "data",
)  # fmt: skip
def test_no_kind_of_file_carries_a_secret_into_a_package(tmp_path: Path, name: str, data: bytes) -> None:
    work = scene.build(tmp_path)
    (work / "runs/ours.toy.1" / name).write_bytes(data)
    report = verbs.load("package")(work, output=tmp_path / "b")
    for file, content in tree(tmp_path / "b").items():
        seen = (
            file.encode()
            + content
            + (content.decode("utf-16").encode() if content[:2] in (b"\xff\xfe", b"\xfe\xff") else b"")
        )
        for m in re.finditer(rb"stream\n(.*?)\nendstream", content, re.DOTALL):
            seen += zlib.decompress(m[1]) if content[:9] == b"%PDF-1.4\n" and len(content) < 500 else b""
        assert SECRET[12:].encode() not in seen, file
    assert SECRET[12:] not in str(report.data) and verbs.load("package")(verify=tmp_path / "b").data["verified"]


def test_many_commits_of_one_author_hide_nobody_else() -> None:
    told = [("name", "Alfred Pennyworth")] * (2 * MOST) + [("name", "Bruce Wayne"), ("owner", "gothamnlp")]
    found = who(told)
    assert found.names == {"Alfred Pennyworth", "Bruce Wayne"} and found.owners == {"gothamnlp"}


def test_a_picture_without_its_notes_is_the_same_picture() -> None:
    assert without_notes(png(b"Author\0me")) == png() and without_notes(png()) == png()
    assert without_notes(png(b"Author\0me")[:60]) == png(b"Author\0me")[:60], "a broken one is left as it is"
    jpeg = (
        b"\xff\xd8"
        + b"\xff\xe0\x00\x04ab"
        + b"\xff\xe1\x00\x08Exif!!"
        + b"\xff\xfe\x00\x04me"
        + b"\xff\xda\x00\x02rest"
    )
    assert without_notes(jpeg) == b"\xff\xd8" + b"\xff\xe0\x00\x04ab" + b"\xff\xda\x00\x02rest"


@pytest.mark.parametrize("address", ["https://gitlab.inst-zorblax.ac.uk/evasq/reviews.git", "git@gitlab.inst-zorblax.ac.uk:evasq/reviews.git"])  # fmt: skip
def test_the_house_of_a_remote_tells_where_somebody_works(address: str, tmp_path: Path) -> None:
    work = tmp_path / "w"
    work.mkdir()
    for words in (["init", "-q"], ["remote", "add", "origin", address]):
        subprocess.run(["git", *words], cwd=work, check=True)
    hide = patterns_of(people(work))
    text = f"from {address}; the forge of inst-zorblax.ac.uk, of inst-zorblax; https://huggingface.co/papers"
    assert not re.search("zorblax|evasq", redact(text, extra=hide)) and "huggingface.co" in redact(text, extra=hide)


def test_a_slurm_header_names_accounts_nodes_and_the_cluster(tmp_path: Path) -> None:
    script = tmp_path / "configs/ours/slurm/script.sbatch"
    script.parent.mkdir(parents=True)
    head = "#SBATCH --account=zorblax_nlp\n#SBATCH --mail-user=vasqu\n#SBATCH --partition zorb\n#SBATCH -w zorbnode[07-09]\n#SBATCH --gres=gpu:8\n"
    script.write_text(f"#!/bin/bash\n{head}echo zorbnode08 zorblax_nlp\n")
    left = redact(script.read_text() + "a zorb of foam", extra=patterns_of(people(tmp_path)))
    assert not re.search("zorbl|vasqu|zorbnode|n zorb", left)
    assert "--gres=gpu:8" in left and left.count("#SBATCH") == 5 and left.endswith("a zorb of foam")
