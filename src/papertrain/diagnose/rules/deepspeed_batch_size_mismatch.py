"""train_batch_size is not micro-batch × accumulation × world size."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR542",
    "deepspeed-batch-size-mismatch",
    "deepspeed-parallel",
    title="train_batch_size is not micro-batch × accumulation × world size",
    why="DeepSpeed multiplies the three and refuses; a world size of 1 in the message means that the processes were not started by a launcher.",
    sig=("Check batch related parameters", "train_batch_size is not equal to micro_batch_per_gpu"),
    confidence=0.97,
    next_check="grep -nE 'train_batch_size|micro_batch|accumulation' ds*.json   # against the number of processes",
    fixes=(
        fix(
            'leave train_batch_size to DeepSpeed: "auto" (or remove it), and launch one process per card',
            "deepspeed --num_gpus <N> train.py …   # or torchrun --nproc_per_node <N>",
            sets={"train_batch_size": "auto"},
            proof="DeepSpeed prints the product that it uses",
        ),
    ),
    fires="AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 64 != 4 * 4 * 1",
    quiet="train_batch_size = 64 = 4 * 4 * 4",
)
