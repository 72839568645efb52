"""From a config object to a model specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvcost.errors import InvalidValueError, UnsupportedModelError
from kvcost.facts.provenance import Provenance
from kvcost.model.config.aliases import with_first_names
from kvcost.model.config.attention import attention_layer, read_heads
from kvcost.model.config.families import FAMILIES
from kvcost.model.config.fields import UNSUPPORTED_REMEDY, Fields, one_line
from kvcost.model.config.geometry import Geometry, merged
from kvcost.model.config.reader import too_deep
from kvcost.model.config.vocabulary import not_understood
from kvcost.model.config.wrappers import WRAPPERS, text_fields
from kvcost.model.spec import ModelSpec

__all__ = ["parse_config", "supported_model_types"]

_ASSUMPTIONS = ("gqa",)


def supported_model_types() -> tuple[str, ...]:
    """Return the model types that are understood, in alphabetical order.

    Examples
    --------
    >>> "deepseek_v3" in supported_model_types()
    True
    """
    return tuple(sorted({*FAMILIES, *WRAPPERS}))


def parse_config(
    mapping: Mapping[str, Any],
    *,
    name: str,
    assume: str | None = None,
    source: str | None = None,
) -> ModelSpec:
    """Return what the model of a Hugging Face config stores.

    Parameters
    ----------
    mapping : mapping
        The object of a ``config.json``.
    name : str
        Name for the model.
    assume : {"gqa"}, optional
        What to assume of a config that is not understood: plain grouped-query attention on every
        layer. The result is then graded as assumed and says so in its notes.
    source : str, optional
        Where the config stands, for the record.

    Returns
    -------
    ModelSpec
        The geometry; parameter counts stay unknown, for configs do not state them.

    Raises
    ------
    UnsupportedModelError
        If the model type is unknown, or a field that may concern KV is not understood; the fields
        are named.
    MissingFactError
        If a field that is needed is not stated and its configuration class has no default.
    InvalidValueError
        If a field is of the wrong type or out of bounds.

    Notes
    -----
    The dtype of the weights and their quantization are never taken for those of the KV cache. A
    field that is left out takes the default of its configuration class, which a note then says.

    Examples
    --------
    >>> spec = parse_config(
    ...     {
    ...         "model_type": "llama",
    ...         "num_hidden_layers": 2,
    ...         "hidden_size": 1024,
    ...         "num_attention_heads": 8,
    ...         "num_key_value_heads": 2,
    ...         "max_position_embeddings": 4096,
    ...     },
    ...     name="two layers",
    ... )
    >>> spec.groups[0].kv_heads, spec.groups[0].head_dim_k
    (2, 128)
    """
    _check_arguments(mapping, name, assume)
    mapping = with_first_names(mapping)
    outer = Fields(
        mapping, subject=one_line(f"the config of {name}"), model_type=_model_type(mapping)
    )
    provenance = Provenance.DATA_SHEET
    try:
        text, geometry = _understood(outer)
    except UnsupportedModelError as refusal:
        if assume is None:
            raise
        text, geometry = _assumed_gqa(mapping, outer, refusal)
        provenance = Provenance.ASSUMED
    _note_cache_scheme(mapping, text)
    return ModelSpec(
        name=name,
        architecture=text.model_type or "not stated",
        groups=merged(geometry.groups),
        mtp_groups=merged(geometry.mtp_groups),
        total_layers=geometry.total_layers,
        shared_layers=geometry.shared_layers,
        q_heads=geometry.q_heads,
        hidden_size=geometry.hidden_size,
        max_context=geometry.max_context,
        provenance=provenance,
        sources=() if source is None else (source,),
        notes=tuple(text.notes),
    )


def _note_cache_scheme(mapping: Mapping[str, Any], text: Fields) -> None:
    quantization = mapping.get("quantization_config")
    scheme = quantization.get("kv_cache_scheme") if isinstance(quantization, Mapping) else None
    if isinstance(scheme, Mapping):
        bits = scheme.get("num_bits")
        size = f" of {bits} bits" if isinstance(bits, int) else ""
        text.note(f"the checkpoint asks for a quantized KV cache{size}; kv_dtype says what is kept")


def _check_arguments(mapping: object, name: object, assume: object) -> None:
    if not isinstance(mapping, Mapping) or not all(isinstance(key, str) for key in mapping):
        raise InvalidValueError(
            field="mapping",
            value=mapping,
            bound="must be an object with texts as keys",
            remedy="give the object of a config.json",
        )
    if too_deep(mapping):
        raise InvalidValueError(
            field="mapping",
            value="of many levels",
            bound="must not be nested that deeply",
            remedy="give the object of a config.json",
        )
    if not isinstance(name, str) or not name.strip():
        raise InvalidValueError(
            field="name", value=name, bound="must be a text", remedy="name the model"
        )
    if assume is not None and assume not in _ASSUMPTIONS:
        raise InvalidValueError(
            field="assume",
            value=assume,
            bound='must be "gqa"',
            remedy="assume plain grouped-query attention, or nothing",
        )


def _model_type(mapping: Mapping[str, Any]) -> str:
    stated = mapping.get("model_type")
    if isinstance(stated, str) and stated.strip():
        return stated
    if stated is not None:
        raise InvalidValueError(
            field="model_type",
            value=stated,
            bound="must be a text",
            remedy="state it as the model's config.json does",
        )
    return ""


def _understood(outer: Fields) -> tuple[Fields, Geometry]:
    """Return the text fields and their geometry, or refuse what was not understood."""
    text, around = text_fields(outer)
    reader = FAMILIES.get(text.model_type)
    if reader is None:
        unknown = not_understood([*around, text])
        raise UnsupportedModelError(
            architecture=text.model_type or "without model_type",
            fields=[
                f"{text.path}model_type",
                *(key for key in unknown if not key.endswith("model_type")),
            ],
            remedy=UNSUPPORTED_REMEDY,
        )
    geometry = reader(text)
    unknown = not_understood([*around, text])
    if unknown:
        raise UnsupportedModelError(
            architecture=text.model_type, fields=unknown, remedy=UNSUPPORTED_REMEDY
        )
    return text, geometry


def _assumed_gqa(
    mapping: Mapping[str, Any], outer: Fields, refusal: UnsupportedModelError
) -> tuple[Fields, Geometry]:
    """Return plain grouped-query attention on every layer, from the usual fields."""
    sections = ("text_config", "llm_config", "language_config")
    key = next((key for key in sections if isinstance(mapping.get(key), Mapping)), None)
    text = outer.without_class(None if outer.states("num_hidden_layers") else key)
    layers = text.layers()
    hidden = text.optional_count("hidden_size")
    if not text.states("num_key_value_heads"):
        raise text.missing("num_key_value_heads")
    heads = read_heads(text, hidden_size=hidden)
    text.note(
        "plain grouped-query attention on every layer was assumed, not read; not understood: "
        + ", ".join(refusal.fields)
    )
    return text, Geometry(
        total_layers=layers,
        groups=[attention_layer(heads)] * layers,
        q_heads=heads.q_heads,
        hidden_size=hidden,
        max_context=text.tokens("max_position_embeddings"),
    )
