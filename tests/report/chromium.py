"""A real headless Chromium without a network, or a reason why there is none."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
USUAL = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Seen:
    """What a page asked for and complained about."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def executable() -> str:
    """Return the path of Chromium; without one, fail in CI and skip elsewhere."""
    found = next(filter(None, map(shutil.which, USUAL)), None)
    if found is None:
        reason = "Chromium is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason=reason)
    return found


@contextmanager
def opened(path, *, width=1000, height=900, dark=False):
    """Open a file with the network off; yield the page and what it did."""
    program = executable()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            context = browser.new_context(
                viewport={"width": width, "height": height},
                offline=True,
                color_scheme="dark" if dark else "light",
            )
            page = context.new_page()
            seen = Seen()
            page.on("request", lambda request: seen.requests.append(request.url))
            page.on("console", lambda message: seen.complaints.append(message.text))
            page.on("pageerror", lambda error: seen.complaints.append(str(error)))
            page.goto(path.absolute().as_uri())
            yield page, seen
        finally:
            browser.close()
