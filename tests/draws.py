"""Inputs for formulas, drawn from the glossary's typical ranges, and the edges of their domains."""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvcost.formula import Formula, Quantity

_WIDE = 50


def draw(quantity: Quantity, source: random.Random) -> float:
    """Return a value from the typical range, by logarithm where the range is wide."""
    low, high = quantity.typical
    if low > 0 and high / low > _WIDE:
        value = math.exp(source.uniform(math.log(low), math.log(high)))
    else:
        value = source.uniform(low, high)
    return float(round(value)) if quantity.whole else value


def drawn(formula: Formula, count: int) -> list[dict[str, float]]:
    """Return drawn inputs, the same ones for a formula in every run."""
    source = random.Random(f"kvcost {formula.name}")
    return [
        {name: draw(quantity, source) for name, quantity in formula.parameters.items()}
        for _ in range(count)
    ]


def edges(formula: Formula) -> list[dict[str, float]]:
    """Return inputs at the ends of the typical ranges and at the finite ends of the domains."""
    ends = {
        name: sorted(
            bound
            for bound in {quantity.low, *quantity.typical, quantity.high}
            if math.isfinite(bound)
        )
        for name, quantity in formula.parameters.items()
    }
    middle = drawn(formula, 1)[0]
    single = [{**middle, name: end} for name, values in ends.items() for end in values]
    low = {name: values[0] for name, values in ends.items()}
    high = {name: values[-1] for name, values in ends.items()}
    pairs = [{**middle, a: ends[a][0], b: ends[b][0]} for a, b in itertools.combinations(ends, 2)]
    return [low, high, *single, *pairs]


def outside(formula: Formula) -> list[dict[str, float]]:
    """Return inputs of which one is outside its domain; the formula has no value there."""
    middle = drawn(formula, 1)[0]
    points = []
    for name, quantity in formula.parameters.items():
        for bound, step in ((quantity.low, -1.0), (quantity.high, 1.0)):
            if math.isfinite(bound):
                points.append({**middle, name: bound + step})
    return points
