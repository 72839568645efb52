"""Checked access to the fields of one config object, remembering which were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvcost.errors import InvalidValueError, MissingFactError, UnsupportedModelError
from kvcost.model.config.defaults import class_default

__all__ = ["MOST_LAYERS", "UNSUPPORTED_REMEDY", "Fields", "one_line"]

MOST_LAYERS = 10_000
_MOST = 10_000_000
_MOST_TOKENS = 10**12

# Fields that a config file may leave to its configuration class. Sizes that every file states are
# not among them; only a nested section, which is written as the difference from its class, may
# leave out anything.
_LEFT_TO_THE_CLASS = frozenset(
    {
        "attention_chunk_size", "attn_layer_offset", "attn_layer_period", "global_head_dim",
        "head_dim", "kv_channels", "mamba_n_groups", "n_groups", "max_window_layers",
        "no_rope_layer_interval", "num_key_value_heads", "num_kv_shared_layers",
        "sliding_window", "sliding_window_pattern", "v_head_dim",
    }
)  # fmt: skip

UNSUPPORTED_REMEDY = (
    "check for a newer kvcost, use a name of the catalogue, or assume plain grouped-query "
    'attention with assume="gqa" (--assume gqa)'
)


def one_line(text: str) -> str:
    """Return a text that comes from a config, fit for a message of one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else flat[:77] + "..."


class Fields:
    """The fields of one JSON object of a config.

    Every read is checked for type and bounds and remembered, so that what nobody read can be
    judged afterwards. A field that is absent takes the default of its configuration class, with a
    note; a field that is null is "none".

    Parameters
    ----------
    values : mapping
        The JSON object.
    subject : str
        Name of the model, for messages.
    model_type : str
        Whose class defaults hold.
    path : str
        Prefix of the fields in messages: ``text_config.``.
    nested : bool
        Whether the object is a section of a larger config.
    has_class : bool
        Whether absent fields take the defaults of the model type's configuration class.
    notes : list of str, optional
        Where notes go; shared with sections.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        *,
        subject: str,
        model_type: str,
        path: str = "",
        nested: bool = False,
        has_class: bool = True,
        notes: list[str] | None = None,
    ) -> None:
        self._values = values
        self._read: set[str] = set()
        self._sections: list[Fields] = []
        self.subject = subject
        self.model_type = model_type
        self.path = path
        self.nested = nested
        self._class = model_type if has_class else ""
        self.notes: list[str] = [] if notes is None else notes

    # ------------------------------------------------------------------ plain access

    def states(self, *keys: str) -> bool:
        """Tell whether any of the fields is there and not null."""
        return any(self._values.get(key) is not None for key in keys)

    def names(self, key: str) -> bool:
        """Tell whether the field is there, null or not."""
        return key in self._values

    def skip(self, *keys: str) -> None:
        """Mark fields as understood without using them."""
        self._read.update(keys)

    def raw(self, key: str) -> Any:
        """Return the value as it stands, None if absent."""
        self._read.add(key)
        return self._values.get(key)

    def note(self, text: str) -> None:
        """Keep a note once."""
        if text not in self.notes:
            self.notes.append(text)

    def unread(self) -> Iterator[tuple[str, Any]]:
        """Yield the fields that nobody read, those of opened sections included."""
        for key, value in self._values.items():
            if key not in self._read:
                yield f"{self.path}{key}", value
        for section in self._sections:
            yield from section.unread()

    def without_class(self, key: str | None = None) -> Fields:
        """Return the same object, or a section of it, as fields without class defaults."""
        values = self._values if key is None else self._values[key]
        stated = values.get("model_type")
        return Fields(
            values,
            subject=self.subject,
            model_type=stated if isinstance(stated, str) and stated else self.model_type,
            path=self.path if key is None else f"{self.path}{key}.",
            has_class=False,
        )

    # ------------------------------------------------------------------ failures

    def invalid(self, key: str, value: object, bound: str, remedy: str) -> InvalidValueError:
        """Return the error for a value out of bounds."""
        return InvalidValueError(field=f"{self.path}{key}", value=value, bound=bound, remedy=remedy)

    def missing(self, key: str, remedy: str = "") -> MissingFactError:
        """Return the error for a field that is needed and not there."""
        return MissingFactError(
            fact=f"{self.path}{key}",
            subject=self.subject,
            remedy=remedy or f"add {key!r} to the config",
        )

    def unsupported(self, *fields: str) -> UnsupportedModelError:
        """Return the error for fields that were not understood."""
        return UnsupportedModelError(
            architecture=self.model_type,
            fields=tuple(one_line(f"{self.path}{field}") for field in fields),
            remedy=UNSUPPORTED_REMEDY,
        )

    # ------------------------------------------------------------------ numbers

    def count(
        self,
        *keys: str,
        least: int = 1,
        most: int = _MOST,
        otherwise: int | None = None,
    ) -> int:
        """Return a whole number from the first of the synonymous fields that is stated.

        Parameters
        ----------
        *keys : str
            Synonyms; if several are stated, they must agree.
        least, most : int
            Bounds, both allowed.
        otherwise : int, optional
            Value where the field is null, or absent without a class default.

        Raises
        ------
        InvalidValueError
            If the value is no whole number within the bounds, or synonyms disagree.
        MissingFactError
            If nothing is stated and neither class nor `otherwise` knows.
        """
        found = self.optional_count(*keys, least=least, most=most)
        if found is not None:
            return found
        if otherwise is not None:
            return otherwise
        raise self.missing(keys[0])

    def optional_count(self, *keys: str, least: int = 1, most: int = _MOST) -> int | None:
        """Return a whole number as `count` does, or None where there is none."""
        stated: tuple[str, int] | None = None
        for key in keys:
            value = self.raw(key)
            if value is None:
                continue
            number = self._whole(key, value, least=least, most=most)
            if stated is not None and stated[1] != number:
                raise self.invalid(
                    key, number, f"must agree with {stated[0]}, {stated[1]}", "keep the true one"
                )
            stated = stated or (key, number)
        if stated is not None:
            return stated[1]
        default = self._default(*keys)
        if default is None or isinstance(default, bool) or not isinstance(default, int):
            return None
        return default

    def tokens(self, *keys: str) -> int | None:
        """Return a number of tokens, or None where there is none."""
        return self.optional_count(*keys, most=_MOST_TOKENS)

    def layers(self, *keys: str) -> int:
        """Return a number of layers."""
        return self.count(*(keys or ("num_hidden_layers",)), most=MOST_LAYERS)

    def _whole(self, key: str, value: object, *, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.invalid(
                key,
                value,
                f"must be a whole number from {least:,} to {most:,}",
                "state it as the model's config.json does",
            )
        return value

    def _default(self, *keys: str) -> Any:
        for key in keys:
            if key in self._values:
                return None
        for key in keys:
            if key not in _LEFT_TO_THE_CLASS and not self.nested:
                continue
            default = class_default(self._class, key)
            if default is not None:
                self.note(
                    f"{self.path}{key} is not stated: {default} is the default of this "
                    f"configuration class ({self.model_type}) in transformers"
                )
                return default
        return None

    # ------------------------------------------------------------------ other kinds

    def flag(self, key: str, *, otherwise: bool = False) -> bool:
        """Return a truth value; null is False, absent is the class default or `otherwise`."""
        value = self.raw(key)
        if value is None:
            default = None if key in self._values else class_default(self._class, key)
            return default if isinstance(default, bool) else otherwise and key not in self._values
        if not isinstance(value, bool):
            raise self.invalid(key, value, "must be true or false", "state it as true or false")
        return value

    def text(self, key: str) -> str | None:
        """Return a text, or None where there is none."""
        value = self.raw(key)
        if value is None or isinstance(value, str):
            return value
        raise self.invalid(key, value, "must be a text", "state it as the config.json does")

    def counts(self, key: str, *, least: int = 0, length: int | None = None) -> list[int] | None:
        """Return a list of whole numbers, or None where there is none."""
        values = self._list(key, length)
        if values is None:
            return None
        return [
            self._whole(f"{key}[{i}]", v, least=least, most=_MOST) for i, v in enumerate(values)
        ]

    def words(
        self, key: str, known: Mapping[str, str], *, length: int | None = None
    ) -> list[str] | None:
        """Return a list of known words, translated, or None where there is none.

        Raises
        ------
        UnsupportedModelError
            If a word is not among the known ones.
        """
        values = self._list(key, length)
        if values is None:
            return None
        translated = []
        for position, value in enumerate(values):
            if not isinstance(value, str):
                raise self.invalid(
                    f"{key}[{position}]", value, "must be a text", "state the kind of the layer"
                )
            if value not in known:
                raise self.unsupported(f"{key}: {value[:40]}")
            translated.append(known[value])
        return translated

    def _list(self, key: str, length: int | None) -> Sequence[Any] | None:
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.invalid(key, value, "must be a list", "state one entry for each layer")
        if len(value) > 2 * MOST_LAYERS:
            raise self.invalid(
                key,
                f"of {len(value)} entries",
                f"must have at most {2 * MOST_LAYERS:,}",
                "state one entry for each layer",
            )
        if length is not None and len(value) != length:
            raise self.invalid(
                key,
                f"of {len(value)} entries",
                f"must have one for each of the {length} layers",
                f"correct {key} or the number of layers",
            )
        return value

    def section(self, key: str) -> Fields | None:
        """Return a nested object as fields, or None where there is none."""
        value = self.raw(key)
        return None if value is None else self._open(key, value)

    def sections(self, key: str, *, length: int) -> list[Fields]:
        """Return a list of nested objects as fields; none stated is a missing fact."""
        values = self._list(key, length)
        if values is None:
            raise self.missing(key)
        return [self._open(f"{key}[{i}]", value) for i, value in enumerate(values)]

    def _open(self, key: str, value: object) -> Fields:
        if not isinstance(value, Mapping):
            raise self.invalid(key, value, "must be an object", "state it as the config.json does")
        opened = Fields(
            value,
            subject=self.subject,
            model_type=self.model_type,
            path=f"{self.path}{key}.",
            nested=True,
            has_class=False,
            notes=self.notes,
        )
        self._sections.append(opened)
        return opened
