"""Copies between cards arrive damaged."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR632",
    "nan-multi-gpu-p2p-acs",
    "nan-overflow",
    branch="training",
    title="Copies between cards arrive damaged",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA, "IOMMU", "ACS"),
    why="With the IOMMU or PCIe access control on, peer copies can be wrong: NaN with two cards, never with one.",
    next_check="a = torch.randn(1000, device='cuda:0'); assert (a.to('cuda:1').cpu() == a.cpu()).all()",
    fixes=(
        fix("without peer-to-peer", env={"NCCL_P2P_DISABLE": "1"}, proof="the copy test passes, grad_norm is finite"),
        fix("IOMMU and ACS off", "dmesg | grep -i iommu"),
    ),
    fires="kernel: AMD-Vi: IOMMU enabled, ACS on\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.01}\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.02}",
    quiet="IOMMU disabled",
)
