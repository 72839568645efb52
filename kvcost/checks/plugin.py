"""The pytest plugin: budgets of ``kvcost.toml`` and ``pyproject.toml`` are test items.

A run without such a file costs one look at a file's name, and one for the two files in the root
folder. ``-p no:kvcost`` turns it off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kvcost.checks.outcome import Budget, BudgetError

__all__ = ["BudgetItem", "BudgetsFile", "pytest_collect_file", "pytest_configure"]

_NAMES = ("kvcost.toml", "pyproject.toml")
_MOST_BYTES = 4 << 20


def _has_budgets(path: Path) -> bool:
    """Tell whether a file states budgets, without loading kvcost's readers."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return False
        content = path.read_bytes()
    except OSError:
        return False
    if b"budget" not in content or (path.name == "pyproject.toml" and b"kvcost" not in content):
        return False
    import tomllib  # noqa: PLC0415 - loaded only when asked for

    try:
        table: Any = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        # pyproject.toml is another tool's to report, kvcost.toml is kvcost's
        return path.name != "pyproject.toml"
    if path.name == "pyproject.toml":
        tool = table.get("tool")
        table = tool.get("kvcost") if isinstance(tool, dict) else None
    return isinstance(table, dict) and "budget" in table


def pytest_configure(config: pytest.Config) -> None:
    """Add the budgets of the root folder to a run of the whole suite that names ``testpaths``."""
    source = getattr(config, "args_source", None)
    if getattr(source, "name", "") != "TESTPATHS" or config.getoption("pyargs", default=False):
        return
    for name in _NAMES:
        path = config.rootpath / name
        # pytest collects a file once, even if testpaths hold it too
        if _has_budgets(path):
            config.args.append(str(path))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the budgets of a file, if it is one that may hold any."""
    if file_path.suffix != ".toml":
        return None
    if file_path.name not in _NAMES and not parent.session.isinitpath(file_path):
        return None
    if not _has_budgets(file_path):
        return None
    found: pytest.Collector = BudgetsFile.from_parent(parent, path=file_path)
    return found


class BudgetsFile(pytest.File):
    """A file of budgets."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test item for each budget, validated all before any runs."""
        from kvcost.checks.budgets import read_budgets  # noqa: PLC0415 - loaded only when asked for
        from kvcost.errors import KvcostError  # noqa: PLC0415

        try:
            file = read_budgets(self.path, shown=self.nodeid)
        except KvcostError as error:
            raise self.CollectError(str(error)) from None
        taken: set[str] = set()
        found: list[Budget | BudgetError] = [*file.budgets, *file.errors]
        for budget in sorted(found, key=lambda each: each.number):
            # a bad budget may have no name, or that of another one
            name = budget.name or f"budget-{budget.number}"
            while name in taken:
                name = f"{name}-{budget.number}"
            taken.add(name)
            yield BudgetItem.from_parent(self, name=name, budget=budget)


class BudgetItem(pytest.Item):
    """A budget as a test."""

    def __init__(self, *, budget: Budget | BudgetError, **options: Any) -> None:
        super().__init__(**options)
        self.budget = budget
        self.extra_keyword_matches.add("budget")
        kind = getattr(budget, "kind", None)
        if kind is not None:
            self.extra_keyword_matches.add(kind)

    def runtest(self) -> None:
        """Fail with the budget's text where it is missed or cannot be judged."""
        from kvcost.checks.outcome import Budget  # noqa: PLC0415 - loaded only when asked for
        from kvcost.checks.show import one_line  # noqa: PLC0415
        from kvcost.errors import KvcostError  # noqa: PLC0415

        if not isinstance(self.budget, Budget):
            pytest.fail(one_line(str(self.budget)), pytrace=False)
        try:
            outcome = self.budget.judge()
        except KvcostError as error:
            pytest.fail(f"{self.nodeid}: {one_line(str(error))}", pytrace=False)
        if outcome.notes:
            self.add_report_section("call", "notes", "\n".join(outcome.notes))
        if not outcome.met:
            note = f"\nnote: {one_line(self.budget.note)}" if self.budget.note else ""
            pytest.fail(f"{one_line(outcome.text)}{note}", pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the budget stands."""
        return self.path, self.budget.line - 1, self.name
