"""The model's files cannot be found or fetched."""

from msgspec.structs import replace

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, by_signature, cause, fix

GATED = (
    "gated repo",
    "GatedRepoError",
    "is restricted. You must",
    "is restricted and you are not in the authorized list",
)


def judge(case: Case) -> Match | None:
    """A gated model is there: what is missing is the accepted licence and the login."""
    found = by_signature(RULE, case)
    gated = case.find(*GATED)
    if not gated:
        return found
    m = case.search(r"huggingface\.co/([\w.-]+/[\w.-]+)", "huggingface.co")
    repo = m[1] if m else "the model's page"
    page = f"https://huggingface.co/{repo}" if m else repo
    return replace(
        found or RULE.found(0.92, gated[:2]),
        title="The model is gated: its licence is not accepted, or nobody is logged in",
        cause=f"The hub has the model, and gives it only to accounts that accepted its licence. Page: {page}.",
        next_check="hf auth whoami",
        remedies=(
            fix(
                f"accept the licence at {page}, then log in on this machine",
                "hf auth login",
                proof="hf auth whoami names the account, and the config loads",
            ),
            fix("or a model without a gate", sets={"model": "<open model>"}, effect="experiment"),
        ),
    )


RULE = cause(
    "TR590",
    "model-not-found",
    "environment",
    yields=("zero3-empty-weights-saved",),
    title="The model's files cannot be found or fetched",
    why="The name is neither a local folder nor reachable on the hub: no network, no access, or a typing error.",
    judge=judge,
    sig=(
        *GATED,
        "is not a local folder and is not a valid model identifier",
        "is not a valid model identifier listed on",
        "couldn't connect to 'https://huggingface.co'",
        "We couldn't connect to",
        "You are trying to access a gated repo",
        "Repository Not Found for url",
        "does not appear to have a file named",
        "401 Client Error",
        "403 Client Error",
        "Can't load tokenizer for ~ Can't load tokenizer for '(?![./]|[^']*checkpoint-\\d|[^'/]*/[^'/]*/)",
        "Incorrect path_or_model_id",
        "Repo id must be in the form",
        "Cannot find the requested files in the disk cache",
        "no file named ~ Error no file named .*(?:safetensors|bin)",
    ),
    confidence=0.92,
    next_check="ls <model folder>; hf auth whoami",
    fixes=(
        fix(
            "the right name, a local copy, or a login",
            "huggingface-cli download <repo> --local-dir <folder>",
            sets={"model": "<local folder>"},
            proof="the config loads",
        ),
        fix("offline, with a filled cache", env={"HF_HUB_OFFLINE": "1"}),
    ),
    kinds=(
        (
            "HTTPSConnectionPool|Max retries exceeded|huggingface\\.co|hf\\.co|hf-mirror|RepositoryNotFound|EntryNotFound|LocalEntryNotFound|Name or service not known|Temporary failure in name resolution|40[134] Client Error|ReadTimeout|ProxyError|SSLError",
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /x",
        ),
        (
            "No such file or directory: '[^']*(?:config\\.json|tokenizer\\w*\\.\\w+|\\.safetensors|\\.bin|\\.pth?|\\.model|index\\.json|\\.gguf)'|no .{0,40}(?:model|weights?|safetensors)\\w* files? .{0,30}found|model.{0,60}(?:does not exist|not found|is not available)",
            "FileNotFoundError: [Errno 2] No such file or directory: 'models/base/pytorch_model.bin.index.json'",
        ),
    ),
    kind_confidence=0.45,
    fires="OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.",
    quiet="loading configuration file config.json from cache",
)
