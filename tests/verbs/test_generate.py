"""generate: everything written from the plan, edits of a person left alone, unconfirmed plans marked."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workspaces import make_workspace

from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.gate import confirm
from papertrain.core.workspace import Workspace
from papertrain.verbs.generate import generate


def tree(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_a_plan_becomes_the_files_of_every_framework_that_applies(tmp_path: Path) -> None:
    work = make_workspace(tmp_path)
    report = generate(work)
    names = {f["path"] for f in report.data["files"]}
    assert {
        "configs/ours/llamafactory/train.yaml",
        "configs/ours/script/train.py",
        "configs/ours/deepspeed/ds_zero0.json",
        "commands.sh",
        "commands.md",
        "monitoring.md",
    } <= names
    for file in report.data["files"]:
        assert hashlib.sha256((work / file["path"]).read_bytes()).hexdigest() == file["sha256"]
    assert report.exit_code() == 0
    # Where no training environment lies near, nothing could be started: the command is shown then.
    assert report.action in (f"papertrain launch {work}", f"papertrain launch {work} --dry-run")
    assert json.loads((work / ".papertrain/generated.json").read_text())["ours"] == Workspace(work).plan_digest("ours")


def test_deleted_configs_come_back_with_the_same_bytes(tmp_path: Path) -> None:
    import shutil

    work = make_workspace(tmp_path)
    generate(work)
    before = tree(work / "configs")
    shutil.rmtree(work / "configs")
    generate(work)
    assert tree(work / "configs") == before


def test_what_a_person_edited_is_left_alone_and_overwritten_only_when_told(tmp_path: Path) -> None:
    work = make_workspace(tmp_path)
    generate(work)
    edited = work / "configs/ours/llamafactory/train.yaml"
    edited.write_text(edited.read_text() + "# mine\n")
    other = work / "configs/ours/llamafactory/predict.yaml"
    written = other.read_text()
    other.unlink()
    report = generate(work)
    assert report.exit_code() == 0 and any(
        "llamafactory/train.yaml" in w and "--overwrite" in w for w in report.warnings
    )
    assert edited.read_text().endswith("# mine\n") and other.read_text() == written, "the others are written"
    assert generate(work).warnings, "it is still a person's file the next time"
    assert "# mine" in generate(work, dry_run=True).body
    shown = generate(work, dry_run=True, overwrite=True)
    assert shown.action == f"papertrain generate {work} --overwrite", "what was shown is what the next command does"
    generate(work, overwrite=True)
    assert str(generate(work, dry_run=True).action).startswith(f"papertrain launch {work}"), "nothing is left to write"
    assert not edited.read_text().endswith("# mine\n")


def test_a_dry_run_shows_the_text_and_writes_nothing(tmp_path: Path) -> None:
    work = make_workspace(tmp_path)
    before = tree(work)
    report = generate(work, dry_run=True)
    assert tree(work) == before
    assert "+per_device_train_batch_size: 4" in report.body


def test_unconfirmed_is_said_in_every_file_until_it_is_confirmed(tmp_path: Path) -> None:
    work = make_workspace(tmp_path)
    report = generate(work, mode="standard")
    assert report.exit_code() == 0 and report.data["unconfirmed"] == ["ours"]
    assert report.action == f"papertrain status {work} --confirm derive"
    marked = [n for n, b in tree(work).items() if n.endswith((".md", ".yaml", ".sh")) and b"unconfirmed" in b]
    assert len(marked) == len([n for n in tree(work) if n.endswith((".md", ".yaml", ".sh"))])
    confirm(Workspace(work), "ours")
    generate(work, mode="standard")
    assert not [n for n, b in tree(work).items() if n.endswith((".md", ".yaml", ".sh")) and b"unconfirmed" in b]


def test_a_misspelt_target_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(PapertrainError) as error:
        generate(make_workspace(tmp_path), target=["llama-factory"])
    assert error.value.nearest == "llamafactory" and error.value.exit == 2


def test_a_folder_that_is_no_workspace_is_one_clear_error(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(PapertrainError) as error:
            generate(place)
        assert error.value.exit == 2 and "papertrain plan" in (error.value.command or "")


def test_a_baseline_that_is_a_command_stands_in_the_commands(tmp_path: Path) -> None:
    work = make_workspace(tmp_path, command="python base.py {data_train} {seed} {out}")
    generate(work)
    assert "python base.py {data_train} {seed} {out}" in (work / "commands.md").read_text()


def test_a_data_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    work = make_workspace(tmp_path)
    assert generate(work).warnings == ()
    (tmp_path / "train.jsonl").unlink()
    assert any("../train.jsonl is not there" in w for w in generate(work).warnings)


def test_a_token_never_reaches_a_file(tmp_path: Path) -> None:
    from msgspec import structs
    from plans import make_plan

    from papertrain.core.training import write_plan

    work = make_workspace(tmp_path)
    plan = make_plan()
    secret = "hf_abcdefghijABCDEFGHIJ0123456789klmn"
    (work / "plans/ours/plan.json").write_text(
        write_plan(structs.replace(plan, model=structs.replace(plan.model, name=f"https://user:{secret}@hub/model")))
    )
    with pytest.raises(Refused) as refusal:
        generate(work)
    assert refusal.value.exit == 3 and secret not in refusal.value.one_line()
    assert not (work / "configs").exists()


@pytest.mark.parametrize(
    "options",
    [{}, {"nodes": 2, "cards": 8, "method": "full", "zero_stage": 3, "learning_rate": 1e-5}],
    ids=["lora", "zero3"],
)
def test_check_finds_nothing_wrong_in_what_generate_wrote(tmp_path: Path, options: dict[str, object]) -> None:
    from papertrain.verbs.check import check

    work = make_workspace(tmp_path, **options)
    generate(work)
    found = check([work / "commands.sh", work / "configs"], host_ram="1TB").data["findings"]
    # The toy's one row of data is short of many things; what is wrong with the files themselves would be an error.
    assert not [f for f in found if f["level"] == "error"], found


def test_the_commands_of_another_target_stay_while_its_files_do(tmp_path: Path) -> None:
    work = make_workspace(tmp_path, cards=2)
    generate(work, target=["script"])
    generate(work, target=["llamafactory"])
    page, names = (work / "commands.md").read_text(), (work / "commands.sh").read_text()
    assert "### script" in page and "### llamafactory" in page and "ours/script-several)" in names
    assert "### trl" not in page, "nothing was written for it"
    assert (
        list((work / "configs/ours/slurm").glob("*.sbatch")) and (work / "configs/ours/slurm/script.sbatch").is_file()
    )


def test_files_that_an_older_plan_wrote_stay_stale_until_they_are_written_too(tmp_path: Path) -> None:
    from papertrain.verbs.launch import launch

    work = make_workspace(tmp_path, cards=1)
    generate(work, target=["script"])
    make_workspace(tmp_path, cards=1, learning_rate=3e-5)
    generate(work, target=["llamafactory"])
    assert any("changed after its files" in w for w in launch(work, dry_run=True).warnings)
    generate(work)
    assert not any("changed after its files" in w for w in launch(work, dry_run=True).warnings)


def test_every_command_for_several_machines_says_what_each_machine_must_be_told(tmp_path: Path) -> None:
    work = make_workspace(tmp_path, cards=8, nodes=2)
    generate(work)
    page = (work / "commands.md").read_text()
    parts = [part for part in page.split("**") if part.startswith(" (as planned) · `ours/")]
    assert len(parts) >= 3 and all("export NODE_RANK=0 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500\n" in p for p in parts)
    from papertrain.verbs.check import check

    text = next(p for p in parts if "ours/llamafactory-nodes" in p).split("```sh\n")[1].split("```")[0]
    (work / "two.sh").write_text(text)
    assert not [f for f in check([work / "two.sh"]).data["findings"] if f["rule"] in ("TR402", "TR408")]


def test_an_encoder_decoder_has_no_program_here_and_every_step_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """SFT of the causal stacks lays prompt and answer into one sequence: T5's encoder would read the answer."""
    from papertrain.verbs.launch import launch
    from papertrain.verbs.plan import plan

    monkeypatch.chdir(tmp_path)
    Path("d.jsonl").write_text("".join(f'{{"prompt": "translate {i}", "completion": "uebersetze {i}"}}\n' for i in range(40)))  # fmt: skip
    plan("google-t5/t5-small", data=Path("d.jsonl"), gpu="1x RTX3090", output=Path("w"))
    made = generate(Path("w"))
    assert not [n for n in made.data["files"] if "train.yaml" in str(n) or "sft.yaml" in str(n)]
    assert "no program here can train" in " ".join(made.warnings) and made.action == "cat w/plans/ours/plan.md"
    with pytest.raises(Refused, match="no program here can train"):
        launch(Path("w"), dry_run=True)
