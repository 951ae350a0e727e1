"""What takes long is made once for many who ask at the same time, and anew when a file changed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from papertrain.web.kept import MOST, Kept


def test_eight_who_ask_at_once_cost_one_making(tmp_path: Path) -> None:
    kept, made, lock = Kept(), [], threading.Lock()

    def make() -> str:
        with lock:
            made.append(1)
        time.sleep(0.05)
        return "done"

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: kept.get(("a",), [tmp_path], make), range(8)))
    assert answers == ["done"] * 8 and len(made) == 1


def test_it_is_made_anew_when_a_file_changed_and_for_another_key(tmp_path: Path) -> None:
    file, kept = tmp_path / "log", Kept()
    file.write_text("1")
    assert kept.get(("a",), [file], lambda: "first") == kept.get(("a",), [file], lambda: "second") == "first"
    assert kept.get(("b",), [file], lambda: "third") == "third"
    file.write_text("22")
    assert kept.get(("a",), [file], lambda: "second") == "second"
    file.unlink()
    assert kept.get(("a",), [file], lambda: "gone") == "gone"


def test_it_does_not_grow_without_end(tmp_path: Path) -> None:
    kept = Kept()
    for i in range(3 * MOST):
        kept.get((str(i),), [], lambda: "x")
    assert len(kept._texts) <= MOST + 1
