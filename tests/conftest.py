import os
import shutil
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import JSONFileLoader, Loader
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from local import nursery
from local.open_files import raise_limit
from tests.turns import turn

# Tests talk to several clouds at once, whose clients keep their connections.
raise_limit(what="pytest")


class _ReadOnce(JSONFileLoader):
    """Descriptions of services: each session would read them anew, a fifth of what the tests themselves compute."""

    _kept = staticmethod(cache(JSONFileLoader().load_file))

    def load_file(self, file_path: str) -> Any:
        # A client of S3 changes its description: it takes the bucket out of all addresses.
        return super().load_file(file_path) if "/s3/" in file_path else self._kept(file_path)


Loader.FILE_LOADER_CLASS = _ReadOnce

# Powertools reads these when a handler is imported, by whichever test comes first.
os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "cpt-test")
os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "cpt")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "1")
os.environ.setdefault("AWS_DEFAULT_REGION", "us-west-2")

# Machines are shared: how long an example takes says nothing.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

SESSION = "CPT_TEST_SESSION"
"""Names a folder that all workers of a session share."""
PACED_AT_ONCE = 3
SKIPPED = "CPT_SKIPPED"
"""Names the list of what tests did not try; those of the daemon add to the same one."""
WORKER = "PYTEST_XDIST_WORKER"
ON_CLOUDS = ("tests/e2e/", "tests/chaos/", "tests/docs/", "tests/page/", "tests/local/")
# Each takes a minute and a half and more of a worker (`--durations 0`), in this order.
LONGEST = tuple(
    f"tests/{name}.py"
    for name in (
        *("docs/test_commands", "e2e/test_leaving", "e2e/test_first_transfer", "e2e/test_endings"),
        *("e2e/test_again", "e2e/test_people"),
    )
)
# Each of their tests may run anywhere: it has the default account, and knows nothing of the others.
APART = tuple(f"tests/e2e/test_{name}.py" for name in ("come_back", "ends", "events", "replacement"))


class Scheduling(LoadFileScheduling):
    """By file, but for those of which tests may run apart."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(APART) else str(super()._split_scope(nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    return Scheduling(config, log) if config.option.dist == "loadfile" else None


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.environ[SESSION] = tempfile.mkdtemp(prefix="cpt-tests-")
        os.environ[nursery.VARIABLE] = f"{os.environ[SESSION]}/nursery"


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ[SESSION], ignore_errors=True)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test that is skipped goes into the list that `make test` ends with; the controller has its workers' reports."""
    if SKIPPED in os.environ and report.skipped and WORKER not in os.environ and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        with Path(os.environ[SKIPPED]).open("a") as listed:
            listed.write(f"{report.nodeid}\t{reason}\n")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first, then all that wait for local clouds: short tests fill all workers at the end."""
    items.sort(key=lambda item: (_rank(item.nodeid), not item.nodeid.startswith(ON_CLOUDS)))


def _rank(nodeid: str) -> int:
    return next((rank for rank, name in enumerate(LONGEST) if nodeid.startswith(name)), len(LONGEST))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("paced") is None:
        return (yield)
    with turn(Path(os.environ[SESSION]), "paced", PACED_AT_ONCE):
        return (yield)
