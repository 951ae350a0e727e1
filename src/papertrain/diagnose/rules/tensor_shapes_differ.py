"""Two tensors that are combined have shapes that do not fit."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR682",
    "tensor-shapes-differ",
    "index-dtype-graph",
    title="Two tensors that are combined have shapes that do not fit",
    why="The message gives both shapes; the dimension in which they differ says whether it is the batch, the length, the width or the classes.",
    confidence=0.55,
    next_check="print the shapes of what the innermost frame combines, in the line before",
    kinds=(
        (
            r"shapes? cannot be (?:multiplied|broadcast)|must match the size of tensor b|size mismatch, m1|shape mismatch|shapes? .{0,60}(?:do(?:es)? not|don't) match|shape '\[.{0,60}' is invalid for input|cannot be broadcast|Expected size \d+ but got|expected input.{0,80}to have \d+ (?:channels|dimensions)|Expected .{0,30}-dimensional",
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (512x4096 and 1x8388608)",
        ),
    ),
    kind_confidence=0.5,
    fixes=(
        fix(
            "make the two sides of the one length, width or number of classes that the message names",
            "print(x.shape, y.shape)   # in the line before; length: one max_length for all; width: the model's own config; 1xN: a 4-bit weight that was not unpacked",
            effect="experiment",
            proof="one batch goes through forward and backward",
        ),
    ),
    fires="RuntimeError: mat1 and mat2 shapes cannot be multiplied (512x4096 and 1024x1024)",
    quiet="input shape: [8, 512], labels: [8, 512]",
)
