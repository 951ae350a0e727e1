"""Every rule of `check`: it fires on its own sample, stays quiet on the other, and its patch mends what it found."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.configs.checking import samples
from papertrain.configs.checking.engine import Choice, inspect, rules
from papertrain.configs.checking.read import read_file
from papertrain.configs.checking.world import World
from papertrain.core.findings import Finding, Rule

PREVIEW = Choice(preview=True)
COUNTED = {"TR320", "TR321"}


def data_can_be_counted(folder: Path) -> bool:
    from papertrain.data.profile import profile

    (folder / "one.jsonl").write_text('{"instruction": "a", "output": "b"}\n')
    try:
        profile(folder / "one.jsonl", model=None, cutoff=128)
    except NotImplementedError:
        return False
    return True


def world_of(sample: str, folder: Path) -> World:
    """The files of a sample, written to a folder and read; the first one is checked."""
    texts, stated = samples.files(sample)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    compute = None
    if gpu := stated.pop("gpu", ""):
        from papertrain.facts.hardware import parse_compute

        compute = parse_compute(gpu, host_ram=int(stated.pop("host_ram", 0)) or None)
    first, *others = texts
    beside = [name for name in others if name.endswith(".jsonl") or f"== also {name}\n" in sample]
    data = [d for name in beside for d in read_file(folder / name)]
    from papertrain.verbs.check import _estimate, _profiler
    from papertrain.verbs.checking.rows import row_faults, shared_rows

    return World(
        [*read_file(folder / first), *data],
        compute=compute,
        versions=stated,
        profiler=_profiler(None, None, None),
        estimator=_estimate if compute else None,
        inspector=row_faults,
        overlap=shared_rows,
    )


def findings(sample: str, folder: Path) -> list[Finding]:
    return inspect(world_of(sample, folder), choice=PREVIEW)


@pytest.mark.parametrize("rule", rules().values(), ids=lambda r: r.name)
def test_a_rule_fires_on_its_sample(rule: Rule, tmp_path: Path) -> None:
    if rule.id in COUNTED and not data_can_be_counted(tmp_path):
        pytest.skip("the data room cannot count rows yet")
    found = [f for f in findings(rule.fires, tmp_path) if f.rule == rule.id]
    assert found, [f.says for f in findings(rule.fires, tmp_path)]
    assert all(f.says and f.level != "ok" and f.line >= 1 for f in found)


@pytest.mark.parametrize("rule", rules().values(), ids=lambda r: r.name)
def test_a_rule_is_quiet_on_its_other_sample(rule: Rule, tmp_path: Path) -> None:
    assert [f.says for f in findings(rule.quiet, tmp_path) if f.rule == rule.id] == []


@pytest.mark.parametrize("rule", rules().values(), ids=lambda r: r.name)
def test_the_quiet_sample_of_a_rule_is_a_good_file(rule: Rule, tmp_path: Path) -> None:
    assert [(f.rule, f.says) for f in findings(rule.quiet, tmp_path) if f.level == "error"] == []


@pytest.mark.parametrize("rule", rules().values(), ids=lambda r: r.name)
def test_a_rule_says_what_why_and_where_it_was_read(rule: Rule) -> None:
    assert rule.what and rule.why and rule.source.ref and rule.fires and rule.quiet and rule.applies
    assert 201 <= int(rule.id[2:]) <= 469


@pytest.mark.parametrize("rule", rules().values(), ids=lambda r: r.name)
def test_the_patch_of_a_rule_mends_what_it_found(rule: Rule, tmp_path: Path) -> None:
    from papertrain.configs.checking.patches import apply
    from papertrain.configs.checking.read import read_source

    world = world_of(rule.fires, tmp_path)
    for document in list(world.documents):
        applies = rule.applies == "*" or document.kind in rule.applies.split()
        for wrong in rule.check(document, world) if applies else ():
            if not wrong.edits:
                continue
            target = wrong.within or document
            new = apply(target, target.text, wrong.edits)
            assert new is not None and new != target.text, wrong
            if wrong.within is None:
                again = read_source(new, document.file, document.path)
                assert wrong.says not in [
                    w.says for d in again if d.kind == document.kind for w in rule.check(d, world)
                ]
