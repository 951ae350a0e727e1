"""cuBLAS fails because an index assert came first: a token id is out of range."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR535",
    "cublas-init-token-range",
    "index-dtype-graph",
    title="cuBLAS fails because an index assert came first: a token id is out of range",
    why="The device-side assert of the embedding lookup has already broken the context; cuBLAS is only the first to notice.",
    sig=(
        "CUBLAS_STATUS_NOT_INITIALIZED",
        "CUBLAS_STATUS_EXECUTION_FAILED",
        "CUBLAS_STATUS_ALLOC_FAILED",
        "CUBLAS_STATUS_INTERNAL_ERROR",
    ),
    needs=("srcIndex < srcSelectDimSize",),
    confidence=0.96,
    early=True,
    next_check="CUDA_LAUNCH_BLOCKING=1 python train.py   # or one batch on the CPU: 'index out of range in self'",
    fixes=(
        fix(
            "an embedding as large as the tokenizer",
            "model.resize_token_embeddings(len(tokenizer))",
            sets={"resize_vocab": True},
            effect="experiment",
            proof="max(input_ids) < num_embeddings",
        ),
    ),
    fires="../aten/src/ATen/native/cuda/Indexing.cu:703: indexSelectLargeIndex: block: [14,0,0], thread: [0,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\nRuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    quiet="RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
)
