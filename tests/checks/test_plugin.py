"""The pytest plugin, in suites of its own, with xdist and without."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

MET = '[[budget]]\nname = "met"\nkind = "stable"\nmeasured = "50%"\nmax_utilization = "90%"\n'
MISSED = MET.replace('"met"', '"too busy"').replace("50%", "95%")
BAD = MET.replace('"met"', '"bad"').replace("measured", "mesured")
STORE = '[[budget]]\nname = "store"\nkind = "bandwidth"\ndeployment = "glm-5.3-8xb300"\n'
SENTENCE = (
    "store bandwidth 1.71 GB/s is 32% below the break-even of 2.50 GB/s (overhead left out; with "
    "0.33 s no bandwidth wins at 16,000 tokens); at 5 GB/s fetch only prompts over 34,000 tokens"
)


@pytest.fixture
def suite(pytester, monkeypatch):
    """Return a runner of a suite of one passing test, with warnings as errors."""
    # workers that all use every core for small matrices wait for each other
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    # the plugins of other packages take longer to load than these suites to run
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_own="def test_own(): pass")

    def run(*words, budgets=None, ini="", name="kvcost.toml"):
        pytester.makeini(f"[pytest]\nfilterwarnings = error\n{ini}")
        if budgets is not None:
            (pytester.path / name).write_text(budgets, encoding="utf-8")
        if "no:kvcost" not in words:
            # by the name of its entry point
            words = ("-p", "kvcost", *words)
        if "-n" in words:
            words = ("-p", "xdist", *words)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *words)

    return run


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_budgets_are_items(suite, workers):
    result = suite(*workers, budgets=MET + MISSED + STORE + BAD)
    result.assert_outcomes(passed=2, failed=3)
    assert result.ret == 1
    out = result.stdout.str()
    assert SENTENCE in out
    assert "measured utilization 95% exceeds the 90% allowed" in out
    assert "kvcost.toml:15: budget 4 (bad): key 'mesured' is not known; the nearest are" in out
    assert "Traceback" not in out
    assert "warning" not in out.lower()


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_the_root_file_joins_testpaths(suite, pytester, workers):
    tests = pytester.mkdir("tests")
    (pytester.path / "test_own.py").rename(tests / "test_own.py")
    result = suite(*workers, budgets=MET, ini="testpaths = tests\n")
    result.assert_outcomes(passed=2)
    # who names what to run gets that alone
    suite(*workers, "tests", budgets=MET, ini="testpaths = tests\n").assert_outcomes(passed=1)


def test_a_root_file_below_testpaths_runs_once(suite):
    suite(budgets=MET, ini="testpaths = .\n").assert_outcomes(passed=2)


def test_pyproject_has_its_own_table(suite):
    text = '[project]\nname = "x"\n' + MISSED.replace("budget", "tool.kvcost.budget")
    result = suite(budgets=text, name="pyproject.toml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED pyproject.toml::too busy - *"])


def test_any_file_that_is_named_runs(suite):
    result = suite("night.toml", budgets=MET, name="night.toml")
    result.assert_outcomes(passed=1)
    suite(budgets=MET, name="night.toml").assert_outcomes(passed=1)


def test_node_ids_are_stable_and_select(suite):
    listed = suite("--collect-only", "-q", budgets=MET + MISSED + BAD).outlines
    assert listed[:3] == ["kvcost.toml::met", "kvcost.toml::too busy", "kvcost.toml::bad"]
    suite("kvcost.toml::too busy").assert_outcomes(failed=1)
    suite("-k", "busy").assert_outcomes(failed=1, deselected=3)
    suite("-k", "budget and not bad").assert_outcomes(passed=1, failed=1, deselected=2)
    suite("-k", "stable").assert_outcomes(passed=1, failed=1, deselected=2)


def test_bad_names_and_doubles_have_node_ids_too(suite):
    unnamed = MET.replace('name = "met"\n', "")
    listed = suite("--collect-only", "-q", budgets=MET + MET + unnamed).outlines
    assert listed[:3] == ["kvcost.toml::met", "kvcost.toml::met-2", "kvcost.toml::budget-3"]


def test_notes_are_shown_and_cannot_break_out(suite):
    result = suite(budgets=MISSED + 'note = "ask\\u001b[31m\\nthe store team"\n')
    assert "note: ask?[31m the store team" in result.stdout.str()


def test_a_file_that_is_not_toml_is_an_error(suite):
    result = suite(budgets="[[budget]\n")
    result.assert_outcomes(errors=1)
    assert "kvcost.toml: is not TOML" in result.stdout.str()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kvcost.toml", "title = 'no tables'\n"),
        ("kvcost.toml", "budget_like = 1\n"),
        ("pyproject.toml", "[tool.kvcost]\ntitle = 'budget'\n"),
        ("pyproject.toml", "[tool.other]\nbudget = 1\nkvcost = 2\n"),
        ("other.toml", MISSED),
    ],
)
def test_nothing_is_collected_where_no_budgets_exist(suite, name, text):
    result = suite(budgets=text, name=name)
    result.assert_outcomes(passed=1)
    assert name not in result.stdout.str()


def test_it_is_found_without_being_named(pytester):
    (pytester.path / "kvcost.toml").write_text(MISSED, encoding="utf-8")
    result = pytester.runpytest_subprocess("-p", "no:hypothesispytest")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["plugins: *kvcost-*"])


def test_a_suite_without_budgets_loads_nothing_of_it(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_modules():
            mine = {m for m in sys.modules if m == "kvcost" or m.startswith("kvcost.")}
            assert mine == {"kvcost", "kvcost.checks", "kvcost.checks.plugin"}
            assert "numpy" not in sys.modules
        """
    )
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    found.assert_outcomes(passed=1)


def test_kvcost_may_be_imported_before_pytest(pytester):
    pytester.makepyfile(test_own="def test_own(): pass")
    code = (
        "import sys, kvcost, pytest\n"
        "assert 'PYTEST_DONT_REWRITE' in kvcost.__doc__\n"
        "sys.exit(pytest.main(['-q', '-W', 'error', '-p', 'no:cacheprovider']))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_it_can_be_turned_off(suite):
    suite("-p", "no:kvcost", budgets=MISSED).assert_outcomes(passed=1)


def test_a_nightly_benchmark_fails_the_build(suite, pytester):
    budget = (
        '[[budget]]\nname = "nightly"\nkind = "ttft"\nmax_ttft = "500 ms"\n'
        'measured = {file = "bench.json", field = "results.p99", unit = "s"}\n'
    )
    bench = pytester.path / "bench.json"
    bench.write_text('{"results": {"p99": 0.4}}')
    suite(budgets=budget).assert_outcomes(passed=2)
    bench.write_text('{"results": {"p99": 0.6}}')
    result = suite(budgets=budget)
    result.assert_outcomes(passed=1, failed=1)
    assert "measured TTFT 0.6 s is 20% above the 0.5 s allowed" in result.stdout.str()
    bench.unlink()
    suite(budgets=budget).assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_thousand_budgets(suite, workers):
    kinds = (
        'kind = "bandwidth"\ndeployment = "glm-5.3-8xb300"\nbandwidth = "{rate} GB/s"\n'
        'tokens = "64k"\n',
        'kind = "wait"\nservers = 8\nservice_mean = "{rate} ms"\ndistribution = "lognormal"\n'
        'service_scv = 2\nutilization = "90%"\nstatistic = "p99"\nmax_wait = "1 min"\n',
        'kind = "fits"\nmodel = "llama-3.3-70b"\nkv_dtype = "bf16"\naccelerator = "h100"\n'
        'gpus = 4\nbytes_per_weight = 2\nhbm_share = "90%"\ntokens = "{rate}k"\nrequests = 1\n',
        'kind = "stable"\nservers = 8\nservice_mean = "{rate} ms"\narrival_rate = "2/s"\n'
        'max_utilization = "90%"\n',
    )
    text = "".join(
        f'[[budget]]\nname = "budget {place}"\n' + kinds[place % 4].format(rate=10 + place // 4)
        for place in range(1000)
    )
    suite(*workers, "-q", budgets=text).assert_outcomes(passed=1001)
