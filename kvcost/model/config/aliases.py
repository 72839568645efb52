"""Second names that published configs give to a field, read as the field itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["with_first_names"]

_SECOND_NAMES = {"sliding_window_size": "sliding_window"}
"""Gemma 2's published configs state the window under both names."""

_EVERY_LAYER = {"full_attn_mod": 1}
"""Switches of published configs that change nothing at this value (Phi-4-mini)."""


def with_first_names(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config in which every field has its first name.

    Parameters
    ----------
    mapping : mapping
        The object of a ``config.json``.

    Returns
    -------
    dict
        The same, sections included, without second names.

    Raises
    ------
    InvalidValueError
        If a field is stated under both names with different values.

    Examples
    --------
    >>> with_first_names({"sliding_window": 4096, "sliding_window_size": 4096})
    {'sliding_window': 4096}
    """
    named: dict[str, Any] = {}
    for key, value in mapping.items():
        if key in _EVERY_LAYER and value is not True and value == _EVERY_LAYER[key]:
            continue
        first = _SECOND_NAMES.get(key, key)
        if first != key and mapping.get(first) not in (None, value):
            raise InvalidValueError(
                field=key,
                value=value,
                bound=f"must be {first}, which is {mapping[first]!r}",
                remedy="state the field once",
            )
        section = isinstance(value, dict) and key.endswith("_config")
        if value is None and named.get(first) is not None:
            continue
        named[first] = with_first_names(value) if section else value
    return named
