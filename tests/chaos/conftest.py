"""Failures say how to repeat just the one."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.chaos.extent import FULL, VARIABLE
from tests.chaos.files import make_source

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # A cut that lasts for ever is noticed after 90 s, and one test waits for several.
    for item in items:
        if HERE in item.path.parents and FULL:
            item.add_marker(pytest.mark.timeout(900))


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
