"""Conversations as TRL's SFT trainer tokenises them. Runs in .envs/trl: TOKENIZER → JSON lines, one per chat template that TRL carries.

Rows of prompt and completion, whose loss TRL puts on the completion, and chats with assistant_only_loss: the steps of SFTTrainer's tokenize_fn.
"""

import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import trl
from transformers import AutoTokenizer
from trl.trainer.sft_trainer import common_prefix_length

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
case = json.loads(Path(sys.argv[2]).read_text())
print(json.dumps({"trl": trl.__version__}), flush=True)
for file in sorted((Path(trl.__file__).parent / "chat_templates").glob("*.jinja")):
    line = {"template": file.stem, "source": file.read_text()}
    try:
        options = {"chat_template": line["source"], "tokenize": True, "return_dict": True}
        prompt = tokenizer.apply_chat_template(case["prompt"], add_generation_prompt=True, **options)["input_ids"]
        whole = tokenizer.apply_chat_template(case["prompt"] + case["completion"], **options)["input_ids"]
        line |= {"ids": whole, "prompt": common_prefix_length(prompt, whole)}
        if file.stem.endswith("_training"):
            marked = tokenizer.apply_chat_template(case["chat"], return_assistant_tokens_mask=True, **options)
            line |= {"chat": marked["input_ids"], "mask": marked["assistant_masks"]}
    except Exception as error:
        line["refused"] = f"{type(error).__name__}: {error}"[:200]
    print(json.dumps(line), flush=True)
