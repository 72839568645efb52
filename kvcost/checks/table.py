"""Keys of a budget, read with their units; every key is known, and none goes unused."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from kvcost.errors import (
    InvalidValueError,
    MissingFactError,
    UnitError,
    UnknownNameError,
    nearest_names,
)
from kvcost.units import parse_bytes, parse_rate, parse_ratio, parse_seconds, parse_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kvcost.checks.measured import Files

__all__ = ["Table", "parse_requests"]

_PER = re.compile(r"(?P<number>[^/]*?)\s*(?:requests?|req)?\s*(?:/|per)\s*(?P<unit>[a-z]+)")
_MOST = 1_000_000


def parse_requests(text: str, *, field: str) -> float:
    """Return a rate of requests a second.

    Parameters
    ----------
    text : str
        A number of requests over a unit of time: ``24/s``, ``1440 requests/min``.
    field : str
        Name of the key or parameter, for the message.

    Returns
    -------
    float
        Requests per second.

    Raises
    ------
    UnitError
        If there is no unit of time.
    InvalidValueError
        If the number is not above zero and finite.

    Examples
    --------
    >>> parse_requests("24/s", field="rate"), parse_requests("1440 requests/min", field="rate")
    (24.0, 24.0)
    """
    found = _PER.fullmatch(text.strip())
    if found is None:
        raise UnitError(
            field=field,
            value=text,
            bound="must be requests over a time",
            remedy='write e.g. "24/s" or "1440 requests/min"',
        )
    count = parse_ratio(found["number"].strip(), field=field, maximum=1e12)
    return count / parse_seconds(f"1 {found['unit']}", field=f"the time of {field}")


class Table:
    """The keys and values of one budget.

    A quantity may be a table itself, which says where a measurement file holds it. Text needs its
    unit; what the caller does not require and the table does not hold is None.

    Parameters
    ----------
    values : mapping
        As TOML gives them.
    files : Files
        The measurement files.
    origins : mapping, optional
        Files of the values that another file states, for messages.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        *,
        files: Files,
        origins: Mapping[str, str] | None = None,
    ) -> None:
        self.values = dict(values)
        self.files = files
        self.origins = dict(origins or {})
        self._used: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def refuse_unknown(self, known: Collection[str]) -> None:
        """Refuse keys that are not among the known ones, naming the nearest.

        Raises
        ------
        UnknownNameError
            At the first such key.
        """
        for key in self.values:
            if key not in known:
                raise UnknownNameError(
                    kind="key",
                    name=key,
                    nearest=nearest_names(key, known),
                    remedy="spell it so, or leave it out",
                )

    def refuse_unused(self) -> None:
        """Refuse keys that nothing has read, since they would change nothing.

        Raises
        ------
        InvalidValueError
            At the first such key that the budget itself states.
        """
        for key in self.values:
            if key not in self._used and key not in self.origins:
                raise InvalidValueError(
                    field=self.label(key),
                    value=self.values[key],
                    bound="would change nothing beside the other keys",
                    remedy="leave it out, or the keys that stand in its place",
                )

    def label(self, key: str) -> str:
        """Return the name of a key for messages, with the file that states it."""
        return f"{key} of {self.origins[key]}" if key in self.origins else key

    def use(self, keys: Iterable[str]) -> None:
        """Count keys as read."""
        self._used.update(keys)

    def need(self, key: str, *, example: str) -> None:
        """Refuse a table without a key.

        Raises
        ------
        MissingFactError
            If it is not there.
        """
        if key not in self.values:
            raise MissingFactError(
                fact=f"key {key}", subject="the budget", remedy=f"add {key} = {example}"
            )

    def _raw(self, key: str) -> Any:
        self._used.add(key)
        value = self.values.get(key)
        if isinstance(value, dict):
            return self.files.value(value, key=key)
        return value

    def _quantity(self, key: str) -> str | None:
        value = self._raw(key)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return repr(value)
        raise InvalidValueError(
            field=self.label(key),
            value=value,
            bound="must be text with its unit",
            remedy='write e.g. "1.71 GB/s", "330 ms" or {file = "bench.json", field = "p99"}',
        )

    def seconds(self, key: str, *, allow_zero: bool = False) -> float | None:
        """Return a time in seconds."""
        text = self._quantity(key)
        if text is None:
            return None
        return parse_seconds(text, field=self.label(key), allow_zero=allow_zero)

    def rate(self, key: str) -> float | None:
        """Return a rate in bytes a second."""
        text = self._quantity(key)
        return None if text is None else parse_rate(text, field=self.label(key))

    def size(self, key: str, *, allow_zero: bool = False) -> float | None:
        """Return a size in bytes."""
        text = self._quantity(key)
        if text is None:
            return None
        return parse_bytes(text, field=self.label(key), allow_zero=allow_zero)

    def tokens(self, key: str) -> int | None:
        """Return a number of tokens."""
        text = self._quantity(key)
        return None if text is None else parse_tokens(text, field=self.label(key))

    def ratio(self, key: str, *, maximum: float = 1.0, allow_zero: bool = False) -> float | None:
        """Return a ratio."""
        text = self._quantity(key)
        if text is None:
            return None
        return parse_ratio(text, field=self.label(key), maximum=maximum, allow_zero=allow_zero)

    def number(self, key: str, *, least: float = -math.inf) -> float | None:
        """Return a plain number, finite and no less than `least`."""
        text = self._quantity(key)
        if text is None:
            return None
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not math.isfinite(found) or found < least:
            bound = "" if math.isinf(least) else f" of at least {least:g}"
            raise InvalidValueError(
                field=self.label(key),
                value=text,
                bound=f"must be a finite number{bound}",
                remedy=f"write e.g. {key} = 4",
            )
        return found

    def whole(self, key: str) -> int | None:
        """Return a whole number from 1 to 1,000,000."""
        found = self.number(key)
        if found is not None and not (found.is_integer() and 1 <= found <= _MOST):
            raise InvalidValueError(
                field=self.label(key),
                value=self.values[key],
                bound=f"must be a whole number from 1 to {_MOST:,}",
                remedy=f"write e.g. {key} = 8",
            )
        return None if found is None else int(found)

    def requests_per_second(self, key: str) -> float | None:
        """Return a rate of requests a second, written as ``24/s`` or ``1440 requests/min``."""
        text = self._quantity(key)
        return None if text is None else parse_requests(text, field=self.label(key))

    def boolean(self, key: str) -> bool | None:
        """Return whether a switch is on."""
        value = self._raw(key)
        if value is not None and not isinstance(value, bool):
            raise InvalidValueError(
                field=self.label(key),
                value=value,
                bound="must be true or false",
                remedy=f"write e.g. {key} = true",
            )
        return value

    def text(self, key: str, *, choices: Collection[str] = ()) -> str | None:
        """Return a text, one of the choices where there are any."""
        value = self._raw(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise InvalidValueError(
                field=self.label(key),
                value=value,
                bound="must be a text that is not empty",
                remedy=f'write e.g. {key} = "{next(iter(choices), "name")}"',
            )
        if choices and value not in choices:
            raise InvalidValueError(
                field=self.label(key),
                value=value,
                bound=f"must be one of {', '.join(choices)}",
                remedy=f"the nearest is {nearest_names(value, choices, count=1)[0]}",
            )
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return a list of texts; one text counts as a list."""
        value = self._raw(key)
        if value is None:
            return None
        listed = [value] if isinstance(value, str) else value
        if (
            not isinstance(listed, list)
            or not listed
            or not all(isinstance(t, str) for t in listed)
        ):
            raise InvalidValueError(
                field=self.label(key),
                value=value,
                bound="must be a list of texts",
                remedy=f'write e.g. {key} = ["16000=0.31s"]',
            )
        return tuple(listed)
