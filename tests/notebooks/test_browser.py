"""Notebooks in a browser: JupyterLab runs them, charts are drawn offline, sliders tell the truth.

A chart may be in a cell's output and still not be on the page, so the page is what is inspected.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

if os.environ.get("CI"):
    from playwright import sync_api
else:
    sync_api = pytest.importorskip("playwright.sync_api")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
QUIET = {"fetchNews": "false", "checkForUpdates": False}
PATIENCE = 240  # seconds that a notebook may run

READY = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  return Boolean(panel?.context?.isReady && panel.content?.widgets?.length);
}"""

RUN_ALL = """async (seconds) => {
  await jupyterapp.shell.currentWidget.context.sessionContext.ready;
  const late = new Promise((_, no) => setTimeout(() => no(new Error("too slow")), seconds * 1000));
  await Promise.race([jupyterapp.commands.execute("notebook:run-all-cells"), late]);
}"""

CELLS = """async () => {
  const found = [];
  for (const cell of jupyterapp.shell.currentWidget.content.widgets) {
    if (cell.model.type !== "code") continue;
    cell.node.scrollIntoView();
    await new Promise(requestAnimationFrame);
    const pictures = cell.node.querySelectorAll(".vega-embed canvas, .vega-embed svg.marks");
    const embeds = [...cell.node.querySelectorAll(".vega-embed")];
    found.push({
      id: cell.model.id,
      count: cell.model.executionCount,
      kinds: cell.model.outputs.toJSON().map((output) => output.output_type),
      text: cell.node.querySelector(".jp-OutputArea")?.innerText ?? "",
      sizes: [...pictures].map((picture) => {
        const box = picture.getBoundingClientRect();
        return [box.width, box.height];
      }),
      marks: embeds.map((embed) => embed.querySelectorAll(".mark-group .role-mark > *").length),
      sliders: [...cell.node.querySelectorAll(".vega-bind input")].map((input) => input.name),
    });
  }
  return found;
}"""

MOVE = """async ([id, values]) => {
  const cells = jupyterapp.shell.currentWidget.content.widgets;
  const node = cells.find((cell) => cell.model.id === id).node;
  const view = node.querySelector(".vega-embed").vegaView;
  const picture = () => node.querySelector(".vega-embed svg.marks").innerHTML;
  const before = picture();
  for (const [name, value] of Object.entries(values)) {
    const input = node.querySelector(`.vega-bind input[name="${name}"]`);
    input.value = String(value);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }
  // the page itself must have noticed; only then is the picture asked for
  const moved = () => Object.entries(values).every(([name, value]) => view.signal(name) === value);
  for (let tries = 0; tries < 100 && !moved(); tries += 1) {
    await new Promise((after) => setTimeout(after, 50));
  }
  await view.runAsync();
  const rows = [];
  const walk = (item) => {
    if (item.role === "mark" && item.marktype !== "group") {
      rows.push(...item.items.map((each) => each.datum));
    }
    for (const inner of item.items ?? []) walk(inner);
  };
  walk(view.scenegraph().root);
  return { moved: moved(), changed: picture() !== before, rows: JSON.stringify(rows) };
}"""

ASK = """async (expression) => {
  const { kernel } = jupyterapp.shell.currentWidget.context.sessionContext.session;
  const asked = { code: "", store_history: false, user_expressions: { found: expression } };
  const { content } = await kernel.requestExecute(asked).done;
  const { found } = content.user_expressions;
  return found.status === "ok" ? found.data["text/plain"] : `${found.ename}: ${found.evalue}`;
}"""


@dataclass(frozen=True)
class Curve:
    """What a picture shows: rows by some columns, and what Python says of them.

    The expression is evaluated by the notebook's kernel, with the sliders' values as names.
    """

    by: tuple[str, ...]
    shows: str
    python: str


@dataclass(frozen=True)
class Moved:
    """A chart with sliders, and where they are put: somewhere, then at their ends."""

    cell: str
    places: tuple[dict[str, float], ...]
    curves: tuple[Curve, ...]


SLIDERS = {
    "02_fetch_or_recompute": Moved(
        "slider-chart",
        ({"gigabytes": 20.5, "overhead": 0.17}, {"gigabytes": 1, "overhead": 1}),
        (
            Curve(
                ("at",),
                "n",
                """{(0,): n for n in [float(kv.breakeven.break_even_tokens_linear(
                    kv_bytes_per_token=weight, prefill_per_token=prefill.per_token,
                    overhead_seconds=overhead, bandwidth=gigabytes * 1e9))] if n <= 60_000}""",
            ),
            Curve(
                ("way", "tokens"),
                "seconds",
                """{(way, float(n)): float(seconds) for n in span["tokens"] for way, seconds in (
                    ("compute", prefill.per_token * n),
                    ("fetch", kv.transfer.transfer_seconds(**{
                        **dict.fromkeys(kv.transfer.transfer_seconds.parameters, 0.0),
                        "overhead_seconds": overhead, "moved_bytes": n * weight,
                        "seconds_per_byte": 1 / (gigabytes * 1e9)})))}""",
            ),
        ),
    ),
    "03_waiting": Moved(
        "slider-chart",
        ({"servers": 7, "scv": 2.3}, {"servers": 1, "scv": 0}),
        (
            Curve(
                ("way", "busy"),
                "wait",
                """{(way, float(busy)): float(formula(
                    utilization=float(busy), service_seconds=1.0, service_scv=scv, **more))
                    for busy in np.linspace(0, 0.99, 100) for way, formula, more in (
                        ("one server", single, {}),
                        ("several servers", pooled, {"servers": servers, "arrival_scv": 1.0}))}""",
            ),
        ),
    ),
    "04_routing_under_bursts": Moved(
        "slider-chart",
        (
            {"requests": 320, "span": 37, "prefix": 32768},
            {"requests": 50, "span": 120, "prefix": 131072},
        ),
        (
            Curve(
                ("way",),
                "mean_ttft",
                """[{way: mean_ttft(changed, count, after) for way, count, after in (
                    ("one replica", 1, math.inf), ("in turns", replicas, math.inf),
                    ("copied", 1, costs.copy(prefix)))}
                    for changed in [with_work(BURSTS[CASE], requests=requests, span=float(span),
                        shared_tokens=prefix)]][0]""",
            ),
        ),
    ),
}


def chromium():
    """Return the path of Chromium; without one, fail in CI and skip elsewhere."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is not installed")
        pytest.skip(reason="chromium is not installed")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass(frozen=True)
class Lab:
    """A running server."""

    address: str
    token: str


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab over a copy of the notebooks, with settings of its own, that asks nobody."""
    chromium()
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", home / "notebooks")
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(QUIET))
    port, token = free_port(), secrets.token_hex(16)
    environment = os.environ | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "IPYTHONDIR": str(home / "ipython"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.getenv("PYTHONPATH")])]),
    }
    recipe = re.search(r"/jupyter lab (.*)", (ROOT / "Makefile").read_text())
    flags = recipe[1].replace("$(LABFLAGS)", "").replace("=notebooks", f"={home / 'notebooks'}")
    command = [sys.executable, "-m", "jupyterlab", *flags.split(), "--no-browser", "--allow-root"]
    command += [
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
    ]
    with (
        (home / "log").open("w") as log,
        subprocess.Popen(
            command, env=environment, stdout=log, stderr=subprocess.STDOUT, cwd=home
        ) as server,
    ):
        try:
            wait_for(port, server, home / "log")
            yield Lab(f"http://127.0.0.1:{port}", token)
        finally:
            server.terminate()


def wait_for(port, server, log):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"JupyterLab did not start: {log.read_text()[-2000:]}")


@dataclass
class Opened:
    """A notebook on a page, run, and what the page complained of or asked for."""

    name: str
    page: object
    complaints: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    cells: list[dict] = field(default_factory=list)

    @property
    def charts(self):
        """Return the cells whose job is a chart."""
        return [cell for cell in self.cells if cell["id"].endswith("-chart")]


def is_local(address):
    parts = urlsplit(address)
    return parts.hostname in {"127.0.0.1", "localhost"} or parts.scheme in {"data", "blob"}


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def opened(request, lab, browser):
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    found = Opened(request.param.stem, page)

    def gate(route):
        if is_local(route.request.url):
            route.continue_()
        else:
            found.elsewhere.append(route.request.url)
            route.abort()

    def noted(message):
        if message.type == "error":
            found.complaints.append(message.text)

    def socket_seen(asked):
        if not is_local(asked.url):
            found.elsewhere.append(asked.url)

    context.route("**/*", gate)
    page.on("websocket", socket_seen)
    page.on("console", noted)
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.goto(f"{lab.address}/lab/tree/{request.param.name}?reset&token={lab.token}")
    page.wait_for_function(READY, timeout=60_000)
    page.evaluate(RUN_ALL, PATIENCE)
    found.cells = page.evaluate(CELLS)
    yield found
    # one kernel at a time: each holds a compiler
    page.evaluate("() => jupyterapp.shell.currentWidget.context.sessionContext.shutdown()")
    context.close()


def test_lab_opens_with_the_index(lab, browser):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{lab.address}/?token={lab.token}")
        page.wait_for_function(READY, timeout=60_000)
        path = page.evaluate("() => jupyterapp.shell.currentWidget.context.path")
    assert path == NOTEBOOKS[0].name == "00_index.ipynb"


def test_every_cell_ran(opened):
    assert [cell["count"] for cell in opened.cells] == list(range(1, len(opened.cells) + 1))
    assert [cell["id"] for cell in opened.cells if {"error", "stream"} & {*cell["kinds"]}] == []


def test_every_chart_is_on_the_page(opened):
    assert opened.charts
    for cell in opened.charts:
        assert len(cell["sizes"]) == 1, cell["id"]
        assert min(cell["sizes"][0]) > 50, cell["id"]
        assert cell["marks"][0] > 0, cell["id"]
        assert "error" not in cell["text"].lower(), cell["id"]
        assert "cannot be drawn" not in cell["text"], cell["id"]


def test_nothing_is_asked_of_another_host(opened):
    assert opened.elsewhere == []


def test_the_page_does_not_complain(opened):
    assert opened.complaints == []


def test_sliders_change_the_picture_to_what_python_says(opened):
    with_sliders = [cell for cell in opened.cells if cell["sliders"]]
    if opened.name not in SLIDERS:
        assert with_sliders == [], "say in SLIDERS what this notebook's sliders must show"
        return
    moved = SLIDERS[opened.name]
    [cell] = with_sliders
    assert cell["id"] == moved.cell
    for place in moved.places:
        assert set(cell["sliders"]) == set(place)
        seen = opened.page.evaluate(MOVE, [moved.cell, place])
        assert seen["moved"], place
        assert seen["changed"], place
        rows = [row for row in json.loads(seen["rows"]) if row is not None]
        for curve in moved.curves:
            compare(shown_by(curve, rows), asked_of_python(opened.page, curve, place))


def shown_by(curve, rows):
    columns = {*curve.by, curve.shows}
    held = [row for row in rows if columns <= row.keys()]
    return {tuple(row[name] for name in curve.by): row[curve.shows] for row in held}


def asked_of_python(page, curve, place):
    arguments = ", ".join(f"{name}={value!r}" for name, value in place.items())
    said = page.evaluate(ASK, f"(lambda {', '.join(place)}: ({curve.python}))({arguments})")
    found = ast.literal_eval(said)
    return {key if isinstance(key, tuple) else (key,): value for key, value in found.items()}


def compare(shown, expected):
    assert shown.keys() == expected.keys()
    assert all(map(math.isfinite, expected.values()))
    for key, value in expected.items():
        assert shown[key] == pytest.approx(value, rel=1e-9, abs=1e-12), key
