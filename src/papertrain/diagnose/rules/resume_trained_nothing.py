"""The resumed run trained nothing: its counter was already past the end."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    for r in case.rows:
        if r.get("train_loss") == 0 and "train_runtime" in r.values and (r.get("train_runtime") or 0) < 60:
            bar = case.find("0/ ~ \\b0/\\d+ \\[")
            resumed = case.find(
                "Continuing training from",
                "Resuming training from",
                "will skip to saved global_step",
                "resume_from_checkpoint",
            )
            trained = [x for x in case.rows if "loss" in x.values and x.file == r.file]
            if trained and not resumed:
                continue
            return RULE.found(0.94 if resumed else 0.8, [r.quote(), *resumed[-1:], *bar[-1:]])
    return None


RULE = cause(
    "TR609",
    "resume-trained-nothing",
    "resume",
    title="The resumed run trained nothing: its counter was already past the end",
    branch="result",
    judge=judge,
    sig=(
        "Continuing training from",
        "Resuming training from",
        "will skip to saved global_step",
        "resume_from_checkpoint",
        "0/",
    ),
    why="The step counter in the checkpoint is beyond the steps of this run (more data or fewer epochs than before), so the loop ends at once.",
    next_check="grep -E 'global_step|max_steps' checkpoint-*/trainer_state.json",
    fixes=(
        fix(
            "load the weights only and count from zero",
            sets={"resume_from_checkpoint": None, "model": "<the checkpoint's folder>"},
            effect="experiment",
            proof="the progress bar moves and train_loss is above 0",
        ),
        fix(
            "or more epochs than the counter stands at",
            sets={"epochs": "*2"},
            effect="experiment",
            proof="Total optimization steps exceeds the saved global step",
        ),
    ),
    fires="  Continuing training from checkpoint, will skip to saved global_step\n  Continuing training from global step 35200\n  0%|          | 0/30255 [00:00<?, ?it/s]\n{'train_runtime': 0.9, 'train_samples_per_second': 1075733.3, 'train_steps_per_second': 33616.7, 'train_loss': 0.0, 'epoch': 1.16}",
    quiet="{'train_runtime': 930.1, 'train_samples_per_second': 5.1, 'train_steps_per_second': 0.64, 'train_loss': 1.21, 'epoch': 3.0}",
)
