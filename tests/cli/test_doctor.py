"""The command ``kvcost doctor``: what is there, what is missing, and what is broken."""

from __future__ import annotations

import builtins
import re
import sys

import numpy as np
import pytest

from kvcost import __version__
from kvcost.cli import doctor

KEYS = {"name", "kind", "found", "version", "unlocks", "remedy", "problem"}


@pytest.fixture
def no_engines(monkeypatch):
    """Starting an office suite for its version takes a second: none is on the path."""
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)


def parts(found):
    return {part["name"]: part for part in found["parts"]}


def test_versions_are_those_of_what_runs(answer, no_engines):
    found = answer("doctor")
    assert found["kvcost"] == __version__
    assert found["works"] is True
    assert all(part.keys() == KEYS for part in found["parts"])
    assert all(part["unlocks"] and part["remedy"] for part in found["parts"])
    named = parts(found)
    assert named["numpy"]["version"] == np.__version__
    assert named["Python"]["version"] == ".".join(map(str, sys.version_info[:3]))
    assert {"scipy", "sympy", "shipped data", "numba", "altair", "xlsxwriter"} <= named.keys()
    assert re.fullmatch(r"\d+ models, \d+ accelerators", named["shipped data"]["version"])


def test_what_is_missing_is_named_with_its_use_and_remedy(run, no_engines, monkeypatch):
    there = doctor.find_spec
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "altair" else there(name))
    code, out, err = run("doctor")
    assert (code, err) == (0, "")
    assert re.search(r"^  altair +missing +charts$", out, re.MULTILINE)
    assert '- altair: pip install "kvcost[notebook]"' in out
    assert "- LibreOffice: install it, as with apt install libreoffice-calc" in out
    assert "The core works." in out


def test_nothing_is_missing(run, monkeypatch):
    whole = doctor.Part(
        name="numpy", kind="core", found=True, version="2", unlocks="everything", remedy=""
    )
    monkeypatch.setattr(doctor, "examine", lambda: (whole,))
    code, out, _ = run("doctor")
    assert code == 0
    assert out.splitlines()[-1] == "Everything is here."


@pytest.mark.parametrize("name", doctor._CORE)
def test_a_broken_core_is_exit_code_one(run, no_engines, monkeypatch, name):
    real = doctor.import_module

    def fails(wanted):
        if wanted == name:
            raise ImportError("built for another machine")
        return real(wanted)

    monkeypatch.setattr(doctor, "import_module", fails)
    code, out, err = run("doctor")
    assert (code, err) == (1, "")
    assert re.search(rf"^  {name} +broken", out, re.MULTILINE)
    assert f"BROKEN: kvcost cannot answer without {name}." in out
    assert f"- {name} (ImportError: built for another machine): install kvcost again" in out


def test_missing_data_are_a_broken_core(answer, run, no_engines, monkeypatch):
    real = builtins.__import__

    def fails(name, *rest, **more):
        if name == "kvcost.model":
            raise OSError("no such file")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", fails)
    code, out, _ = run("doctor")
    assert code == 1
    assert "- shipped data (OSError: no such file)" in out


def test_engines_tell_their_version(tmp_path, monkeypatch):
    tells = tmp_path / "ssconvert"
    tells.write_text("#!/bin/sh\necho \"ssconvert version '1.12.55'\"\n")
    breaks = tmp_path / "chromium"
    breaks.write_text("no program")
    for path in (tells, breaks):
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {part.name: part for part in (doctor._engine(*each) for each in doctor._ENGINES)}
    assert (found["Gnumeric"].found, found["Gnumeric"].version) == (True, "1.12.55")
    assert found["Chromium"].found is False
    assert "when asked for its version" in found["Chromium"].problem
    assert found["LibreOffice"].found is False


def test_compiler_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "new"))
    assert doctor._cache().found is True
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "below"))
    found = doctor._cache()
    assert found.found is False
    assert found.problem == "not writable"
    assert "NUMBA_CACHE_DIR" in found.remedy
