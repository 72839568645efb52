"""What a field means when a config leaves it out: the defaults of the configuration classes."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from kvcost.facts.paths import data_path

__all__ = ["class_default"]


@cache
def _table() -> dict[str, dict[str, Any]]:
    text = data_path("models", "class_defaults.json").read_text(encoding="utf-8")
    families: dict[str, dict[str, Any]] = json.loads(text)["families"]
    return families


def class_default(model_type: str, field: str) -> Any:
    """Return the default of a field in the configuration class of a model type.

    Parameters
    ----------
    model_type : str
        ``model_type`` of the config.
    field : str
        Name of the field.

    Returns
    -------
    int, bool, list or None
        The default; None where the class has none, or derives it from other fields.

    Notes
    -----
    The values are those of the configuration classes of the transformers library, whose name and
    release stand in ``data/models/class_defaults.json``.

    Examples
    --------
    >>> class_default("mistral", "sliding_window")
    4096
    >>> class_default("llama", "num_key_value_heads") is None
    True
    """
    return _table().get(model_type, {}).get(field)
