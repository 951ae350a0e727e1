#!/bin/sh
FORCE_TORCHRUN=1 NNODES=2 RANK=0 MASTER_ADDR=node1 MASTER_PORT=29501 llamafactory-cli train sft.yaml
