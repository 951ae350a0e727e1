"""A ModelSpec from the sizes alone: for rows that describe a model in words, and for a bare parameter count."""

from __future__ import annotations

import re

from papertrain.core.models import Linear, ModelSpec
from papertrain.core.values import Source

IN_WORDS = Source(kind="user", ref="sizes named in the model's description")
BY_SIZE = Source(kind="assumed", ref="a Llama shape of that many parameters: width 128 × layers")


def transformer(
    name: str,
    *,
    layers: int,
    hidden: int,
    vocab: int,
    heads: int | None = None,
    kv_heads: int | None = None,
    ffn: int | None = None,
    gated: bool = True,
    tied: bool = False,
    positions: int = 0,
    fused_qkv: bool = False,
    architecture: str = "LlamaForCausalLM",
    source: Source = IN_WORDS,
    exact: bool = True,
) -> ModelSpec:
    """A plain decoder: attention, one MLP a layer, an embedding and a head. `positions` = learned ones."""
    a = heads or max(1, hidden // (128 if hidden % 128 == 0 else 64))
    k = kv_heads or a
    d = hidden // a
    f = ffn or (4 * hidden if not gated else int(8 * hidden / 3 / 256 + 0.999) * 256)

    def each(n: str, i: int, o: int, place: str) -> Linear:
        return Linear(name=n, inputs=i, outputs=o, count=layers, active=layers, place=place)  # type: ignore[arg-type]

    if fused_qkv:
        linears = [each("Wqkv", hidden, (a + 2 * k) * d, "attention"), each("out_proj", a * d, hidden, "attention")]
    else:
        linears = [
            each("q_proj", hidden, a * d, "attention"),
            each("k_proj", hidden, k * d, "attention"),
            each("v_proj", hidden, k * d, "attention"),
            each("o_proj", a * d, hidden, "attention"),
        ]
    names = (("gate_proj", hidden, f), ("up_proj", hidden, f), ("down_proj", f, hidden))
    linears += [each(n, i, o, "mlp") for n, i, o in (names if gated else names[1:])]
    head = Linear(name="lm_head", inputs=hidden, outputs=vocab, count=0 if tied else 1, active=1, place="head")
    other = (2 * layers + 1) * hidden + positions * hidden
    total = vocab * hidden + other + sum(x.parameters for x in linears) + head.parameters
    return ModelSpec(
        name=name, source=source, architecture=architecture, kind="causal", layers=layers, hidden=hidden, heads=a,
        kv_heads=k, head_dim=d, ffn=f, vocab=vocab, parameters=total, active_parameters=total,
        embedding_parameters=vocab * hidden, other_parameters=other, linears=(*linears, head), tied=tied, gated=gated,
        activation="silu" if gated else "gelu", norm="rmsnorm" if gated else "layernorm", exact=exact,
    )  # fmt: skip


_NUMBER = r"([\d.]+)"
_LAYERS = re.compile(r"(\d+)\s*layers?")
_WIDTH = re.compile(r"(?:d_model|d|hidden(?:[ _]size)?|width)\s*[=:]?\s*(\d{2,6})\b")
_HEADS = re.compile(r"(\d+)\s*heads?")
_FFN = re.compile(r"(?:intermediate(?:[ _]size)?|ffn)\s*[=:]?\s*(\d+)")
_SHAPE = re.compile(r"\((\d+) layers, (\d+), (\d+) heads")
_TIMES = re.compile(r"(\d+) layers x (\d+)")
_MPT = {"125m": (12, 768, 12), "350m": (24, 1024, 16), "760m": (24, 1536, 12), "1b": (24, 2048, 16), "3b": (32, 2560, 20),
        "7b": (32, 4096, 32), "13b": (40, 5120, 40), "30b": (48, 7168, 56), "70b": (80, 8192, 64)}  # fmt: skip
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*([bm])\b", re.I)


def described(text: str, n_params: int | None = None) -> ModelSpec | None:
    """The model that a sentence describes (`GPT 1.3B (…, 24 layers, d 2048)`), or None where it gives too little."""
    words = text.lower()
    gpt = any(w in words for w in ("gpt", "mpt", "bloom"))
    layers, width, heads = _LAYERS.search(words), _WIDTH.search(words), _HEADS.search(words)
    if shape := _SHAPE.search(words):
        sizes = (int(shape[1]), int(shape[2]), int(shape[3]))
    elif times := _TIMES.search(words):
        sizes = (int(times[1]), int(times[2]), 0)
    elif layers and width:
        sizes = (int(layers[1]), int(width[1]), int(heads[1]) if heads else 0)
    elif mpt := re.search(r"mpt-(\d+[mb])", words):
        if mpt[1] not in _MPT:
            return None
        sizes = _MPT[mpt[1]]
    elif width and n_params and gpt:
        sizes = (max(1, round(n_params / 12 / int(width[1]) ** 2)), int(width[1]), 0)
    else:
        return None
    n_layers, hidden, n_heads = sizes
    ffn = _FFN.search(words)
    vocab = 50368 if "mpt" in words else 50257 if gpt else 32000
    core = 12 * n_layers * hidden**2 + vocab * hidden
    positions = 0
    if n_params and "positions" in words:
        positions = max(0, round((n_params - core) / hidden) - 2 * n_layers - 1)
    return transformer(
        text, layers=n_layers, hidden=hidden, heads=n_heads or None, vocab=vocab, ffn=int(ffn[1]) if ffn else None,
        gated=not gpt, tied=gpt and "untied" not in words, fused_qkv=gpt, positions=positions,
        architecture="MPTForCausalLM" if "mpt" in words else "GPT2LMHeadModel" if gpt else "LlamaForCausalLM",
    )  # fmt: skip


def by_size(name: str, n_params: int | None = None) -> ModelSpec | None:
    """A rough shape from the count, or from the size in the name (`Some-8B`); never exact."""
    if n_params is None:
        sizes = list(_SIZE.finditer(name.replace("-", " ").replace("_", " ")))
        if not sizes:
            return None
        n_params = int(float(sizes[-1][1]) * (1e9 if sizes[-1][2].lower() == "b" else 1e6))
    if not 10**6 <= n_params <= 10**13:
        return None
    layers = max(2, round((n_params / 196_608) ** (1 / 3)))
    vocab = 32_000 if n_params < 2e9 else 64_000
    hidden = max(64, round((max(n_params - 0, 1) / (12 * layers)) ** 0.5 / 64) * 64)
    spec = transformer(
        name, layers=layers, hidden=hidden, vocab=vocab, tied=n_params < 2e9, source=BY_SIZE, exact=False
    )
    while spec.parameters > n_params * 1.03 and layers > 2:
        layers -= 1
        spec = transformer(
            name, layers=layers, hidden=hidden, vocab=vocab, tied=n_params < 2e9, source=BY_SIZE, exact=False
        )
    return spec
