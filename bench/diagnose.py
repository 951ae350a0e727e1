"""How often `diagnose` names the right class, and whether its confidence is honest.

    python bench/diagnose.py [-v]

Every class's own sample, as it is and as logs really arrive: with rank prefixes, clocks, colours, four interleaved ranks, noise before and
after, a launcher's summary below. Then the healthy and unhealthy logs beside the checkout, where they are there. These samples were written
together with the rules: the share says that they still work, not how well they would do on strangers' logs.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from papertrain.diagnose.catalogue import causes as rules
from papertrain.diagnose.decide import decide
from papertrain.diagnose.look import look_at_text
from papertrain.diagnose.rule import Cause

LOGS = Path(__file__).resolve().parents[1] / "../shared/data/logs"
WRAPPER = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-02-01_10:00:00
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 4242)
  error_file: <N/A>
"""
NOISE = [
    "Loading extension module fused_adam...",
    "INFO:root:gradient accumulation is fused",
    "Using pad_token, but it is not set yet.",
    "  warnings.warn(",
    "[2026-02-01 10:00:00,001] [INFO] [config.py:1000:print]   zero_enabled ................. False",
    "正在加载数据……",
]


def prefixed(text: str, r: random.Random) -> str:
    return "\n".join(f"[rank0]: {x}" for x in text.splitlines())


def clocked(text: str, r: random.Random) -> str:
    return "\n".join(f"2026-02-01 10:00:{i % 60:02d},123 {x}" for i, x in enumerate(text.splitlines()))


def coloured(text: str, r: random.Random) -> str:
    return "\n".join(f"\x1b[31m{x}\x1b[0m" for x in text.splitlines())


def interleaved(text: str, r: random.Random) -> str:
    lanes = [[f"[rank{k}]: {x}" for x in text.splitlines()] for k in range(4)]
    out = []
    while any(lanes):
        lane = r.choice([x for x in lanes if x])
        out.append(lane.pop(0))
    return "\n".join(out)


def noisy(text: str, r: random.Random) -> str:
    before = [r.choice(NOISE) for _ in range(120)]
    after = [r.choice(NOISE) for _ in range(40)]
    return "\n".join([*before, text, *after])


def wrapped(text: str, r: random.Random) -> str:
    return text + "\n" + WRAPPER


def ray(text: str, r: random.Random) -> str:
    return "\n".join(f"(RayTrainWorker pid=4711, ip=10.0.0.4) {x}" for x in text.splitlines())


def plain(text: str, r: random.Random) -> str:
    return text


MUTATIONS: dict[str, Callable[[str, random.Random], str]] = {
    f.__name__: f for f in (plain, prefixed, clocked, coloured, interleaved, noisy, wrapped, ray)
}


def fits(name: str, rule: Cause) -> bool:
    """Interleaving and a launcher's summary mean a crash; the curve of a healthy or slow run has neither."""
    if name in ("interleaved", "wrapped"):
        return rule.branch == "crash" and not rule.name.startswith(
            ("torchrun", "nccl-timeout", "hang", "nccl-hang", "host-ram", "launch-env")
        )
    return True


def samples(seed: int = 7) -> Iterator[tuple[str, Cause, str]]:
    r = random.Random(seed)
    for rule in rules().values():
        for name, change in MUTATIONS.items():
            if fits(name, rule):
                yield name, rule, change(rule.fires, r)


def main(verbose: bool) -> int:
    right: dict[str, list[bool]] = defaultdict(list)
    bins: dict[int, list[bool]] = defaultdict(list)
    for name, rule, text in samples():
        answer = decide(look_at_text(text))
        top = (answer.matches or answer.benign)[:1]
        ok = bool(top) and (not answer.matches if rule.benign else top[0].rule.name == rule.name)
        right[name].append(ok)
        if answer.matches and not rule.benign:
            bins[min(9, int(10 * answer.matches[0].confidence))].append(ok)
        if verbose and not ok:
            print(
                f"  {name:12} {rule.name:36} -> {[(m.rule.name, m.confidence) for m in answer.matches[:2]]} {answer.failed[:60]}"
            )
    quiet = [
        not decide(look_at_text(rule.quiet)).matches
        or rule.name not in {m.rule.name for m in decide(look_at_text(rule.quiet)).matches}
        for rule in rules().values()
    ]
    print(f"{len(rules())} classes")
    for name, oks in right.items():
        print(f"  {name:12} {sum(oks):4} of {len(oks):4} right ({100 * sum(oks) / len(oks):.1f} %)")
    every = [x for oks in right.values() for x in oks]
    print(
        f"  {'all':12} {sum(every):4} of {len(every):4} right ({100 * sum(every) / len(every):.1f} %); quiet samples quiet: {sum(quiet)} of {len(quiet)}"
    )
    print("reliability: confidence, answers, share right")
    for b in sorted(bins):
        print(f"  {b / 10:.1f}-{(b + 1) / 10:.1f}  {len(bins[b]):5}  {100 * sum(bins[b]) / len(bins[b]):5.1f} %")
    real()
    return 0


def real() -> None:
    """Other people's logs, read where they lie."""
    index = LOGS / "index.jsonl"
    if not index.exists():
        print("real logs: not beside this checkout")
        return
    from papertrain.verbs.diagnosing.cases import look_at

    said: dict[str, list[str]] = defaultdict(list)
    for line in index.read_text("utf-8").splitlines():
        entry = json.loads(line)
        seen = look_at([LOGS / entry["file"].removeprefix("logs/")], [], None, None)
        best = [m.rule.name for m in seen.answer.matches[:1]]
        verdict = best[0] if best else "unknown: " + seen.answer.failed if seen.answer.failed else "no failure"
        said[entry["label"]].append(f"{entry['id']} {verdict}")
    for label, verdicts in said.items():
        print(f"real, {label}: " + "; ".join(verdicts))


if __name__ == "__main__":
    sys.exit(main("-v" in sys.argv))
