"""Relays that die or are warned: each is replaced, the data arrives whole, nothing is left.

One transfer has a loss of each kind; `make chaos` has each loss by itself.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.chaos.extent import only_full
from tests.e2e.account import HOME, KILL_RELAY, OTHER, SLOW_MBPS, Account, Run
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import (
    begin,
    finish,
    joined,
    paths_with_data,
    rules_disabled,
    source_relay,
    states_of,
)

# 100 s as slowly as it begins.
LARGE = 100_000_000
# 50 s on the direct path: after what goes out each time the limit is lifted, so much is left that a successor pays.
LONG = 1_000_000_000
DIRECT_MB_S = "0.2"
RATE = '"megabytesPerSecond":'


def check_end(account: Account, run: Run, transfer_id: str, source: Path, destination: Path) -> None:
    """It arrived as it was, and no relay is alive."""
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(destination / source.name) == tree(source)
    states = {i["State"]["Name"] for region in (HOME, OTHER) for i in account.launched(transfer_id, region)}
    assert states <= {"shutting-down", "terminated"}
    assert account.rules(transfer_id, HOME) == account.rules(transfer_id, OTHER) == []


def replacement(run: Run, node_id: str) -> dict[str, Any]:
    return next(found for found in run.report["replacements"] if found["nodeId"] == node_id)


def instance(account: Account, transfer_id: str, node_id: str) -> str:
    """Instance of a relay."""
    return str(next(node["instanceId"] for node in account.nodes(transfer_id) if node["nodeId"] == node_id))


def wait_for_successor(account: Account, transfer_id: str, node_id: str) -> None:
    """Until it has joined; once it is launched, the transfer is slow, so that something is left for it."""
    account.cloud.wait_for(lambda: node_id in states_of(account, transfer_id), 60)
    account.limit(transfer_id, SLOW_MBPS)
    account.cloud.wait_for(joined(account, transfer_id, node_id), 60)


def relayed(account: Account, transfer_id: str) -> set[str]:
    """Paths through relays that have delivered something."""
    return paths_with_data(account, transfer_id) - {"direct"}


@contextmanager
def narrow_direct_path(account: Account) -> Iterator[Callable[[str], None]]:
    """The source carries `DIRECT_MB_S` to other regions, so that a relay pays all the time that a transfer is slow.

    Gives what ends that for a transfer: its sender reads the rate as it starts, and goes on by its journal.
    """
    usual = str(account.cloud.config.caps.inter_region_mb_s)

    def carry(rate: str) -> None:
        account.shell(account.source, HOME, f"sed -i 's/{RATE} [0-9.]*}}]/{RATE} {rate}}}]/' \"$CPT_RATE_LIMITS\"")
        assert rate in account.shell(account.source, HOME, 'cat "$CPT_RATE_LIMITS"')

    def widen(name: str) -> None:
        carry(usual)
        account.shell(account.source, HOME, f"systemctl kill --signal=KILL cpt-send-{name}")

    carry(DIRECT_MB_S)
    try:
        yield widen
    finally:
        carry(usual)


def test_a_warning_a_death_and_a_loss_nobody_told_of_in_one_transfer(account: Account, tmp_path: Path) -> None:
    source, name = make_files(tmp_path / "set", large_bytes=LARGE), "lost-thrice"
    with narrow_direct_path(account) as widen:
        arn = begin(account, source, tmp_path / "out", name)
        account.cloud.interrupt(instance(account, name, "source-1-0"))
        account.cloud.wait_for(joined(account, name, "source-1-1"), 90)
        account.cloud.wait_for(lambda: states_of(account, name)["source-1-0"] == "LOST", 30)
        assert {int(item["attempt"]) for item in account.chunks(name)} == {1}
        with rules_disabled(account, "cpt-reconcile", "cpt-watch-relays"):
            account.shell(instance(account, name, "source-1-1"), HOME, KILL_RELAY)
            account.cloud.wait_for(joined(account, name, "source-1-2"), 90)
            account.cloud.wait_for(lambda: relayed(account, name), 60)
            with rules_disabled(account, "cpt-replace-relay"):
                lost = instance(account, name, "source-1-2")
                account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[lost])
                # Both the instance's events and the sender's Relay Lost come and go unheard.
                account.cloud.wait_for(lambda: account.record(name, "lost#source-1-2"), 60)
                account.cloud.wait_for(lambda: not relayed(account, name), 60)
            assert states_of(account, name)["source-1-2"] == "JOINED"
            account.look_at(name)
            account.cloud.wait_for(lambda: states_of(account, name)["source-1-2"] == "LOST", 60)
            widen(name)
            run = finish(account, arn, name)
    check_end(account, run, name, source, tmp_path / "out")
    warned, stopped, unheard = (replacement(run, f"source-1-{generation}") for generation in range(3))
    assert (warned["cause"], warned["successor"]) == ("spot interruption in two minutes", "source-1-1")
    assert stopped["successor"] == "source-1-2"
    assert unheard["cause"].startswith("its instance is ")
    # It goes on directly.
    assert unheard["notReplaced"] == "2 successors in one place are the most"
    assert "source-1-3" not in states_of(account, name)


@only_full
def test_stopped_daemon_is_replaced_by_the_rule_alone(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LONG)
    with rules_disabled(account, "cpt-reconcile", "cpt-watch-relays"):
        arn = begin(account, source, tmp_path / "out", "stopped")
        account.limit("stopped", None)
        account.shell(source_relay(account, "stopped"), HOME, KILL_RELAY)
        account.cloud.wait_for(joined(account, "stopped", "source-1-1"), 60)
        run = finish(account, arn, "stopped")
    check_end(account, run, "stopped", source, tmp_path / "out")
    assert replacement(run, "source-1-0")["successor"] == "source-1-1"


@only_full
def test_relay_of_which_events_were_lost_is_found_by_the_reconciler(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LONG)
    with rules_disabled(account, "cpt-reconcile", "cpt-watch-relays"):
        with rules_disabled(account, "cpt-replace-relay"):
            arn = begin(account, source, tmp_path / "out", "unheard")
            lost = source_relay(account, "unheard")
            account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[lost])
            # Both the instance's events and the sender's Relay Lost come and go unheard.
            account.cloud.wait_for(lambda: "pair-1" not in paths_with_data(account, "unheard"), 60)
        assert states_of(account, "unheard")["source-1-0"] == "JOINED"
        account.limit("unheard", None)
        account.look_at("unheard")
        account.cloud.wait_for(joined(account, "unheard", "source-1-1"), 60)
        run = finish(account, arn, "unheard")
    check_end(account, run, "unheard", source, tmp_path / "out")
    assert replacement(run, "source-1-0")["cause"].startswith("its instance is ")


@only_full
def test_warned_relay_drains_without_a_failed_chunk(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LONG)
    arn = begin(account, source, tmp_path / "out", "warned")
    account.limit("warned", None)
    account.cloud.interrupt(source_relay(account, "warned"))
    account.cloud.wait_for(joined(account, "warned", "source-1-1"), 60)
    run = finish(account, arn, "warned")
    check_end(account, run, "warned", source, tmp_path / "out")
    assert run.report["retries"] == 0
    assert {int(item["attempt"]) for item in account.chunks("warned")} == {1}
    found = replacement(run, "source-1-0")
    assert (found["cause"], found["successor"]) == ("spot interruption in two minutes", "source-1-1")


@only_full
def test_transfer_goes_on_directly_after_the_last_replacement(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LONG)
    arn = begin(account, source, tmp_path / "out", "replaced-thrice")
    for generation in range(3):
        account.limit("replaced-thrice", None)
        account.cloud.client("ec2", HOME).terminate_instances(InstanceIds=[source_relay(account, "replaced-thrice")])
        if generation < 2:
            wait_for_successor(account, "replaced-thrice", f"source-1-{generation + 1}")
    account.cloud.wait_for(lambda: states_of(account, "replaced-thrice")["source-1-2"] == "LOST", 60)
    run = finish(account, arn, "replaced-thrice")
    check_end(account, run, "replaced-thrice", source, tmp_path / "out")
    found = {each["nodeId"]: each for each in run.report["replacements"]}
    assert [found[f"source-1-{g}"].get("successor") for g in range(3)] == ["source-1-1", "source-1-2", None]
    assert found["source-1-2"]["notReplaced"] == "2 successors in one place are the most"
    assert "source-1-3" not in states_of(account, "replaced-thrice")
