"""Parsed files, kept for a while: a patch asks again for what the check has just read."""

from __future__ import annotations

from papertrain.core import yaml

MOST, LARGEST = 1024, 64 * 2**10
_kept: dict[tuple[str, str], yaml.Document] = {}


def keep(tree: yaml.Document) -> yaml.Document:
    """The tree itself, remembered if it is small."""
    if len(tree.text) <= LARGEST:
        if len(_kept) >= MOST:
            _kept.clear()
        _kept[tree.name, tree.text] = tree
    return tree


def parsed(text: str, name: str) -> yaml.Document:
    """The tree of a text that was read before, or read now. Nobody may change it."""
    return _kept.get((name, text)) or keep(yaml.load_any(text, name))
