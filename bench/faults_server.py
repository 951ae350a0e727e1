"""Starts training scripts quickly: torch and transformers are loaded once, each run is a fork of its own.

One JSON object a line on standard input: words (script and arguments), folder, log, env, limits ({name: bytes or count}), seconds, and
once (a real process instead of a fork). One JSON object a line back: exit_code, as a shell would say it.
"""

# ruff: noqa: PTH100, PTH120, PTH123, SIM115

import importlib
import json
import os
import resource
import runpy
import signal
import sys
import time

LOADED = ("torch", "numpy", "yaml", "safetensors.torch", "transformers", "accelerate", "peft", "transformers.models.llama.modeling_llama",
          "transformers.models.bert.modeling_bert", "transformers.models.gpt2.modeling_gpt2", "transformers.trainer", "datasets")  # fmt: skip


def child(job):
    os.setsid()
    os.chdir(job["folder"])
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(job.get("env", {}))
    for name, value in job.get("limits", {}).items():
        number = getattr(resource, name)
        if name == "RLIMIT_AS":  # what is loaded already counts: the limit is on what is added
            value += int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(number, (value, value))
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    sys.argv = list(job["words"])
    sys.path.insert(0, os.path.dirname(os.path.abspath(job["words"][0])))
    code = 0
    try:
        runpy.run_path(job["words"][0], run_name="__main__")
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
        if isinstance(e.code, str):
            print(e.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(job):
    ranks = []
    for env in job.get("ranks") or [{}]:
        pid = os.fork()
        if pid == 0:
            child({**job, "env": {**job.get("env", {}), **env}})
        ranks.append(pid)
    end, codes, killed = time.monotonic() + job.get("seconds", 120), {}, False
    while len(codes) < len(ranks):
        for pid in ranks:
            if pid not in codes:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    codes[pid] = os.waitstatus_to_exitcode(status)
        if time.monotonic() > end and not killed:
            killed = True
            for pid in ranks:
                if pid not in codes:
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    bad = [c for c in codes.values() if c]
    code = bad[0] if bad else 0
    return {"exit_code": code if code >= 0 else 128 - code, "timed_out": killed}


def main():
    for name in LOADED:
        importlib.import_module(name)
    import torch

    torch.set_num_threads(1)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
