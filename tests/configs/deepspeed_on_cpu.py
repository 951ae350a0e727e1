"""Starts a script under accelerate and DeepSpeed on processors, for tests: accelerate itself offers either, not both.

accelerate launch --use_deepspeed … deepspeed_on_cpu.py train.py …
"""

import os
import runpy
import sys
from pathlib import Path

asked = os.environ.pop("ACCELERATE_USE_DEEPSPEED")
import deepspeed  # noqa: E402
from accelerate import PartialState  # noqa: E402

PartialState(cpu=True)
deepspeed.init_distributed("gloo")
os.environ["ACCELERATE_USE_DEEPSPEED"] = asked
sys.argv = sys.argv[1:]
sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
runpy.run_path(sys.argv[0], run_name="__main__")
# What was trained and written is whole here; gloo's threads are not always joined when an interpreter is taken down on a busy machine.
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
