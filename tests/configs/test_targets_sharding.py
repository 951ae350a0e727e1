"""A plan that fits only sharded is started sharded: by every command that is named for it, on every way to start."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))
from plans import make_job

from papertrain.configs.commands import ways
from papertrain.configs.generating import generate
from papertrain.configs.programs import program
from papertrain.core.program import alone
from papertrain.run.launcher import Place
from papertrain.run.launchers.local import LAUNCHER as LOCAL
from papertrain.run.launchers.ray import LAUNCHER as RAY
from papertrain.run.launchers.slurm import LAUNCHER as SLURM
from papertrain.run.launchers.torchrun import LAUNCHER as TORCHRUN

SHARDED = [(1, 8, "none"), (2, 8, "none"), (3, 8, "none"), (3, 8, "params+optimizer"), (2, 1, "optimizer"), (3, 4, "optimizer")]  # fmt: skip


@pytest.mark.parametrize(("stage", "cards", "offload"), SHARDED)
def test_every_launcher_gives_the_script_the_deepspeed_file_of_its_plan(
    stage: int, cards: int, offload: str, tmp_path: Path
) -> None:
    job = make_job(method="full", cards=cards, zero_stage=stage, offload=offload)
    file = f"configs/ours/script/ds_zero{stage}.json"
    files = generate([job], ["script"]).files
    told = json.loads(files[file])["zero_optimization"]
    assert told["stage"] == stage
    assert ("offload_optimizer" in told) == ("optimizer" in offload) and ("offload_param" in told) == (
        "params" in offload
    )
    p, place = program(job, "script"), Place(root=tmp_path, python="python3", search=(), run="ours.train.42")
    natural = LOCAL if LOCAL.fits(p) else TORCHRUN
    assert natural is TORCHRUN, "DeepSpeed asks for a rank, of a single process too"
    for launcher in (natural, LOCAL, RAY, SLURM):
        start = launcher.start(p, place)
        text = " ".join([*start.words, *(f"{v.name}={v.value}" for v in start.environment), start.script or ""])
        assert "ACCELERATE_USE_DEEPSPEED=true" in text and f"ACCELERATE_DEEPSPEED_CONFIG_FILE={file}" in text
        if launcher is not LOCAL or cards == 1:
            assert "torchrun" in text or "torch.distributed.run" in text


@pytest.mark.parametrize(("stage", "cards", "offload"), SHARDED)
def test_what_commands_sh_the_page_and_sbatch_start_shards_and_what_is_called_planned_does(
    stage: int, cards: int, offload: str
) -> None:
    job = make_job(method="full", cards=cards, zero_stage=stage, offload=offload)
    files = generate([job]).files
    found = ways(job, "script")
    for way in found:
        inside = {v.name: v.value for v in way.environment}
        if way.name.endswith(("-slurm", "-ray")):
            continue
        config = re.search(r"--(?:deepspeed_)?config_file (\S+)", way.line)
        named = inside.get("ACCELERATE_DEEPSPEED_CONFIG_FILE") or (config and config.group(1))
        assert named in files, way.line
        assert "ddp" not in named
        # accelerate's own launcher reads its file; the variables beside it would be a second word on the same thing.
        assert (config is None) == (inside.get("ACCELERATE_USE_DEEPSPEED") == "true")
    assert f"ACCELERATE_DEEPSPEED_CONFIG_FILE=configs/ours/script/ds_zero{stage}.json" in files["configs/ours/slurm/script.sbatch"]  # fmt: skip
    planned = re.findall(r"\(as planned\) · `ours/script-(\w+)`\n\n```sh\n(.*)\n", files["commands.md"])
    assert [name for name, _ in planned] == ["several" if cards > 1 else "one"]
    assert "ACCELERATE_USE_DEEPSPEED=true" in planned[0][1]
    if cards > 1:
        alone_way = next(w for w in found if w.name == "ours/script-one")
        assert "needs more memory than planned" in alone_way.remark


@pytest.mark.parametrize(("stage", "offload", "file", "kind"), [
    (0, "none", "ddp.yaml", "MULTI_GPU"), (1, "none", "deepspeed.yaml", "DEEPSPEED"), (2, "optimizer", "deepspeed.yaml", "DEEPSPEED"),
    (3, "none", "fsdp2.yaml", "FSDP"), (3, "params+optimizer", "fsdp2.yaml", "FSDP"), (3, "optimizer", "deepspeed.yaml", "DEEPSPEED"),
])  # fmt: skip
def test_the_accelerate_file_is_of_the_kind_that_carries_the_stage(
    stage: int, offload: str, file: str, kind: str
) -> None:
    files = generate([make_job(method="full", cards=8, zero_stage=stage, offload=offload)], ["accelerate", "script"]).files  # fmt: skip
    made = [name for name in files if "/accelerate/" in name]
    assert made == [f"configs/ours/accelerate/{file}"]
    said = yaml.safe_load(files[made[0]])
    assert said["distributed_type"] == kind
    if kind == "DEEPSPEED":
        assert said["deepspeed_config"]["deepspeed_config_file"] in files and "mixed_precision" not in said
    assert f"--config_file configs/ours/accelerate/{file}" in files["commands.sh"]


def test_without_sharding_nothing_of_deepspeed_is_started() -> None:
    job = make_job(cards=4)
    files = generate([job], ["script"]).files
    assert not [name for name in files if "ds_zero" in name]
    assert "DEEPSPEED" not in files["commands.sh"] and not program(job, "script").needs
    assert alone(program(make_job(cards=1), "script"), "python")[1] == "configs/ours/script/train.py"


@pytest.mark.parametrize("target", ["llamafactory", "trl", "axolotl"])
def test_a_target_made_alone_brings_the_deepspeed_file_that_it_names(target: str) -> None:
    files = generate([make_job(method="full", cards=8, zero_stage=2)], [target]).files
    named = [re.search(r"^deepspeed: (\S+)", text, re.M) for name, text in files.items() if name.endswith(".yaml")]
    assert [m.group(1) for m in named if m] == ["configs/ours/deepspeed/ds_zero2.json"]
    assert json.loads(files["configs/ours/deepspeed/ds_zero2.json"])["zero_optimization"]["stage"] == 2


def test_one_process_of_the_frameworks_has_the_rank_that_deepspeed_asks_for() -> None:
    for cards in (1, 8):
        job = make_job(method="full", cards=cards, zero_stage=2, offload="optimizer")
        one = {t: next(w for w in ways(job, t) if w.name.endswith("-one")) for t in ("llamafactory", "trl", "axolotl")}
        names = {t: {v.name: v.value for v in w.environment} for t, w in one.items()}
        assert names["llamafactory"]["FORCE_TORCHRUN"] == "1"
        assert names["trl"]["RANK"] == "0" and names["trl"]["WORLD_SIZE"] == "1"
        assert "torch.distributed.run" in one["axolotl"].line
