"""Fields that published configs carry beside those that the catalogue keeps."""

from __future__ import annotations

import numpy as np
import pytest

from kvcost.errors import ConfigError, InvalidValueError, UnsupportedModelError
from kvcost.model import kv_size, load, parse_config

# google/gemma-2-9b-it, config.json
GEMMA_2 = {
    "architectures": ["Gemma2ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "attn_logit_softcapping": 50.0,
    "bos_token_id": 2,
    "cache_implementation": "hybrid",
    "eos_token_id": 1,
    "final_logit_softcapping": 30.0,
    "head_dim": 256,
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh",
    "hidden_size": 3584,
    "initializer_range": 0.02,
    "intermediate_size": 14336,
    "max_position_embeddings": 8192,
    "model_type": "gemma2",
    "num_attention_heads": 16,
    "num_hidden_layers": 42,
    "num_key_value_heads": 8,
    "pad_token_id": 0,
    "query_pre_attn_scalar": 256,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000.0,
    "sliding_window": 4096,
    "sliding_window_size": 4096,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.42.0.dev0",
    "use_cache": True,
    "vocab_size": 256000,
}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "max_position_embeddings": 131072,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
}


def test_gemma_2_states_its_window_twice():
    size = kv_size(parse_config(GEMMA_2, name="gemma-2-9b-it"))
    # the reference sizes of google/gemma_pytorch
    assert (size.bytes_per_token, size.fixed_bytes_per_request) == (172_032, 704_643_072)
    alone = {key: value for key, value in GEMMA_2.items() if key != "sliding_window"}
    assert kv_size(parse_config(alone, name="gemma-2-9b-it")).bytes_per_token == 172_032


@pytest.mark.parametrize("order", [1, -1])
def test_a_null_window_gives_way_to_the_stated_one(order):
    stated = [*GEMMA_2.items()][::order]
    config = {key: None if key == "sliding_window" else value for key, value in stated}
    assert kv_size(parse_config(config, name="gemma-2-9b-it")).bytes_per_token == 172_032


def test_two_windows_that_differ_are_refused():
    with pytest.raises(InvalidValueError, match="sliding_window_size 2048 must be sliding_window"):
        parse_config({**GEMMA_2, "sliding_window_size": 2048}, name="gemma-2-9b-it")


@pytest.mark.parametrize(
    "extra",
    [
        {"linear_attn_config": {"full_attn_layers": [1]}},
        {"linear_attn_config": {"a": 1}},
        {"kv_sharing": {"every": 2}},
        {"pruned_heads": {"0": [1, 2]}},
        {"full_attn_mod": 2},
    ],
)
def test_objects_that_concern_kv_fail_closed(extra):
    with pytest.raises(UnsupportedModelError, match=next(iter(extra))):
        parse_config({**LLAMA, **extra}, name="llama")


@pytest.mark.parametrize(
    "extra", [{"pruned_heads": {}}, {"full_attn_mod": 1}, {"rope_scaling": None}]
)
def test_fields_that_say_nothing_pass(extra):
    assert kv_size(parse_config({**LLAMA, **extra}, name="llama")).bytes_per_token == 131_072


def test_a_quantized_cache_that_the_checkpoint_asks_for_is_a_note():
    scheme = {"kv_cache_scheme": {"num_bits": 8, "type": "float"}, "quant_method": "x"}
    spec = parse_config({**LLAMA, "quantization_config": scheme}, name="llama")
    assert kv_size(spec).bytes_per_token == 131_072
    assert any("8 bits" in note for note in spec.notes)


def test_a_name_is_no_spec():
    with pytest.raises(InvalidValueError, match=r"kvcost\.model\.load"):
        kv_size("glm-5.3")


def test_numpy_counts_are_counts():
    spec = parse_config(LLAMA, name="llama")
    size = kv_size(spec, tokens=np.int64(1000), tp=np.int64(8))
    assert (size.bytes_at_tokens, size.per_rank) == (131_072_000, 16_384)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"model_type": "llama", "head_dim": 64, "head_dim": 128}', "'head_dim' twice"),
        ('{"head_dim": ' + "9" * 5000 + "}", "thousands of digits"),
    ],
)
def test_odd_json_is_said_once(tmp_path, text, said):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said) as failure:
        load(path)
    assert str(failure.value).count(str(path)) == 1
