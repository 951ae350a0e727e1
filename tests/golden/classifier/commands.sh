#!/usr/bin/env bash
# Startup commands of this study; written by papertrain. bash commands.sh lists the names.
set -euo pipefail
cd "$(dirname "$0")"
name="${1:-help}"
shift || true

case "$name" in
  ours/script-one)  # one device
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export CUDA_VISIBLE_DEVICES=''
    exec python configs/ours/script/train.py "$@" ;;
  ours/script-several)  # 2 devices of one machine
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export CUDA_VISIBLE_DEVICES=''
    exec torchrun --standalone --nproc_per_node 2 configs/ours/script/train.py "$@" ;;
  ours/script-nodes)  # 2 machines
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export CUDA_VISIBLE_DEVICES=''
    : "${NODE_RANK:?the number of this machine, from 0}" "${MASTER_ADDR:?address of the first machine}" "${MASTER_PORT:=29500}"
    export NODE_RANK MASTER_ADDR MASTER_PORT
    exec torchrun --nnodes 2 --nproc_per_node 1 --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT configs/ours/script/train.py "$@" ;;
  ours/script-slurm)  # Slurm
    exec sbatch configs/ours/slurm/script.sbatch "$@" ;;
  ours/script-ray)  # Ray job
    exec ray job submit --address "${RAY_ADDRESS:-http://127.0.0.1:8265}" --working-dir . -- bash commands.sh ours/script-one "$@" ;;
  *)
    echo 'ours/script-one'
    echo 'ours/script-several'
    echo 'ours/script-nodes'
    echo 'ours/script-slurm'
    echo 'ours/script-ray'
    if [ "$name" != help ]; then echo "no such command: $name" >&2; exit 2; fi ;;
esac
