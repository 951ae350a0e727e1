"""The catalogue of devices against what is true about them."""

from __future__ import annotations

import pytest

from papertrain.facts.load import GPUS, card, gpu, gpu_ids, read_card, read_toml
from papertrain.facts.names import table

T = 10**12


@pytest.mark.parametrize("id", gpu_ids())
def test_every_number_of_a_device_has_a_source(id):
    one = gpu(id)
    stated = {k for k, v in read_toml(GPUS / f"{id}.toml").items() if isinstance(v, dict) and k != "sources"}
    assert stated == set(one.sources)
    assert all(s.ref and s.kind in ("datasheet", "assumed", "paper", "measured", "code") for s in one.sources.values())
    assert one.label and one.names and 4 * 2**30 <= one.memory_bytes <= 600 * 2**30


def test_no_device_name_is_in_two_files():
    assert len({id for id, _ in table().values()}) == len(gpu_ids())  # the table refuses a name that is taken
    written = [n.lower() for id in gpu_ids() for n in {*card(id).gpu.names, *card(id).aliases, *card(id).stands_for}]
    assert len(written) == len(set(written))


@pytest.mark.parametrize(
    ("id", "dense"),
    [
        ("a100-sxm-80gb", 312), ("h100-sxm", 989), ("h100-pcie", 756), ("h800-sxm", 989), ("l40s", 362), ("rtx-3090", 71), ("rtx-4090", 165.2),
        ("rtx-a6000", 154.8), ("b200-sxm", 2250), ("mi300x", 1307), ("a10", 125), ("h20", 148),
    ],
)  # fmt: skip
def test_peaks_are_dense_and_with_fp32_accumulation(id, dense):
    assert gpu(id).peak_bf16_dense_flops == pytest.approx(dense * T)


@pytest.mark.parametrize(
    "id", ["v100-sxm2-16gb", "v100-sxm2-32gb", "v100-pcie-16gb", "t4", "rtx-2080-ti", "ascend-910a"]
)
def test_volta_turing_and_the_first_ascend_have_no_bf16(id):
    assert not gpu(id).has_bf16 and gpu(id).peak_fp16_dense_flops


@pytest.mark.parametrize(
    "id", ["rtx-3090", "rtx-4090", "a10", "ascend-910b1", "ascend-910b2", "ascend-910b3", "ascend-910b4", "ascend-910c"]
)
def test_ampere_and_the_910b_have_bf16(id):
    assert gpu(id).has_bf16


def test_bf16_follows_the_compute_capability():
    for id in gpu_ids():
        one = gpu(id)
        if one.compute_capability:
            assert one.has_bf16 == (float(one.compute_capability) >= 8.0), id


def test_links_are_one_direction_and_the_export_cards_are_slower():
    # NVLink: A100 600 GB/s both ways, A800 400; H100 900, H800 400, H20 the full 900.
    links = {
        id: gpu(id).link_bytes_per_second for id in ("a100-sxm-80gb", "a800-sxm-80gb", "h100-sxm", "h800-sxm", "h20")
    }
    assert links == {"a100-sxm-80gb": 300e9, "a800-sxm-80gb": 200e9, "h100-sxm": 450e9, "h800-sxm": 200e9, "h20": 450e9}


def test_4090s_reach_each_other_only_through_the_host():
    assert not gpu("rtx-4090").peer_to_peer and gpu("a100-sxm-80gb").peer_to_peer


def test_910b4_has_half_the_memory_of_its_sisters():
    assert gpu("ascend-910b4").memory_bytes == gpu("ascend-910b1").memory_bytes // 2


def test_an_a10_has_24_gb_and_an_mi250x_is_two_devices():
    assert 22 * 2**30 < gpu("a10").memory_bytes <= 24 * 2**30  # one library lists 28
    assert gpu("mi250x").memory_bytes == 64 * 2**30 and gpu("mi250x").peak_bf16_dense_flops == pytest.approx(383e12 / 2)


def test_one_card_is_loaded_without_reading_the_others():
    before = card.cache_info().currsize
    read_card(GPUS / "t4.toml")
    assert card.cache_info().currsize == before
