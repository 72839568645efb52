"""Spreadsheet engines, headless: write formulas with sentinel values, recalculate, read back."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import openpyxl
import pytest
import xlsxwriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SENTINEL = -12345.678
"""Cached value of every formula cell; one that survives was not recalculated."""

_TIMEOUT = 300
_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry"
 xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode"
 oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""


@dataclass(frozen=True)
class Block:
    """A sheet: named columns of inputs, and the cell text of each row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[float]]

    def cells(self, row: int) -> dict[str, str]:
        """Return the cell of each column in a row."""
        return {
            name: f"{xlsxwriter.utility.xl_col_to_name(column)}{row + 1}"
            for column, name in enumerate(self.columns)
        }


def executable(name: str) -> str:
    """Return the path of an engine; without one, fail in CI and skip elsewhere."""
    found = shutil.which(name)
    if found is None:
        reason = f"{name} is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason=reason)
    return found


def write(path: Path, blocks: Mapping[str, Block], text: Mapping[str, Sequence[str]]) -> None:
    """Write a sheet a block, its formulas in the column after the inputs."""
    with xlsxwriter.Workbook(path) as book:
        for name, block in blocks.items():
            sheet = book.add_worksheet(block.title)
            for row, values in enumerate(block.rows):
                sheet.write_row(row, 0, values)
                sheet.write_formula(row, len(block.columns), text[name][row], None, SENTINEL)


def recalculate_with_libreoffice(source: Path, folder: Path, *more: Path) -> Path:
    """Return a copy of a workbook that LibreOffice has recalculated; more of them go along."""
    profile = folder / "profile"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(_PROFILE)
    subprocess.run(
        [
            executable("soffice"),
            f"-env:UserInstallation={profile.as_uri()}",
            "--headless",
            "--convert-to",
            "xlsx",
            "--outdir",
            str(folder),
            str(source),
            *map(str, more),
        ],
        check=True,
        capture_output=True,
        timeout=_TIMEOUT,
    )
    return folder / source.name


def recalculate_with_gnumeric(source: Path, folder: Path, *more: Path) -> Path:
    """Return a copy of a workbook that Gnumeric has recalculated; more of them go along."""
    for other in more:
        recalculate_with_gnumeric(other, folder)
    target = folder / source.name
    subprocess.run(
        [executable("ssconvert"), "--recalc", str(source), str(target)],
        check=True,
        capture_output=True,
        timeout=_TIMEOUT,
    )
    return target


ENGINES = {
    "libreoffice": recalculate_with_libreoffice,
    "gnumeric": recalculate_with_gnumeric,
}


def read(path: Path, blocks: Mapping[str, Block]) -> dict[str, list[object]]:
    """Return the value of each formula cell."""
    with warnings.catch_warnings():
        # Gnumeric writes no default style, which openpyxl remarks on
        warnings.filterwarnings("ignore", message="Workbook contains no default style")
        book = openpyxl.load_workbook(path, data_only=True, read_only=True)
    values = {}
    for name, block in blocks.items():
        column = len(block.columns) + 1
        rows = book[block.title].iter_rows(min_col=column, max_col=column, max_row=len(block.rows))
        values[name] = [row[0].value for row in rows]
    book.close()
    return values
