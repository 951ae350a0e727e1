"""What each training stack really does with memory: one TOML per framework, every statement with its source.

The physics (`plan.memory`) is the same for all; what differs is who upcasts, who keeps the logits, which kernels are
fused, how shards are flattened. A stack without a file gets `unknown.toml`: a wider range that leans upwards.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path

import msgspec

from papertrain.core.values import Source, Value

HERE = Path(__file__).parent


class Profile(Value, frozen=True, kw_only=True):
    """One framework.

    names: words of a `framework` field that mean it; the longest match wins.
    autocast, trainable_dtype: what happens where the row does not say (`weights` = the dtype of the weights).
    weights_dtype: in which the model is loaded where the row does not say.
    full_trainable_dtype: dtype to which full fine-tuning raises 16-bit weights before the optimizer sees them.
    full_table_in_fp32_with: attentions with which full fine-tuning leaves embedding and head in fp32, on a model of 16 bits.
    norms: `python` (an upcast copy is kept for the backward pass) or `fused`.
    logits: bytes alive per logit at the loss, by loss path; `+full`, `+compiled` variants where they differ, `@family` where its models do.
    logits_at_once: fp32 bytes of logits that its loss computes at a time, and no more than half of what is free; 0 = all.
    fused_layers_with: loss paths that come together with fused norm and MLP kernels (Liger as a whole).
    fused_norms_with: loss paths that come with fused norms only (kernel packs leave a frozen MLP alone).
    loss: the loss path where the row does not say.
    loss_in: dtype of the cross-entropy: `fp32` (raised for every model), `model` (as the logits come), `family` (raised for all
        but GPT-2 and its kin, as transformers did until 2024).
    casts_outputs: the loop drops the model's outputs before the backward pass, so that an fp32 head costs nothing more.
    reentrant: checkpointing through the reentrant autograd function.
    untied_head, quantised_head: the output head is a matrix of its own; it is quantised like the rest.
    dequantised_bytes: bytes per weight of the matrix that is being unpacked.
    fused_adapters: its own kernels compute adapted matrices: they keep each input once, and no activation of a gated MLP.
    fused_unless: what makes it fall back to PEFT's layers: `dropout`, `preferences`, `fsdp1`, `int8`, `dora`.
    dropout_copies: adapters drop out their input by default: a byte of mask per element, and a copy of its own for each matrix.
    copies_output: its attention puts q together piece by piece, so that the output's projection reads a copy.
    repeats_keys: grouped keys and values are repeated for every head before the attention kernel.
    keeps_frozen_inputs: its bitsandbytes keeps the inputs of frozen 4-bit layers (before 0.43.2).
    quantization: what `qlora` means where the row does not say.
    prepares_quantised: PEFT's k-bit preparation raises norms, embeddings and head of a quantised base to fp32.
    quantised_trainable_dtype: of adapters on a quantised base, where it differs from the others.
    flat_adapters: FSDP flattens frozen and trained weights together.
    fsdp_trains_in_fp32, fsdp2_trains_in_fp32: trained 16-bit shards are raised to fp32; the second where FSDP2 differs.
    gathers_root: share of embedding and head that FSDP keeps gathered between forward and backward.
    optimizer: what it is where the row does not say.
    inputs_on_device: how many inputs of checkpointed layers stay on the card while the rest waits in host memory; 0 = all.
    attention_speed: of its attention kernel, relative to FlashAttention 2.
    widen_up, widen_down: added to the 90 % range, as a share.
    sources: `profile` for all of it; one named after a key speaks for that key alone.
    """

    id: str
    label: str
    names: tuple[str, ...]
    autocast: str = "none"
    weights_dtype: str = "bf16"
    trainable_dtype: str = "fp32"
    full_trainable_dtype: str = "weights"
    full_table_in_fp32_with: tuple[str, ...] = ()
    norms: str = "python"
    logits: dict[str, float] = {}
    logits_at_once: float = 0.0
    fused_layers_with: tuple[str, ...] = ()
    fused_norms_with: tuple[str, ...] = ("fused_ce", "fused_linear_ce")
    loss: str = "full_logits"
    loss_in: str = "family"
    casts_outputs: bool = False
    reentrant: bool = True
    untied_head: bool = False
    quantised_head: bool = False
    fused_qkv: bool = False
    dequantised_bytes: float = 2.0
    fused_adapters: bool = False
    fused_unless: tuple[str, ...] = ()
    dropout_copies: bool = False
    repeats_keys: bool = False
    copies_output: bool = False
    keeps_frozen_inputs: bool = False
    quantization: str = "nf4"
    prepares_quantised: bool = False
    quantised_trainable_dtype: str | None = None
    flat_adapters: bool = False
    gathers_root: float = 1.0
    fsdp_trains_in_fp32: bool = False
    fsdp2_trains_in_fp32: bool | None = None
    optimizer: str = "adamw"
    checkpointing: str = "none"
    inputs_on_device: int = 0
    attention_speed: float = 1.0
    known: bool = True
    widen_up: float = 0.0
    widen_down: float = 0.0
    sources: dict[str, Source] = {}
    notes: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def profiles() -> dict[str, Profile]:
    """Every profile on record, by id."""
    found = {}
    for file in sorted(HERE.glob("*.toml")):
        table = tomllib.loads(file.read_text("utf-8"))
        found[file.stem] = msgspec.convert({**table, "id": file.stem}, Profile)
    return found


@lru_cache(maxsize=4096)
def find_profile(framework: str | None) -> Profile:
    """The profile that a framework's name means; `unknown` for a name that none has, or for no name."""
    words = " ".join(re.findall(r"[a-z0-9.]+", (framework or "").lower()))
    best, length = profiles()["unknown"], 0
    for profile in profiles().values():
        for name in profile.names:
            if len(name) > length and re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", words):
                best, length = profile, len(name)
    return best
