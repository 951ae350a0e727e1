"""Somebody stopped the run with Ctrl-C."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    stops = [e for e in case.exceptions if e.type == "KeyboardInterrupt"]
    bare = case.find("KeyboardInterrupt ~ ^KeyboardInterrupt\\s*$")
    if case.root is not None or not (stops or bare):
        return None
    return RULE.found(0.7, [*(e.quote() for e in stops[:1]), *bare[:1]])


RULE = cause(
    "TR659",
    "interrupted-by-user",
    "environment",
    title="Somebody stopped the run with Ctrl-C",
    why="The only exception is KeyboardInterrupt: the program did not fail by itself. If it was stopped because nothing moved, its frames show where it stood.",
    judge=judge,
    sig=("KeyboardInterrupt",),
    next_check="py-spy dump --pid <pid>   # next time, before stopping it: where every rank stands",
    fixes=(
        fix(
            "go on from the last checkpoint", sets={"resume_from_checkpoint": True}, proof="the step counter continues"
        ),
    ),
    fires='  3%|3         | 30/1000 [00:31<16:40,  1.03s/it]^CTraceback (most recent call last):\n  File "train.py", line 40, in <module>\n    loss.backward()\nKeyboardInterrupt',
    quiet="press Ctrl-C to stop (KeyboardInterrupt is handled)",
)
