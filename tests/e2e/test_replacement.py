"""Relays that die, are warned, grow slow or fall silent: each is replaced, the data arrives whole, nothing is left."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.extent import only_full
from tests.e2e.account import HOME, KILL_RELAY, OTHER, Account, Run
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import begin, paths_with_data, rules_disabled, source_relay

pytestmark = pytest.mark.paced

LARGE = 600_000_000  # 2 minutes as slowly as it begins, then 30 s on the direct path (20 MB/s)
# The machine's network carries a fifth from now on; its daemon begins anew, since it has read the rates.
SLOW_DOWN = """
sed -i 's/"megabytesPerSecond": [0-9.]*/"megabytesPerSecond": 0.6/g' "$CPT_RATE_LIMITS"
grep -q 0.6 "$CPT_RATE_LIMITS" && systemctl kill --signal=KILL 'cpt-relay-*'
"""
# What was on its way through a relay when it froze has long come by then.
SETTLED_SECONDS = 1.0
# The whole machine: nothing on it would start its daemon again.
FREEZE = 'for file in manager pid; do kill -STOP "$(cat "$CPT_INSTANCE_DIR"/units/cpt-relay-*/$file)"; done'


def check_end(account: Account, run: Run, transfer_id: str, source: Path, destination: Path) -> None:
    """It arrived as it was, and no relay is alive."""
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(destination / source.name) == tree(source)
    states = {i["State"]["Name"] for region in (HOME, OTHER) for i in account.launched(transfer_id, region)}
    assert states <= {"shutting-down", "terminated"}
    assert account.rules(transfer_id, HOME) == account.rules(transfer_id, OTHER) == []


def states_of(account: Account, transfer_id: str) -> dict[str, str]:
    return {node["nodeId"]: node["state"] for node in account.nodes(transfer_id)}


def joined(account: Account, transfer_id: str, node_id: str) -> Callable[[], bool]:
    """Whether a relay has joined, as a question to wait for."""
    return lambda: states_of(account, transfer_id).get(node_id) == "JOINED"


def replacement(run: Run, node_id: str) -> dict[str, Any]:
    return next(found for found in run.report["replacements"] if found["nodeId"] == node_id)


def test_stopped_daemon_is_replaced_by_the_rule_alone(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    with rules_disabled(account, "cpt-reconcile", "cpt-watch-relays"):
        arn = begin(account, source, tmp_path / "out", "stopped")
        account.shell(source_relay(account, "stopped"), HOME, KILL_RELAY)
        account.cloud.wait_for(joined(account, "stopped", "source-1-1"), 60)
        run = account.wait(arn)
    check_end(account, run, "stopped", source, tmp_path / "out")
    assert replacement(run, "source-1-0")["successor"] == "source-1-1"


def test_relay_of_which_events_were_lost_is_found_by_the_reconciler(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    with rules_disabled(account, "cpt-reconcile", "cpt-watch-relays"):
        with rules_disabled(account, "cpt-replace-relay"):
            arn = begin(account, source, tmp_path / "out", "unheard")
            lost = source_relay(account, "unheard")
            account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[lost])
            # Both the instance's events and the sender's Relay Lost come and go unheard.
            account.cloud.wait_for(lambda: "pair-1" not in paths_with_data(account, "unheard"), 60)
        assert states_of(account, "unheard")["source-1-0"] == "JOINED"
        account.invoke("cpt-reconcile")
        account.cloud.wait_for(joined(account, "unheard", "source-1-1"), 60)
        run = account.wait(arn)
    check_end(account, run, "unheard", source, tmp_path / "out")
    assert replacement(run, "source-1-0")["cause"].startswith("its instance is ")


def test_warned_relay_drains_without_a_failed_chunk(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = begin(account, source, tmp_path / "out", "warned")
    account.cloud.interrupt(source_relay(account, "warned"))
    account.cloud.wait_for(joined(account, "warned", "source-1-1"), 60)
    run = account.wait(arn)
    check_end(account, run, "warned", source, tmp_path / "out")
    assert run.report["retries"] == 0
    assert {int(item["attempt"]) for item in account.chunks("warned")} == {1}
    found = replacement(run, "source-1-0")
    assert (found["cause"], found["successor"]) == ("spot interruption in two minutes", "source-1-1")


def test_transfer_goes_on_directly_after_the_last_replacement(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    arn = begin(account, source, tmp_path / "out", "replaced-thrice")
    for generation in range(3):
        account.cloud.wait_for(joined(account, "replaced-thrice", f"source-1-{generation}"), 60)
        account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[source_relay(account, "replaced-thrice")])
    run = account.wait(arn)
    check_end(account, run, "replaced-thrice", source, tmp_path / "out")
    found = {each["nodeId"]: each for each in run.report["replacements"]}
    assert [found[f"source-1-{g}"].get("successor") for g in range(3)] == ["source-1-1", "source-1-2", None]
    assert found["source-1-2"]["notReplaced"] == "2 successors in one place are the most"
    assert "source-1-3" not in states_of(account, "replaced-thrice")


@pytest.fixture(scope="module")
def narrow(make_account: Callable[..., Account]) -> Account:
    """Paths of 3 MB/s, so that enough is left for a successor to pay when the sender gives a relay up, after 52 s."""
    return make_account(caps={"interRegionMBps": 3.0, "intraRegionMBps": 40.0})


# The sender may find out by itself that a frozen relay does not answer new lanes.
@pytest.mark.parametrize(
    ("name", "harm", "causes"),
    [
        ("slow", SLOW_DOWN, ("slow: ",)),
        # That a frozen relay is replaced, test_routes.py shows at a third region's, in half the time.
        pytest.param("silent", FREEZE, ("nothing came through it", "relay source-1-0"), marks=only_full),
    ],
)
def test_relay_that_carries_too_little_is_replaced(
    narrow: Account, tmp_path: Path, name: str, harm: str, causes: tuple[str, ...]
) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    with rules_disabled(narrow, "cpt-reconcile", "cpt-watch-relays"):
        arn = narrow.start(narrow.request(source, tmp_path / "out", relays={"pairs": 2}), name)
        narrow.cloud.wait_for(lambda: {"pair-1", "pair-2"} <= paths_with_data(narrow, name), 60)
        first = next(node for node in narrow.nodes(name) if node["nodeId"] == "source-1-0")
        narrow.shell(first["instanceId"], HOME, harm)
        harmed = time.time()  # of one clock with the sender's
        # A look at an older report would count what came through before.
        narrow.cloud.wait_for(lambda: narrow.progress(name)["at"] > harmed + SETTLED_SECONDS, 30)
        narrow.invoke("cpt-watch-relays")  # two looks, half a minute apart
        narrow.cloud.wait_for(joined(narrow, name, "source-1-1"), 60)
        run = narrow.wait(arn)
    check_end(narrow, run, name, source, tmp_path / "out")
    found = replacement(run, "source-1-0")
    assert found["successor"] == "source-1-1"
    assert found["cause"].startswith(causes)
    assert {each["nodeId"] for each in run.report["replacements"]} <= {"source-1-0", "destination-1-0"}
