"""A function that crashes, in whichever state: nothing of the transfer is left running."""

from pathlib import Path
from typing import Any

import pytest

from tests.chaos.extent import cases
from tests.e2e.account import Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_endings import STATES, nothing_left

FUNCTIONS = [name.lower().replace(" ", "-") for name in STATES]
IN_BRANCH = ("spawn-relays", "await-relays", "pre-test-relays", "join-relays", "release-relays")
# Before there are relays, with a sender that never starts, and where nothing takes down what there is.
SHORT = ["start-transfer", "tear-down"]


@pytest.mark.parametrize("function", cases([name for name in FUNCTIONS if name not in IN_BRANCH], SHORT))
def test_a_function_that_crashes(account: Account, tmp_path: Path, function: str) -> None:
    crashed = crash(account, tmp_path, function)
    assert crashed["status"] == "FAILED"
    nothing_left(account, f"crash-{function}")


@pytest.mark.parametrize("function", cases(IN_BRANCH, ["spawn-relays"]))
def test_a_function_of_the_fleet_that_crashes_leaves_the_direct_path(
    account: Account, tmp_path: Path, function: str
) -> None:
    crashed = crash(account, tmp_path, function)
    assert crashed["status"] == "SUCCEEDED"
    nothing_left(account, f"crash-{function}")
    assert tree(tmp_path / "out" / "set") == tree(tmp_path / "set")


def crash(account: Account, work: Path, function: str) -> dict[str, Any]:
    """The execution of a transfer in which a function never succeeds, when it has ended."""
    source = make_files(work / "set", large_bytes=30_000_000)
    account.configure(f"cpt-{function}", MAX_PAIRS="not a number")
    try:
        # Where no sender comes, relays would wait for it until the join timeout.
        pairs = 0 if function == "start-transfer" else 1
        request = account.request(source, work / "out", relays={"pairs": pairs}, preTest=bool(pairs))
        arn = account.start(request, f"crash-{function}")

        def ended() -> dict[str, Any] | None:
            found = account.describe(arn)
            return None if found["status"] == "RUNNING" else found

        return account.cloud.wait_for(ended, 90)
    finally:
        account.configure(f"cpt-{function}", MAX_PAIRS="16")
