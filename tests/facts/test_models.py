"""Models by folder, by name and by size, and their counts against those that were published."""

from __future__ import annotations

import json
import struct
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import quick

from papertrain.core.errors import PapertrainError
from papertrain.core.values import Source
from papertrain.facts.catalogue import MODELS, by_name, catalogue_model, model_ids
from papertrain.facts.models import find_model, with_classifier
from papertrain.facts.spec import spec_from_config

PUBLISHED = tomllib.loads((Path(__file__).parent / "published_counts.toml").read_text("utf-8"))["model"]

QWEN = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False, "max_position_embeddings": 32768,
    "torch_dtype": "bfloat16", "hidden_act": "silu",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_cache(monkeypatch, tmp_path):
    for name in ("HF_HUB_CACHE", "HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE", "USE_MODELSCOPE_HUB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "no-such-home"))


def folder(tmp_path: Path, config: object, name: str = "model") -> Path:
    d = tmp_path / name
    d.mkdir(parents=True, exist_ok=True)
    (d / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return d


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_parameters_equal_the_published_count(name):
    row, spec = PUBLISHED[name], find_model(name)
    assert spec.exact
    if "parameters" in row:
        assert spec.parameters == row["parameters"], row["source"]
    for key, value in (
        ("rounded", spec.parameters),
        ("active", spec.active_parameters),
        ("non_embedding", spec.parameters - spec.embedding_parameters),
    ):
        if key in row:
            printed = row[key]
            unit = {"M": 1e6, "B": 1e9}[printed[-1]]
            digits = len(printed[:-1].partition(".")[2])
            got = value - (spec.vocab * spec.hidden if key == "non_embedding" and not spec.tied else 0)
            assert abs(got / unit - float(printed[:-1])) <= 0.51 * 10**-digits, (key, got, row["source"])


def test_at_least_forty_released_models_are_held_against_their_published_counts():
    assert len(PUBLISHED) >= 40 and all(row["source"] for row in PUBLISHED.values())
    assert len(model_ids()) >= 80


@pytest.mark.parametrize("id", model_ids())
def test_every_model_on_record_loads_and_its_parts_add_up(id):
    spec = catalogue_model(id)
    assert spec.source.ref and spec.source.kind in ("code", "assumed", "paper")
    assert spec.parameters == spec.embedding_parameters + spec.other_parameters + sum(
        m.parameters for m in spec.linears
    )
    assert 0 < spec.active_parameters <= spec.parameters
    table = tomllib.loads((MODELS / f"{id}.toml").read_text("utf-8"))
    assert table["source"] in table["sources"] and not any("param" in k for k in table["config"])


def test_no_model_name_is_in_two_files():
    assert len({id for id, _ in by_name().values()}) == len(model_ids())


def test_a_local_config_is_counted_exactly(tmp_path):
    spec = find_model(str(folder(tmp_path, QWEN, "Qwen2.5-7B-Instruct")))
    assert spec.parameters == 7_615_616_512
    assert (spec.name, spec.instruct, spec.dtype, spec.max_positions, spec.exact) == (
        "Qwen2.5-7B-Instruct",
        True,
        "bf16",
        32768,
        True,
    )
    assert spec.local_path == str(tmp_path / "Qwen2.5-7B-Instruct")
    assert find_model(str(tmp_path / "Qwen2.5-7B-Instruct" / "config.json")).parameters == 7_615_616_512


def test_a_folder_whose_name_says_nothing_is_called_by_its_origin(tmp_path):
    origin = {**QWEN, "_name_or_path": "Qwen/Qwen2.5-7B-Instruct"}
    assert find_model(str(folder(tmp_path, origin, "work/checkpoint-500"))).name == "Qwen/Qwen2.5-7B-Instruct"
    assert find_model(str(folder(tmp_path, QWEN, "work/model"))).name == "work/model"


def test_a_class_name_is_enough_where_the_model_type_is_missing(tmp_path):
    config = {k: v for k, v in QWEN.items() if k != "model_type"}
    assert find_model(str(folder(tmp_path, config))).parameters == 7_615_616_512


def test_lora_targets_are_named_as_the_model_names_them():
    names = {m.name for m in find_model("Qwen/Qwen2.5-7B").linears}
    assert names == {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head"}
    assert {"c_attn", "c_proj", "c_fc"} <= {m.name for m in find_model("gpt2").linears}
    assert "W_pack" in {m.name for m in find_model("baichuan-inc/Baichuan2-7B-Chat").linears}
    assert {"query_key_value", "dense_h_to_4h"} <= {m.name for m in find_model("bigscience/bloom-560m").linears}


def test_a_tied_head_is_listed_with_no_weight_of_its_own():
    head = next(m for m in find_model("Qwen/Qwen2.5-0.5B").linears if m.place == "head")
    assert (head.count, head.parameters) == (0, 0)


@pytest.mark.parametrize(
    "written",
    ["qwen/qwen2.5-7b-instruct", "Qwen2.5-7B-Instruct", "qwen2.5 7b instruct", "unsloth/Qwen2.5-7B-Instruct-bnb-4bit"],
)
def test_names_are_found_however_they_are_written(written):
    spec = find_model(written)
    assert spec.parameters == 7_615_616_512 and spec.instruct


def test_1_3b_is_not_13b():
    assert find_model("facebook/opt-1.3b").layers == 24 and find_model("facebook/opt-13b").layers == 40


def test_a_size_alone_is_accepted_and_marked_as_assumed():
    for text, n in (("7B", 7e9), ("13b", 13e9), ("0.5B", 5e8), ("350M", 3.5e8)):
        spec = find_model(text)
        assert spec.parameters == n and not spec.exact and spec.source.kind == "assumed"
        assert "assumed" in spec.notes[0]
        assert sum(m.parameters for m in spec.linears) + spec.embedding_parameters + spec.other_parameters == n


def test_an_unknown_name_gets_the_nearest_and_what_to_supply():
    with pytest.raises(PapertrainError) as e:
        find_model("Qwen/Qwen2.5-7B-Instuct")
    assert e.value.exit == 2 and e.value.nearest == "Qwen/Qwen2.5-7B-Instruct" and e.value.ask


def test_an_unknown_architecture_is_never_guessed(tmp_path):
    with pytest.raises(PapertrainError, match="not one we can count") as e:
        find_model(str(folder(tmp_path, {**QWEN, "model_type": "mamba9", "architectures": ["Mamba9ForCausalLM"]})))
    assert "safetensors" in " ".join(e.value.ask)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"hidden_size": -4, "model_type": "llama"', "not JSON"),
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[1, 2]", "a list"),
        ('{"model_type": "llama", "hidden_size": NaN}', "NaN"),
        ('{"model_type": "llama", "model_type": "gpt2"}', "twice"),
        ("[" * 200_000, "deeply"),
        ('{"a":' * 100_000, "deeply"),
        ('{"model_type": "llama"}', "missing"),
        ('{"model_type": 7}', "not a text"),
        (json.dumps({**QWEN, "num_hidden_layers": -3}), "between"),
        (json.dumps({**QWEN, "num_hidden_layers": 10**40}), "between"),
        (json.dumps({**QWEN, "hidden_size": "wide"}), "not a whole number"),
        (json.dumps({**QWEN, "vocab_size": True}), "not a whole number"),
        (json.dumps({**QWEN, "tie_word_embeddings": "no"}), "true or false"),
        (json.dumps({**QWEN, "model_type": None, "architectures": 3}), "list"),
        (json.dumps({**QWEN, "rope_scaling": [1], "torch_dtype": 3, "sliding_window": None}), ""),
        ('{"n": ' + "9" * 5000 + "}", "digits"),
    ],
)
def test_a_hostile_config_is_one_line_and_no_crash(tmp_path, text, says):
    d = folder(tmp_path, text)
    if not says:
        assert find_model(str(d)).parameters == 7_615_616_512
        return
    with pytest.raises(PapertrainError, match=says) as e:
        find_model(str(d))
    line = e.value.one_line()
    assert "\n" not in line and "config.json" in line and len(line) < 600


JUNK = [None, 0, -1, 1, 3, 10**9, 10**30, 1.5, float("inf"), "", "x", True, False, [], [1], ["a"], {}, {"a": 1}, [[1]]]
KEYS = ["attention_bias", "head_dim", "rope_scaling", "sliding_window", "torch_dtype", "quantization_config", "tie_word_embeddings", "pos_att_type", "vision_feature_layer", "norm_rel_ebd", "mlp_only_layers", "architectures", "position_buckets", "num_key_value_heads", "text_config", "attn_config", "hidden_act", "num_experts", "hidden_size", "vocab_size"]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(model_ids()),
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(JUNK)), max_size=4),
    st.randoms(),
)
def test_a_senseless_field_is_an_error_or_a_count_and_never_a_crash(id, changes, rng):
    config = tomllib.loads((MODELS / f"{id}.toml").read_text("utf-8"))["config"]
    changes += [(k, rng.choice(JUNK)) for k in rng.sample(list(config), 1)]
    try:
        spec = spec_from_config({**config, **dict(changes)}, name="x", source=Source(kind="user", ref="x"))
    except PapertrainError as e:
        assert "\n" not in e.one_line()
    else:
        assert spec.parameters == spec.embedding_parameters + spec.other_parameters + sum(
            m.parameters for m in spec.linears
        )


def test_a_config_of_a_gigabyte_is_refused_at_once(tmp_path):
    d = folder(tmp_path, "{")
    with (d / "config.json").open("r+b") as f:
        f.truncate(2**30)
    start = time.process_time()
    with pytest.raises(PapertrainError, match="MB"):
        find_model(str(d))
    assert quick(time.process_time() - start, 0.5)


def test_a_place_without_a_model_says_what_is_missing(tmp_path):
    (tmp_path / "empty").mkdir()
    for text in (
        str(tmp_path / "empty"),
        str(tmp_path / "nowhere"),
        "./nowhere",
        "nowhere/config.json",
        "~nobody-of-that-name/model",
        "",
        "a\0b",
    ):
        with pytest.raises(PapertrainError):
            find_model(text)
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text('{"base_model_name_or_path": "Qwen/Qwen2.5-7B"}')
    with pytest.raises(PapertrainError, match="adapter") as e:
        find_model(str(tmp_path / "adapter"))
    assert e.value.nearest == "Qwen/Qwen2.5-7B"


def test_a_name_says_whether_the_model_follows_instructions_or_nothing():
    names = {
        "Qwen/Qwen2.5-7B-Instruct": True,
        "google/gemma-2b-it": True,
        "Qwen/Qwen3-8B-Base": False,
        "google/gemma-3-1b-pt": False,
        "mistralai/Mistral-7B-v0.1": None,
    }
    assert {n: find_model(n).instruct for n in names} == names


def safetensors(file: Path, shapes: dict[str, list[int]], dtype: str = "BF16") -> None:
    header = json.dumps({n: {"dtype": dtype, "shape": s, "data_offsets": [0, 0]} for n, s in shapes.items()}).encode()
    file.write_bytes(struct.pack("<Q", len(header)) + header)


def test_stored_headers_confirm_the_count(tmp_path):
    config = {
        **QWEN,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 100,
    }
    d = folder(tmp_path, config)
    n = find_model(str(d)).parameters
    safetensors(d / "model.safetensors", {"all": [n]})
    assert "same number" in find_model(str(d)).notes[-1]
    header = {
        "a": {"dtype": "F32", "shape": [n], "data_offsets": [0, 0]},
        "position_ids": {"dtype": "I64", "shape": [1, 512], "data_offsets": [0, 0]},
    }
    raw = json.dumps(header).encode()
    (d / "model.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw)
    assert "same number" in find_model(str(d)).notes[-1]
    safetensors(d / "model.safetensors", {"packed.qweight": [8, 8], "a": [n]}, "I32")
    assert find_model(str(d)).notes == ()
    safetensors(d / "model.safetensors", {"all": [n + 7]})
    assert f"{n + 7:,}" in find_model(str(d)).notes[-1]


def test_stored_headers_count_a_model_of_unknown_architecture(tmp_path):
    config = {
        "model_type": "novel",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 100,
    }
    d = folder(tmp_path, config)
    shapes = {"model.embed_tokens.weight": [100, 64], "lm_head.weight": [100, 64], "model.norm.weight": [64]}
    for i in range(2):
        shapes |= {
            f"model.layers.{i}.attn.q_proj.weight": [64, 64],
            f"model.layers.{i}.attn.q_proj.bias": [64],
            f"model.layers.{i}.mlp.up.weight": [96, 64],
        }
    safetensors(d / "model.safetensors", shapes)
    spec = find_model(str(d))
    assert spec.parameters == 2 * 6400 + 64 + 2 * (4096 + 64 + 6144)
    assert {(m.name, m.count, m.place) for m in spec.linears} == {
        ("lm_head", 1, "head"),
        ("q_proj", 2, "attention"),
        ("up", 2, "mlp"),
    }
    assert spec.parameters == spec.embedding_parameters + spec.other_parameters + sum(
        m.parameters for m in spec.linears
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00" * 8,
        struct.pack("<Q", 2**60) + b"{}",
        struct.pack("<Q", 4) + b"[1]x",
        struct.pack("<Q", 30) + b'{"a": {"shape": "no"}}        ',
    ],
)
def test_a_broken_safetensors_file_is_said_and_not_fatal(tmp_path, raw):
    d = folder(tmp_path, QWEN)
    (d / "model.safetensors").write_bytes(raw)
    assert "no safetensors file" in find_model(str(d)).notes[-1]


def test_the_hugging_face_cache_is_read_before_the_catalogue(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    snapshot = tmp_path / "hub" / "models--gpt2--special" / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(json.dumps({**QWEN, "num_hidden_layers": 1}))
    (tmp_path / "hub" / "models--gpt2--special" / "refs").mkdir()
    (tmp_path / "hub" / "models--gpt2--special" / "refs" / "main").write_text("a" * 40)
    spec = find_model("gpt2/special")
    assert spec.layers == 1 and spec.local_path == str(snapshot)


def test_the_hub_is_asked_only_when_told_and_never_when_offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(PapertrainError, match="HF_HUB_OFFLINE"):
        find_model("some/model", online=True)


def test_the_hub_can_be_asked_at_another_endpoint(monkeypatch, tmp_path):
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    seen = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers.get("Authorization")))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(QWEN).encode())

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_TOKEN", "hf_notarealtoken")
    try:
        spec = find_model("some/model-chat", online=True)
    finally:
        server.shutdown()
    assert spec.parameters == 7_615_616_512 and seen == [
        ("/some/model-chat/resolve/main/config.json", "Bearer hf_notarealtoken")
    ]
    assert "read from" in spec.notes[-1] and "hf_notarealtoken" not in repr(spec)


# Counted with transformers 5.24.0: AutoModelForSequenceClassification.from_config(config with num_labels=2) on meta.
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("google-bert/bert-base-uncased", 109_483_778), ("sentence-transformers/all-MiniLM-L6-v2", 22_713_986), ("FacebookAI/roberta-base", 124_647_170),
        ("distilbert/distilbert-base-uncased", 66_955_010), ("microsoft/deberta-v3-base", 184_423_682), ("answerdotai/ModernBERT-base", 149_606_402),
        ("google/electra-base-discriminator", 109_483_778), ("albert/albert-base-v2", 11_685_122), ("Qwen/Qwen2.5-0.5B", 494_034_560),
        ("openai-community/gpt2", 124_441_344), ("google-t5/t5-small", 60_770_306), ("google/vit-base-patch16-224", 85_800_194),
    ],
)  # fmt: skip
def test_a_classifier_counts_as_transformers_builds_it(name, parameters):
    assert with_classifier(find_model(name), 2).parameters == parameters


# Where transformers 5.24 builds something else from these fields than what was released, and why.
_BUILT_DIFFERENTLY = {
    "flan-t5": "5.x ties the head of every T5; the released weights hold it",
    "mt5": "likewise",
    "llm-foundry": "its MPT has learned positions and biases, which transformers' MPT leaves out",
}


@pytest.mark.slow
@pytest.mark.parametrize("id", model_ids())
def test_counts_equal_those_of_the_model_that_transformers_builds_on_meta(id):
    transformers = pytest.importorskip("transformers", reason="needs transformers and torch")
    torch = pytest.importorskip("torch")
    spec = catalogue_model(id)
    why = next((w for k, w in _BUILT_DIFFERENTLY.items() if id.startswith(k)), None)
    config = tomllib.loads((MODELS / f"{id}.toml").read_text("utf-8"))["config"]
    kind = config.pop("model_type")
    for dropped in ("rope_scaling", "torch_dtype"):
        config.pop(dropped, None)
    if kind == "deepseek_v2":
        config.setdefault("q_lora_rank", None)  # released as null, which TOML cannot say
    if why or kind not in transformers.CONFIG_MAPPING or kind == "gpt_neo":
        pytest.skip(why or "its code is not in transformers, or checks a list of attention types")
    made = transformers.AutoConfig.for_model(kind, **config)
    auto = {
        "causal": "AutoModelForCausalLM",
        "encoder-decoder": "AutoModelForSeq2SeqLM",
        "speech": "AutoModelForSpeechSeq2Seq",
        "multimodal": "AutoModelForImageTextToText",
    }
    with torch.device("meta"):
        model = getattr(transformers, auto.get(spec.kind, "AutoModel")).from_config(
            made, **({"add_pooling_layer": False} if kind == "vit" else {})
        )
    built = sum(p.numel() for p in model.parameters()) + sum(
        b.numel() for n, b in model.named_buffers() if n.endswith("e_score_correction_bias")
    )
    assert built == spec.parameters
