"""DDP's broadcast of buffers changed a BatchNorm statistic between forward and backward."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR539",
    "ddp-inplace-buffer-broadcast",
    "index-dtype-graph",
    title="DDP's broadcast of buffers changed a BatchNorm statistic between forward and backward",
    why="Under DDP only, a vector of channel size is at a later version than expected: a buffer was broadcast before a second forward.",
    sig=("has been modified by an inplace operation",),
    confidence=0.72,
    more=("DistributedDataParallel", "BatchNorm"),
    next_check="the same script on one device: without DDP it passes",
    fixes=(
        fix("no broadcast of buffers", sets={"ddp_broadcast_buffers": False}, proof="the second forward passes"),
        fix("SyncBatchNorm", "torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)", effect="experiment"),
    ),
    fires="RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.cuda.FloatTensor [256]] is at version 4; expected version 3 instead.",
    quiet="in-place ReLU used",
)
