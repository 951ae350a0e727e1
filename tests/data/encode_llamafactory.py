"""Conversations as LLaMA-Factory encodes them. Runs in .envs/llamafactory: TOKENIZER CASES.json → JSON lines of ids and labels.

A case: template, thinking, and a conversation; its last answer may be a pair, which makes it one of DPO.
"""

import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import llamafactory
from llamafactory.data.mm_plugin import get_mm_plugin
from llamafactory.data.processor.pairwise import PairwiseDatasetProcessor
from llamafactory.data.processor.supervised import SupervisedDatasetProcessor
from llamafactory.data.template import get_template_and_fix_tokenizer
from llamafactory.hparams import DataArguments
from transformers import AutoTokenizer

print(json.dumps({"llamafactory": getattr(llamafactory, "__version__", "")}), flush=True)
for case in json.loads(Path(sys.argv[2]).read_text()):
    tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
    before = len(tokenizer)
    args = DataArguments(template=case["template"], enable_thinking=case["thinking"], cutoff_len=4096)
    template = get_template_and_fix_tokenizer(tokenizer, args)
    template.mm_plugin = get_mm_plugin("base")  # there are no pictures, and no processor for them
    messages = [m for m in case["messages"] if m["role"] != "system"]
    system = next((m["content"] for m in case["messages"] if m["role"] == "system"), "")
    kind = PairwiseDatasetProcessor if case.get("rejected") else SupervisedDatasetProcessor
    answers = [messages[-1]] + ([{"role": "assistant", "content": case["rejected"]}] if case.get("rejected") else [])
    processor = kind(template=template, tokenizer=tokenizer, processor=None, data_args=args)
    ids, labels = processor._encode_data_example(messages[:-1], answers, system, None, [], [], [])[:2]
    print(
        json.dumps({"ids": ids, "labels": labels, "eos": tokenizer.eos_token, "added": len(tokenizer) - before}),
        flush=True,
    )
