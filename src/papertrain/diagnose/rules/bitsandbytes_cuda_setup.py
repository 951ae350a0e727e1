"""bitsandbytes does not find its CUDA library."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR584",
    "bitsandbytes-cuda-setup",
    "environment",
    title="bitsandbytes does not find its CUDA library",
    why="The library path has no matching libcudart, or the package was built without GPU support.",
    sig=(
        "CUDA Setup failed despite",
        "CUDA SETUP ~ CUDA SETUP: (?:Something unexpected|WARNING! |CUDA detection failed|Required library|Setup Failed|The CUDA version for the compile)",
        "libbitsandbytes_cpu.so: undefined symbol",
        "bitsandbytes was compiled without GPU support",
        "'NoneType' object has no attribute 'cadam32bit_grad_fp32'",
        "Required library version not found: libbitsandbytes",
        "libbitsandbytes_cuda ~ libbitsandbytes_cuda\\S*.{0,40}(?:cannot open|not found|No such file|missing)",
        "Could not load bitsandbytes native library",
    ),
    confidence=0.93,
    early=True,
    next_check="python -m bitsandbytes",
    fixes=(
        fix(
            "a bitsandbytes that ships this CUDA",
            "pip install -U bitsandbytes",
            env={"LD_LIBRARY_PATH": "<folder of libcudart.so>"},
            proof="python -m bitsandbytes says SUCCESS",
        ),
    ),
    kinds=(
        (
            "str2optimizer|cget_managed_ptr|cquantize_blockwise|cadam|(?:bitsandbytes|bnb).{0,80}(?:CUDA|GPU).{0,40}(?:not|require|unavailable|could)|@ .*bitsandbytes/(?:cextension|cuda_setup)",
            "NameError: name 'str2optimizer32bit' is not defined",
        ),
    ),
    fires="RuntimeError: \n        CUDA Setup failed despite GPU being available. Please run the following command to get more information:\n        python -m bitsandbytes",
    quiet="bitsandbytes 0.45.5: 4-bit Linear",
)
