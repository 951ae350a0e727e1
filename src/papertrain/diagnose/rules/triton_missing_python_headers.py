"""Triton cannot compile: no Python headers, or no compiler."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR585",
    "triton-missing-python-headers",
    "environment",
    title="Triton cannot compile: no Python headers, or no compiler",
    why="The first compiled kernel builds a small C module.",
    sig=(
        "Python.h: No such file or directory",
        "Failed to find C compiler",
        "Python.h: 没有那个文件或目录",
        "cannot find -lcuda",
        "InductorError: CalledProcessError",
    ),
    confidence=0.95,
    next_check="python3-config --includes; which gcc",
    fixes=(
        fix(
            "the headers and a compiler",
            "apt-get install -y python3-dev build-essential",
            proof="the first compiled step passes",
        ),
        fix("without compilation", env={"TORCH_COMPILE_DISABLE": "1"}),
    ),
    kinds=(
        (
            "(?:working )?triton installation|libcuda\\.so cannot found|backend=.?inductor.? raised|BackendCompilerFailed|InductorError",
            "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nRuntimeError: Cannot find a working triton installation.",
        ),
    ),
    fires="/tmp/tmpa1/main.c:5:10: fatal error: Python.h: No such file or directory",
    quiet="triton 3.1.0",
)
