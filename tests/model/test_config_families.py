"""Configs of many families, against caches that were built and figures that were published."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kvcost.errors import InvalidValueError, MissingFactError, UnsupportedModelError
from kvcost.facts import Provenance
from kvcost.model import kv_size, parse_config
from kvcost.model.config import supported_model_types
from kvcost.model.spec import (
    AttentionLayers,
    CrossAttentionLayers,
    IndexLayers,
    LatentLayers,
    RecurrentLayers,
    WindowedLatentLayers,
)

CONFIGS = Path(__file__).parent / "configs"
BUILT = json.loads((CONFIGS / "transformers_caches.json").read_text(encoding="utf-8"))["families"]


def parsed(**config):
    return parse_config(config, name="a model")


def counted(rows):
    return Counter({tuple(row[1:]): row[0] for row in rows})


@pytest.mark.parametrize("model_type", BUILT)
def test_cache_that_transformers_builds(model_type):
    case = BUILT[model_type]
    spec = parse_config(case["config"], name=model_type)
    kv, index, recurrent, cross = Counter(), Counter(), Counter(), Counter()
    for group in spec.groups:
        if isinstance(group, AttentionLayers):
            row = (group.kv_heads * group.head_dim_k, group.kv_heads * group.head_dim_v)
            kv[(*row, group.window is not None)] += group.layers
        elif isinstance(group, LatentLayers):
            kv[(group.kv_lora_rank, group.rope_dim, False)] += group.layers
        elif isinstance(group, IndexLayers):
            index[(group.head_dim,)] += group.layers
        elif isinstance(group, RecurrentLayers):
            recurrent[(group.state_elements, group.conv_elements)] += group.layers
        elif isinstance(group, CrossAttentionLayers):
            row = (group.kv_heads * group.head_dim_k, group.kv_heads * group.head_dim_v)
            cross[row] += group.layers
    assert kv == counted(case["kv"])
    assert index == counted(case["index"])
    assert recurrent == counted(case["recurrent"])
    assert cross == counted(case["cross"])


LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
}


def test_multi_head_where_no_kv_heads_are_stated():
    # Llama 2 7B: 524,288 bytes a token in fp16 (Kwon et al., arXiv 2309.06180, for OPT-13B 800 KB).
    assert kv_size(parsed(**LLAMA)).bytes_per_token == 524288
    opt_13b = parsed(
        model_type="opt", num_hidden_layers=40, hidden_size=5120, num_attention_heads=40
    )
    assert kv_size(opt_13b).bytes_per_token == 800 * 1024


def test_stated_head_dim_wins():
    spec = parsed(**LLAMA, head_dim=64)
    assert spec.groups[0].head_dim_k == 64
    nemo = parsed(**LLAMA | {"model_type": "mistral", "hidden_size": 5120, "head_dim": 128})
    assert nemo.groups[0].head_dim_k == 128


def test_weights_dtype_and_quantization_say_nothing():
    plain = parsed(**LLAMA)
    dressed = parsed(
        **LLAMA,
        torch_dtype="float8_e4m3fn",
        quantization_config={"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 8}},
    )
    assert dressed.groups == plain.groups
    assert [note for note in dressed.notes if note not in plain.notes] == [
        "the checkpoint asks for a quantized KV cache of 8 bits; kv_dtype says what is kept"
    ]


def test_class_default_is_noted():
    mistral = LLAMA | {"model_type": "mistral"}
    spec = parsed(**mistral)
    assert spec.groups[0].kv_heads == 8
    assert any("num_key_value_heads" in note for note in spec.notes)


def test_multi_query():
    falcon_7b = parsed(
        model_type="falcon",
        num_hidden_layers=32,
        hidden_size=4544,
        num_attention_heads=71,
        multi_query=True,
        new_decoder_architecture=False,
        alibi=False,
        parallel_attn=True,
    )
    # One KV head of 64: 32 x 2 x 64 x 2 bytes (the 8 kB of the Falcon model card's multi-query).
    assert kv_size(falcon_7b).bytes_per_token == 8192
    santacoder = parsed(model_type="gpt_bigcode", n_layer=24, n_embd=2048, n_head=16)
    assert santacoder.groups[0].kv_heads == 1


# From the files that aiconfigurator-core 0.12.0 ships, with the fields that concern attention.
GLM_53 = {
    "model_type": "glm_moe_dsa",
    "head_dim": 192,
    "hidden_size": 6144,
    "index_head_dim": 128,
    "index_n_heads": 32,
    "index_skip_topk_offset": 3,
    "index_topk": 2048,
    "index_topk_freq": 4,
    "index_topk_pattern": None,
    "index_share_for_mtp_iteration": True,
    "indexer_rope_interleave": True,
    "kv_lora_rank": 512,
    "max_position_embeddings": 1048576,
    "num_attention_heads": 64,
    "num_hidden_layers": 78,
    "num_key_value_heads": 64,
    "num_nextn_predict_layers": 1,
    "q_lora_rank": 2048,
    "qk_head_dim": 256,
    "qk_nope_head_dim": 192,
    "qk_rope_head_dim": 64,
    "v_head_dim": 256,
}


def test_latent_ignores_head_dim_and_kv_heads():
    spec = parsed(**GLM_53)
    assert spec.groups == (
        LatentLayers(layers=78, kv_lora_rank=512, rope_dim=64),
        IndexLayers(layers=21, head_dim=128),
    )
    for trap in ({"head_dim": 64}, {"head_dim": None}, {"num_key_value_heads": 1}):
        assert parsed(**GLM_53 | trap).groups == spec.groups


def test_three_ways_to_say_which_layers_keep_an_index():
    own = [i < 3 or (i - 2) % 4 == 0 for i in range(78)]
    assert sum(own) == 21  # ROCm/ATOM PR #2142 counts 78 + 21 caches
    listed = ["full" if flag else "shared" for flag in own]
    drawn = "".join("F" if flag else "S" for flag in own)
    groups = parsed(**GLM_53).groups
    assert parsed(**GLM_53 | {"index_topk_freq": 1, "indexer_types": listed}).groups == groups
    assert parsed(**GLM_53 | {"index_topk_freq": 1, "index_topk_pattern": drawn}).groups == groups
    every = {key: value for key, value in GLM_53.items() if "freq" not in key}
    assert parsed(**every).groups[1].layers == 78  # GLM-5, before the elision


def test_llama_4_chunks():
    spec = parsed(
        model_type="llama4",
        text_config={
            "model_type": "llama4_text",
            "attention_chunk_size": 8192,
            "head_dim": 128,
            "hidden_size": 5120,
            "num_attention_heads": 40,
            "num_hidden_layers": 48,
            "num_key_value_heads": 8,
            "no_rope_layers": [],
        },
        vision_config={"hidden_size": 1408, "num_attention_heads": 16, "window_size": 3},
    )
    chunked = next(group for group in spec.groups if group.window)
    assert (chunked.layers, chunked.window, chunked.window_kind) == (36, 8192, "chunked")
    assert kv_size(spec).bytes_per_token == 49152


def test_nested_config_takes_class_defaults():
    # google/gemma-3-4b-it publishes only these: heads, KV heads and width are class defaults.
    spec = parsed(
        model_type="gemma3",
        text_config={
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "model_type": "gemma3_text",
            "num_hidden_layers": 34,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
            "sliding_window": 1024,
        },
        vision_config={"hidden_size": 1152},
        mm_tokens_per_image=256,
    )
    # 5 full and 29 windowed layers, 4 KV heads of 256 (Gemma 3 report, arXiv 2503.19786: 5 to 1).
    assert [(group.layers, group.window) for group in spec.groups] == [(29, 1024), (5, None)]
    assert kv_size(spec).bytes_per_token == 5 * 2 * 4 * 256 * 2
    # llava-hf/llava-1.5-7b-hf: a Llama 2 7B of which nothing but the context is stated.
    llava = parsed(
        model_type="llava",
        text_config={"model_type": "llama", "max_position_embeddings": 4096},
        vision_config={},
    )
    assert kv_size(llava).bytes_per_token == 524288


def test_top_level_config_must_state_its_sizes():
    for field in ("num_hidden_layers", "num_attention_heads", "hidden_size"):
        with pytest.raises(MissingFactError) as caught:
            parsed(**{key: value for key, value in LLAMA.items() if key != field})
        assert field in str(caught.value) or field == "hidden_size"


def test_window_switched_off_or_wider_than_the_context():
    base = LLAMA | {"num_key_value_heads": 8}
    off = parsed(
        **base | {"model_type": "qwen2"},
        use_sliding_window=False,
        sliding_window=131072,
        max_window_layers=28,
    )
    assert off.groups[0].window is None
    # Phi-3-mini-128k states a window of 262,144 over a context of 131,072.
    wide = parsed(**base | {"model_type": "phi3", "max_position_embeddings": 131072},
                  sliding_window=262144)  # fmt: skip
    assert wide.groups[0].window is None
    assert any("never reached" in note for note in wide.notes)
    # Phi-3-mini-4k: vLLM PR #4380 works with its window of 2,047.
    narrow = parsed(**base | {"model_type": "phi3"}, sliding_window=2047)
    assert narrow.groups[0].window == 2047


def test_qwen2_window_from_a_layer_on():
    spec = parsed(
        **LLAMA | {"model_type": "qwen2", "num_key_value_heads": 8},
        use_sliding_window=True,
        sliding_window=1024,
        max_window_layers=20,
    )
    assert [(group.layers, group.window) for group in spec.groups] == [(20, None), (12, 1024)]


def test_layers_that_share_kv():
    # Gemma 3n E2B: 30 layers, the last 10 reuse KV (class documentation of transformers).
    spec = parsed(
        model_type="gemma3n_text",
        num_hidden_layers=30,
        hidden_size=2048,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=256,
        num_kv_shared_layers=10,
        sliding_window=512,
    )
    assert spec.shared_layers == 10
    assert [(group.layers, group.window) for group in spec.groups] == [(16, 512), (4, None)]
    # Hunyuan-Large: cross-layer attention halves the KV (arXiv 2411.02265, section 2).
    large = parsed(
        model_type="hunyuan",
        num_hidden_layers=64,
        hidden_size=6400,
        num_attention_heads=80,
        num_key_value_heads=8,
        attention_head_dim=128,
        use_cla=True,
        cla_share_factor=2,
    )
    assert (large.groups[0].layers, large.shared_layers) == (32, 32)


def test_layers_from_an_architecture_search():
    attention = {"n_heads_in_group": 8, "no_op": False, "replace_with_linear": False}
    blocks = [
        {"attention": attention, "ffn": {"ffn_mult": 2.6}},
        {"attention": attention | {"no_op": True, "n_heads_in_group": None}, "ffn": {}},
        {"attention": attention | {"replace_with_linear": True}, "ffn": {}},
        {"attention": attention | {"n_heads_in_group": 16}, "ffn": {}},
    ]
    config = LLAMA | {"model_type": "nemotron-nas", "num_hidden_layers": 4}
    spec = parsed(**config, num_key_value_heads=None, block_configs=blocks)
    assert [(group.layers, group.kv_heads) for group in spec.groups] == [(1, 4), (1, 2)]
    odd = [{"attention": attention | {"sparsify": {"x": 1}}}] * 4
    with pytest.raises(UnsupportedModelError, match="sparsify"):
        parsed(**config, block_configs=odd)


def test_deepseek_v4_window_and_ratios():
    spec = parsed(
        model_type="deepseek_v4",
        num_hidden_layers=4,
        hidden_size=4096,
        num_attention_heads=64,
        num_key_value_heads=1,
        head_dim=512,
        qk_rope_head_dim=64,
        index_head_dim=128,
        sliding_window=128,
        num_nextn_predict_layers=1,
        compress_ratios=[0, 4, 128, 4, 0],
    )
    assert spec.groups[0] == WindowedLatentLayers(layers=4, entry_dim=512, rope_dim=64, window=128)
    assert [getattr(group, "ratio", None) for group in spec.groups] == [None, 4, None, 128]
    assert spec.groups[2] == IndexLayers(layers=2, head_dim=128, tokens_per_entry=4)
    assert len(spec.mtp_groups) == 1
    with pytest.raises(UnsupportedModelError, match="compress_ratios: 8"):
        parsed(
            model_type="deepseek_v4", num_hidden_layers=1, head_dim=512, qk_rope_head_dim=64,
            index_head_dim=128, sliding_window=128, compress_ratios=[8],
        )  # fmt: skip


def test_nemotron_patterns_agree():
    base = {
        "model_type": "nemotron_h",
        "num_attention_heads": 32,
        "num_key_value_heads": 2,
        "head_dim": 128,
        "mamba_num_heads": 64,
        "mamba_head_dim": 64,
        "ssm_state_size": 128,
        "n_groups": 8,
        "conv_kernel": 4,
        "time_step_limit": [0.0, float("inf")],
    }
    drawn = parsed(**base, hybrid_override_pattern="ME*-M")
    listed = parsed(**base, layers_block_type=["mamba", "moe", "attention", "mlp", "mamba"])
    assert drawn.groups == listed.groups
    assert (drawn.total_layers, drawn.groups[0].layers) == (5, 2)
    with pytest.raises(UnsupportedModelError, match="hybrid_override_pattern: X"):
        parsed(**base, hybrid_override_pattern="ME*X")
    with pytest.raises(InvalidValueError, match="num_hidden_layers"):
        parsed(**base, hybrid_override_pattern="ME*", num_hidden_layers=4)


def test_encoders_and_decoders():
    # Whisper large-v3: 32 decoder layers, 20 heads of 64, 1,500 encoder positions.
    whisper = parsed(
        model_type="whisper",
        is_encoder_decoder=True,
        d_model=1280,
        decoder_layers=32,
        decoder_attention_heads=20,
        encoder_layers=32,
        encoder_attention_heads=20,
        max_source_positions=1500,
        max_target_positions=448,
    )
    cross = whisper.groups[1]
    assert isinstance(cross, CrossAttentionLayers)
    assert (cross.layers, cross.source_tokens, whisper.max_context) == (32, 1500, 448)
    # T5-11B: 128 heads of 128 at a width of 1,024, so that d_kv is no quotient.
    t5 = parsed(
        model_type="t5", is_encoder_decoder=True, d_model=1024, d_kv=128, num_heads=128,
        num_layers=24, num_decoder_layers=24,
    )  # fmt: skip
    assert t5.groups[1] == CrossAttentionLayers(
        layers=24, kv_heads=128, head_dim_k=128, head_dim_v=128, source_tokens=None
    )
    # Llama 3.2 11B Vision: 40 layers, of which 8 attend to the image only.
    mllama = parsed(
        model_type="mllama",
        text_config={
            "model_type": "mllama_text_model",
            "num_hidden_layers": 40,
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38],
        },
        vision_config={},
    )
    assert [group.layers for group in mllama.groups] == [32, 8]


def test_attention_off_and_on_in_deepseek_v2():
    base = {
        "model_type": "deepseek_v2",
        "num_hidden_layers": 12,
        "hidden_size": 1280,
        "num_attention_heads": 10,
        "num_key_value_heads": 10,
    }
    plain = parsed(**base, use_mla=False, kv_lora_rank=None, qk_rope_head_dim=0, v_head_dim=0)
    assert plain.groups[0].head_dim_k == 128
    with pytest.raises(MissingFactError, match="kv_lora_rank"):
        parsed(**base)


def test_steps_layers_go_on_over_mtp():
    kinds = ["full_attention", "sliding_attention"] * 2
    spec = parsed(
        model_type="step3p5",
        num_hidden_layers=3,
        hidden_size=4096,
        num_attention_heads=64,
        num_attention_groups=8,
        head_dim=128,
        layer_types=kinds,
        num_nextn_predict_layers=1,
        sliding_window=512,
        attention_other_setting={
            "attention_type": "sliding_attention",
            "num_attention_heads": 96,
            "num_attention_groups": 8,
            "head_dim": 128,
        },
    )
    assert [(group.layers, group.q_heads) for group in spec.groups] == [(2, None), (1, 96)]
    assert spec.mtp_groups[0].window == 512


def test_every_registered_type_is_listed():
    assert len(supported_model_types()) > 200
    assert parsed(**LLAMA).provenance is Provenance.DATA_SHEET
