"""Where model families part in what their code keeps: one set of names per habit, as `memory_dtypes.family` spells them.

Read from transformers 5.6 and 5.24 and held against autograd's saved tensors there (tests/plan/test_memory_families.py).
"""

from __future__ import annotations

FUSED_QKV = {"qwen", "phi3", "gptneox", "internlm2", "baichuan", "chatglm", "falcon", "gpt2", "mpt", "gptbigcode", "bloom", "dbrx", "modernbert"}  # fmt: skip
NO_ROTARY = {"gpt2", "mpt", "gptbigcode", "bloom", "opt", "gptneo"}
PARALLEL = {"gptneox", "gptj", "phi", "falcon", "codegen", "cohere", "cohere2"}
FOUR_NORMS = {"gemma2", "gemma3", "gemma3text", "glm4"}
HEAD_NORMS = {"qwen3", "qwen3moe", "gemma3", "gemma3text", "olmo2", "olmo3"}
FP32_NORMS = {"gemma", "gemma2", "gemma3", "gemma3text", "olmo2", "olmo3"}
"""Multiply by the weight in fp32, and so keep the normalised input in fp32 where that weight is trained."""
COHERE_NORMS = {"cohere", "cohere2"}
"""A LayerNorm written in Python, in fp32."""
COPIED_OUTPUT = {"phi3", "stablelm", "glm", "glm4", "cohere", "cohere2", "deepseekv2", "deepseekv3"}
"""Put q together piece by piece; the attention's output is then laid out by head, and its projection reads a copy."""
LATENT = {"deepseekv2", "deepseekv3", "kimik2"}
ROTARY_ENCODERS = {"modernbert"}
SCALED_LAYERS = {"dinov2"}
"""A trained scale per channel behind attention and MLP, which keeps what it scales."""
DISENTANGLED = {"deberta", "debertav2"}
DROPOUT_IN_RESIDUAL = {"gpt2", "t5", "mt5", "umt5", "bart", "mbart"}
DROPOUT_IN_ATTENTION = {"gpt2", "t5", "mt5", "umt5"}
"""Of those that are no encoders; encoders all have both, but ModernBERT, which has neither."""
DROPOUT_IN_MLP = {"t5", "mt5", "umt5"}
NATIVE_SOFTMAX = {"falcon", "gptoss", "bart", "mbart", "dinov2"}
SOFTCAPPED = {"gemma2"}
CLAMPED_MLP = {"gptoss"}
OUTPUTS = ("o_proj", "out_proj", "c_proj", "dense", "wo")
PYTHON_GELU = ("gelu_new", "gelu_pytorch_tanh_python", "gelu_fast")

EAGER_ONLY = {"bloom", "deberta", "debertav2", "gemma2", "gptj", "gptneo", "gptoss", "mpnet", "mpt", "mt5", "t5", "umt5"}  # fmt: skip
"""`attn_implementation="sdpa"` is refused by transformers for these, in one of the two versions or in both."""
TRANSFORMERS_STACKS = ("trl", "trl-1", "hf-trainer", "llamafactory", "axolotl", "ms-swift", "peft-loop")
