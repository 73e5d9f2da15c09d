import os

import pytest
from hypothesis import HealthCheck, settings

from local.open_files import raise_limit

# Tests talk to several clouds at once, whose clients keep their connections.
raise_limit(what="pytest")

# Powertools reads these when a handler is imported, by whichever test comes first.
os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "cpt-test")
os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "cpt")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "1")
os.environ.setdefault("AWS_DEFAULT_REGION", "us-west-2")

# Machines are shared: how long an example takes says nothing.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

ON_CLOUDS = ("tests/e2e/", "tests/chaos/", "tests/docs/", "tests/page/", "tests/local/")
# Each takes two minutes and more of a worker (`--durations 0`).
LONGEST = tuple(f"tests/{name}.py" for name in ("e2e/test_replacement", "e2e/test_limits", "e2e/test_routes"))
LONGEST += tuple(f"tests/{name}.py" for name in ("e2e/test_endings", "docs/test_commands", "e2e/test_cdk_deploy"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first, then all that wait for local clouds: short tests fill all workers at the end."""
    items.sort(key=lambda item: (not item.nodeid.startswith(LONGEST), not item.nodeid.startswith(ON_CLOUDS)))
