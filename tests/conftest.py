import os

import pytest

from local.open_files import raise_limit

# Tests talk to several clouds at once, whose clients keep their connections.
raise_limit(what="pytest")

# Powertools reads these when a handler is imported, by whichever test comes first.
os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "cpt-test")
os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "cpt")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "1")
os.environ.setdefault("AWS_DEFAULT_REGION", "us-west-2")

ON_CLOUDS = ("tests/e2e/", "tests/chaos/", "tests/docs/", "tests/page/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for local clouds comes first: short tests fill all workers at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(ON_CLOUDS))
