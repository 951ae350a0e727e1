"""`make golden`: writes the golden folders anew and prints what changed."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

from cases import CASES

HERE = Path(__file__).resolve().parent


def main() -> None:
    for case, make in CASES.items():
        files = make()
        kept = {str(p.relative_to(HERE / case)) for p in (HERE / case).rglob("*") if p.is_file()}
        for name in sorted(kept - set(files)):
            print(f"removed {case}/{name}")
            (HERE / case / name).unlink()
        for name, text in files.items():
            path = HERE / case / name
            old = path.read_text() if path.is_file() else ""
            if old != text:
                sys.stdout.writelines(
                    difflib.unified_diff(
                        old.splitlines(True), text.splitlines(True), f"a/{case}/{name}", f"b/{case}/{name}"
                    )
                )
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)


if __name__ == "__main__":
    main()
