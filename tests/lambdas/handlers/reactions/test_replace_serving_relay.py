"""Relays that still carry data while their successors boot: warned and slow ones."""

from typing import Any

from lambdas.handlers.reactions.replace_relay import replace_relay
from lambdas.handlers.reactions.tell_machine_ends import SPOT_WARNING
from lambdas.operations.fleet.replacement import DRAIN_SECONDS
from lambdas.runtime.handler import STATE_CHANGE
from tests.lambdas.builders import SHARED, WEST
from tests.lambdas.fleet import path_ids, states
from tests.lambdas.machine_ends import hear
from tests.lambdas.machines import failed
from tests.lambdas.relay_losses import instance_event, joined, relay, relay_lost, relay_slow


def test_warned_relay_drains_while_its_successor_boots() -> None:
    cloud = joined()
    seen: list[tuple[list[str], str, bool]] = []

    def note() -> None:
        warned = relay(cloud, "source-1-0")
        seen.append((path_ids(cloud), warned.state, warned.instance_id in cloud.alive()))

    cloud.compute[WEST].on_launch = note
    began = cloud.clock.time
    assert hear(instance_event(cloud, SPOT_WARNING), cloud.world) == {"source-1-0": "replaced"}
    assert seen == [(["direct"], "DRAINING", True)]
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "LOST", "source-1-1": "JOINED"}
    assert path_ids(cloud) == ["direct", "pair-1"]
    assert cloud.clock.time - began >= DRAIN_SECONDS
    assert len(cloud.alive()) == 2


def test_warned_relay_drains_where_a_successor_would_not_pay_too() -> None:
    cloud = joined(sent=999_000_000)
    began = cloud.clock.time
    assert hear(instance_event(cloud, SPOT_WARNING), cloud.world) == {"source-1-0": "removed"}
    assert cloud.clock.time - began >= DRAIN_SECONDS
    assert cloud.alive() == []


def test_end_of_a_warned_relay_is_no_second_loss() -> None:
    cloud = joined()
    ended: list[Any] = []

    def end() -> None:
        ended.append(hear(instance_event(cloud, STATE_CHANGE, state="shutting-down"), cloud.world))

    cloud.clock.at(1.0, end)
    assert hear(instance_event(cloud, SPOT_WARNING), cloud.world) == {"source-1-0": "replaced"}
    assert ended == [{"source-1-0": "known"}]
    assert relay(cloud, "source-1-0").reason == "spot interruption in two minutes"
    assert [kind for kind, _ in cloud.events.put_events] == ["Relay Replaced"]
    assert len(cloud.alive()) == 2


def test_slow_relay_serves_until_its_successor_does() -> None:
    cloud = joined()
    seen: list[tuple[list[str], str]] = []
    cloud.compute[WEST].on_launch = lambda: seen.append((path_ids(cloud), states(cloud)["source-1-0"]))
    assert replace_relay(relay_slow(), cloud.world) == {"source-1-0": "replaced"}
    assert seen == [(["direct", "pair-1"], "JOINED")]
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "LOST", "source-1-1": "JOINED"}
    membership = cloud.agents.membership(SHARED)
    assert membership is not None
    assert [(path.path_id, path.generation) for path in membership.paths] == [("direct", 0), ("pair-1", 1)]
    assert relay(cloud, "source-1-0").reason == "slow: 4.0 of 40.0 MB/s for 30 s"
    assert len(cloud.alive()) == 2


def test_slow_relay_drains_before_it_ends() -> None:
    cloud = joined()
    began = cloud.clock.time
    replace_relay(relay_slow(), cloud.world)
    slow, successor = relay(cloud, "source-1-0"), relay(cloud, "source-1-1")
    assert slow.ended_at is not None
    assert successor.joined_at is not None
    assert successor.joined_at > began
    assert slow.ended_at - successor.joined_at >= DRAIN_SECONDS


def test_both_relays_of_a_slow_pair_are_replaced() -> None:
    cloud = joined()
    assert replace_relay(relay_slow("source-1-0"), cloud.world) == {"source-1-0": "replaced"}
    assert replace_relay(relay_slow("destination-1-0"), cloud.world) == {"destination-1-0": "replaced"}
    membership = cloud.agents.membership(SHARED)
    assert membership is not None
    assert [hop.node_id for hop in membership.paths[1].hops] == ["source-1-1", "destination-1-1"]
    assert len(cloud.alive()) == 2


def test_slow_relay_stays_where_a_successor_would_not_pay() -> None:
    cloud = joined(sent=999_000_000)
    assert replace_relay(relay_slow(), cloud.world) == {"source-1-0": "kept"}
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "JOINED"}
    assert (path_ids(cloud), cloud.events.put_events) == (["direct", "pair-1"], [])


def test_slow_relay_stays_where_its_successor_does_not_come() -> None:
    cloud = joined()
    cloud.commands[WEST].scripts["relay"] = lambda _: failed("no such file")
    assert replace_relay(relay_slow(), cloud.world) == {"source-1-0": "kept"}
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "JOINED", "source-1-1": "LOST"}
    assert path_ids(cloud) == ["direct", "pair-1"]
    assert replace_relay(relay_slow(), cloud.world) == {"source-1-0": "known"}
    assert len(cloud.alive()) == 2


def test_slow_relay_is_told_again_while_its_successor_boots() -> None:
    cloud = joined()
    again: list[Any] = []
    cloud.clock.at(1.0, lambda: again.append(replace_relay(relay_slow(), cloud.world)))
    assert replace_relay(relay_slow(), cloud.world) == {"source-1-0": "replaced"}
    assert again == [{"source-1-0": "known"}]
    assert len(cloud.alive()) == 2


def test_slow_relay_that_dies_while_its_successor_boots_is_replaced_by_that_one() -> None:
    cloud = joined()
    died: list[Any] = []
    cloud.clock.at(1.0, lambda: died.append(replace_relay(relay_lost(), cloud.world)))
    assert replace_relay(relay_slow(), cloud.world) == {"source-1-0": "replaced"}
    assert died == [{"source-1-0": "known"}]
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "LOST", "source-1-1": "JOINED"}
    assert relay(cloud, "source-1-0").successor == "source-1-1"
    assert len(cloud.alive()) == 2
