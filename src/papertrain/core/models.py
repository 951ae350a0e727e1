"""What is trained, on what data, on which cards."""

from __future__ import annotations

from typing import Literal

from papertrain.core.values import Record, Source

ModelKind = Literal["causal", "encoder", "encoder-decoder", "vision", "speech", "multimodal"]


class Linear(Record, frozen=True, kw_only=True):
    """One kind of weight matrix, as often as the model has it.

    name: the module's own name (`q_proj`, `c_attn`, `gate_proj`), as LoRA targets name it.
    inputs, outputs: its shape is (outputs, inputs). count: how many in the whole model, experts included.
    active: how many of them one token passes through (equal to count outside of experts).
    """

    name: str
    inputs: int
    outputs: int
    count: int
    active: int
    bias: bool = False
    place: Literal["attention", "mlp", "expert", "router", "head", "other"] = "other"

    @property
    def parameters(self) -> int:
        return self.count * (self.inputs * self.outputs + (self.outputs if self.bias else 0))

    @property
    def active_parameters(self) -> int:
        return self.active * (self.inputs * self.outputs + (self.outputs if self.bias else 0))


class ModelSpec(Record, frozen=True, kw_only=True):
    """The shape of a model. Counts are parameters, exact where `exact` is true, else rough (`7B` alone).

    `linears` lists every weight matrix but the embeddings; the output head is there (place `head`) also when it is
    tied, with count 0 then. parameters = embedding_parameters + other_parameters (norms, convolutions, router biases,
    positions) + the linears'.
    """

    name: str
    source: Source
    architecture: str
    kind: ModelKind
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    parameters: int
    active_parameters: int
    embedding_parameters: int = 0
    other_parameters: int = 0
    linears: tuple[Linear, ...] = ()
    max_positions: int | None = None
    tied: bool = False
    gated: bool = True
    activation: str = "silu"
    norm: Literal["rmsnorm", "layernorm"] = "rmsnorm"
    experts: int = 0
    experts_per_token: int = 0
    expert_ffn: int = 0
    sliding_window: int | None = None
    rope_scaling: bool = False
    dtype: str | None = None
    quantized: str | None = None
    """How the stored weights are packed (`gptq4`, `awq4`, `nf4`, `int8`, `other`); None where they are not."""
    instruct: bool | None = None
    local_path: str | None = None
    exact: bool = True
    notes: tuple[str, ...] = ()


class Gpu(Record, frozen=True, kw_only=True):
    """One device as the driver shows it (an MI250X is two). Peaks are dense, with fp32 accumulation, FLOP/s.

    link_bytes_per_second: one direction, per device, to its neighbours in the node. `None` = no figure on record.
    sources: field name → where the number was read.
    """

    id: str
    label: str
    names: tuple[str, ...]
    vendor: Literal["nvidia", "amd", "huawei", "google", "apple", "other"]
    memory_bytes: int
    peak_bf16_dense_flops: float | None = None
    peak_fp16_dense_flops: float | None = None
    peak_fp32_flops: float | None = None
    memory_bytes_per_second: float | None = None
    link: str | None = None
    link_bytes_per_second: float | None = None
    peer_to_peer: bool = True
    compute_capability: str | None = None
    notes: tuple[str, ...] = ()
    sources: dict[str, Source] = {}

    @property
    def has_bf16(self) -> bool:
        return self.peak_bf16_dense_flops is not None


class Compute(Record, frozen=True, kw_only=True):
    """The cards of one run. Host memory and disk are bytes per node; `None` = not stated, never assumed."""

    gpu: Gpu
    gpus_per_node: int
    nodes: int = 1
    host_memory_bytes: int | None = None
    disk_bytes: int | None = None
    network_bytes_per_second: float | None = None
    said: str = ""

    @property
    def gpus(self) -> int:
        return self.gpus_per_node * self.nodes


class LengthProfile(Record, frozen=True, kw_only=True):
    """Token counts of one example, after the template, before truncation."""

    mean: float
    p50: int
    p90: int
    p95: int
    p99: int
    longest: int


class BadRow(Record, frozen=True, kw_only=True):
    file: str
    line: int
    says: str


class OddLabel(Record, frozen=True, kw_only=True):
    """A label that may be a slip of the pen: written almost as another one (`like`), or standing in one row only."""

    label: str
    rows: int
    file: str
    line: int
    like: str = ""


class DatasetProfile(Record, frozen=True, kw_only=True):
    """rows → examples → tokens → trainable tokens, counted once.

    `exact` is true when the model's own tokenizer and template were used; else tokens_low…tokens_high is the interval.
    `trainable_tokens` are the labels that carry loss. `labels` counts classes of a classification set. `empty_answers` are rows that teach nothing: no answer,
    or no text where there is nothing else.
    """

    path: str
    sha256: str
    format: str
    rows: int
    examples: int
    bytes: int = 0
    tokens: int | None = None
    tokens_low: int | None = None
    tokens_high: int | None = None
    trainable_tokens: int | None = None
    lengths: LengthProfile | None = None
    cutoff: int | None = None
    truncated_examples: int = 0
    duplicates: int = 0
    empty_answers: int = 0
    bad_rows: int = 0
    examples_of_bad_rows: tuple[BadRow, ...] = ()
    labels: dict[str, int] = {}
    odd_labels: tuple[OddLabel, ...] = ()
    columns: dict[str, str] = {}
    packed_sequences: int | None = None
    exact: bool = False
    sampled: bool = False
    tokenizer: str = ""
    licence: str | None = None
    notes: tuple[str, ...] = ()
