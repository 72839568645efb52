"""What is installed, what each missing part would bring, and how to get it.

Try:
  kvcost doctor
  kvcost doctor --json

exit codes: 0 the core works, 1 it does not
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from kvcost import __version__
from kvcost.cli.output import Report, show
from kvcost.cli.parser import add_output_flags

if TYPE_CHECKING:
    import argparse

__all__ = ["Part", "configure", "examine", "run"]

_LEAST_PYTHON = (3, 11)
_PATIENCE = 20  # seconds that an engine may take to tell its version
_VERSION = re.compile(r"\d+(?:\.\d+)+")

_CORE = ("numpy", "scipy", "sympy")
_CORE_REMEDY = "install kvcost again"
_NOTEBOOK, _SHEET = 'pip install "kvcost[notebook]"', 'pip install "kvcost[sheet]"'
# import name, name of the distribution, what it is for, how to get it
_OPTIONAL = (
    ("numba", "numba", "simulations and searches at compiled speed", "pip install numba"),
    ("altair", "altair", "charts", _NOTEBOOK),
    ("vl_convert", "vl-convert-python", "charts offline, and as PNG or SVG", _NOTEBOOK),
    ("pandas", "pandas", "the tables of the notebooks", _NOTEBOOK),
    ("jupyterlab", "jupyterlab", "the notebooks (make lab)", _NOTEBOOK),
    ("xlsxwriter", "xlsxwriter", "workbooks (kvcost sheet)", _SHEET),
    ("pytest", "pytest", "budgets as tests (kvcost.toml)", "pip install pytest"),
)
# shown name, executables, what it is for, Debian's package
_ENGINES = (
    ("LibreOffice", ("soffice", "libreoffice"), "proving workbooks", "libreoffice-calc"),
    ("Gnumeric", ("ssconvert",), "proving workbooks in a second engine", "gnumeric"),
    ("Chromium", ("chromium", "chromium-browser"), "proving charts on a page", "chromium"),
)


@dataclass(frozen=True, kw_only=True)
class Part:
    """One thing that was looked for.

    Attributes
    ----------
    name : str
        What people call it.
    kind : str
        ``core``, ``package``, ``engine`` or ``cache``.
    found : bool
        Whether it is there and works.
    version : str
        Empty if it is missing or does not tell.
    unlocks : str
        What works with it, and does not without it.
    remedy : str
        How to get it.
    problem : str
        Why it does not work, for what is there and broken.
    """

    name: str
    kind: str
    found: bool
    version: str
    unlocks: str
    remedy: str
    problem: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    add_output_flags(parser)


def examine() -> tuple[Part, ...]:
    """Look for every part.

    Returns
    -------
    tuple of Part
        The core first.
    """
    with ThreadPoolExecutor(len(_ENGINES)) as pool:
        engines = pool.map(lambda each: _engine(*each), _ENGINES)  # they start while we look on
        parts = [_python(), *(_core(name) for name in _CORE), _data()]
        parts += [_package(*each) for each in _OPTIONAL]
        if any(part.name == "numba" and part.found for part in parts):
            parts.append(_cache())
        return (*parts, *engines)


def run(args: argparse.Namespace) -> int:
    """Print what was found; return 1 if something of the core is broken."""
    parts = examine()
    broken = [part for part in parts if part.kind == "core" and not part.found]
    lacking = [part for part in parts if not part.found]
    notes = [
        f"- {part.name}{f' ({part.problem})' if part.problem else ''}: {part.remedy}"
        for part in lacking
    ]
    if broken:
        verdict = f"BROKEN: kvcost cannot answer without {', '.join(p.name for p in broken)}."
    elif lacking:
        verdict = "The core works. What is missing can be had:"
    else:
        verdict = "Everything is here."
    records = [asdict(part) for part in parts]
    show(
        Report(
            title=f"kvcost {__version__}",
            header=(),
            rows=_rows(parts),
            notes=[verdict, *notes],
            data={"kvcost": __version__, "works": not broken, "parts": records},
            records=records,
        ),
        args,
    )
    return 1 if broken else 0


def _rows(parts: tuple[Part, ...]) -> list[tuple[str, str]]:
    states = [
        "broken" if part.problem else (part.version or "found") if part.found else "missing"
        for part in parts
    ]
    width = max(map(len, states))
    return [
        (part.name, f"{state:<{width}}  {part.unlocks}")
        for part, state in zip(parts, states, strict=True)
    ]


def _python() -> Part:
    return Part(
        name="Python",
        kind="core",
        found=sys.version_info >= _LEAST_PYTHON,
        version=platform.python_version(),
        unlocks="everything",
        remedy=f"use Python {'.'.join(map(str, _LEAST_PYTHON))} or newer",
    )


def _core(name: str) -> Part:
    version = problem = ""
    try:
        version = str(import_module(name).__version__)
    except Exception as error:  # a broken package may raise anything
        problem = f"{type(error).__name__}: {error}"
    return Part(
        name=name,
        kind="core",
        found=not problem,
        version=version,
        unlocks="everything",
        remedy=_CORE_REMEDY,
        problem=problem,
    )


def _data() -> Part:
    """Ask for a model and an accelerator: files and readers are there if both are found."""
    version = problem = ""
    try:
        from kvcost import facts  # noqa: PLC0415 - it may be what is broken
        from kvcost.model import catalogue_names, kv_size, load  # noqa: PLC0415

        kv_size(load(catalogue_names()[0]))
        version = f"{len(catalogue_names())} models, {len(facts.names('accelerator'))} accelerators"
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return Part(
        name="shipped data",
        kind="core",
        found=not problem,
        version=version,
        unlocks="models, accelerators, links and stores by name",
        remedy=_CORE_REMEDY,
        problem=problem,
    )


def _package(module: str, distribution: str, unlocks: str, remedy: str) -> Part:
    found, version = find_spec(module) is not None, ""
    if found:
        try:
            version = metadata.version(distribution)
        except metadata.PackageNotFoundError:  # importable, but not installed by pip
            version = ""
    return Part(
        name=distribution,
        kind="package",
        found=found,
        version=version,
        unlocks=unlocks,
        remedy=remedy,
    )


def _cache() -> Part:
    """Look where numba keeps what it has compiled: a folder given, the package's, the user's."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    package = Path(__file__).resolve().parent.parent / "__pycache__"
    where = [Path(given)] if given else [package, Path.home() / ".cache" / "numba"]
    writable = any(map(_is_writable, where))
    return Part(
        name="compiler cache",
        kind="cache",
        found=writable,
        version="writable" if writable else "",
        unlocks="compiling once, not in every process",
        remedy="set NUMBA_CACHE_DIR to a folder that can be written",
        problem="" if writable else "not writable",
    )


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _engine(name: str, executables: tuple[str, ...], unlocks: str, package: str) -> Part:
    path = next(filter(None, map(shutil.which, executables)), None)
    version = problem = ""
    if path is not None:
        try:
            told = subprocess.run(
                [path, "--version"],
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            match = _VERSION.search(told.stdout + told.stderr)
            version = match[0] if match else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = f"{type(error).__name__} when asked for its version"
    return Part(
        name=name,
        kind="engine",
        found=path is not None and not problem,
        version=version,
        unlocks=unlocks,
        remedy=f"install it, as with apt install {package}",
        problem=problem,
    )
