"""The house keeps its order: rooms only import downwards, and by full name."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src" / "papertrain"
ROOMS = {"data", "plan", "configs", "run", "monitor", "diagnose", "results", "evidence", "report"}
MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "facts": {"core"},
    "verbs": ROOMS | {"facts", "core"},
    "__main__": {"cli"},
    **{key: {"facts", "core"} for key in ROOMS},
    **{key: {"verbs", "report", "core"} for key in ("cli", "web", "mcp", "__init__")},
}
HEAVY = {"torch", "transformers", "pandas", "datasets", "accelerate", "peft"}
LAZY = {"numpy", "scipy", "sklearn", "matplotlib", "pyarrow", "jinja2", "tokenizers", "starlette", "uvicorn"}
FILES = sorted(p for p in SRC.rglob("*.py") if "script_files" not in p.parts)


def imports(path: Path) -> Iterator[tuple[ast.stmt, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node, a.name) for a in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: import by full name"
            yield from ((node, f"{node.module}.{a.name}") for a in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_rooms_only_import_downwards(path: Path) -> None:
    room = path.relative_to(SRC).parts[0].removesuffix(".py")
    found = {name.split(".")[1] for _, name in imports(path) if name.startswith("papertrain.")}
    assert found <= MAY_IMPORT[room] | {room}


def test_no_two_modules_of_the_verbs_need_each_other() -> None:
    """Not at the top of a file and not inside a function; a type that is only named is no need."""
    modules = {".".join(p.relative_to(SRC.parent).with_suffix("").parts): p for p in FILES if "verbs" in p.parts}
    needs: dict[str, set[str]] = {}
    for module, path in modules.items():
        tree = ast.parse(path.read_text())
        typed = {id(n) for x in ast.walk(tree) if isinstance(x, ast.If) and "TYPE_CHECKING" in ast.unparse(x.test) for n in ast.walk(x)}  # fmt: skip
        found = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and id(n) not in typed]
        names = {name for n in found for a in n.names for name in (f"{n.module}.{a.name}", n.module or "")}
        needs[module] = names & modules.keys() - {module}
    assert list(graphlib.TopologicalSorter(needs).static_order())  # raises CycleError


def test_no_module_of_the_package_imports_torch_or_pandas() -> None:
    guilty = [
        f"{path.relative_to(SRC)}: {name}"
        for path in FILES
        if path.name != "callback.py"
        for _, name in imports(path)
        if name.split(".")[0] in HEAVY
    ]
    assert not guilty


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_heavy_libraries_are_imported_inside_functions(path: Path) -> None:
    top = ast.parse(path.read_text()).body
    names = [a.name for n in top if isinstance(n, ast.Import) for a in n.names]
    names += [n.module or "" for n in top if isinstance(n, ast.ImportFrom)]
    # The results room computes with arrays from end to end, and two verbs import it, inside their functions.
    allowed = {"numpy", "scipy"} if path.relative_to(SRC).parts[0] == "results" else set()
    found = {n.split(".")[0] for n in names} & (LAZY | HEAVY)
    assert found <= allowed, f"{path}: import it inside the function that needs it"


def test_a_file_is_a_page() -> None:
    long = [f"{p.relative_to(SRC)} ({n} lines)" for p in FILES if (n := len(p.read_text().splitlines())) > 500]
    assert not long
