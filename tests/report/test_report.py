"""The report: answers that compare gives, nothing unescaped, no network, readable on a phone."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest

import kvcost as kv
from kvcost.cli import main
from kvcost.errors import ConfigError, InvalidValueError
from kvcost.files import write_file
from kvcost.planning import compare
from kvcost.report import build_report, to_html, to_markdown, write_report
from kvcost.report.answer import answer_sentence
from kvcost.report.blocks import Page, Paragraph, Table
from kvcost.report.mathml import mathml
from kvcost.report.text import markdown_text, visible
from kvcost.scenario import load_scenario
from kvcost.units import format_seconds
from tests.report.chromium import opened

HOSTILE = (
    "<script>alert(1)</script> | <img src=x onerror=alert(2)> [a](http://evil.test) & \"q\" 'r'"
)
VOID = {"meta", "link", "img", "br", "hr", "input", "source", "mspace"}
LOADS = {"src", "srcset", "data", "poster", "background", "action", "formaction", "xlink:href"}
MIXED = """
title = "Bursts on a background"
[model]
name = "llama-3.3-70b"
[replica]
count = 2
accelerator = "h100"
accelerators = 4
mfu = 0.5
decode_bandwidth_share = 0.8
[network]
bandwidth = "50 GB/s"
latency = "2 ms"
[workload]
kind = "bursts_on_background"
first = "5 s"
burst_requests = 40
burst_span = "10 s"
shared_tokens = 16384
background_rate = 0.5
background_tokens = 2048
duration = "30 s"
[policy]
name = "cache_aware"
[run]
replications = 3
"""


class Parsed(HTMLParser):
    """Elements, headings, texts and mistakes of nesting."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.headings, self.texts, self.open = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and re.fullmatch("h[1-6]", self.open[-1]):
            level, before = self.headings[-1]
            self.headings[-1] = (level, before + data)

    def named(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def scenario(name):
    if name == "mixed":
        return kv_scenario(MIXED)
    found = load_scenario(name)
    if name == "steady-70b":
        from dataclasses import replace

        return found.replace(workload=replace(found.workload, requests=2_000, warm_up=200))
    return found


def kv_scenario(text):
    from kvcost.scenario import Scenario

    return Scenario.from_toml(text)


@pytest.fixture(scope="module", params=["bullet-70b-burst", "steady-70b", "mixed"])
def page(request):
    made = build_report(scenario(request.param))
    return scenario(request.param), made, to_html(made), to_markdown(made)


@pytest.fixture(scope="module")
def hostile():
    base = load_scenario("bullet-70b-burst")
    table = base.to_table()
    table["title"] = HOSTILE + "\n# heading \u202e\x00"
    return build_report(type(base).from_table(table), ["cache_aware", "least_load"])


def test_headings_are_in_order(page):
    levels = [level for level, _ in Parsed(page[2]).headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    words = [text for _, text in Parsed(page[2]).headings]
    assert all(words)
    assert {"The answer", "Why", "Charts", "Assumptions", "Equations"} <= set(words)


def test_every_picture_has_a_text(page):
    parsed = Parsed(page[2])
    pictures = parsed.named("svg")
    assert len(pictures) >= 3
    for picture in pictures:
        assert picture["role"] == "img"
        assert len(picture["aria-label"]) > 40
        assert picture["viewbox"] if "viewbox" in picture else picture["viewBox"]
        assert "width" not in picture
    assert page[3].count("](data:image/svg+xml;base64,") == len(pictures)
    assert "![](" not in page[3]


def test_nothing_is_loaded_and_nothing_runs(page):
    parsed = Parsed(page[2])
    assert not {"script", "iframe", "object", "embed", "link", "base", "form"} & {
        name for name, _ in parsed.elements
    }
    for name, attrs in parsed.elements:
        assert not [key for key in attrs if key.startswith("on")]
        for key in LOADS & attrs.keys():
            assert attrs[key].startswith(("#", "data:")), (name, key)
        assert "javascript:" not in "".join(value or "" for value in attrs.values())
        assert not re.search(r"url\((?!#)", attrs.get("style") or "")
    style = page[2].split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    names = re.findall(r'\bid="([^"]+)"', page[2])
    assert len(names) == len(set(names))
    assert set(re.findall(r"url\(#([^)]+)\)", page[2])) <= set(names)


def test_page_is_one_small_file_made_for_phones(page):
    assert len(page[2].encode()) < 5_000_000
    assert len(page[3].encode()) < 5_000_000
    parsed = Parsed(page[2])
    views = [m["content"] for m in parsed.named("meta") if m.get("name") == "viewport"]
    assert views == ["width=device-width, initial-scale=1"]
    assert parsed.elements[0] == ("html", {"lang": "en"})
    assert not re.search(r"(?<!max-)(?<!min-)width:\s*\d+px", page[2])


def test_figures_on_the_page_are_those_of_compare(page):
    subject, made, text, markdown = page
    found = compare(subject)
    table = next(b for b in made.blocks if isinstance(b, Table) and b.numbers)
    assert [row[0].removesuffix(" (now)") for row in table.rows] == [
        answer.policy for answer in found.answers
    ]
    parsed = Parsed(text)
    shown = "\n".join(parsed.texts)
    for row, answer in zip(table.rows, found.answers, strict=True):
        told = answer.best if answer.simulated is None else answer.simulated
        assert row[2] == format_seconds(answer.rank)
        assert row[4:7] == tuple(map(format_seconds, (told.p50, told.p95, told.p99)))
        assert all(cell in shown for cell in row)
        assert "| " + " | ".join(map(markdown_text, row)) + " |" in markdown
    assert made.answer == answer_sentence(found, subject.policy.name)
    assert format_seconds(found.answers[0].rank) in made.answer
    assert made.answer.count(". ") == 0
    assert markdown_text(made.answer) in markdown
    methods = [a.closed.method for a in found.answers if a.closed is not None]
    assert all(method in shown for method in methods)
    assert all(a.closed.error.text in shown for a in found.answers if a.closed is not None)


def test_assumptions_name_their_sources(page):
    subject, _, text, _ = page
    shown = "\n".join(Parsed(text).texts)
    entry = kv.facts.get("accelerator", subject.replica.accelerator)
    fact = entry.fact("hbm_bandwidth")
    assert fact.source in shown
    assert str(fact.provenance) in shown
    assert fact.date.isoformat() in shown
    if subject.model.name is not None:
        assert str(kv.model.load(subject.model.name).provenance) in shown


def test_equations_are_those_of_the_registry(page):
    text = page[2]
    for name in ("prefill_seconds", "decode_step_seconds"):
        formula = kv.formula.get(name)
        assert mathml(formula.latex(), block=True) in text
        assert f"$${formula.latex()}$$" in page[3]


@pytest.mark.parametrize("name", sorted(kv.formula.registry()))
def test_every_formula_becomes_well_formed_mathml(name):
    formula = kv.formula.get(name)
    for latex in (formula.latex(), *(q.symbol for q in formula.parameters.values())):
        made = mathml(latex)
        assert made is not None, latex
        root = ElementTree.fromstring(made)
        assert root.tag == "math"
        tags = {element.tag for element in root.iter()}
        assert ("mfrac" in tags) == (r"\frac" in latex)
        assert ("mtable" in tags) == (r"\begin{cases}" in latex)
        for element in root.iter():
            wanted = {"mfrac": 2, "msub": 2, "msup": 2, "mover": 2, "msubsup": 3}
            assert len(element) == wanted.get(element.tag, len(element))


@pytest.mark.parametrize(
    "latex", [r"\frac{a}", r"\left(a", r"\href{x}{y}", "{", "a}", r"\begin{a}"]
)
def test_latex_that_is_not_read_gives_none(latex):
    assert mathml(latex) is None


def test_a_hostile_title_is_shown_and_does_nothing(hostile):
    text = to_html(hostile)
    parsed = Parsed(text)
    assert not {"script"} & {name for name, _ in parsed.elements}
    assert parsed.named("img") == []
    title = visible(HOSTILE + " # heading")
    assert (1, title) in parsed.headings
    assert "\u202e" not in text
    assert "\x00" not in text


def test_a_hostile_title_in_markdown(hostile):
    lines = to_markdown(hostile).splitlines()
    assert lines[0].startswith("# &lt;script&gt;")
    assert lines[1] == ""
    assert r"\|" in lines[0]
    assert r"\[a\](" in lines[0]
    assert "http://evil" not in lines[0]
    assert not re.search(r"(?<!\\)\|", lines[0])
    assert "<" not in "".join(line for line in lines if not line.startswith("$$"))


def test_tables_keep_hostile_cells_in_their_columns():
    cells = ("a | b", "c\\| d", "e\nf")
    page = Page(
        title="t",
        answer="a",
        missed=None,
        blocks=(
            Paragraph(text="*x* _y_ `z` #1 $1$ ~s~"),
            Table(caption="c", header=("1", "2", "3"), rows=(cells,)),
        ),
    )
    made = to_markdown(page)
    row = made.splitlines()[-1]
    assert len(re.split(r"(?<!\\)(?:\\\\)*\|", row)) == 5
    assert r"\*x\* \_y\_ \`z\` \#1 \$1\$ \~s\~" in made
    assert "<td>c\\| d</td><td>e f</td>" in to_html(page)


def test_pictures_of_markdown_are_svg(page):
    data = re.findall(r"base64,([^)]+)\)", page[3])
    for picture in data:
        root = ElementTree.fromstring(base64.b64decode(picture))
        assert root.tag.endswith("svg")


def test_the_sentence_tells_ties_and_savings():
    burst = load_scenario("bullet-70b-burst")
    two = compare(burst, ["least_load", "cache_aware"])
    saved = 1 - two["least_load"].mean / two["cache_aware"].mean
    assert f"{saved:.1%} less than under cache_aware" in answer_sentence(two, "cache_aware")
    assert "already" in answer_sentence(two, "least_load")
    alike = compare(burst, ["least_load", "round_robin"])
    assert "round_robin, the scenario's own policy, is within 1%" in answer_sentence(
        alike, "round_robin"
    )
    assert "round_robin is within 1%" in answer_sentence(alike, "random")
    one = compare(burst, "random")
    assert answer_sentence(one, "random").startswith("Under random, requests wait")


def test_the_command_writes_and_says_the_answer(tmp_path, capsys):
    path = tmp_path / "report.html"
    words = ["report", "bullet-70b-burst", "--policy", "cache_aware,least_load", "-o", str(path)]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "Route by least_load" in said.out
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    before = path.read_bytes()
    assert main(words) == 2
    assert "exists" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert main([*words, "--force", "--max-ttft", "1ms"]) == 1
    assert "BUDGET MISSED" in capsys.readouterr().out
    assert "BUDGET MISSED" in path.read_text()
    assert main([*words, "--force", "--max-ttft", "1s"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "report.pdf"], "no known ending"),
        (["-o", "none/report.html"], "no folder"),
        (["-o", "r.md", "--policy", "no_such"], "policy 'no_such' is not known"),
        (["-o", "r.md", "--max-ttft", "5"], "no unit"),
        (["-o", "r.md", "--runs", "0"], "--runs"),
        ([], "-o/--output"),
    ],
)
def test_bad_input_is_one_line_and_no_file(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "bullet-70b-burst", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_nothing_and_keeps_the_old(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("old")

    def broken():
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        write_file(path, broken, force=True)
    assert path.read_text() == "old"
    with pytest.raises(ConfigError, match="folder"):
        write_file(tmp_path, lambda: b"", force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["a.md"]
    page = Page(title="t", answer="a", missed=None, blocks=())
    with pytest.raises(InvalidValueError, match="ending"):
        write_report(page, tmp_path / "a.txt")
    assert write_report(page, path, force=True).read_text() == "# t\n"


def test_the_same_scenario_gives_the_same_page():
    burst = load_scenario("bullet-70b-burst")
    first, second = (
        to_html(build_report(burst, ["cache_aware", "preble"], replications=2)) for _ in range(2)
    )
    assert hash(first) == hash(second)  # their difference would take long to show


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [380, 1000])
def test_chromium_shows_the_page_without_overflow_or_complaint(page, tmp_path, width, dark):
    path = tmp_path / "report.html"
    path.write_text(page[2], encoding="utf-8")
    with opened(path, width=width, dark=dark) as (shown, seen):
        size = shown.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert size[0] <= size[1] == width
        outside = shown.evaluate(
            """() => [...document.querySelectorAll('main > *')]
                .filter(e => e.getBoundingClientRect().right > window.innerWidth + 0.5)
                .map(e => e.outerHTML.slice(0, 80))"""
        )
        assert outside == []
        assert shown.evaluate(
            "() => [...document.querySelectorAll('svg')].every(e => e.clientHeight > 60)"
        )
        # text and ground differ in both schemes
        colours = shown.evaluate(
            "() => [getComputedStyle(document.body).color,"
            " getComputedStyle(document.querySelector('figure svg')).backgroundColor]"
        )
        assert colours[1] == "rgb(255, 255, 255)"
        assert (colours[0] == "rgb(255, 255, 255)") == dark
        assert seen.complaints == []
        assert seen.requests == [path.absolute().as_uri()]


def test_chromium_runs_nothing_of_a_hostile_title(hostile, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(to_html(hostile), encoding="utf-8")
    with opened(path, width=380) as (shown, seen):
        dialogs = []
        shown.on("dialog", lambda dialog: dialogs.append(dialog.message))
        assert "alert(1)" in shown.text_content("h1")
        assert shown.evaluate("document.documentElement.scrollWidth") <= 380
        assert (dialogs, seen.complaints, len(seen.requests)) == ([], [], 1)
