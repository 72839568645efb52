"""The sheets around the results: Start, Facts, Check and About."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost import __version__
from kvcost.formula import get
from kvcost.formula.printing.sheet import defined_name
from kvcost.sheet.book import cell_name, number_format
from kvcost.sheet.nodes import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvcost.sheet.book import Book
    from kvcost.sheet.nodes import Value
    from kvcost.sheet.pages import Written
    from kvcost.sheet.plan import Plan
    from kvcost.sheet.question import Question

__all__ = ["TOLERANCE", "write_about", "write_check", "write_facts", "write_start"]

TOLERANCE = "0.000000001"
"""Relative difference from Python that a recalculated cell may have."""

_SAME = "0.000000000001"
"""Relative difference up to which an input counts as unchanged: engines round differently."""

_ANSWERS = (
    "verdict",
    "kv_bytes_per_token",
    "recompute_seconds",
    "hit_seconds",
    "bandwidth",
    "break_even_bandwidth",
    "break_even_bandwidth_without_overhead",
    "break_even_tokens",
    "break_even_tokens_infinite_bandwidth",
    "gpu_verdict",
    "utilization",
    "mmc_mean_wait",
    "kimura_wait",
    "mmc_wait_percentile",
    "cold_then_warm_wait",
)
_BURST_ANSWERS = (
    "cold_prefill_seconds",
    "suffix_prefill_seconds",
    "copy_seconds",
    "detection_seconds",
    "computed_copy_ready",
    "copy_backlog",
)
_LEGEND = (
    ("edit", "yours to edit: sheet Inputs, and the steps of tables"),
    ("found", "found: looked up in Facts or counted on Model, used where yours is blank"),
    ("answer", "a formula of kvcost, live"),
    ("value", "a step between formulas: a look-up, a sum, a quotient, a choice"),
    ("python", "computed by Python for the inputs as shipped; #N/A once they are changed"),
)
_SHEETS = (
    ("Inputs", "what you know: choose a model, a store, lengths and traffic"),
    ("Model", "bytes of a token and of a request, what fits, prefill"),
    ("Break-even", "fetch or recompute, thresholds, charts"),
    ("Waiting", "waits in steady traffic and in a burst, charts"),
    ("Routing", "servers that start cold, copies, queues"),
    ("Facts", "models, dtypes, accelerators and stores, with sources"),
    ("Check", "Python's values beside the live ones"),
    ("About", "formulas with their sources, and limits"),
)


def write_start(
    book: Book, sheet: Any, plan: Plan, question: Question, values: Mapping[str, Value]
) -> None:
    """Write sheet Start: the answer, whether it agrees with Python, and how to go on."""
    book.write_text(sheet, 0, 0, question.title or question.model.name, "title")
    book.write_text(sheet, 1, 0, "What a KV cache costs: a live workbook, no macros.", "note")
    book.write_formula(
        sheet,
        2,
        0,
        '=IF(kv_inputs_changed>0,"inputs changed: results are live, Check no longer applies",'
        'IF(kv_check_differs=0,"as shipped: every result agrees with Python",'
        '"as shipped: results differ from Python, see Check"))',
        value="as shipped: every result agrees with Python",
        style="plain",
    )
    for word, style in (("differ", "bad"), ("changed", "changed"), ("agrees", "good")):
        rule = {"type": "text", "criteria": "containing", "value": word}
        sheet.conditional_format(2, 0, 2, 0, {**rule, "format": book.styles[style]})
    book.write_text(sheet, 4, 0, "Answer", "heading")
    known = {node.key: node for _, node in plan.nodes()}
    row = 5
    best = [grid.rows[0].cells[0].key for page in plan.pages for grid in page.grids if grid.rows]
    for key in (*_ANSWERS, *(key for key in _BURST_ANSWERS if key in known), *best):
        book.write_text(sheet, row, 0, known[key].label, "plain")
        book.write_formula(
            sheet,
            row,
            1,
            f"={defined_name(key)}",
            value=values[key],
            style="python" if key in best else "answer",
            number=number_format(known[key].unit),
        )
        book.write_text(sheet, row, 2, known[key].unit, "unit")
        book.write_text(sheet, row, 3, known[key].note, "note")
        row += 1
    for place in range(len(best)):
        text = "the best policy as shipped, computed by Python; the others are on sheet Routing"
        book.write_text(sheet, row - len(best) + place, 3, text, "note")
    row = _legend(book, sheet, row + 1)
    book.write_text(sheet, row, 0, "Sheets", "heading")
    for name, text in _SHEETS:
        row += 1
        target = f"internal:'{name}'!A1"
        sheet.write_url(row, 0, target, None, name)
        book.write_text(sheet, row, 1, text, "note")


def _legend(book: Book, sheet: Any, row: int) -> int:
    book.write_text(sheet, row, 0, "Colours", "heading")
    for style, text in _LEGEND:
        row += 1
        book.write_text(sheet, row, 0, style, style)
        book.write_text(sheet, row, 1, text, "note")
    return row + 2


def write_facts(book: Book, plan: Plan) -> None:
    """Write sheet Facts: the tables that names are looked up in."""
    sheet = book.sheet("Facts", widths=(58, *[14] * 26, 60), tab="#009E73")
    book.write_text(sheet, 0, 0, "Facts", "title")
    book.write_text(
        sheet, 1, 0, "In base units. Blank numbers are not known; no formula takes them.", "note"
    )
    row = 3
    for table in plan.tables.values():
        book.write_text(sheet, row, 0, table.title, "heading")
        book.write_text(sheet, row, 1, table.note, "note")
        row += 1
        width = len(table.columns)
        for column, head in enumerate(("name", *table.columns, "source")):
            book.write_text(sheet, row, column, head, "head")
        book.name(f"heads_{table.name}", "Facts", f"{cell_name(row, 1)}:{cell_name(row, width)}")
        first = row + 1
        for name, numbers in table.rows:
            row += 1
            book.write_text(sheet, row, 0, name, "plain")
            for column, number in enumerate(numbers):
                if number is not None:
                    sheet.write_number(row, column + 1, number, book.styles["value"])
            book.write_text(sheet, row, width + 1, table.source.get(name, ""), "note")
        book.name(f"list_{table.name}", "Facts", f"{cell_name(first, 0)}:{cell_name(row, 0)}")
        book.name(f"table_{table.name}", "Facts", f"{cell_name(first, 1)}:{cell_name(row, width)}")
        row += 3


def write_check(book: Book, results: Sequence[Written], inputs: Sequence[Written]) -> None:
    """Write sheet Check: Python's values beside the live ones."""
    sheet = book.sheet("Check", widths=(60, 14, 22, 22, 14, 16, 8, 3, 50, 24, 24, 9), tab="#CC79A7")
    book.write_text(sheet, 0, 0, "Check", "title")
    book.write_text(
        sheet, 1, 0, "Python's value for the inputs as shipped, and how far a cell is off.", "note"
    )
    heads = ("result", "sheet", "live", "Python", "difference", "state", "off")
    for column, head in enumerate((*heads, "", "input", "used", "as shipped", "changed")):
        if head:
            book.write_text(sheet, 4, column, head, "head")
    sheet.freeze_panes(5, 0)
    for row, item in enumerate(results, start=5):
        _check_row(book, sheet, row, item)
    for row, item in enumerate(inputs, start=5):
        _input_row(book, sheet, row, item)
    book.write_text(sheet, 2, 0, "inputs changed", "plain")
    changed = f"=SUM({cell_name(5, 11)}:{cell_name(4 + len(inputs), 11)})"
    book.write_formula(sheet, 2, 2, changed, value=0.0, style="value")
    book.name("inputs_changed", "Check", cell_name(2, 2))
    book.write_text(sheet, 3, 0, "results that differ from Python by more than 1e-9", "plain")
    differ = f"=SUM({cell_name(5, 6)}:{cell_name(4 + len(results), 6)})"
    book.write_formula(sheet, 3, 2, differ, value=0.0, style="value")
    book.name("check_differs", "Check", cell_name(3, 2))
    states = (5, 5, 4 + len(results), 5)
    for word, style in (("ok", "good"), ("DIFFERS", "bad"), ("inputs changed", "changed")):
        rule = {"type": "cell", "criteria": "==", "value": f'"{word}"'}
        sheet.conditional_format(*states, {**rule, "format": book.styles[style]})


def _check_row(book: Book, sheet: Any, row: int, item: Written) -> None:
    live, python, off = cell_name(row, 2), cell_name(row, 3), cell_name(row, 4)
    book.write_text(sheet, row, 0, item.what, "plain")
    book.write_text(sheet, row, 1, item.sheet, "note")
    book.write_formula(sheet, row, 2, f"={item.reference}", value=item.value, style="value")
    book.write_value(sheet, row, 3, item.value, "value")
    number = f"IF(ISNUMBER({live}),ABS({live}-{python})/MAX(ABS({python}),1E-300),1)"
    word = f'IF(ISERROR({live}),IF({python}="no number",0,1),IF({live}={python},0,1))'
    book.write_formula(
        sheet, row, 4, f"=IF(ISNUMBER({python}),{number},{word})", value=0.0, style="value"
    )
    state = f'=IF(kv_inputs_changed>0,"inputs changed",IF({off}<={TOLERANCE},"ok","DIFFERS"))'
    book.write_formula(sheet, row, 5, state, value="ok", style="value")
    flag = f"=IF(kv_inputs_changed>0,0,IF({off}<={TOLERANCE},0,1))"
    book.write_formula(sheet, row, 6, flag, value=0.0, style="found")


def _input_row(book: Book, sheet: Any, row: int, item: Written) -> None:
    used, shipped = cell_name(row, 9), cell_name(row, 10)
    book.write_text(sheet, row, 8, item.what, "plain")
    book.write_formula(sheet, row, 9, f"={item.reference}", value=item.value, style="value")
    book.write_value(sheet, row, 10, item.value, "value")
    number = f"IF(ISNUMBER({used}),IF(ABS({used}-{shipped})<={_SAME}*ABS({shipped}),0,1),1)"
    word = f'IF(ISERROR({used}),IF({shipped}="no number",0,1),IF({used}={shipped},0,1))'
    same = f"IF(ISNUMBER({shipped}),{number},{word})"
    book.write_formula(sheet, row, 11, f"={same}", value=0.0, style="found")


def write_about(book: Book, plan: Plan, question: Question) -> None:
    """Write sheet About: where the numbers come from, the formulas, and the limits."""
    sheet = book.sheet("About", widths=(40, 18, 70, 110))
    book.write_text(sheet, 0, 0, "About", "title")
    said = [
        f"Written by kvcost {__version__}. Formulas are printed from kvcost's registry; the same "
        "functions give Python's values on Check.",
        "Cells are in base units: bytes, seconds, tokens, FLOP, and rates per second.",
        "#N/A says that there is no such number: never, or outside what the formula is for.",
        "Break-even is one request on an idle server. Waits are first come, first served.",
        "Shown values were computed by Python when the file was written; your program "
        "recalculates them.",
        *question.notes,
    ]
    row = 2
    for text in said:
        book.write_text(sheet, row, 0, text, "plain")
        row += 1
    row += 1
    for column, head in enumerate(("formula", "unit", "what it is", "source")):
        book.write_text(sheet, row, column, head, "head")
    nodes = [node for _, node in plan.nodes()]
    nodes += [column for page in plan.pages for sweep in page.sweeps for column in sweep.columns]
    for name in sorted({node.formula for node in nodes if isinstance(node, Result)}):
        row += 1
        formula = get(name)
        book.write_text(sheet, row, 0, name, "plain")
        book.write_text(sheet, row, 1, formula.unit, "plain")
        book.write_text(sheet, row, 2, formula.documentation.summary, "plain")
        book.write_text(sheet, row, 3, "; ".join(formula.documentation.references), "plain")
