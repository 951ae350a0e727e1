"""The headers of safetensors files: names and shapes of what is stored, without a byte of the weights. Pickles are never opened."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.models import Linear, ModelSpec
from papertrain.core.values import Source, Value
from papertrain.facts.config import Fields, read_json
from papertrain.facts.counting import Place, dtype, positions, stretched, window

HEADER_LIMIT_BYTES = 100_000_000
"""The format's own limit."""

_NUMBERS = {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"}
_PACKED = {
    "U8",
    "I8",
    "U16",
    "I16",
    "U32",
    "I32",
}  # 64-bit integers are indices (BERT stores its position ids), not weights
_EMBEDDING = re.compile(r"(embed|wte|wpe|word_embeddings|tok_embeddings|shared)[^.]*$|embeddings?\.[^.]+$", re.I)


class Tensor(Value, frozen=True):
    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def numbers(self) -> int:
        return math.prod(self.shape)


def stored_tensors(folder: Path) -> tuple[Tensor, ...]:
    """All tensors of the model in the folder. Empty where it has no safetensors or not all of its shards."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = read_json(index, limit=HEADER_LIMIT_BYTES).get("weight_map")
        names = sorted({s for s in shards.values() if isinstance(s, str)}) if isinstance(shards, dict) else []
        files = [folder / n for n in names if "/" not in n and "\\" not in n]
        if not files or not all(f.is_file() for f in files):
            return ()
    else:
        files = [f for f in (folder / "model.safetensors",) if f.is_file()]
    return tuple(t for f in files for t in read_header(f))


def read_header(file: Path) -> tuple[Tensor, ...]:
    """Eight bytes of length, then JSON. Everything about it is checked before it is believed."""
    try:
        size = file.stat().st_size
        with file.open("rb") as f:
            length = int.from_bytes(f.read(8), "little")
            if size < 8 or not 2 <= length <= min(HEADER_LIMIT_BYTES, size - 8):
                raise PapertrainError(
                    "is no safetensors file: its header does not fit", code="bad-safetensors", file=file
                )
            table: Any = json.loads(f.read(length))
    except (OSError, ValueError, RecursionError) as e:
        raise PapertrainError(
            f"is no safetensors file: {type(e).__name__}", code="bad-safetensors", file=file
        ) from None
    if not isinstance(table, dict):
        raise PapertrainError("is no safetensors file: its header is no object", code="bad-safetensors", file=file)
    return tuple(_tensor(name, entry, file) for name, entry in table.items() if name != "__metadata__")


def _tensor(name: str, entry: Any, file: Path) -> Tensor:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    kind = entry.get("dtype") if isinstance(entry, dict) else None
    if (
        not isinstance(kind, str)
        or not isinstance(shape, list)
        or not all(isinstance(n, int) and 0 <= n < 2**48 for n in shape)
    ):
        raise PapertrainError(
            f"is no safetensors file: tensor {name[:60]!r} has no shape", code="bad-safetensors", file=file
        )
    return Tensor(name, kind, tuple(shape))


def stored_numbers(tensors: tuple[Tensor, ...]) -> int | None:
    """How many parameters are stored, or None where they are packed (quantised)."""
    if not tensors or any(t.dtype in _PACKED and len(t.shape) > 1 for t in tensors):
        return None
    return sum(t.numbers for t in tensors if t.dtype in _NUMBERS)


def spec_from_tensors(
    config: Fields, tensors: tuple[Tensor, ...], *, name: str, source: Source, local_path: str
) -> ModelSpec:
    """A model of an architecture we do not know, counted from what is stored. The shape must still be in its config."""
    total = stored_numbers(tensors)
    if total is None:
        raise PapertrainError(
            "its weights are packed: the shapes of the matrices are not in the file",
            code="unknown-architecture",
            file=config.where,
        )
    hidden = config.int("hidden_size", "d_model", "n_embd", "dim", high=1_000_000)
    heads = config.int("num_attention_heads", "n_head", "num_heads", "n_heads", high=10_000)
    experts = config.int("num_experts", "num_local_experts", "n_routed_experts", default=0, low=0)
    chosen = config.int("num_experts_per_tok", "moe_topk", "moe_top_k", default=0, low=0)
    linears = _matrices(tensors, experts, chosen)
    embedding = sum(t.numbers for t in tensors if _is_embedding(t))
    inside = sum(m.parameters for m in linears)
    idle = sum(m.parameters - m.active_parameters for m in linears)
    vocab = config.int("vocab_size", "padded_vocab_size", default=0, low=0)
    return ModelSpec(
        name=name, source=source, architecture=config.text("model_type", default="unknown"), kind="causal",
        layers=config.int("num_hidden_layers", "num_layers", "n_layer", "n_layers", high=10_000), hidden=hidden, heads=heads,
        kv_heads=config.int("num_key_value_heads", default=heads, high=10_000), head_dim=config.int("head_dim", default=max(1, hidden // heads), high=100_000),
        ffn=config.int("intermediate_size", "d_ff", "ffn_dim", "ffn_hidden_size", default=4 * hidden, high=100_000_000), vocab=vocab, parameters=total,
        active_parameters=total - idle, embedding_parameters=embedding, other_parameters=total - embedding - inside, linears=linears,
        max_positions=positions(config), tied=not any(m.place == "head" for m in linears), experts=experts, experts_per_token=chosen,
        sliding_window=window(config), rope_scaling=stretched(config), dtype=dtype(config), local_path=local_path,
        notes=("counted from the headers of its safetensors files; what its activations need is assumed to be as in Llama",),
    )  # fmt: skip


def _is_embedding(t: Tensor) -> bool:
    return len(t.shape) == 2 and t.name.endswith(".weight") and bool(_EMBEDDING.search(t.name.removesuffix(".weight")))


def _matrices(tensors: tuple[Tensor, ...], experts: int, chosen: int) -> tuple[Linear, ...]:
    counts: dict[tuple[str, int, int, bool, Place], int] = {}
    biased = {t.name.removesuffix(".bias") for t in tensors if t.name.endswith(".bias") and len(t.shape) == 1}
    for t in tensors:
        if len(t.shape) != 2 or not t.name.endswith(".weight") or _is_embedding(t):
            continue
        path = t.name.removesuffix(".weight")
        key = (path.rsplit(".", 1)[-1], t.shape[1], t.shape[0], path in biased, _place(path))
        counts[key] = counts.get(key, 0) + 1
    part = chosen / experts if experts and chosen else 1.0
    return tuple(
        Linear(
            name=n,
            inputs=i,
            outputs=o,
            count=c,
            active=round(c * part) if place == "expert" else c,
            bias=b,
            place=place,
        )
        for (n, i, o, b, place), c in counts.items()
    )


def _place(path: str) -> Place:
    low = path.lower()
    if low.endswith(("lm_head", "embed_out", "output_layer")):
        return "head"
    if ".experts." in low:
        return "expert"
    if "attn" in low or "attention" in low:
        return "attention"
    return "mlp" if "mlp" in low or "ffn" in low or "feed_forward" in low else "other"
