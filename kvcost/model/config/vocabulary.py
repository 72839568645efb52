"""Which fields of a config may concern KV, and which are known not to.

A reader marks the fields that it understands. Of the rest, those whose name has to do with what a
layer stores are refused, unless they stand in the lists below; so a field that a new release
introduces stops the reader instead of passing unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kvcost.model.config.fields import one_line

if TYPE_CHECKING:
    from kvcost.model.config.fields import Fields

__all__ = ["concerns_kv", "not_understood"]

_CONCERNS = re.compile(
    r"""
    (?<!q)kv | key_value | values?_heads | (^|_)(k|v|qk|key|value)_(head|dim|size)
    | cach | window | sliding | (^|_)swa | chunk | (^|_)(local|global)(_|$)
    | attn | attention | head | layer_types? | block_types? | block_configs? | blocks?_type
    | pattern | per_layer | layer_(ids|indices|idx|freq|interval|period|offset|group)
    | state | conv | (^|_)indexe?r? | indices | latent | lora_rank | (^|_)rank | compress
    | shar(e|ing) | mamba | ssm | linear_ | recurren | retention | rwkv
    | (^|_)(lru|gdn|kda|delta|mla|dsa|nsa)(_|$)
    | (^|_)cla(_|$) | yoco | cross | memory | mtp | nextn | sparse | sparsi | hybrid | reuse | sink
    | stride | (^|_)pool | loop | look_?back | no_op | replace_with | mixer
    | (^|_)rnn
    """,
    re.VERBOSE | re.IGNORECASE,
)

# Words that take a field out of the question: experts, routing, images, sound, dropout, scales.
_HARMLESS = re.compile(
    r"""
    expert | (^|_)moe(_|$) | router | (^|_)rope(_|$) | rotary | vision | image | video | audio
    | speech | pixel | (^|_)mm_ | projector | projection | eps(ilon)?$ | dropout
    | pdrop | layerdrop | norm(_|s?$)
    | layernorm | _bias(es)?$ | multiplier | (^|_)scal(e|es|ing)(_|$) | softcap | softmax
    | temperature | penalty | initializer | (^|_)token_(id|ids|index|offset)(_|$) | vocab | mlp
    | ffn | intermediate_size | (^|_)(fp32|fp16|bf16|fp8)(_|$) | dtype | pruned | beam | ngram
    | label | classifier | activation | gate(_|$) | tokenizer | embedding | flash | kernels?
    | precision
    """,
    re.VERBOSE | re.IGNORECASE,
)

# Words that no harmless word excuses.
_ALWAYS = re.compile(
    r"(?<!q)kv_|_kv|key_value|sliding|window_(size|len|pattern)|lora_rank|layer_types?$|compress_ratio"
    r"|kv_?cache|share_(kv|layer)|cla_share|state_size|d_state|conv_(kernel|width)|d_conv",
    re.IGNORECASE,
)

# Fields whose name concerns KV and which do not change what is stored.
_KNOWN = frozenset(
    {
        # how attention is computed, not what is kept
        "_attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal",
        "_flash_attn_2_enabled", "add_full_attention_sink_bias", "add_swa_attention_sink_bias",
        "alibi_bias_max", "anyres_pooling_size", "attention_implementation", "attention_k_eq_v",
        "attention_key_multiplier", "attention_out_bias", "attention_output_gate",
        "attention_softmax_in_fp32", "attention_value_scale", "attn_clip", "attn_impl",
        "attn_implementation", "attn_logit_cap", "attn_logit_softcapping", "attn_output_gate",
        "attn_res_block_size", "attn_temperature_tuning", "attn_uses_sequence_id",
        "cache_implementation", "clip_qkv", "fp32_attention", "gated_linear_unit",
        "global_view_pos", "head_wise_attn_gate", "headwise_attn_gate", "indexer_rope_interleave",
        "indexer_type", "key_multiplier", "learnable_sink_init", "lm_head", "mla_use_output_gate",
        "output_attentions", "output_hidden_states", "parallel_attn", "pool_type", "qk_layernorm",
        "qkv_bias", "query_pre_attn_scalar", "relative_attention_max_distance",
        "relative_attention_num_buckets", "reorder_and_upcast_attn", "rm_head",
        "scale_attn_by_inverse_layer_idx", "scale_attn_weights", "use_attention_gate",
        "use_attn_sink", "use_cache", "use_cache_kernel", "use_cache_quantization",
        "use_dynamic_ntk", "use_flash_attention", "use_head_wise_attn_gate", "use_logn_attn",
        "use_mem_rope", "use_qkv_bias",
        # rotary embedding by kind of layer
        "compress_rope_theta", "global_rope_theta", "initial_context_length", "layer_rope_theta",
        "local_rope_theta", "no_rope_layer_interval", "no_rope_layers", "partial_rotary_factors",
        "rope_local_base_freq", "swa_rope_theta", "use_rope_layers",
        # MLP and expert layers
        "activation_sparsity_pattern", "altup_active_idx", "attn_residual",
        "block_auto_adjust_ff_dim", "block_ffn_dim_multiplier", "block_multiple_of",
        "decoder_sparse_step", "dense_attention_every_n_layers", "encoder_sparse_step", "ep_size",
        "expert_layer_offset", "expert_layer_period", "gated_norm_rank", "hc_sinkhorn_iters",
        "ignore_index", "interleave_moe_layer_step", "latent_moe_use_norm", "laurel_rank",
        "mlp_layer_types", "mlp_only_layers", "moe_latent_size", "moe_layer_freq",
        "moe_layer_interval", "moe_layers", "moe_layers_enum", "mtp_mlp_layer_types",
        "n_shared_experts", "num_expert_group", "num_hash_layers", "num_shared_expert",
        "num_shared_experts", "num_sparse_decoder_layers", "num_sparse_encoder_layers",
        "share_expert_dim", "share_expert_dims", "shared_experts_intermediate_size",
        "shared_intermediate_size", "swiglu_limits_shared", "use_double_wide_mlp",
        "use_grouped_topk",
        # MTP: the weights, not the layers
        "mtp_hidden_states_first", "mtp_loss_scaling_factor", "mtp_use_dedicated_embeddings",
        # details of recurrent layers
        "add_bias_linear", "chunk_size", "chunk_size_feed_forward", "chunkwise_kernel", "conv_bias",
        "conv_use_xavier_init", "full_attn_alpha_factor", "full_attn_beta_factor",
        "gate_lower_bound", "kda_lower_bound", "kda_safe_gate", "layernorm_full_attention_alpha",
        "layernorm_full_attention_beta", "layernorm_linear_attention_alpha",
        "layernorm_linear_attention_beta", "linear_a_log_max", "linear_a_log_min",
        "linear_allow_neg_eigval", "linear_attn_alpha_factor", "linear_attn_beta_factor",
        "linear_bias", "linear_dt_init_floor", "linear_dt_max", "linear_dt_min",
        "linear_lower_bound", "mamba_act", "mamba_chunk_size", "mamba_conv_bias",
        "mamba_dt_init_floor", "mamba_dt_limit", "mamba_dt_max", "mamba_dt_min", "mamba_dt_rank",
        "mamba_hidden_act", "mamba_inner_layernorms", "mamba_norm_before_gate", "mamba_proj_bias",
        "mamba_rms_norm", "mamba_ssm_cache_dtype", "mamba_ssm_dtype", "mamba_use_mlp",
        "output_gate_type", "ssm_attn_layer_norm", "ssm_cfg", "ssm_in_multiplier",
        "ssm_multipliers", "ssm_out_multiplier", "time_step_rank", "use_conv_bias",
        "use_full_rank_gate", "use_mamba_kernels", "use_mambapy", "use_shared_attention_adapter",
        # embeddings, outputs, training, images, sound
        "activation_situ_linear_beta", "apply_residual_connection_post_layernorm", "attention_bias",
        "attention_dropout", "attention_dropout_prob", "attention_probs_dropout_prob", "attn_bias",
        "attn_dropout_prob", "attn_output_dropout", "attn_pdrop", "cross_attn_attend_to_self",
        "downsample_factor", "has_lora_adapter", "head_type", "hidden_size_per_layer_input",
        "image_seq_length", "img_token_compression_config", "is_causal", "lm_head_bias",
        "lm_head_dtype", "lm_head_multiplier", "logits_sharding", "lora_adapter",
        "memory_efficient", "num_reward_heads", "pooling", "pretraining_tp",
        "prompt_lookup_num_tokens", "quantized_attention", "rescale_prenorm_residual",
        "seconds_per_chunk", "share_encoder_decoder_embeddings", "sliding_window_vision",
        "spatial_pool_mode", "spatial_pool_stride", "tie_lm_head", "use_embedding_sharing",
        "use_head", "use_mem_eff_path", "use_memory_efficient_attention", "use_parallel_residual",
        "use_shared_vocab", "use_unified_vision_chunk", "vision_feature_layer",
        "vocab_size_per_layer_input", "window_size_audio", "word_embed_proj_dim",
    }
)  # fmt: skip

# Objects that describe other parts than the decoder; not looked into.
_OTHER_PARTS = re.compile(
    r"""
    ^_ | vision | visual | audio | speech | image | video | (^|_)vq_ | quant | compression_config
    | (^|_)rope | projector | generation | talker | code2wav | token2wav | qformer | perceiver
    | adapt | encoder_config$ | tokenizer | auto_map | id2label | label2id | task_specific
    | ffn_config | init_config | aligner | semantic | acoustic | word_timestamp | custom_pipelines
    | initializer_config | pruned
    """,
    re.VERBOSE | re.IGNORECASE,
)

# Switches that change what is stored when they are on.
_SWITCH = re.compile(r"^(use|enable|is|add|has|do|apply)_", re.IGNORECASE)


def concerns_kv(field: str) -> bool:
    """Tell whether a field that nobody read may concern what is stored.

    Examples
    --------
    >>> concerns_kv("num_kv_shared_layers"), concerns_kv("attention_bias"), concerns_kv("eps")
    (True, False, False)
    """
    if field in _KNOWN:
        return False
    if _ALWAYS.search(field):
        return True
    return bool(_CONCERNS.search(field)) and not _HARMLESS.search(field)


def not_understood(parts: Iterable[Fields]) -> list[str]:
    """Return the fields that were not read and may concern KV, with their paths.

    Parameters
    ----------
    parts : iterable of Fields
        The objects of the config, after reading.

    Notes
    -----
    Null, an empty list or object, and a switch that is off say nothing about what is stored.
    """
    return [one_line(path) for part in parts for path in _refused(part.unread())]


def _refused(entries: Iterable[tuple[str, Any]]) -> Iterator[str]:
    for path, value in entries:
        field = path.rsplit(".", 1)[-1]
        if value is None or value in ({}, [], ""):
            continue
        if isinstance(value, Mapping):
            if field == "pruned_heads" or (concerns_kv(field) and not _OTHER_PARTS.search(field)):
                yield path
            elif not _OTHER_PARTS.search(field) and field not in _KNOWN:
                yield from _refused((f"{path}.{key}", inner) for key, inner in value.items())
            continue
        if value is False and _SWITCH.search(field):
            continue
        if concerns_kv(field) or (field == "is_encoder_decoder" and value is not False):
            yield path
