"""DeepSpeed cannot build its operator: another CUDA toolkit than torch's, or none."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR546",
    "deepspeed-cuda-toolkit-mismatch",
    "deepspeed-parallel",
    title="DeepSpeed cannot build its operator: another CUDA toolkit than torch's, or none",
    why="CPUAdam and the fused operators are compiled at the first use; where that fails, a later message about ds_opt_adam hides it.",
    sig=(
        "does not match the version torch was compiled with",
        "has no attribute 'ds_opt_adam'",
        "CUDAMismatchException",
        "The detected CUDA version ~ detected CUDA version \\([\\d.]+\\) mismatches",
        "MissingCUDAException",
        "CUDA_HOME does not exist",
        "CUDA_HOME environment variable is not set",
        "Error building extension ~ (?i)adam|fused|deepspeed|cpu_|transformer|async_io",
        "Unable to JIT load the",
    ),
    confidence=0.92,
    next_check="nvcc --version; python -c 'import torch; print(torch.version.cuda)'; ds_report",
    fixes=(
        fix(
            "the toolkit that torch was built with",
            "conda install -c nvidia cuda-toolkit=<torch.version.cuda>",
            env={"CUDA_HOME": "<toolkit>"},
            proof="ds_report shows the operator as compatible",
        ),
        fix("torch's own optimizer instead", sets={"torch_adam": True}),
        fix("skip the check (minor versions only)", env={"DS_SKIP_CUDA_CHECK": "1"}),
    ),
    kinds=(
        (
            "Error building extension|\\bnvcc\\b|CUDA_HOME|torch_extensions.{0,120}|ninja is required|op_builder|JIT",
            "ImportError: /home/ada/.cache/torch_extensions/py310_cu118/cpu_adam/cpu_adam.so: cannot open shared object file: No such file or directory",
        ),
    ),
    fires="deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: Installed CUDA version 12.4 does not match the version torch was compiled with 11.8, unable to compile cuda/cpp extensions without a matching cuda version.\nAttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'",
    quiet="Loading extension module cpu_adam... Time to load cpu_adam op: 2.3 seconds",
)
