"""What became of budgets: as text, JSON, workflow commands of GitHub and JUnit XML."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from kvcost.errors import KvcostError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kvcost.checks.budgets import BudgetFile

__all__ = [
    "Result",
    "bad_results",
    "github_lines",
    "judge_all",
    "junit_xml",
    "one_line",
    "records",
    "summary",
    "text_lines",
]

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STATUS = {"met": "met", "missed": "MISSED", "bad": "BAD"}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of one budget.

    Attributes
    ----------
    name, kind, note : str
        As the file states them; empty where it does not.
    number, line : int
        Where it stands in the file.
    status : str
        ``met``, ``missed``, or ``bad`` where it cannot be judged.
    text : str
        Why.
    value, limit : float or None
        What was found and what is allowed, in `unit`.
    unit : str
        Base unit.
    notes : tuple of str
        What was assumed or left out.
    """

    name: str
    kind: str
    number: int
    line: int
    status: str
    text: str
    note: str = ""
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    notes: tuple[str, ...] = ()


def bad_results(file: BudgetFile) -> tuple[Result, ...]:
    """Return what is wrong with the budgets of a file that cannot be judged.

    Parameters
    ----------
    file : BudgetFile
        Budgets that were read.

    Returns
    -------
    tuple of Result
        One for each bad budget.
    """
    return tuple(
        Result(
            name=error.name,
            kind="",
            number=error.number,
            line=error.line,
            status="bad",
            text=error.problem,
        )
        for error in file.errors
    )


def judge_all(file: BudgetFile) -> tuple[Result, ...]:
    """Judge the budgets of a file, in its order.

    Parameters
    ----------
    file : BudgetFile
        Budgets that were read.

    Returns
    -------
    tuple of Result
        One for each budget, the bad ones included.
    """
    found = list(bad_results(file))
    for budget in file.budgets:
        place: dict[str, Any] = {
            "name": budget.name,
            "kind": budget.kind,
            "note": budget.note,
            "number": budget.number,
            "line": budget.line,
        }
        try:
            outcome = budget.judge()
        except KvcostError as error:
            found.append(Result(**place, status="bad", text=str(error)))
            continue
        found.append(
            Result(
                **place,
                status="met" if outcome.met else "missed",
                text=outcome.text,
                value=outcome.value,
                limit=outcome.limit,
                unit=outcome.unit,
                notes=outcome.notes,
            )
        )
    return tuple(sorted(found, key=lambda result: result.number))


def summary(results: Sequence[Result]) -> str:
    """Return how many budgets there are, and how many of them are missed or bad.

    Examples
    --------
    >>> met = Result(name="a", kind="fits", number=1, line=1, status="met", text="")
    >>> summary([met])
    '1 budget: 1 met'
    """
    plural = "" if len(results) == 1 else "s"
    counts = {
        status: sum(result.status == status for result in results)
        for status in ("met", "missed", "bad")
    }
    parts = [f"{count} {status}" for status, count in counts.items() if count]
    return f"{len(results)} budget{plural}: {', '.join(parts)}"


def one_line(text: str) -> str:
    r"""Return a text on one line, with a question mark for what cannot be printed.

    Examples
    --------
    >>> one_line("a\nb \x1b[31m")
    'a b ?[31m'
    """
    words = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "?" for letter in words)


def _called(result: Result) -> str:
    return result.name or f"budget {result.number}"


def text_lines(results: Sequence[Result], path: str) -> list[str]:
    """Return the results for people.

    Parameters
    ----------
    results : sequence of Result
        What `judge_all` returns.
    path : str
        The file.

    Returns
    -------
    list of str
        A line for each budget, one for its note where it is not met, and a summary.
    """
    lines = []
    for result in results:
        where = "" if result.status == "met" else f"{path}:{result.line}: "
        text = one_line(result.text)
        lines.append(f"{_STATUS[result.status]:<6}  {where}{_called(result)}: {text}")
        if result.note and result.status != "met":
            lines.append(f"        note: {one_line(result.note)}")
    return [*lines, summary(results)]


def records(results: Iterable[Result], path: str) -> list[dict[str, Any]]:
    """Return the results in base units, ready for JSON.

    Parameters
    ----------
    results : iterable of Result
        What `judge_all` returns.
    path : str
        The file.

    Returns
    -------
    list of dict
        One for each budget.
    """
    return [
        {
            "file": path,
            "line": result.line,
            "number": result.number,
            "name": result.name,
            "kind": result.kind,
            "status": result.status,
            "text": result.text,
            "value": _finite(result.value),
            "limit": _finite(result.limit),
            "unit": result.unit,
            "note": result.note,
            "notes": list(result.notes),
        }
        for result in results
    ]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _escaped(text: str, *, property_value: bool = False) -> str:
    # as actions/toolkit escapes them; the percent sign first
    pairs = [("%", "%25"), ("\r", "%0D"), ("\n", "%0A")]
    if property_value:
        pairs += [(":", "%3A"), (",", "%2C")]
    for plain, code in pairs:
        text = text.replace(plain, code)
    return text


def github_lines(results: Iterable[Result], path: str) -> list[str]:
    """Return the missed and the bad budgets as workflow commands, which annotate the file.

    Parameters
    ----------
    results : iterable of Result
        What `judge_all` returns.
    path : str
        The file, relative to the repository.

    Returns
    -------
    list of str
        One command for each, and a summary.

    References
    ----------
    .. [1] GitHub, "Workflow commands for GitHub Actions",
       https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
    """
    listed = list(results)
    lines = []
    for result in listed:
        if result.status == "met":
            continue
        kind = "missed" if result.status == "missed" else "cannot be judged"
        title = _escaped(f"budget {_called(result)} {kind}", property_value=True)
        file = _escaped(path, property_value=True)
        body = "\n".join(
            [one_line(result.text), *([f"note: {one_line(result.note)}"] if result.note else [])]
        )
        lines.append(f"::error file={file},line={result.line},title={title}::{_escaped(body)}")
    return [*lines, summary(listed)]


def junit_xml(results: Iterable[Result], path: str) -> str:
    """Return the results as JUnit XML.

    Parameters
    ----------
    results : iterable of Result
        What `judge_all` returns.
    path : str
        The file.

    Returns
    -------
    str
        A document: a missed budget is a failure, a bad one an error.
    """
    listed = list(results)
    counts = {
        "tests": len(listed),
        "failures": sum(result.status == "missed" for result in listed),
        "errors": sum(result.status == "bad" for result in listed),
        "skipped": 0,
    }
    numbers = {name: str(count) for name, count in counts.items()}
    root = ElementTree.Element("testsuites", {"name": "kvcost", **numbers})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _xml(path), **numbers})
    for result in listed:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "classname": f"kvcost.{result.kind or 'budget'}",
                "name": _xml(_called(result)),
                "file": _xml(path),
                "line": str(result.line),
                "time": "0",
            },
        )
        text = _xml(result.text)
        if result.status != "met":
            tag = "failure" if result.status == "missed" else "error"
            element = ElementTree.SubElement(case, tag, {"message": text, "type": result.status})
            element.text = f"{path}:{result.line}: {text}" + (
                f"\nnote: {_xml(result.note)}" if result.note else ""
            )
            element.text = _xml(element.text)
        else:
            ElementTree.SubElement(case, "system-out").text = text
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'


def _xml(text: str) -> str:
    """Return the text with what XML cannot hold as a question mark."""
    return _NOT_XML.sub("?", text)
