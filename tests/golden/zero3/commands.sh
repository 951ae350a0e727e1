#!/usr/bin/env bash
# Startup commands of this study; written by papertrain. bash commands.sh lists the names.
# unconfirmed: nobody has confirmed this plan yet (papertrain status . --confirm derive)
set -euo pipefail
cd "$(dirname "$0")"
name="${1:-help}"
shift || true

case "$name" in
  ours/axolotl-nodes)  # 2 machines
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    : "${NODE_RANK:?the number of this machine, from 0}" "${MASTER_ADDR:?address of the first machine}" "${MASTER_PORT:=29500}"
    export NODE_RANK MASTER_ADDR MASTER_PORT
    exec torchrun --nnodes 2 --nproc_per_node 8 --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT -m axolotl.cli.train configs/ours/axolotl/train.yaml "$@" ;;
  ours/axolotl-one)  # one device
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    exec python -m torch.distributed.run --standalone --nproc_per_node 1 -m axolotl.cli.train configs/ours/axolotl/train.yaml --gradient_accumulation_steps 64 "$@" ;;
  ours/axolotl-several)  # 8 devices of one machine
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    exec torchrun --standalone --nproc_per_node 8 -m axolotl.cli.train configs/ours/axolotl/train.yaml --gradient_accumulation_steps 8 "$@" ;;
  ours/axolotl-slurm)  # Slurm
    exec sbatch configs/ours/slurm/axolotl.sbatch "$@" ;;
  ours/axolotl-ray)  # Ray job
    exec ray job submit --address "${RAY_ADDRESS:-http://127.0.0.1:8265}" --working-dir . -- bash commands.sh ours/axolotl-several "$@" ;;
  ours/llamafactory-nodes)  # 2 machines
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    export FORCE_TORCHRUN=1
    export NNODES=2
    export NPROC_PER_NODE=8
    : "${NODE_RANK:?the number of this machine, from 0}" "${MASTER_ADDR:?address of the first machine}" "${MASTER_PORT:=29500}"
    export NODE_RANK MASTER_ADDR MASTER_PORT
    exec llamafactory-cli train configs/ours/llamafactory/train.yaml "$@" ;;
  ours/llamafactory-one)  # one device
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    export FORCE_TORCHRUN=1
    exec llamafactory-cli train configs/ours/llamafactory/train.yaml gradient_accumulation_steps=64 "$@" ;;
  ours/llamafactory-several)  # 8 devices of one machine
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    export FORCE_TORCHRUN=1
    export NNODES=1
    export NODE_RANK=0
    export NPROC_PER_NODE=8
    export MASTER_ADDR=127.0.0.1
    export MASTER_PORT=29500
    exec llamafactory-cli train configs/ours/llamafactory/train.yaml gradient_accumulation_steps=8 "$@" ;;
  ours/llamafactory-slurm)  # Slurm
    exec sbatch configs/ours/slurm/llamafactory.sbatch "$@" ;;
  ours/llamafactory-ray)  # Ray job
    exec ray job submit --address "${RAY_ADDRESS:-http://127.0.0.1:8265}" --working-dir . -- bash commands.sh ours/llamafactory-several "$@" ;;
  ours/llamafactory-predict)  # predictions of the held-out file
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    exec llamafactory-cli train configs/ours/llamafactory/predict.yaml "$@" ;;
  ours/llamafactory-chat)  # a talk with it
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    exec llamafactory-cli chat configs/ours/llamafactory/chat.yaml "$@" ;;
  ours/script-nodes)  # 2 machines
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    export ACCELERATE_USE_DEEPSPEED=true
    export ACCELERATE_DEEPSPEED_CONFIG_FILE=configs/ours/script/ds_zero3.json
    : "${NODE_RANK:?the number of this machine, from 0}" "${MASTER_ADDR:?address of the first machine}" "${MASTER_PORT:=29500}"
    export NODE_RANK MASTER_ADDR MASTER_PORT
    exec torchrun --nnodes 2 --nproc_per_node 8 --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT configs/ours/script/train.py "$@" ;;
  ours/script-one)  # one device
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    export ACCELERATE_USE_DEEPSPEED=true
    export ACCELERATE_DEEPSPEED_CONFIG_FILE=configs/ours/script/ds_zero3.json
    exec python -m torch.distributed.run --standalone --nproc_per_node 1 configs/ours/script/train.py "$@" ;;
  ours/script-several)  # 8 devices of one machine
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    export ACCELERATE_USE_DEEPSPEED=true
    export ACCELERATE_DEEPSPEED_CONFIG_FILE=configs/ours/script/ds_zero3.json
    exec torchrun --standalone --nproc_per_node 8 configs/ours/script/train.py "$@" ;;
  ours/script-accelerate)  # accelerate (DeepSpeed)
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    exec accelerate launch --config_file configs/ours/accelerate/deepspeed.yaml configs/ours/script/train.py "$@" ;;
  ours/script-deepspeed)  # accelerate, DeepSpeed ZeRO-3
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    exec accelerate launch --use_deepspeed --deepspeed_config_file configs/ours/script/ds_zero3.json --num_processes 8 configs/ours/script/train.py "$@" ;;
  ours/script-slurm)  # Slurm
    exec sbatch configs/ours/slurm/script.sbatch "$@" ;;
  ours/script-ray)  # Ray job
    exec ray job submit --address "${RAY_ADDRESS:-http://127.0.0.1:8265}" --working-dir . -- bash commands.sh ours/script-several "$@" ;;
  ours/trl-nodes)  # 2 machines
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    : "${NODE_RANK:?the number of this machine, from 0}" "${MASTER_ADDR:?address of the first machine}" "${MASTER_PORT:=29500}"
    export NODE_RANK MASTER_ADDR MASTER_PORT
    exec trl sft --config configs/ours/trl/sft.yaml --num_processes 16 --num_machines 2 --machine_rank $NODE_RANK --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT "$@" ;;
  ours/trl-one)  # one device
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    export RANK=0
    export LOCAL_RANK=0
    export WORLD_SIZE=1
    export MASTER_ADDR=127.0.0.1
    export MASTER_PORT=29500
    exec trl sft --config configs/ours/trl/sft.yaml --gradient_accumulation_steps 64 "$@" ;;
  ours/trl-several)  # 8 devices of one machine
    export TOKENIZERS_PARALLELISM=false
    export HF_HUB_OFFLINE=1
    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
    exec trl sft --config configs/ours/trl/sft.yaml --gradient_accumulation_steps 8 --num_processes 8 "$@" ;;
  ours/trl-slurm)  # Slurm
    exec sbatch configs/ours/slurm/trl.sbatch "$@" ;;
  ours/trl-ray)  # Ray job
    exec ray job submit --address "${RAY_ADDRESS:-http://127.0.0.1:8265}" --working-dir . -- bash commands.sh ours/trl-several "$@" ;;
  *)
    echo 'ours/axolotl-nodes'
    echo 'ours/axolotl-one'
    echo 'ours/axolotl-several'
    echo 'ours/axolotl-slurm'
    echo 'ours/axolotl-ray'
    echo 'ours/llamafactory-nodes'
    echo 'ours/llamafactory-one'
    echo 'ours/llamafactory-several'
    echo 'ours/llamafactory-slurm'
    echo 'ours/llamafactory-ray'
    echo 'ours/llamafactory-predict'
    echo 'ours/llamafactory-chat'
    echo 'ours/script-nodes'
    echo 'ours/script-one'
    echo 'ours/script-several'
    echo 'ours/script-accelerate'
    echo 'ours/script-deepspeed'
    echo 'ours/script-slurm'
    echo 'ours/script-ray'
    echo 'ours/trl-nodes'
    echo 'ours/trl-one'
    echo 'ours/trl-several'
    echo 'ours/trl-slurm'
    echo 'ours/trl-ray'
    if [ "$name" != help ]; then echo "no such command: $name" >&2; exit 2; fi ;;
esac
