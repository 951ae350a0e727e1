#!/usr/bin/env bash
# LoRA on SmolLM2-135M through real LLaMA-Factory, from the generated YAML. Started by `make example-smollm2`.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
place="${1:-$root/.cache/smollm2}"
env="$root/.envs/llamafactory"
papertrain="$root/.venv/bin/papertrain"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false

say() { printf '\n$ %s\n' "$*"; }
step() { say papertrain "$@"; "$papertrain" "$@"; }

"$env/bin/python" "$here/prepare.py" "$place"
cd "$place"
rm -rf work
mkdir work
cp "$here/study.toml" work/study.toml
step plan SmolLM2-135M-Instruct --data train.jsonl --gpu cpu --method lora --seq-len 128 --confirm -o work \
  --set epochs=1 --set micro_batch_size=8 --set gradient_accumulation_steps=1 --set learning_rate=5e-4 --set lora_rank=8 \
  --set gradient_checkpointing=none --set eval_steps=34 --set save_steps=34 --set early_stopping_patience=0
step generate work --target llamafactory
(cd work && step check configs/ours/llamafactory/train.yaml)
step launch work --target llamafactory --env "$env" --yes
step watch work/runs/ours.reviews.42
say bash commands.sh ours/llamafactory-predict
(cd work && PATH="$env/bin:$PATH" bash commands.sh ours/llamafactory-predict max_new_tokens=4 >predict.log 2>&1) || { tail -n 20 work/predict.log; exit 1; }
step evaluate work/runs/ours.reviews.42/predictions/generated_predictions.jsonl
