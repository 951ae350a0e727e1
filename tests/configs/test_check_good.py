"""Good configs, written in the manner of what LLaMA-Factory, Axolotl, TRL and DeepSpeed publish: none gives an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.configs.checking.engine import inspect
from papertrain.configs.checking.read import read_file
from papertrain.configs.checking.world import World

LF_MODEL = "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\ntrust_remote_code: true\n"
LF_DATA = "dataset: identity,alpaca_en_demo\ntemplate: qwen3_nothink\ncutoff_len: 2048\nmax_samples: 1000\npreprocessing_num_workers: 16\ndataloader_num_workers: 4\n"
LF_OUT = "output_dir: saves/qwen3-4b/run\nlogging_steps: 10\nsave_steps: 500\nplot_loss: true\noverwrite_output_dir: true\nsave_only_model: false\nreport_to: none  # choices: [none, wandb, tensorboard, swanlab, mlflow]\n"
LF_TRAIN = "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nlearning_rate: 1.0e-4\nnum_train_epochs: 3.0\nlr_scheduler_type: cosine\nwarmup_ratio: 0.1\nbf16: true\nddp_timeout: 180000000\nresume_from_checkpoint: null\n"
LF_EVAL = "val_size: 0.1\nper_device_eval_batch_size: 1\neval_strategy: steps\neval_steps: 500\n"


def lf(method: str, *, data: str = LF_DATA, out: str = LF_OUT, train: str = LF_TRAIN, model: str = LF_MODEL) -> str:
    parts = (
        "### model\n",
        model,
        "\n### method\ndo_train: true\n",
        method,
        "\n### dataset\n",
        data,
        "\n### output\n",
        out,
        "\n### train\n",
        train,
    )
    return "".join(parts)


LORA = "stage: sft\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\n"
FULL = "stage: sft\nfinetuning_type: full\n"
LLAMA = "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\n"
LLAMA_DATA = LF_DATA.replace("qwen3_nothink", "llama3")

LLAMAFACTORY = {
    "sft-lora": lf(LORA),
    "sft-lora-evaluated": lf(LORA, train=LF_TRAIN + LF_EVAL),
    "sft-full-zero3": lf(FULL + "deepspeed: examples/deepspeed/ds_z3_config.json  # choices: [ds_z0_config.json, ds_z2_config.json]\n", train=LF_TRAIN.replace("1.0e-4", "1.0e-5")),
    "dpo": lf("stage: dpo\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\npref_beta: 0.1\npref_loss: sigmoid  # choices: [sigmoid (dpo), orpo, simpo]\n", data=LF_DATA.replace("identity,alpaca_en_demo", "dpo_en_demo"), train=LF_TRAIN.replace("1.0e-4", "5.0e-6")),
    "orpo": lf("stage: dpo\nfinetuning_type: lora\nlora_target: q_proj,v_proj\npref_loss: orpo\npref_beta: 0.1\n"),
    "simpo": lf("stage: dpo\nfinetuning_type: lora\nlora_target: all\npref_loss: simpo\nsimpo_gamma: 0.5\n"),
    "kto": lf("stage: kto\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\npref_beta: 0.1\n"),
    "reward": lf("stage: rm\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\n"),
    "ppo": lf("stage: ppo\nfinetuning_type: lora\nlora_target: all\nreward_model: saves/qwen3-4b/reward\nmax_new_tokens: 512\ntop_k: 0\ntop_p: 0.9\n"),
    "pre-training": lf("stage: pt\nfinetuning_type: lora\nlora_rank: 8\nlora_target: all\n", data="dataset: c4_demo\ncutoff_len: 2048\nmax_samples: 1000\npreprocessing_num_workers: 16\n"),
    "freeze": lf("stage: sft\nfinetuning_type: freeze\nfreeze_trainable_layers: 8\nfreeze_trainable_modules: all\nuse_llama_pro: true\n"),
    "qlora-bnb": lf(LORA, model=LF_MODEL + "quantization_bit: 4  # choices: [8 (bnb/hqq/eetq), 4 (bnb/hqq), 3 (hqq), 2 (hqq)]\nquantization_method: bnb\ndouble_quantization: false\n"),
    "qlora-hqq": lf(LORA, model=LF_MODEL + "quantization_bit: 3\nquantization_method: hqq\n"),
    "awq": lf(LORA, model="model_name_or_path: TechxGenus/Meta-Llama-3-8B-Instruct-AWQ\n", data=LLAMA_DATA),
    "dora": lf(LORA + "use_dora: true\n"),
    "rslora": lf(LORA + "use_rslora: true\nlora_alpha: 16\nlora_dropout: 0.05\n"),
    "pissa": lf(LORA + "pissa_init: true\npissa_iter: 16\npissa_convert: true\n"),
    "loraplus": lf(LORA + "loraplus_lr_ratio: 16.0\n"),
    "galore": lf(FULL + "use_galore: true\ngalore_layerwise: true\ngalore_target: mlp,self_attn\ngalore_rank: 128\ngalore_scale: 2.0\n", train="per_device_train_batch_size: 1\ngradient_accumulation_steps: 1\nlearning_rate: 1.0e-5\nnum_train_epochs: 3.0\npure_bf16: true\n"),
    "apollo": lf(FULL + "use_apollo: true\napollo_layerwise: true\napollo_target: all\napollo_rank: 128\napollo_scale: 32.0\napollo_scale_type: channel\n", train="per_device_train_batch_size: 1\nlearning_rate: 1.0e-5\npure_bf16: true\n"),
    "badam": lf(FULL + "use_badam: true\nbadam_mode: layer\nbadam_switch_mode: ascending\nbadam_switch_interval: 50\nbadam_verbose: 2\n", train="per_device_train_batch_size: 1\nlearning_rate: 1.0e-5\n"),
    "adam-mini": lf(FULL + "use_adam_mini: true\n", train=LF_TRAIN.replace("1.0e-4", "1.0e-5")),
    "muon": lf(FULL + "use_muon: true\n", train=LF_TRAIN.replace("1.0e-4", "2.0e-3")),
    "oft": lf("stage: sft\nfinetuning_type: oft\noft_block_size: 32\noft_target: all\n"),
    "neat-packing": lf(LORA, data=LF_DATA + "packing: true\nneat_packing: true\n"),
    "unsloth": lf(LORA, model=LF_MODEL + "use_unsloth: true\n"),
    "long-lora": lf(LORA, model=LLAMA + "shift_attn: true\nrope_scaling: linear\n", data=LLAMA_DATA),
    "liger-fa2": lf(LORA, model=LF_MODEL + "flash_attn: fa2\nenable_liger_kernel: true\n"),
    "pictures": lf(LORA + "freeze_vision_tower: true\nfreeze_multi_modal_projector: true\n", model="model_name_or_path: Qwen/Qwen2.5-VL-7B-Instruct\nimage_max_pixels: 262144\nvideo_max_pixels: 16384\n", data="dataset: mllm_demo,identity\ntemplate: qwen2_vl\ncutoff_len: 2048\n"),
    "streaming": lf(LORA, data="dataset: c4_demo\ntemplate: qwen3_nothink\nstreaming: true\nbuffer_size: 128\ncutoff_len: 2048\n", train="max_steps: 500\nlearning_rate: 1.0e-4\n"),
    "interleaved": lf(LORA, data="dataset: identity,alpaca_en_demo\ntemplate: qwen3_nothink\nmix_strategy: interleave_under\ninterleave_probs: 0.5,0.5\n"),
    "early-stopping": lf(LORA + "early_stopping_steps: 3\n", train=LF_TRAIN + LF_EVAL + "load_best_model_at_end: true\nmetric_for_best_model: eval_loss\ngreater_is_better: false\n"),
    "best-by-epoch": lf(LORA, out=LF_OUT.replace("save_steps: 500", "save_strategy: epoch"), train=LF_TRAIN + "val_size: 0.1\neval_strategy: epoch\nload_best_model_at_end: true\n"),
    "swanlab": lf(LORA + "use_swanlab: true\nswanlab_project: my_project\nswanlab_run_name: first\nswanlab_mode: local\n"),
    "a-base-model": lf(LORA, model="model_name_or_path: meta-llama/Meta-Llama-3-8B\n", data=LLAMA_DATA),
    "a-local-model": lf(LORA, model="model_name_or_path: /models/mine\n"),
    "lists": lf("stage: sft\nfinetuning_type: lora\nlora_target: [q_proj, v_proj]\n", train="learning_rate: 1e-4\n"),
    "predict": "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\nadapter_name_or_path: saves/a\nstage: sft\ndo_predict: true\nfinetuning_type: lora\neval_dataset: identity\ntemplate: qwen3_nothink\ncutoff_len: 2048\nmax_samples: 50\noutput_dir: saves/p\nper_device_eval_batch_size: 1\npredict_with_generate: true\nddp_timeout: 180000000\n",
    "evaluate-loss": "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\nadapter_name_or_path: saves/a\nstage: sft\ndo_eval: true\nfinetuning_type: lora\neval_dataset: identity\ntemplate: qwen3_nothink\noutput_dir: saves/e\nper_device_eval_batch_size: 4\n",
    "export": "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\nadapter_name_or_path: saves/a\ntemplate: qwen3_nothink\ntrust_remote_code: true\nexport_dir: saves/merged\nexport_size: 5\nexport_device: cpu  # choices: [cpu, auto]\nexport_legacy_format: false\n",
    "export-gptq": "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\ntemplate: qwen3_nothink\nexport_dir: saves/gptq\nexport_quantization_bit: 4\nexport_quantization_dataset: data/c4_demo.jsonl\nexport_size: 5\nexport_device: cpu\n",
    "chat": "model_name_or_path: Qwen/Qwen3-4B-Instruct-2507\nadapter_name_or_path: saves/a\ntemplate: qwen3_nothink\ninfer_backend: huggingface  # choices: [huggingface, vllm, sglang]\ntrust_remote_code: true\n",
    "chat-full": "model_name_or_path: saves/llama3-8b/full/sft\ntemplate: llama3\ninfer_backend: vllm\nvllm_enforce_eager: true\ninfer_dtype: bfloat16\n",
    "second-engine": "model: Qwen/Qwen3-0.6B\ntrust_remote_code: true\nmodel_class: llm\ntemplate: qwen3_nothink\nkernel_config:\n  name: auto\ntrain_dataset: data/v1_sft_demo.yaml\noutput_dir: outputs/t\nmicro_batch_size: 1\ncutoff_len: 2048\nlearning_rate: 1.0e-4\nmax_steps: 10\n",
}  # fmt: skip

AXOLOTL_BASE = "base_model: NousResearch/Llama-3.2-1B\nload_in_8bit: false\nload_in_4bit: false\ndatasets:\n  - path: teknium/GPT4-LLM-Cleaned\n    type: alpaca\ndataset_prepared_path: last_run_prepared\nval_set_size: 0.1\noutput_dir: ./outputs/out\nsequence_len: 2048\nsample_packing: true\neval_sample_packing: true\npad_to_sequence_len: true\nwandb_project:\nwandb_entity:\ngradient_accumulation_steps: 2\nmicro_batch_size: 2\nnum_epochs: 1\noptimizer: adamw_8bit\nlr_scheduler: cosine\nlearning_rate: 0.0002\nbf16: auto\ntf32: false\ngradient_checkpointing: true\nresume_from_checkpoint:\nlogging_steps: 1\nflash_attention: true\nloss_watchdog_threshold: 5.0\nloss_watchdog_patience: 3\nwarmup_steps: 10\nevals_per_epoch: 4\nsaves_per_epoch: 1\nweight_decay: 0.0\nspecial_tokens:\n  pad_token: '<|end_of_text|>'\n"

AXOLOTL = {
    "axolotl-full": AXOLOTL_BASE,
    "axolotl-lora": AXOLOTL_BASE + "adapter: lora\nlora_model_dir:\nlora_r: 16\nlora_alpha: 32\nlora_dropout: 0.05\nlora_target_modules:\n  - gate_proj\n  - q_proj\n",
    "axolotl-qlora": AXOLOTL_BASE.replace("load_in_4bit: false", "load_in_4bit: true") + "adapter: qlora\nlora_r: 32\nlora_alpha: 16\nlora_target_linear: true\n",
    "axolotl-zero3": AXOLOTL_BASE + "deepspeed: deepspeed_configs/zero3_bf16.json\n",
    "axolotl-fsdp": AXOLOTL_BASE.replace("gradient_checkpointing: true\n", "") + "fsdp:\n  - full_shard\n  - auto_wrap\nfsdp_config:\n  fsdp_offload_params: true\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_state_dict_type: FULL_STATE_DICT\n",
    "axolotl-dpo": "base_model: meta-llama/Llama-3.2-1B\nchat_template: llama3\nrl: dpo\ndatasets:\n  - path: fozziethebeat/alpaca_messages_2k_dpo_test\n    type: chat_template.default\n    field_messages: conversation\nsequence_len: 4096\nmicro_batch_size: 2\nnum_epochs: 4\nlearning_rate: 0.0002\nadapter: lora\nlora_r: 32\nlora_alpha: 16\nlora_target_linear: true\noutput_dir: ./outputs/dpo\n",
    "axolotl-plugins": AXOLOTL_BASE + "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_rope: true\nliger_rms_norm: true\nliger_glu_activation: true\n",
    "axolotl-number-as-text": AXOLOTL_BASE.replace("0.0002", "1e-5"),
}  # fmt: skip

TRL = {
    "trl-sft": "model_name_or_path: Qwen/Qwen2.5-0.5B\ndataset_name: trl-lib/Capybara\nlearning_rate: 2.0e-5\nnum_train_epochs: 1\npacking: true\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 8\ngradient_checkpointing: true\nlogging_steps: 25\neval_strategy: steps\neval_steps: 100\noutput_dir: Qwen2.5-0.5B-SFT\npush_to_hub: true\n",
    "trl-sft-lora": "model_name_or_path: Qwen/Qwen2.5-0.5B\ndataset_name: trl-lib/Capybara\nlearning_rate: 2.0e-4\nuse_peft: true\nlora_r: 32\nlora_alpha: 16\nlora_target_modules: [q_proj, v_proj]\nmax_length: 1024\nreport_to: none\noutput_dir: out\n",
    "trl-dpo": "model_name_or_path: Qwen/Qwen2-0.5B-Instruct\ndataset_name: trl-lib/ultrafeedback_binarized\nlearning_rate: 5.0e-7\nbeta: 0.1\nloss_type: [sigmoid]\nbf16: true\noutput_dir: out\n",
    "trl-grpo": "model_name_or_path: Qwen/Qwen2.5-1.5B\ndataset_name: trl-lib/tldr\nnum_generations: 8\nmax_completion_length: 256\nper_device_train_batch_size: 8\nlearning_rate: 1.0e-6\nuse_vllm: true\noutput_dir: out\n",
    "trl-mixture": "model_name_or_path: m\ndatasets:\n  - path: trl-lib/tldr\n    split: train\noutput_dir: out\nlearning_rate: 2.0e-5\nmax_length: 512\n",
}  # fmt: skip

ACCELERATE = {
    "accelerate-zero3": "compute_environment: LOCAL_MACHINE\ndebug: false\ndeepspeed_config:\n  deepspeed_multinode_launcher: standard\n  offload_optimizer_device: none\n  offload_param_device: none\n  zero3_init_flag: true\n  zero3_save_16bit_model: true\n  zero_stage: 3\ndistributed_type: DEEPSPEED\ndowncast_bf16: 'no'\nmachine_rank: 0\nmain_training_function: main\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\nrdzv_backend: static\nsame_network: true\ntpu_env: []\ntpu_use_cluster: false\ntpu_use_sudo: false\nuse_cpu: false\n",
    "accelerate-fsdp2": "compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: FSDP\ndowncast_bf16: 'no'\nenable_cpu_affinity: false\nfsdp_config:\n  fsdp_activation_checkpointing: false\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: true\n  fsdp_offload_params: false\n  fsdp_reshard_after_forward: true\n  fsdp_state_dict_type: FULL_STATE_DICT\n  fsdp_version: 2\nmachine_rank: 0\nmain_training_function: main\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\nrdzv_backend: static\nsame_network: true\n",
    "accelerate-many": "compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: MULTI_GPU\ndowncast_bf16: 'no'\ngpu_ids: all\nmachine_rank: 0\nmain_training_function: main\nmixed_precision: 'bf16'\nnum_machines: 1\nnum_processes: 8\nrdzv_backend: static\nsame_network: true\n",
}  # fmt: skip

DEEPSPEED_HEAD = '"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "zero_allow_untested_optimizer": true, "fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000, "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1}, "bf16": {"enabled": "auto"}'
DEEPSPEED = {
    "zero-0": f'{{{DEEPSPEED_HEAD}, "zero_optimization": {{"stage": 0, "allgather_partitions": true, "allgather_bucket_size": 5e8, "overlap_comm": false, "reduce_scatter": true, "reduce_bucket_size": 5e8, "contiguous_gradients": true, "round_robin_gradients": true}}}}',
    "zero-2-offload": f'{{{DEEPSPEED_HEAD}, "zero_optimization": {{"stage": 2, "offload_optimizer": {{"device": "cpu", "pin_memory": true}}, "allgather_partitions": true, "allgather_bucket_size": 5e8, "overlap_comm": true, "reduce_scatter": true, "reduce_bucket_size": 5e8, "contiguous_gradients": true}}}}',
    "zero-3": f'{{{DEEPSPEED_HEAD}, "zero_optimization": {{"stage": 3, "overlap_comm": true, "contiguous_gradients": true, "sub_group_size": 1e9, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": true}}}}',
    "zero-3-offload": f'{{{DEEPSPEED_HEAD}, "zero_optimization": {{"stage": 3, "offload_optimizer": {{"device": "cpu", "pin_memory": true}}, "offload_param": {{"device": "cpu", "pin_memory": true}}, "stage3_gather_16bit_weights_on_model_save": true}}}}',
    "alone": '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4, "steps_per_print": 100, "optimizer": {"type": "AdamW", "params": {"lr": 2e-5, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}}, "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": 2e-5, "warmup_num_steps": 100, "total_num_steps": 3000}}, "gradient_clipping": 1.0, "bf16": {"enabled": true}, "zero_optimization": {"stage": 1, "reduce_bucket_size": 200000000}, "wall_clock_breakdown": false, "activation_checkpointing": {"partition_activations": true}}',
    "with-a-remark": '{"_comment": "for two nodes", "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 1}}',
}  # fmt: skip

SCRIPTS = {
    "run.sh": "#!/bin/bash\nexport WANDB_PROJECT=mine\nexport HF_ENDPOINT=https://mirror.example\nCUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 FORCE_TORCHRUN=1 llamafactory-cli train examples/train_lora/x.yaml\n",
    "nodes.sh": "FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 MASTER_ADDR=192.168.0.1 MASTER_PORT=29500 llamafactory-cli train examples/train_full/x.yaml\nFORCE_TORCHRUN=1 NNODES=2 NODE_RANK=1 MASTER_ADDR=192.168.0.1 MASTER_PORT=29500 llamafactory-cli train examples/train_full/x.yaml\n",
    "elastic.sh": "FORCE_TORCHRUN=1 MIN_NNODES=1 MAX_NNODES=3 MAX_RESTARTS=3 RDZV_ID=llamafactory MASTER_ADDR=192.168.0.1 MASTER_PORT=29500 llamafactory-cli train x.yaml\n",
    "accelerate.sh": "accelerate launch --config_file z3.yaml --num_processes 8 \\\n    sft.py \\\n    --model_name_or_path Qwen/Qwen2-0.5B \\\n    --dataset_name trl-lib/Capybara \\\n    --learning_rate 2.0e-5 \\\n    --num_train_epochs 1 \\\n    --packing \\\n    --per_device_train_batch_size 2 \\\n    --gradient_accumulation_steps 8 \\\n    --eos_token '<|im_end|>' \\\n    --eval_strategy steps\n",
    "options.slurm": "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --err=%x.err\nwhile [[ $# -gt 0 ]]; do\n  case $1 in\n    --model)\n      MODEL=$2; shift 2 ;;\n    --task | -t)\n      TASK=$2; shift 2 ;;\n  esac\ndone\nsrun python train.py\n",
    "own_config.py": "from mine.configs import GRPOConfig\n\nargs = GRPOConfig(output_dir='o', system_prompt='x', benchmarks=['a'])\n",
    "extended.yaml": "model_name_or_path: m\ndataset_name: d\nnum_generations: 8\nmax_completion_length: 256\nsystem_prompt: x\ndataset_prompt_column: problem\noutput_dir: o\n",
    "more.sh": "MORE='--zero_stage 2'\ndeepspeed main.py --seed 1234 ${MORE} --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --save_steps 0\n",
    "array.sh": "ARGS=(\n  --model m\n  --lr 1e-4\n)\nMORE=\"\n  --bf16 true\n  --seed 1\n\"\ntorchrun --nproc_per_node 2 t.py \"${ARGS[@]}\" $MORE\n",
    "trl.sh": "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara --output_dir out --learning_rate 2e-5 --bf16 true\n",
    "torchrun.sh": "torchrun --nproc_per_node=4 --master_port=29511 train.py --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --bf16 True --deepspeed ds.json\n",
    "job.slurm": "#!/bin/bash\n#SBATCH --job-name=sft\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\n#SBATCH --time=24:00:00\n#SBATCH --output=%x-%j.out\nset -euo pipefail\nmodule load cuda\nexport MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 --rdzv_id $SLURM_JOB_ID --rdzv_backend c10d --rdzv_endpoint $MASTER_ADDR:29500 train.py --config x.yaml\n",
    "train.py": 'from transformers import TrainingArguments\n\nargs = TrainingArguments(\n    output_dir="out",\n    per_device_train_batch_size=8,\n    eval_strategy="epoch",\n    save_strategy="epoch",\n    learning_rate=2e-5,\n    load_best_model_at_end=True,\n    bf16=is_ampere(),\n    **extra,\n)\n',
    "sft.py": "from trl import SFTConfig\n\nconfig = SFTConfig(output_dir='out', max_length=1024, packing=True, dataset_text_field='text', assistant_only_loss=False)\n",
    "info/dataset_info.json": '{"mine": {"hf_hub_url": "me/mine", "formatting": "sharegpt", "columns": {"messages": "conversations"}}}',
}  # fmt: skip

GOOD = (
    {f"{name}.yaml": text for name, text in (LLAMAFACTORY | AXOLOTL | TRL | ACCELERATE).items()}
    | {f"{name}.json": text for name, text in DEEPSPEED.items()}
    | SCRIPTS
)


@pytest.mark.parametrize("name", GOOD)
def test_a_good_config_gives_no_error(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(GOOD[name])
    found = inspect(World(read_file(file)))
    assert [(f.rule, f.line, f.says) for f in found if f.level == "error"] == []


def test_each_good_config_is_recognised(tmp_path: Path) -> None:
    expected = (
        dict.fromkeys(LLAMAFACTORY, "llamafactory")
        | dict.fromkeys(AXOLOTL, "axolotl")
        | dict.fromkeys(TRL, "trl")
        | dict.fromkeys(ACCELERATE, "accelerate")
    )
    for name, kind in expected.items():
        (tmp_path / f"{name}.yaml").write_text(GOOD[f"{name}.yaml"])
        assert [d.kind for d in read_file(tmp_path / f"{name}.yaml")] == [kind], name
    for name in DEEPSPEED:
        (tmp_path / f"{name}.json").write_text(GOOD[f"{name}.json"])
        assert [d.kind for d in read_file(tmp_path / f"{name}.json")] == ["deepspeed"], name


def test_there_are_more_than_sixty_good_configs() -> None:
    assert len(GOOD) > 60


SHARED = Path(__file__).resolve().parents[3] / "shared/research/fw"


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the files that the real frameworks accepted")
def test_files_that_the_real_frameworks_ran_give_no_error() -> None:
    for file in [*sorted((SHARED / "lf_yaml").glob("*.yaml")), *sorted(SHARED.glob("ds_zero*.json"))]:
        found = [f for f in inspect(World(read_file(file))) if f.level == "error"]
        assert [(file.name, f.rule, f.says) for f in found] == []
