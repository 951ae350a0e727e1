"""What `diagnose` says where there is no failure in words: nothing to judge, a log that stops, Chinese, the monitor's word."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.verbs.diagnose import diagnose
from papertrain.verbs.watch import watch


def log(folder: Path, text: str | bytes, name: str = "train.log") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def classes(path: Path) -> list[str]:
    return [d["class"] for d in diagnose([path]).data["diagnoses"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sft.yaml", "model_name_or_path: Qwen/Qwen3-4B\nlearning_rate: 1e-4\nnum_train_epochs: 3\n"),
        ("notes.txt", "buy milk\ncall the supervisor\n"),
        ("names.csv", "name,town\nAda,London\nEmmy,Erlangen\n"),
        ("predictions.csv", "id,label,prob\n1,1,0.9\n2,0,0.2\n3,1,0.4\n"),
    ],
)
def test_what_is_no_log_cannot_be_judged(tmp_path, name, text):
    report = diagnose([log(tmp_path, text, name)])
    assert report.exit_code() == 1
    assert report.result.startswith("nothing here can be judged")
    assert report.data["unexplained"]


@pytest.mark.parametrize("name", ["train.log", "metrics.csv"])
@pytest.mark.parametrize("text", [b"", bytes(range(256)) * 40])
def test_an_empty_or_binary_file_is_a_mistake_of_the_call(tmp_path, name, text):
    with pytest.raises(PapertrainError):
        diagnose([log(tmp_path, text, name)])


def test_a_log_that_stops_in_the_middle_says_so(tmp_path):
    text = "{'loss': 1.4, 'grad_norm': 0.6, 'learning_rate': 1e-05, 'epoch': 0.9}\n 12%|█▏        | 120/1000 [10:00<1:13:20,  5.00s/it]\n"
    path = log(tmp_path, text)
    report = diagnose([path])
    assert "step 120 of 1,000" in report.result and report.action == f"papertrain watch {path}"


def test_a_log_with_its_end_does_not_stop_in_the_middle(tmp_path):
    text = "{'loss': 1.4, 'epoch': 0.9}\n 100%|███| 1000/1000 [10:00<00:00,  5.00s/it]\n{'train_runtime': 600.0, 'train_loss': 1.4, 'epoch': 1.0}\n"
    assert diagnose([log(tmp_path, text)]).result == "no failure found"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("加载模型中...\n进程被杀死（内存不足）\n", "host-ram-oom-killer"),
        ("错误：CUDA 显存不足，尝试分配 2.00 GiB\n", "oom-activations"),
        ("保存检查点失败：磁盘空间不足\nOSError: [Errno 28] 设备上没有空间\n", "disk-full-checkpoint"),
        (
            "OSError: [Errno 28] Auf dem Gerät ist kein Speicherplatz mehr verfügbar: 'out/a.pt'\n",
            "disk-full-checkpoint",
        ),
        (
            "第 10 步 损失=1.9 学习率=1e-4\n第 20 步 损失=nan 学习率=1e-4\n第 30 步 损失=nan 学习率=1e-4\n",
            "nan-lr-too-high",
        ),
        ("第1轮 第10步：损失 2.31\n第1轮 第20步：损失 nan\n训练中止：损失变为 NaN，请检查学习率\n", "nan-lr-too-high"),
    ],
)
def test_chinese_and_other_languages_are_read(tmp_path, text, expected):
    assert expected in classes(log(tmp_path, text))


def curve(values: list[float]) -> str:
    return "step,loss,lr\n" + "\n".join(f"{10 * i},{v:.4f},1e-4" for i, v in enumerate(values, 1)) + "\n"


@pytest.mark.parametrize(
    "values",
    [
        [0.6931 + 0.002 * (i * 7 % 5 - 2) for i in range(100)],
        [1.5 + 0.02 * (i % 3) if i < 60 else 6.0 + 0.02 * (i % 3) for i in range(100)],
        [2 - 0.01 * i + (0.06 * (i - 60) if i > 60 else 0) for i in range(120)],
    ],
    ids=["flat", "jump", "diverging"],
)
def test_what_the_monitor_calls_critical_is_named_and_no_pair_is_a_loop(tmp_path, values):
    path = log(tmp_path, curve(values), "metrics.csv")
    seen = watch([path])
    assert seen.data["level"] == "critical" and seen.action == f"papertrain diagnose {path}"
    report = diagnose([path])
    assert report.data["diagnoses"] and report.result.startswith("D1")
    assert "LOG" not in str(report.action) and report.action != f"papertrain watch {path}"
