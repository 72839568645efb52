"""Notebooks run from the first cell to the last, are stored clean, and type no result."""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

ABSOLUTE_PATH = re.compile(r"(?<![\w.:/<>])/(?:[\w.-]+/)+|\b[A-Z]:\\|~/|\.\./")
NOT_PROSE = re.compile(r"^#.*$|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|https?://\S+", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.-])[-+~]?\d[\w.,%]*")
SPEC = re.compile(r"\bspec = (?=\{)")
REMOTE_SCRIPT = re.compile(r"""<(?:script|link)\b[^<>]*\b(?:src|href)\s*=\s*["']?(?:https?:)?//""")


def named(path):
    return path.stem


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(params=NOTEBOOKS, ids=named)
def stored(request):
    return nbformat.read(request.param, as_version=4)


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=named)
def executed(request, tmp_path_factory):
    """The notebook after a run in an empty folder, so that it needs no file of the checkout."""
    notebook = nbformat.read(request.param, as_version=4)
    environment = {
        "JUPYTER_PLATFORM_DIRS": "1",  # or jupyter_core warns that its folders will move
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # or the debugger writes to stderr
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.getenv("PYTHONPATH")])]),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        NotebookClient(
            notebook,
            timeout=300,
            kernel_name="python3",
            resources={"metadata": {"path": str(tmp_path_factory.mktemp("empty"))}},
        ).execute()
    return notebook


# Numbers are produced, never typed: in prose and in f-strings no word starts with a digit.
# Headings, code, equations and links may hold digits, and so may names (GLM-5.3, bf16).


def typed_numbers(text):
    return NUMBER.findall(NOT_PROSE.sub(" ", text))


def said(source):
    """Return the fixed parts of the f-strings and Markdown of a cell, without format codes."""
    texts = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            texts += [part.value for part in node.values if isinstance(part, ast.Constant)]
            for part in node.values:
                part.format_spec = None
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Markdown":
            texts += [part.value for part in node.args if isinstance(part, ast.Constant)]
    return texts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("GLM-5.3 and gpt-oss-120b on H200 in bf16", []),
        ("# 3 GB/s in a heading\nand `1.71 GB/s` in code, $2n$ in an equation", []),
        ("see [page 3](https://doi.org/10.1/2)", ["3"]),
        ("it takes 0.31s or 310 ms", ["0.31s", "310"]),
        ("about ~17,032 tokens (-11%)", ["~17,032", "-11%"]),
    ],
)
def test_what_counts_as_typed(text, found):
    assert typed_numbers(text) == found


def test_what_counts_as_said():
    source = 'x = f"{y:10.2f} s, not 3 s"\nMarkdown("takes 4 s")\nname = "500"'
    assert [number for text in said(source) for number in typed_numbers(text)] == ["3", "4"]


# As stored


def test_all_are_there():
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04"]


def test_stored_clean(stored):
    nbformat.validate(stored)
    assert (stored.nbformat, stored.nbformat_minor) == (4, 5)
    assert stored.metadata.kernelspec.name == "python3"
    assert set(stored.metadata) == {"kernelspec", "language_info"}
    assert set(stored.metadata.language_info) == {"name"}
    for cell in code_cells(stored):
        assert cell.outputs == []
        assert cell.execution_count is None
    assert not any(cell.metadata for cell in stored.cells)


def test_cell_ids_are_words(stored):
    ids = [cell.id for cell in stored.cells]
    assert len(set(ids)) == len(ids)
    assert [each for each in ids if not re.fullmatch(r"[a-z]+(-[a-z]+)*", each)] == []


def test_no_paths_of_a_machine(stored):
    assert [path for cell in stored.cells for path in ABSOLUTE_PATH.findall(cell.source)] == []


def test_first_code_cell(stored):
    first = code_cells(stored)[0].source
    assert 'alt.renderers.enable("html", template="inline")' in first
    assert "import kvcost as kv" in first


def test_no_number_is_typed(stored):
    texts = [cell.source for cell in stored.cells if cell.cell_type == "markdown"]
    texts += [text for cell in code_cells(stored) for text in said(cell.source)]
    assert [number for text in texts for number in typed_numbers(text)] == []


def test_cells_are_short_and_claims_asserted(stored):
    assert max(len(cell.source.splitlines()) for cell in stored.cells) <= 60
    assert sum("assert " in cell.source for cell in code_cells(stored)) >= 5


# As executed


def outputs(cells, kind):
    return [each for cell in cells for each in cell.outputs if each.output_type == kind]


def test_runs_without_error_or_complaint(executed):
    cells = code_cells(executed)
    assert outputs(cells, "error") == []
    assert outputs(cells, "stream") == []
    assert all(cell.execution_count for cell in cells)


def test_charts_need_no_network(executed):
    cells = [cell for cell in code_cells(executed) if cell.id.endswith("-chart")]
    assert len(cells) >= 4
    for cell in cells:
        [shown] = outputs([cell], "execute_result")
        html = shown.data["text/html"]
        assert REMOTE_SCRIPT.findall(html) == [], cell.id
        assert "cdn." not in html, cell.id
        spec, _ = json.JSONDecoder().raw_decode(html, SPEC.search(html).end())
        assert "vega-lite" in spec["$schema"]
        assert spec["datasets"]
        assert '"url"' not in json.dumps(spec)
        assert "title" in spec or any("title" in part for part in spec["hconcat"]), cell.id


def test_only_chart_cells_show_charts(executed):
    others = [cell for cell in code_cells(executed) if not cell.id.endswith("-chart")]
    shown = outputs(others, "execute_result")
    assert [each for each in shown if "text/html" in each.data] == []
