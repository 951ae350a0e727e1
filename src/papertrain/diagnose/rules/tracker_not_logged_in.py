"""The experiment tracker has no key on this machine."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR663",
    "tracker-not-logged-in",
    "environment",
    title="The experiment tracker has no key on this machine",
    why="Weights & Biases asks for a login, and there is no terminal to ask on.",
    sig=(
        "api_key not configured",
        "call wandb.login",
        "wandb: ERROR ~ wandb: ERROR.*(?:api.?key|log ?in|permission)",
        "wandb.errors.errors.UsageError",
        "wandb.errors.UsageError",
    ),
    confidence=0.93,
    next_check="wandb status",
    fixes=(
        fix(
            "train without the tracker",
            sets={"report_to": "none"},
            env={"WANDB_MODE": "offline"},
            proof="training starts",
        ),
        fix("or log in once on this machine", "wandb login"),
    ),
    fires="wandb: ERROR api_key not configured (no-tty). call wandb.login(key=[your_api_key])",
    quiet="wandb: Run data is saved locally",
)
