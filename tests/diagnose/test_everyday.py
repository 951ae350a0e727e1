"""Errors that every newcomer meets: each has its own name, and its first remedy is the one that helps."""

from __future__ import annotations

import pytest

from papertrain.diagnose.answer import diagnoses
from papertrain.diagnose.decide import decide
from papertrain.diagnose.look import look_at_text

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.45 GiB is free. Including non-PyTorch "
    "memory, this process has 22.1 GiB memory in use. Of the allocated memory 21.3 GiB is allocated by PyTorch, and 412.00 MiB is reserved by PyTorch but unallocated."
)
TRACE = 'Traceback (most recent call last):\n  File "train.py", line 10, in <module>\n    {code}\n{error}\n'


def found(text: str):
    case = look_at_text(text)
    return diagnoses(decide(case), case)


@pytest.mark.parametrize(
    ("text", "expected", "remedy"),
    [
        ("ModuleNotFoundError: No module named 'flash_attn'", "package-missing", "sdpa"),
        ("ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not installed.", "package-missing", "sdpa"),
        ("ModuleNotFoundError: No module named 'sklearn'", "package-missing", "scikit-learn"),
        (
            "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77, unhandled system error, NCCL version 2.21.5\n"
            "Last error:\nsocketStartConnect: Connect to 172.17.0.1<45231> failed : Software caused connection abort",
            "nccl-system-error-docker-net",
            "--network=host",
        ),
        (
            "RuntimeError: Error(s) in loading state_dict for PeftModelForCausalLM:\n\tsize mismatch for base_model.model.lm_head.weight: copying a param with shape "
            "torch.Size([128257, 4096]) from checkpoint, the shape in current model is torch.Size([128256, 4096]).",
            "embedding-size-mismatch",
            "resize_token_embeddings",
        ),
        (
            "ValueError: The checkpoint you are trying to load has model type `gemma9` but Transformers does not recognize this architecture.",
            "transformers-too-old",
            "pip install -U transformers",
        ),
        ("wandb.errors.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])", "tracker-not-logged-in", "report_to"),
        ("pyarrow.lib.ArrowInvalid: JSON parse error: Missing a comma or '}' after an object member. in row 1", "dataset-file-broken", "papertrain check"),
        ("ValueError: Can't find a valid checkpoint at saves/checkpoint-300", "resume-checkpoint-missing", "checkpoint"),
        ("RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.", "torch-without-cuda", "map_location"),
        ("ValueError: Couldn't instantiate the backend tokenizer from one of: (1) a `tokenizers` library serialization file", "tokenizer-files-missing", "tokenizer"),
        (
            "huggingface_hub.errors.GatedRepoError: 401 Client Error.\nCannot access gated repo for url https://huggingface.co/meta-llama/Llama-3.1-8B/resolve/main/config.json.",
            "model-not-found",
            "accept the licence at https://huggingface.co/meta-llama/Llama-3.1-8B",
        ),
    ],
    ids=lambda x: x[:40] if isinstance(x, str) else "",
)  # fmt: skip
def test_an_everyday_error_has_its_name_and_its_remedy(text, expected, remedy):
    best = found(text)[0]
    assert best.cls == expected
    assert remedy in " ".join(f"{f.title} {' '.join(f.commands)}" for f in best.fixes)


@pytest.mark.parametrize("code", ["logits = logits.float()", "loss = nn.functional.cross_entropy(source, target)"])
def test_logits_that_do_not_fit_ask_for_a_fused_loss_first(code):
    best = found(TRACE.format(code=code, error=OOM))[0]
    assert best.cls == "oom-activations" and "logits" in best.title.lower()
    assert "logits" in best.fixes[0].title


def test_other_activations_are_halved_first():
    best = found(TRACE.format(code="hidden = self.mlp(hidden)", error=OOM))[0]
    assert best.cls == "oom-activations" and "micro-batch" in best.fixes[0].title


def test_a_card_that_is_full_before_the_model_is_held_by_somebody_else():
    best = found(TRACE.format(code="model.cuda()", error="RuntimeError: CUDA error: out of memory"))[0]
    assert best.cls == "gpu-memory-held-by-others" and best.next_check.startswith("nvidia-smi")


def test_what_is_listed_as_a_candidate_is_not_ruled_out():
    listed = found(
        "NCCL error in: a.cpp:1275, unhandled system error, NCCL version 2.14.3\nncclSystemError: System call failed."
    )
    names = {d.cls for d in listed}
    assert len(names) > 1
    assert not any(r.cls in names and "less likely" not in r.because for d in listed for r in d.ruled_out)
