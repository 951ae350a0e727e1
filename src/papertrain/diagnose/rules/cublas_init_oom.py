"""cuBLAS could not be created: no memory left for its workspace."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR501",
    "cublas-init-oom",
    "memory-gpu",
    title="cuBLAS could not be created: no memory left for its workspace",
    why="The first matrix product needs a cuBLAS handle and its workspace; the allocator had already taken the whole card.",
    sig=("CUBLAS_STATUS_NOT_INITIALIZED", "CUBLAS_STATUS_ALLOC_FAILED", "Create cublas handle failed"),
    never=(
        "srcIndex < srcSelectDimSize",
        "device-side assert triggered",
        "`t >= 0 && t < n_classes`",
        "index out of range in self",
    ),
    confidence=0.62,
    more=("out of memory",),
    yields=("cublas-init-token-range", "device-assert-token-range", "device-assert-label-range"),
    unlike=(
        (
            "cublas-init-token-range",
            "no device-side assert stands above it; a rerun with CUDA_LAUNCH_BLOCKING=1 decides",
        ),
    ),
    next_check="CUDA_LAUNCH_BLOCKING=1 python train.py   # an assert above the cuBLAS line means a token id out of range, none means memory",
    fixes=(
        fix(
            "half the micro-batch, twice the accumulation",
            sets={"micro_batch_size": "/2", "gradient_accumulation_steps": "*2"},
            proof="peak memory in nvidia-smi stays below the card",
        ),
        fix(
            "if the check shows an assert: make the embedding as large as the tokenizer",
            "model.resize_token_embeddings(len(tokenizer))",
            effect="experiment",
        ),
    ),
    fires="RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    quiet="cublas handle created in 0.2 s",
)
