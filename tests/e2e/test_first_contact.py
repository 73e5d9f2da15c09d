"""Nothing is known of two machines that burst: the first seconds of the transfer itself decide about relays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.figures import tell_figures
from local.cloud import namespaces_available
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import make_files, tree

pytestmark = pytest.mark.paced

END, RELAY = "t3.small", "c6in.large"
BOOT_SECONDS = 1.0
MB = 1_000_000
# Two pairs and the direct path carry 36 MB/s, for 20 s and more: what they do is known 6 s after they have joined.
SIZE_MB, DIRECT_MB_S, MOST_PAIRS = 840, 12, 2


@pytest.fixture(scope="module")
def first_contact(make_account: Callable[..., Account]) -> Account:
    """Only how long relays take to start is told: it is 40 times shorter than on AWS."""
    caps = {END: {"interRegionMBps": 12.0, "intraRegionMBps": 120.0}, RELAY: {"interRegionMBps": 12.0}}
    account = make_account(caps={"byType": caps}, bootSeconds=BOOT_SECONDS)
    account.configure("cpt-decide-relays", POLL_SECONDS="0.2", MAX_PAIRS=str(MOST_PAIRS))
    tell_figures(account.aws, f"{HOME}>{OTHER}", [RELAY], {}, BOOT_SECONDS + 2)
    return account


def test_relays_are_spawned_by_what_the_first_seconds_show(first_contact: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=SIZE_MB * MB)
    wish: dict[str, Any] = {"relays": {"pairs": "auto", "instanceTypes": [RELAY]}, "objective": {"minimise": "time"}}
    run = first_contact.run(first_contact.request(source, tmp_path / "out", **wish), "first-contact")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    first, *again = run.report["decisions"]
    assert (first["served"], first["afterSeconds"] < 20) == (0, True)
    assert first["directMBps"] == pytest.approx(DIRECT_MB_S, rel=0.2)
    assert "the direct path carries" in first["reason"]
    assert first["pairs"] == MOST_PAIRS
    assert again
    assert run.report["pairs"] == MOST_PAIRS
    assert run.report["seconds"]["transfer"] < SIZE_MB / DIRECT_MB_S
    states = first_contact.history(run.arn)
    assert states.index("Decide Relays") < states.index("Spawn Relays")
    assert states.index("Start Transfer") < states.index("Spawn Relays")


def test_a_decision_that_crashes_leaves_the_direct_path(first_contact: Account, tmp_path: Path) -> None:
    """To a machine that nothing was measured to."""
    source = make_files(tmp_path / "set", large_bytes=120 * MB)
    request = first_contact.request(source, tmp_path / "out")
    request["destination"]["instanceId"] = first_contact.cloud.launch_vm(OTHER, "another", END)
    wish: dict[str, Any] = {"relays": {"pairs": "auto", "instanceTypes": [RELAY]}, "objective": {"minimise": "time"}}
    first_contact.configure("cpt-decide-relays", MAX_PAIRS="not a number")
    try:
        run = first_contact.run({**request, **wish}, "no-decision")
    finally:
        first_contact.configure("cpt-decide-relays", MAX_PAIRS=str(MOST_PAIRS))
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert "Decide Relays" in first_contact.history(run.arn)
    assert run.report["pairs"] == 0


@only_full
@pytest.mark.skipif(not namespaces_available(), reason="only the kernel holds what a machine moves in all")
def test_relays_that_do_not_help_are_released_and_the_report_says_why(
    make_account: Callable[..., Account], tmp_path: Path
) -> None:
    """The direct path fills the ends, which nobody can know before relays share the same rate with it."""
    full = {"interRegionMBps": 12.0, "intraRegionMBps": 12.0}
    caps = {END: full, RELAY: {"interRegionMBps": 12.0, "intraRegionMBps": 200.0}}
    account = make_account(caps={"byType": caps}, bootSeconds=BOOT_SECONDS, instances="netns")
    account.configure("cpt-decide-relays", POLL_SECONDS="0.2")
    tell_figures(account.aws, f"{HOME}>{OTHER}", [RELAY], {}, BOOT_SECONDS + 2)
    source = make_files(tmp_path / "set", large_bytes=480 * MB)
    wish: dict[str, Any] = {"relays": {"pairs": "auto", "instanceTypes": [RELAY]}, "objective": {"minimise": "time"}}
    run = account.run(account.request(source, tmp_path / "out", **wish), "unhelped")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    first, last = run.report["decisions"][0], run.report["decisions"][-1]
    assert first["pairs"] > 0
    assert last["pairs"] == 0
    assert "relays do not help" in last["reason"]
    nodes = account.nodes("unhelped")
    ended = [float(node["endedAt"]) for node in nodes]
    assert max(ended) < account.first_byte_at("unhelped") + run.report["seconds"]["transfer"]
