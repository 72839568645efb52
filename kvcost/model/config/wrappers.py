"""Where the text decoder stands in the config of a model that also sees or hears."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvcost.model.config.fields import Fields

__all__ = ["WRAPPERS", "text_fields"]

_SECTIONS = ("text_config", "llm_config", "language_config", "thinker_config")

# Model types whose decoder stands in a section, attends to images or sound as to text, and so
# stores KV as its text config says; and the type of that section where it does not say so itself.
WRAPPERS: Mapping[str, str] = {
    "apertus1p5": "apertus1p5_text",
    "aria": "aria_text",
    "audioflamingo3": "qwen2",
    "aya_vision": "cohere2",
    "cohere2_vision": "cohere2",
    "deepseek_ocr2": "deepseek_ocr2_text",
    "deepseek_vl": "llama",
    "deepseek_vl_hybrid": "llama",
    "deepseek_vl_v2": "deepseek_v2",
    "emu3": "emu3_text_model",
    "ernie4_5_vl_moe": "ernie4_5_vl_moe_text",
    "exaone4_5": "exaone4",
    "fast_vlm": "qwen2",
    "fuyu": "persimmon",
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "gemma4_unified": "gemma4_unified_text",
    "glm46v": "glm4v_text",
    "glm4v": "glm4v_text",
    "glm4v_moe": "glm4v_moe_text",
    "glm5_next": "glm5_next_text",
    "glm_ocr": "glm_ocr_text",
    "glmasr": "llama",
    "got_ocr2": "qwen2",
    "granite_speech": "granite",
    "hunyuan_vl": "hunyuan_vl_text",
    "hy_v4_vl": "hy_v4_vl_text",
    "idefics2": "mistral",
    "idefics3": "llama",
    "internvl": "qwen2",
    "internvl_chat": "",
    "janus": "llama",
    "kimi_k25": "deepseek_v3",
    "kimi_k3": "kimi_linear",
    "kimi_vl": "deepseek_v3",
    "lfm2_vl": "lfm2",
    "lighton_ocr": "qwen3",
    "llama4": "llama4_text",
    "llava": "llama",
    "llava_next": "llama",
    "llava_next_video": "llama",
    "llava_onevision": "qwen2",
    "minimax_m3_vl": "minimax_m3_vl_text",
    "mistral3": "mistral",
    "mistral_large4": "mistral_large4_text",
    "mllama": "mllama_text_model",
    "muse_glimmer": "muse_glimmer_text",
    "muse_spark": "muse_spark_text",
    "nemotron_h_omni": "nemotron_h",
    "ovis2": "qwen2",
    "paddleocr_vl": "paddleocr_vl_text",
    "paligemma": "gemma",
    "perception_lm": "llama",
    "qwen2_5_omni": "",
    "qwen2_5_omni_thinker": "qwen2_5_omni_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen2_audio": "qwen2",
    "qwen2_vl": "qwen2_vl_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_omni_moe": "",
    "qwen3_omni_moe_thinker": "qwen3_omni_moe_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "shieldgemma2": "gemma3_text",
    "smolvlm": "llama",
    "step3p7": "step3p5",
    "video_llama_3": "qwen2",
    "video_llava": "llama",
    "vipllava": "llama",
    "voxtral": "llama",
}

_INNER_OF = {
    "qwen2_5_omni": "qwen2_5_omni_thinker",
    "qwen3_omni_moe": "qwen3_omni_moe_thinker",
}
# Fields of a wrapper that describe its encoder, though their names say less.
_OF_THE_ENCODER = {"granite_speech": ("window_size",)}
# The published section names another type than the code that reads it.
_FORCED = {"step3p7": "step3p5"}


def text_fields(outer: Fields) -> tuple[Fields, list[Fields]]:
    """Return the fields of the text decoder, and those of the objects around it.

    Parameters
    ----------
    outer : Fields
        The whole config.

    Raises
    ------
    MissingFactError
        If a section does not say its model type and the wrapper does not imply it.
    """
    around: list[Fields] = []
    current = outer
    while current.model_type in WRAPPERS:
        key = next((key for key in _SECTIONS if isinstance(current.raw(key), Mapping)), None)
        if key is None:
            break
        current.skip(*_OF_THE_ENCODER.get(current.model_type, ()))
        around.append(current)
        current = _inner(current, key)
    return current, around


def _inner(current: Fields, key: str) -> Fields:
    values: Mapping[str, Any] = current.raw(key)
    wrapper = current.model_type
    stated = values.get("model_type")
    if wrapper in _FORCED:
        stated = _FORCED[wrapper]
    elif wrapper in _INNER_OF:
        stated = _INNER_OF[wrapper]
    if not isinstance(stated, str) or not stated:
        stated = WRAPPERS[wrapper]
    if not stated:
        raise current.missing(f"{key}.model_type")
    return Fields(
        values,
        subject=current.subject,
        model_type=stated,
        path=f"{current.path}{key}.",
        nested=True,
        notes=current.notes,
    )
