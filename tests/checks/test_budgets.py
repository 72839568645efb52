"""Files of budgets: where tables stand, names, whole-file errors, deployments by two readers."""

from __future__ import annotations

import json

import pytest

from kvcost.checks import deployment, read_budgets
from kvcost.checks.costs import KEYS
from kvcost.cli import main
from kvcost.cli.breakeven import configure
from kvcost.cli.deployment import shipped_deployments
from kvcost.cli.parser import Parser
from kvcost.errors import ConfigError, InvalidValueError, KvcostError, UnknownNameError
from kvcost.facts import data_path

STABLE = '[[budget]]\nname = "{}"\nkind = "stable"\nmeasured = "50%"\nmax_utilization = "90%"\n'


def test_the_shipped_example_is_met():
    found = read_budgets(data_path("examples", "budgets.toml"))
    assert not found.errors
    assert [budget.kind for budget in found.budgets] == [
        "ttft", "bandwidth", "fits", "stable", "wait",
    ]  # fmt: skip
    assert all(budget.judge().met for budget in found.budgets)


def test_one_bad_budget_does_not_hide_the_others(read):
    bad = '[[budget]]\nname = "bad"\nkind = "stable"\n'
    found = read(STABLE.format("a") + "\n" + bad + bad.replace("bad", "c") + STABLE.format("d"))
    assert [(budget.name, budget.number, budget.line) for budget in found.budgets] == [
        ("a", 1, 1),
        ("d", 4, 13),
    ]
    assert [(error.name, error.number, error.line) for error in found.errors] == [
        ("bad", 2, 7),
        ("c", 3, 10),
    ]


def test_lines_are_1_where_tables_are_written_another_way(read):
    inline = 'budget = [{name = "a", kind = "stable", measured = "5%", max_utilization = 0.9}]\n'
    assert read("title = 'x'\n" + inline).budgets[0].line == 1
    text = STABLE.format("a").replace("stable", "stable") + 'note = """\n[[budget]]\n"""\n'
    assert read(text).budgets[0].line == 1


@pytest.mark.parametrize("name", ["", " a", "a::b", "a\\nb", "\\u001b[31m", "a\\u202eb", "x" * 121])
def test_names_that_cannot_be_node_ids_are_refused(read, name):
    error = read(STABLE.format(name)).errors[0]
    assert str(error).startswith("budgets.toml:1: budget 1: name ")
    assert str(error).isprintable() or "\\x1b" not in str(error)


def test_names_are_their_own(read):
    found = read(STABLE.format("a") * 2)
    assert "name a is that of budget 1 too" in str(found.errors[0])
    assert len(found.budgets) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no budget"),
        ("title = 'x'", "holds no budget"),
        ("[[budgets]]\nname = 'x'", "unknown key 'budgets': the nearest is budget"),
        ("budget = 3", "budget is no list of tables"),
        ("[budget]\nname = 'x'", "budget is no list of tables"),
        ("[[budget]\n", "is not TOML"),
    ],
)
def test_files_that_hold_no_budgets_are_refused(read, text, said):
    with pytest.raises(ConfigError, match=said) as caught:
        read(text)
    assert caught.value.path == "budgets.toml"


def test_a_budget_that_is_no_table(read):
    assert "is no table" in str(read("budget = [1]").errors[0])


def test_files_that_are_not_there_or_no_text(folder):
    with pytest.raises(ConfigError, match="No such file"):
        read_budgets("gone.toml")
    (folder / "latin.toml").write_bytes(b"title = '\xe9'\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_budgets("latin.toml")


def test_pyproject_has_its_own_table(read):
    text = '[project]\nname = "x"\n' + STABLE.format("a").replace("budget", "tool.kvcost.budget")
    found = read(text, "pyproject.toml")
    assert [(budget.name, budget.line) for budget in found.budgets] == [("a", 3)]
    with pytest.raises(ConfigError, match="holds no budget"):
        read('[project]\nname = "x"\n' + STABLE.format("a"), "pyproject.toml")


def test_paths_begin_at_the_budgets_folder(folder, monkeypatch):
    inner = folder / "inner"
    inner.mkdir()
    (inner / "d.toml").write_text(data_path("examples", "glm-5.3-8xb300.toml").read_text())
    (inner / "bench.json").write_text(json.dumps({"p99": 0.2}))
    (inner / "b.toml").write_text(
        '[[budget]]\nname = "a"\nkind = "ttft"\ndeployment = "d.toml"\nway = "faster"\n'
        'max_ttft = {file = "bench.json", field = "p99", unit = "s"}\n'
    )
    found = read_budgets("inner/b.toml")
    assert not found.errors
    assert found.budgets[0].judge().limit == 0.2


# deployments: kvcost breakeven reads the same files


def test_both_readers_know_the_same_keys():
    parser = Parser(prog="kvcost breakeven")
    configure(parser)
    flags = {action.dest for action in parser._actions} - {
        "help", "json", "csv", "require", "max_ttft", "deployment",
    }  # fmt: skip
    own = {"kv_bytes_per_token", "fixed_bytes_per_request", "deployment"}
    assert flags == KEYS - own


@pytest.mark.parametrize("name", shipped_deployments())
def test_both_readers_decide_alike(name, capsys):
    assert main(["breakeven", "--deployment", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    decision = deployment(name).decision().as_dict()
    for key, value in decision.items():
        if key not in {"notes", "provenance"}:
            assert told[key] == (list(value) if isinstance(value, tuple) else value), key


_HARDWARE = {"accelerator": "h200", "gpus": "8", "mfu": "40%"}
_HARDWARE |= {"compute_dtype": "fp8", "bytes_per_weight": "1"}


@pytest.mark.parametrize(
    "changes",
    [
        {"kv_dtype": "bf16"},
        {"index_dtype": "bf16"},
        {"layout": "vllm"},
        {"overhead": "20 ms"},
        {"link": "1 GB/s"},
        {"client": "0.4 GB/s", "ranks": "2"},
        {"shards": "4", "shard_efficiency": "80%"},
        {"copies": "2"},
        {"engines": "3"},
        {"chunk": "300"},
        {"chunk": "256", "per_key": "1 ms"},
        {"tokens": "40k", "last_token": True},
        {"loading": "sync"},
        {"floor": "2 s"},
        {"prefill": ["8k=0.2s", "16k=0.31s", "64k=2s"]},
        {"prefill": ["8k=0.2s", "16k=0.31s", "64k=2s"], "weighting": "relative"},
        _HARDWARE,
        {**_HARDWARE, "no_attention": True},
        {**_HARDWARE, "active_parameters": "20e9"},
        {"model": "llama-3.3-70b", **_HARDWARE},
        {"model": "jamba-1.5-large", **_HARDWARE, "state_dtype": "bf16", "conv_dtype": "fp32"},
        {"kv_dtype": "int4", "group_size": "32", "group_scale": "4B"},
    ],
    ids="+".join,
)
def test_every_key_means_what_its_flag_means(changes, capsys):
    words = ["breakeven", "--deployment", "glm-5.3-8xb300", "--json"]
    for key, value in changes.items():
        flag = f"--{key.replace('_', '-')}"
        if key == "model":
            words.insert(1, value)
        elif value is True:
            words.append(flag)
        else:
            values = value if isinstance(value, list) else [value]
            words += [word for each in values for word in (flag, each)]
    code = main(words)
    captured = capsys.readouterr()
    if code:
        with pytest.raises(KvcostError):
            deployment("glm-5.3-8xb300", **changes).decision()
        pytest.fail(f"the command refuses this too: {captured.err}")
    told = json.loads(captured.out)
    found = deployment("glm-5.3-8xb300", **changes).decision().as_dict()
    plain = deployment("glm-5.3-8xb300").decision().as_dict()
    names = ("hit_seconds", "recompute_seconds", "bandwidth", "hit_gpu_seconds")
    assert [told[name] for name in names] == pytest.approx([found[name] for name in names])
    assert found != plain, "the key changes nothing"


def test_budgets_are_no_deployment():
    assert "budgets" not in shipped_deployments()
    with pytest.raises(UnknownNameError):
        deployment("budgets")


def test_changes_of_a_deployment():
    changed = deployment("glm-5.3-8xb300", bandwidth="5 GB/s", tokens="64k")
    assert changed.path.bandwidth == 5e9
    shared = {"shards": 4, "shard_efficiency": "80%", "engines": 3, "client": "1 GB/s"}
    for each in (changed, deployment("glm-5.3-8xb300", **shared)):
        assert each.at_bandwidth(7e9).path.bandwidth == 7e9
    sized = deployment("glm-5.3-8xb300", kv_bytes_per_token="1 kB", fixed_bytes_per_request="0 B")
    assert sized.kv_bytes_per_token == 1000
    with pytest.raises(UnknownNameError, match="bandwidth"):
        deployment("glm-5.3-8xb300", bandwith="5 GB/s")
    with pytest.raises(InvalidValueError, match="would change nothing"):
        deployment("glm-5.3-8xb300", weighting="relative", prefill=["16k=1s"], mfu="50%")


def test_keys_of_a_deployment_file_are_named_with_it(refused, folder):
    (folder / "d.toml").write_text('tokens = "64K"\n')
    assert "tokens of d.toml 64K may be" in refused("bandwidth", deployment="d.toml")
    (folder / "d.toml").write_text('tokenz = "64k"\n')
    assert "d.toml: unknown key 'tokenz'" in refused("bandwidth", deployment="d.toml")
