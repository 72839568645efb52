"""A routing policy: its parameters with production defaults, its rule, and what is known of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kvcost.errors import InvalidValueError, MissingFactError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = ["Parameter", "Policy", "Rule"]


class Rule(Protocol):
    """Chooses the replica of a request; see `kvcost.routing.view` for the rows and facts."""

    def __call__(
        self,
        now: float,
        draws: NDArray[np.float64],
        facts: NDArray[np.float64],
        view: NDArray[np.float64],
        params: NDArray[np.float64],
        memory: NDArray[np.float64],
        orders: NDArray[np.int64],
        /,
    ) -> int:
        """Return the chosen replica."""
        ...


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A number that tunes a policy.

    Attributes
    ----------
    name : str
        What scenarios call it.
    default : float
        Value in production, or in the study that proposes the policy.
    low, high : float
        Least and largest value.
    whole : bool
        Whether it counts something.
    unit : str
        Its unit; empty for a pure number.
    meaning : str
        What it does.
    """

    name: str
    default: float
    low: float = 0.0
    high: float = math.inf
    whole: bool = False
    unit: str = ""
    meaning: str

    def checked(self, value: Any) -> float:
        """Return a value of this parameter as a number, or refuse it."""
        good = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        whole = good and math.isfinite(value) and value == int(value)
        if good and self.low <= value <= self.high and (whole or not self.whole):
            return float(value)
        kind = "a whole number" if self.whole else "a number"
        unit = f" {self.unit}" if self.unit else ""
        raise InvalidValueError(
            field=self.name,
            value=value,
            bound=f"must be {kind} from {self.low:g} to {self.high:g}{unit}",
            remedy=f"leave it out for the default of {self.default:g}{unit}",
        )


def _no_memory(keys: int, sessions: int, replicas: int, params: NDArray[np.float64]) -> int:
    return 1


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A routing policy.

    Attributes
    ----------
    name : str
        What scenarios call it.
    summary : str
        The rule in one sentence.
    rule : callable
        The choice rule that the simulator compiles.
    parameters : tuple of Parameter
        In the order in which the rule reads them.
    presets : mapping
        Named sets of values, such as the defaults of two versions of a router.
    source : str
        Where rule and defaults are published.
    memory : callable
        ``memory(keys, sessions, replicas, params)``: numbers the rule keeps between requests.
    pulls : bool
        Whether requests fetch from peers what their replica lacks.
    copies : bool
        Whether it has prefixes copied from replica to replica.
    counts_imbalance : bool
        Whether the first number of its memory counts how often loads were out of balance.
    nearest : str or None
        Policy whose closed form answers for this one, with the error that `nearest_error` states;
        None where it has one of its own.
    nearest_error : str
        Measured distance to the nearest form.
    """

    name: str
    summary: str
    rule: Rule
    parameters: tuple[Parameter, ...] = ()
    presets: Mapping[str, Mapping[str, float]] | None = None
    source: str
    memory: Callable[[int, int, int, NDArray[np.float64]], int] = _no_memory
    pulls: bool = False
    copies: bool = False
    counts_imbalance: bool = False
    nearest: str | None = None
    nearest_error: str = ""

    @property
    def needs_network(self) -> bool:
        """Whether it moves KV between replicas."""
        return self.copies or self.pulls

    def require_network(self, *, stated: bool) -> None:
        """Refuse a policy that moves KV where no network between replicas is stated.

        Raises
        ------
        MissingFactError
            If it needs what is not stated.
        """
        if self.needs_network and not stated:
            raise MissingFactError(
                fact="bandwidth (between replicas)",
                subject=f"[network], which {self.name} needs",
                remedy="add it, or choose a policy that moves no KV",
            )

    def values(self, given: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Return all parameters, the given ones checked and the others at their defaults.

        Parameters
        ----------
        given : mapping, optional
            Values by name; ``preset`` names one of `presets` to start from.

        Returns
        -------
        dict
            Value of each parameter, in the rule's order.

        Raises
        ------
        UnknownNameError
            If a name is no parameter or preset of the policy.
        InvalidValueError
            If a value is out of its range.
        """
        wanted = dict(given or {})
        values = {each.name: each.default for each in self.parameters}
        if "preset" in wanted:
            preset = wanted.pop("preset")
            known = self.presets or {}
            if not isinstance(preset, str) or preset not in known:
                raise _unknown(f"preset of {self.name}", preset, known)
            values.update(known[preset])
        by_name = {each.name: each for each in self.parameters}
        for name, value in wanted.items():
            if name not in by_name:
                raise _unknown(f"parameter of {self.name}", name, by_name)
            values[name] = by_name[name].checked(value)
        return values

    def vector(self, given: Mapping[str, Any] | None = None) -> NDArray[np.float64]:
        """Return `values` as the array that the rule reads."""
        return np.array([*self.values(given).values(), 0.0])


def _unknown(kind: str, name: Any, known: Mapping[str, Any]) -> UnknownNameError:
    return UnknownNameError(
        kind=kind,
        name=str(name),
        nearest=get_close_matches(str(name), list(known), n=3, cutoff=0.5),
        remedy=f"choose from {', '.join(known) or 'none: it has none'}",
    )
