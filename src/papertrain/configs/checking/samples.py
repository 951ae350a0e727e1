"""The samples of a rule: files in one text, so that a rule shows what it fires on in the place where it is written.

    == sft.yaml
    stage: sft
    == data/dataset_info.json
    {}

The first file is checked, and those headed `== also NAME` beside it. A line `== with gpu=1x V100-32GB transformers=4.57.6` states the surroundings.
"""

from __future__ import annotations

from pathlib import PurePosixPath


def files(sample: str) -> tuple[dict[str, str], dict[str, str]]:
    """({file name: text}, {what is stated: value})."""
    found: dict[str, list[str]] = {}
    stated: dict[str, str] = {}
    current: list[str] = []
    for line in sample.splitlines(keepends=True):
        if line.startswith("== with "):
            for part in line[8:].split(","):
                key, _, value = part.strip().partition("=")
                stated[key.strip()] = value.strip()
        elif line.startswith("== "):
            name = line[3:].strip().removeprefix("also ")
            assert not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts
            current = found.setdefault(name, [])
        else:
            current.append(line)
    return {name: "".join(lines) for name, lines in found.items()}, stated
