"""A package is not installed."""

import re

from msgspec.structs import replace

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, Remedy, by_signature, cause, fix

NAMES = {
    "sklearn": "scikit-learn", "yaml": "pyyaml", "PIL": "pillow", "cv2": "opencv-python", "bs4": "beautifulsoup4", "dateutil": "python-dateutil",
    "flash_attn": "flash-attn --no-build-isolation", "rouge_score": "rouge-score", "fused_layer_norm_cuda": "",
}  # fmt: skip
LIBRARIES = frozenset({
    *NAMES, "accelerate", "apex", "bitsandbytes", "datasets", "deepspeed", "einops", "evaluate", "jieba", "llamafactory", "mpi4py", "nltk", "numpy", "optimum",
    "pandas", "peft", "safetensors", "scipy", "sentencepiece", "tensorboard", "tiktoken", "tokenizers", "torch", "torchvision", "torchaudio", "tqdm", "transformers",
    "triton", "trl", "unsloth", "vllm", "wandb", "xformers", "mlflow", "ninja", "matplotlib", "seqeval", "sacrebleu", "liger_kernel", "hqq", "awq", "auto_gptq",
})  # fmt: skip
_NAME = re.compile(
    r"from '([A-Za-z_]\w*)[\w.]*' \(unknown location\)|No module named ['\"]?([A-Za-z_]\w*)|package ([A-Za-z][\w-]*) seems to be not installed"
    r"|(?:need to|make sure you) have ([A-Za-z][\w-]*)(?: or \w+)? installed"
    r"|requires the latest version of ([A-Za-z][\w-]*)"
    r"|No package metadata was found for ['\"]?([A-Za-z][\w-]*)|PackageNotFoundError: ([A-Za-z][\w-]*)"
)

_OTHER = re.compile(r"([A-Za-z][\w-]*)([<>=!~][^ ]*?) is required for a normal functioning of this module, but found \w[\w-]*==(\S+?)\.?(?:\s|$)")  # fmt: skip


def other_version(found: Match, package: str, wanted: str, there: str) -> Match:
    """Installed, in a version that the importing library refuses."""
    return replace(
        found,
        confidence=0.95,
        title=f"{package} {there} is installed, and {package}{wanted} is asked for",
        cause="A library looks at the versions beside it when it is imported, and refuses this one.",
        next_check=f"python -m pip show {package}",
        remedies=(
            fix(
                f"the version of {package} that is asked for",
                f'python -m pip install "{package}{wanted}"',
                proof="the import passes",
            ),
            fix("or the library that asks, in a version that takes this one", "python -m pip check"),
        ),
    )


def judge(case: Case) -> Match | None:
    """With the name of the package, where a line tells it."""
    found = by_signature(RULE, case)
    if found is None:
        return None
    if wrong := next((m for line in found.evidence if (m := _OTHER.search(line.text))), None):
        return other_version(found, *wrong.groups())
    told = next((m for line in found.evidence if (m := _NAME.search(line.text))), None)
    if told is None:
        return found
    module = next(g for g in told.groups() if g)
    package = NAMES.get(module, module.replace("_", "-"))
    if not package:
        return found
    remedies: list[Remedy] = []
    if module.startswith("flash_attn"):
        remedies.append(
            fix("the attention of torch itself: no package needed", sets={"attention": "sdpa"}, proof="the model loads")
        )
    remedies.append(
        fix("install it in the training environment", f"python -m pip install {package}", proof="the import passes")
    )
    if module not in LIBRARIES:
        here = fix(
            f"where {module} is a file or folder of your own: let Python look into the folder that holds it",
            f"PYTHONPATH=<folder of {module}>:$PYTHONPATH python …",
            proof="the import passes",
        )
        remedies.insert(0, here)
    return replace(
        found,
        title=f"Python finds no {module}: not installed, or not on the path"
        if module not in LIBRARIES and module == package
        else f"The package {package.split()[0]} is not installed",
        next_check=f"python -m pip show {package.split()[0]}",
        remedies=tuple(remedies),
    )


RULE = cause(
    "TR589",
    "package-missing",
    "environment",
    title="A package is not installed",
    why="An import fails before anything is trained.",
    judge=judge,
    sig=(
        "seems to be not installed",
        "(unknown location) ~ cannot import name '\\w+' from '[\\w.]+' \\(unknown location\\)",
        "No module named ~ (ModuleNotFoundError|ImportError|PackageNotFoundError).*No module named",
        "PackageNotFoundError ~ No package metadata was found for|PackageNotFoundError",
        "is not installed ~ (?i)package.{0,40}is not installed",
        "quantization requires ~ (?i)quantization requires the latest version of (bitsandbytes|\\w+)",
        "Please install ~ ImportError.*[Pp]lease install",
        " installed ~ (?i)(?:need to|make sure you) have \\w+(?: or \\w+)? installed",
        "is required for a normal functioning ~ is required for a normal functioning of this module",
    ),
    confidence=0.88,
    yields=(
        "deepspeed-single-gpu-launch",
        "megatron-apex-missing-fused-kernel",
        "accelerate-version-mismatch",
    ),
    next_check="pip list | grep -i <package>",
    fixes=(
        fix(
            "install it in the training environment",
            "pip install <package that the message names>",
            proof="the import passes",
        ),
    ),
    kinds=(
        (
            "\\b(?:pip3?|conda|uv pip|apt(?:-get)?) install\\b|\\bplease install\\b|(?:is|are|be|been|was|not) (?:not )?installed\\b|requires? the `?[\\w.-]+`? (?:library|package|extra|module)|^ImportError: No \\w+|没有安装|未安装|インストールされていない|(?:library|package|module)\\b.{0,40}(?:was |is )?(?:not found|required|missing|not available|unavailable)|cannot open shared object file",
            "ImportError: Loading an AWQ quantized model requires auto-awq library (`pip install autoawq`)",
        ),
    ),
    kind_confidence=0.45,
    fires="ModuleNotFoundError: No module named 'jieba'",
    quiet="imported jieba 0.42",
)
