"""The other ranks waited for rank 0's preprocessing until the watchdog ended them."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _hang as hangs


def judge(case: Case) -> Match | None:
    hang = hangs.timeout(case)
    if (
        hang is None
        or hang.rows
        or not (
            busy := case.find(
                "Running tokenizer ~ (?:Running tokenizer|Tokenizing|Map|Converting format|Preprocessing)[^\\n]*\\b\\d{1,2}%",
                # Ended, but after a time that is a limit's own.
                "Running tokenizer ~ 100%.*\\[(?:\\d+:)?[1-9]\\d:\\d\\d<",
                "Map: ",
                "Tokenizing",
                "Converting format",
                "Grouping texts",
                "Preprocessing",
            )
        )
    ):
        return None
    unfinished = [b for b in busy if "100%" not in b.text]
    return RULE.found(
        0.9 if unfinished else 0.6,
        [hang.line, *(unfinished or busy)[-1:]],
        ruled_out=hang.against("nccl-timeout-uneven-data", "no step had been logged yet"),
    )


RULE = cause(
    "TR520",
    "nccl-timeout-preprocessing",
    "nccl-hang",
    title="The other ranks waited for rank 0's preprocessing until the watchdog ended them",
    why="Only rank 0 tokenises while the others already stand in a collective; the default limit is 1800 s.",
    judge=judge,
    sig=(
        *hangs.WATCHDOG,
        "Running tokenizer",
        "Map: ",
        "Tokenizing",
        "Converting format",
        "Grouping texts",
        "Preprocessing",
    ),
    next_check="papertrain diagnose RUN_FOLDER   # all ranks' logs: only rank 0 prints tokenising progress",
    fixes=(
        fix("a longer limit", sets={"ddp_timeout": 180000000}, proof="preprocessing ends before the limit"),
        fix(
            "preprocess once, before the launch",
            "llamafactory-cli train … tokenized_path: cache/   # or datasets' save_to_disk in a single process",
        ),
    ),
    fires="Running tokenizer on dataset:  37%|###7      | 370000/1000000 [29:58<51:02, 205.7 examples/s]\n[rank1]:[E ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800127 milliseconds before timing out.",
    quiet="Running tokenizer on dataset: 100%|##########| 1000/1000 [00:02<00:00]",
)
