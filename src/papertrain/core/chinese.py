"""Chinese key words of training logs, put into the English that the readers know. Other text stays as it is."""

from __future__ import annotations

import re

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_NUMBER = r"\s*(\d[\d,]*)(?:\s*/\s*(\d+))?\s*"
_LINKS = str.maketrans({"：": ":", "＝": "=", "，": ",", "；": ";", "（": "(", "）": ")", "。": "."})
_KEYS: tuple[tuple[str, str], ...] = (
    (r"(?:验证|评估|测试)集?\s*的?\s*损失(?:函数)?值?", "val_loss"),
    (r"(?:训练)?集?\s*的?\s*损失(?:函数)?值?", "loss"),
    (r"学习率", "learning_rate"),
    (r"梯度范数", "grad_norm"),
    (r"困惑度", "perplexity"),
    (r"准确率|正确率", "accuracy"),
)


def english(line: str) -> str:
    """`第 30 步 损失=nan 学习率=1e-4` as `step 30 loss=nan learning_rate=1e-4`; a line without Chinese unchanged."""
    if not _CHINESE.search(line):
        return line
    line = line.translate(_LINKS)
    line = re.sub(
        rf"第{_NUMBER}(?:步|次迭代)|(?:当前)?(?:步数|步骤|迭代次数|迭代)\s*[:=]?{_NUMBER}(?=\D|$)",
        lambda m: f" step {m[1] or m[3]}" + (f"/{m[2] or m[4]}" if m[2] or m[4] else "") + " ",
        line,
    )
    line = re.sub(
        rf"第{_NUMBER}(?:轮|个?周期|个?训练周期)|(?:轮次|轮数|周期)\s*[:=]?{_NUMBER}(?=\D|$)",
        lambda m: f" epoch {m[1] or m[3]}" + (f"/{m[2] or m[4]}" if m[2] or m[4] else "") + " ",
        line,
    )
    for chinese, key in _KEYS:
        line = re.sub(rf"(?:{chinese})\s*(?:为|是)?(?=\s*[:=]?\s*[-+.\dnNiI])", f" {key} ", line)
    return re.sub(r" +(?=[:=,])", "", line).strip()
