"""The command ``kvcost check``: exit codes and formats."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

MET = '[[budget]]\nname = "met"\nkind = "stable"\nmeasured = "50%"\nmax_utilization = "90%"\n'
MISSED = MET.replace('"met"', '"missed"').replace("50%", "95%")
BAD = MET.replace('"met"', '"bad"').replace("measured", "mesured")
NASTY = MISSED.replace('"missed"', '"50%, a:b <&> ]]> ##[error]"') + (
    'note = """first % line\n::error::injected \\u001b[31m <x attr=\\"1\\"> & \\u0007"""\n'
)


@pytest.mark.parametrize(
    ("text", "code", "counts"),
    [
        (MET, 0, "1 budget: 1 met"),
        (MET + MISSED, 1, "2 budgets: 1 met, 1 missed"),
        (MET + BAD, 2, "2 budgets: 1 met, 1 bad"),
        (BAD + MISSED + MET, 2, "3 budgets: 1 met, 1 missed, 1 bad"),
    ],
)
def test_exit_codes_and_summary(check, text, code, counts):
    found, out, err = check(text)
    assert (found, err) == (code, "")
    assert out.splitlines()[-1] == counts


def test_text_says_where(check):
    _, out, _ = check(MET + MISSED + BAD)
    assert out.splitlines() == [
        "met     met: measured utilization 50% is within the 90% allowed",
        "MISSED  budgets.toml:6: missed: measured utilization 95% exceeds the 90% allowed",
        "BAD     budgets.toml:11: bad: key 'mesured' is not known; the nearest are measured, "
        "name, servers: spell it so, or leave it out",
        "3 budgets: 1 met, 1 missed, 1 bad",
    ]


def test_text_of_users_stays_on_its_line_and_prints(check):
    _, out, _ = check(NASTY)
    assert len(out.splitlines()) == 3
    assert "note: first % line ::error::injected ?[31m" in out
    assert out.replace("\n", "").isprintable()


def test_json_in_base_units(check):
    code, out, _ = check(MET + MISSED + BAD, "--format", "json")
    assert code == 2
    rows = json.loads(out)
    assert [row["status"] for row in rows] == ["met", "missed", "bad"]
    assert [row["line"] for row in rows] == [1, 6, 11]
    assert (rows[1]["value"], rows[1]["limit"], rows[1]["unit"]) == (0.95, 0.9, "1")


def test_github_commands_are_escaped(check):
    code, out, _ = check(MET + NASTY, "--format", "github")
    assert code == 1
    line, last = out.splitlines()
    assert last == "2 budgets: 1 met, 1 missed"
    head, body = line[2:].split("::", 1)
    assert head == (
        "error file=budgets.toml,line=6,title=budget 50%25%2C a%3Ab <&> ]]> ##[error] missed"
    )
    assert body.startswith("measured utilization 95%25 exceeds the 90%25 allowed%0Anote: first %25")
    assert "\x1b" not in body


def test_github_names_bad_budgets(check):
    code, out, _ = check(BAD, "--format", "github")
    assert code == 2
    assert out.startswith("::error file=budgets.toml,line=1,title=budget bad cannot be judged::key")


def test_junit_xml_is_parsed_again(check, folder):
    code, _, _ = check(MET + NASTY + BAD + MISSED, "--junitxml", "out.xml")
    assert code == 2
    root = ElementTree.parse(folder / "out.xml").getroot()
    suite = root.find("testsuite")
    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "2", "errors": "1", "skipped": "0"}
    met, missed, bad, _ = suite.findall("testcase")
    assert len(met.findall("failure")) == 0
    assert missed.get("name") == "50%, a:b <&> ]]> ##[error]"
    failure = missed.find("failure")
    assert failure.get("message") == "measured utilization 95% exceeds the 90% allowed"
    assert '<x attr="1"> & ?' in failure.text
    assert bad.find("error").get("message").startswith("key 'mesured' is not known")


def test_junit_xml_that_cannot_be_written(check):
    code, out, err = check(MET, "--junitxml", "gone/out.xml")
    assert (code, out) == (2, "")
    assert err.startswith("kvcost: gone/out.xml: No such file or directory")


def test_list_judges_nothing(check):
    assert check(MET + MISSED, "--list")[:2] == (0, "stable  met\nstable  missed\n")
    code, out, err = check(MET + BAD, "--list")
    assert (code, out) == (2, "stable  met\n")
    assert err.startswith("kvcost: budgets.toml:6: budget 2 (bad): key 'mesured'")
    code, out, _ = check(MET + MISSED, "--list", "--format", "json")
    assert [row["name"] for row in json.loads(out)] == ["met", "missed"]


@pytest.mark.parametrize("text", ["", "x = 1", "[[budget]"])
def test_a_file_without_budgets_is_bad_input(check, text):
    code, out, err = check(text)
    assert (code, out) == (2, "")
    assert err.startswith("kvcost: budgets.toml: ")
    assert err.count("\n") == 1


def test_nothing_heavy_is_loaded(folder):
    from kvcost.facts import data_path

    script = (
        "from kvcost.cli import main; import sys\n"
        f"assert main(['check', {str(data_path('examples', 'budgets.toml'))!r}]) == 0\n"
        "print([m for m in ('sympy', 'pandas', 'altair', 'numba', 'pytest') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_package_loads_its_parts_when_asked():
    script = (
        "import kvcost.checks, sys\n"
        "assert 'numpy' not in sys.modules\n"
        "assert not [m for m in sys.modules if m.startswith('kvcost.checks.')]\n"
        "from kvcost.checks import *\n"
        "assert 'assert_fits' in dir(kvcost.checks)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
