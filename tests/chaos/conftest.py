"""Failures say how to repeat just the one."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.chaos.extent import FULL, VARIABLE
from tests.chaos.files import make_source


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        extent = f"{VARIABLE}=full " if FULL else ""
        report.sections.append(("again", f"{extent}.venv/bin/pytest '{item.nodeid}'"))
    return report


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What no test changes."""
    return make_source(tmp_path_factory.mktemp("chaos") / "source")
