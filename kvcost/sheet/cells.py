"""Formulas for the cells of a sheet that exists already."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvcost.errors import InvalidValueError
from kvcost.formula import Formula, get

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["excel", "read_cells"]

_PAIR = re.compile(r"\s*(?P<name>\w+)\s*=\s*(?P<cell>(?:'[^']*'!)?[^,']*?)\s*(?:,|$)")


def excel(formula: str | Formula, cells: Mapping[str, str] | str | None = None) -> str:
    """Return the text of a cell that computes a formula from other cells.

    Parameters
    ----------
    formula : str or Formula
        A registered formula or its name.
    cells : mapping of str to str, or str, optional
        The cell or defined name of each argument, as ``{"tokens": "B3"}`` or ``"tokens=B3"``. An
        argument that is left out is a defined name with the prefix ``kv_``, as in the planner.

    Returns
    -------
    str
        Starting with ``=``. Excel 2007 and later, LibreOffice, Gnumeric and Google Sheets read it.

    Raises
    ------
    UnknownNameError
        If there is no such formula.
    InvalidValueError
        If an argument or a cell is not understood.

    Examples
    --------
    >>> excel("margin", "recompute_seconds=B3, hit_seconds='My times'!C4")
    "=IFERROR(IF(AND(B3>=0,'My times'!C4>=0),(B3-'My times'!C4)/B3,NA()),NA())"
    """
    known = formula if isinstance(formula, Formula) else get(formula)
    return known.excel(read_cells(cells) if isinstance(cells, str) else cells)


def read_cells(text: str) -> dict[str, str]:
    """Return the cells that a text such as ``tokens=B3,bandwidth=Inputs!B4`` names.

    Parameters
    ----------
    text : str
        Pairs, with commas between.

    Returns
    -------
    dict
        Cell by argument.

    Raises
    ------
    InvalidValueError
        If it is no list of pairs, or an argument stands twice.
    """
    found: dict[str, str] = {}
    place = 0
    while place < len(text.rstrip()):
        pair = _PAIR.match(text, place)
        if pair is None or not pair["cell"] or pair["name"] in found:
            raise InvalidValueError(
                field="cells",
                value=text[place:],
                bound="must be pairs of an argument and a cell, each argument once",
                remedy='write e.g. "tokens=B3,bandwidth=Inputs!B4"',
            )
        found[pair["name"]] = pair["cell"]
        place = pair.end()
    return found
