"""One plain function a closed form, and what is derived from it by tracing.

A formula is a pure function of keyword-only arguments, written in ``+ - * / **`` and `kvcost.ops`.
Calling it gives numbers; tracing it with sympy symbols gives its equation, spreadsheet text, Vega
expression, unit check, elasticities and inverse forms, so nothing is written twice.
"""

from __future__ import annotations

from kvcost.formula.core import Formula, formula, get, registry
from kvcost.formula.glossary import GLOSSARY, Quantity

__all__ = ["GLOSSARY", "Formula", "Quantity", "formula", "get", "registry"]
