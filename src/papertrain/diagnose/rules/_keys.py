"""The key that a refused one was probably meant to be."""

from papertrain.core.errors import nearest
from papertrain.facts.frameworks.load import framework


def meant(name: str, *programs: str) -> str:
    """The key of these programs at the distance of a slip; empty where none is near."""
    known = sorted({k for p in programs for k in framework(p).known()})
    found = nearest(name, known, 0.82)
    # A whole word more is another option, not a slip of the keys.
    return found if found and found != name and abs(len(found) - len(name)) <= 3 else ""
