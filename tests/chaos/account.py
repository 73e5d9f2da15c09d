"""What breaks an execution, and what must be true of it then."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from local.config import Fault
from tests.e2e.account import HOME, OTHER, Account, Run
from tests.e2e.files import tree
from tests.e2e.test_events import paths_with_data

AT_REST_SECONDS = 60
"""EC2 is asked until it says that all are terminated."""
MOVING_SECONDS = 120


def spoil(account: Account, operation: str, count: int, *, regions: Iterable[str] = (HOME, OTHER), **aim: Any) -> None:
    """Add a counted fault in some regions."""
    for region in regions:
        fault = {"operation": operation, "region": region, "count": count, **aim}
        account.cloud.spoil(Fault.model_validate(fault))


def moving(account: Account, transfer_id: str, *paths: str) -> None:
    """Wait until all these paths have delivered something."""
    account.cloud.wait_for(lambda: set(paths) <= paths_with_data(account, transfer_id), MOVING_SECONDS)


def relay(account: Account, transfer_id: str, node_id: str) -> str:
    """Instance of a relay."""
    return str(next(node["instanceId"] for node in account.nodes(transfer_id) if node["nodeId"] == node_id))


def check_arrived(account: Account, run: Run, transfer_id: str, source: Path, destination: Path) -> None:
    """It succeeded, the tree is the same, the report counts what one counts oneself, and nothing is left."""
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    arrived = tree(destination)
    assert arrived == tree(source)
    counted = {
        "bytes": sum(len(content) for kind, *_, content in arrived.values() if kind == "file"),
        "files": len(arrived),
        "failedChunks": [],
        "verified": True,
    }
    assert {name: run.report[name] for name in counted} == counted
    check_nothing_left(account, transfer_id)


def check_nothing_left(account: Account, transfer_id: str) -> None:
    """No instance, rule, daemon, lock or temporary object of the transfer."""
    with suppress(TimeoutError):
        account.cloud.wait_for(lambda: not account.left(transfer_id), AT_REST_SECONDS)
    assert account.left(transfer_id) == {}
