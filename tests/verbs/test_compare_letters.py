"""Names of methods in Chinese: the answer says what LaTeX needs for them."""

from __future__ import annotations

from pathlib import Path

from papertrain import verbs

ROWS = "id,label,prediction\n" + "".join(f"{i},{i % 2},{(i + (i % 7 == 0)) % 2}\n" for i in range(60))


def compared(folder: Path, ours: str) -> tuple[str, ...]:
    (folder / "a.csv").write_text(ROWS, "utf-8")
    (folder / "b.csv").write_text(ROWS.replace("1,1,1", "1,1,0"), "utf-8")
    systems = [f"{ours}={folder / 'a.csv'}", f"base={folder / 'b.csv'}"]
    return verbs.load("compare")([], system=systems, ours=ours, baseline="base", output=folder / "paper").warnings


def test_names_that_pdflatex_lacks_are_told_with_what_sets_them(tmp_path: Path) -> None:
    assert any("xeCJK" in w for w in compared(tmp_path, "我们的方法"))
    assert "我们的方法" in (tmp_path / "paper" / "tables" / "main.tex").read_text("utf-8")


def test_latin_names_need_nothing(tmp_path: Path) -> None:
    assert not any("xeCJK" in w for w in compared(tmp_path, "ours"))
