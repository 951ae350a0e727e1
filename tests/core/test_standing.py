"""A short name is replaced where it can only be a name; the same letters in words, paths and numbers stay."""

from __future__ import annotations

import pytest

from papertrain.core import redact as redactor
from papertrain.core.standing import Standing

USERS, HOSTS = Standing(users=["li", "wu"]), Standing(hosts=["gp1", "ml"])


@pytest.mark.parametrize(
    "text",
    [
        "/home/li/x", "/data/team/li/run.py", "cd ~li", "li@gp1:~/x$", "li@login3 $", "USER=li", '"user": "li",', "LOGNAME: wu", "--user li", "user li logged out", "uid=1000(li)",
        "-rw-r--r-- 1 li staff 12 Jan 1 x", "drwxr-xr-x 2 root wu 12 x", "li   4242  0.0  0.1 python", "\n  wu  77 99.0 python", "  12345 gpu train wu  R  1:00", "/tmp/ray_li/x", "/dev/shm/wu-1",
        "wandb: Currently logged in as: li", '{\\"owner\\": \\"li\\"}', "0 | A100 | li(1024M)",
    ],
)  # fmt: skip
def test_a_short_user_is_replaced_where_it_stands_as_one(text: str) -> None:
    assert USERS.search(text) and "[user]" in USERS.sub("[user]", text), text
    rest = USERS.sub("[user]", text)
    assert not list(USERS.undecided(rest)) and USERS.sub("[user]", rest) == rest, rest


@pytest.mark.parametrize(
    "text",
    [
        "li@gp1:~/x$", "gp1:123:456 [0] NCCL INFO x", "events.out.tfevents.1700000000.gp1.44.0", "MASTER_ADDR=gp1", "tcp://gp1:29500", "gp1:29500", "ssh gp1", "host gp1 is down", "gp1.cs.uni.edu",
        "SLURM_NODELIST=gp1", "scp x gp1:/data/x", "gp1: step 3",
    ],
)  # fmt: skip
def test_a_short_host_is_replaced_where_it_stands_as_one(text: str) -> None:
    rest = HOSTS.sub("[host]", text)
    assert "[host]" in rest and "gp1" not in rest, rest


@pytest.mark.parametrize(
    "text",
    ["validation of li-ion data", "a wu-tang list", "language li, wu and en", "li = [1, 2]", "public library", "ml model in /opt/ml/input", "split: li", "gp1 = GaussianProcess()", "f(li)", "x.li.y", "li/wu", "alibi@x", "lr 1e-4"],
)  # fmt: skip
def test_ordinary_words_stay_and_what_cannot_be_told_is_reported(text: str) -> None:
    assert USERS.sub("[user]", text) == text and HOSTS.sub("[host]", text) == text
    alone = {w for s in (USERS, HOSTS) for w, _ in s.undecided(text)}
    assert alone == {
        w for w in ("li", "wu", "ml", "gp1") if f" {w} " in f" {text.translate({ord(c): ' ' for c in ',-=()/.:'})} "
    }


def test_nothing_short_means_nothing_is_looked_for() -> None:
    nobody = Standing(users=["a", "somebody", ""], hosts=["1", "node-17"])
    assert not nobody and nobody.sub("x", "a/somebody/1") == "a/somebody/1" and nobody.search("a") is None


def test_the_users_own_short_names_leave_the_terminal_only_as_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redactor.getpass, "getuser", lambda: "wu")
    monkeypatch.setattr(redactor.socket, "gethostname", lambda: "gp1")
    for cached in (redactor._own_short, redactor._own_names):
        cached.cache_clear()
    try:
        said = redactor.redact("USER=wu on host gp1: /scratch/x/wu/run, gp1:29500; a wu word")
        assert said == "USER=[user] on host [host]: /scratch/x/[user]/run, [host]:29500; a wu word"
        assert redactor.redact("USER=wu", terminal=True) == "USER=wu"
    finally:
        monkeypatch.undo()
        for cached in (redactor._own_short, redactor._own_names):
            cached.cache_clear()
