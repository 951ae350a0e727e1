"""The flash-attn wheel was built for another torch."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR580",
    "flash-attn-abi-mismatch",
    "environment",
    title="The flash-attn wheel was built for another torch",
    why="An undefined C++ symbol: torch version, its ABI flag, the CUDA or the Python of the wheel differ from what is installed.",
    sig=(
        "undefined symbol ~ (?i)flash|undefined symbol: _ZN?K?\\d*c10",
        "flash_attn_2_cuda",
        "flash_attn ~ (?i)DLL load failed.*flash",
        "FlashAttention2 has been toggled on, but it cannot be used ~ ^(?!.*not installed)",
        "fused_dense_lib",
    ),
    confidence=0.93,
    never=("FlashAttention only supports Ampere",),
    next_check="python -c 'import torch; print(torch.__version__, torch.version.cuda, torch._C._GLIBCXX_USE_CXX11_ABI)'; pip show flash-attn | grep Version",
    fixes=(
        fix("the attention of torch itself: no wheel needed", sets={"attention": "sdpa"}, proof="the model loads"),
        fix(
            "a wheel built for this torch, CUDA, Python and ABI",
            "pip uninstall -y flash-attn; pip install flash-attn --no-build-isolation   # reinstall: builds against the installed torch",
            proof="python -c 'import flash_attn' passes",
        ),
    ),
    kinds=(
        (
            "^(?:ImportError|OSError): .{0,200}(?:undefined symbol|DLL load failed)|operator \\w+::\\w+ does not exist|GLIBC(?:XX)?_[\\d.]+'? not found",
            "RuntimeError: operator torchvision::nms does not exist",
        ),
    ),
    kind_confidence=0.45,
    fires="ImportError: /env/lib/python3.10/site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs",
    quiet="flash_attn 2.7.4 imported",
)
