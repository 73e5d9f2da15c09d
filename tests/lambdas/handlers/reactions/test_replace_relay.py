from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.core import transfer_life
from lambdas.core.bandwidth import BandwidthLimit
from lambdas.core.errors import Throttled, TooManyRules
from lambdas.core.estimate.figures import LIMIT_NOTE, Figure
from lambdas.core.fleet import node_life
from lambdas.core.fleet.relay_node import Node
from lambdas.core.transfer import Membership
from lambdas.handlers.reactions.replace_relay import SPOT_WARNING, STATE_CHANGE, replace_relay
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.operations.fleet.relay_end import lose
from lambdas.operations.fleet.replacement import DRAIN_SECONDS, RESUME_SECONDS
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import IRELAND, SHARED, WEST, delivered, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import path_ids, spawned, states
from tests.lambdas.machines import failed
from tests.lambdas.told import AGENT, CONTROL, told


def joined(*, sent: int = 0) -> Cloud:
    cloud = spawned(1)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    cloud.agents.progresses[SHARED, "sender"] = progress(3, sent=sent, rate=40.0)
    return cloud


def relay_lost(node_id: str = "source-1-0") -> BusEvent:
    detail: dict[str, Any] = {
        "schemaVersion": 1,
        "type": "Relay Lost",
        "transferId": "first",
        "pathId": "pair-1",
        "nodeId": node_id,
        "message": "connection reset",
    }
    return BusEvent.from_document({"detail-type": "Relay Lost", "source": CONTROL, "detail": detail})


def relay_slow(node_id: str = "source-1-0") -> BusEvent:
    detail: dict[str, Any] = {
        "schemaVersion": 1,
        "type": "Relay Slow",
        "transferId": "first",
        "nodeId": node_id,
        "rateMBps": 4.0,
        "expectedMBps": 40.0,
        "message": "slow: 4.0 of 40.0 MB/s for 30 s",
    }
    return BusEvent.from_document({"detail-type": "Relay Slow", "source": CONTROL, "detail": detail})


def relay(cloud: Cloud, node_id: str) -> Node:
    return next(node for node in cloud.nodes.of("first") if node.node_id == node_id)


def instance_event(cloud: Cloud, kind: str, **detail: str) -> BusEvent:
    instance = next(node.instance_id for node in cloud.nodes.of("first") if node.node_id == "source-1-0")
    return BusEvent.from_document({"detail-type": kind, "detail": {"instance-id": instance, **detail}})


def test_lost_relay_leaves_at_once_and_its_successor_joins() -> None:
    cloud = joined()
    versions = []
    cloud.compute[WEST].on_launch = lambda: versions.append(path_ids(cloud))
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "replaced"}
    assert versions == [["direct"]]
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "LOST", "source-1-1": "JOINED"}
    membership = cloud.agents.membership(SHARED)
    assert membership is not None
    assert [(path.path_id, path.generation) for path in membership.paths] == [("direct", 0), ("pair-1", 1)]
    assert len(cloud.alive()) == 2


def test_senders_word_counts_where_its_record_says_the_same() -> None:
    cloud = joined()
    forged = relay_lost().model_copy(update={"source": AGENT})
    assert replace_relay(forged, cloud.world) == {}
    told(cloud, relay_lost("destination-1-0"))
    assert replace_relay(forged, cloud.world) == {}
    assert replace_relay(told(cloud, relay_lost()), cloud.world) == {"source-1-0": "replaced"}


def test_no_end_can_call_a_relay_slow() -> None:
    cloud = joined()
    assert replace_relay(relay_slow().model_copy(update={"source": AGENT}), cloud.world) == {}
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "JOINED"}


def test_event_that_comes_twice_replaces_once() -> None:
    cloud = joined()
    replace_relay(relay_lost(), cloud.world)
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "known"}
    assert len(cloud.alive()) == 2


@pytest.mark.parametrize("state", ["stopping", "shutting-down", "terminated"])
def test_instance_that_ends_is_a_lost_relay(state: str) -> None:
    cloud = joined()
    assert replace_relay(instance_event(cloud, STATE_CHANGE, state=state), cloud.world) == {"source-1-0": "replaced"}


@pytest.mark.parametrize(("kind", "state"), [(STATE_CHANGE, "running"), ("EC2 Instance Rebalance Recommendation", "")])
def test_events_that_mean_no_loss_do_nothing(kind: str, state: str) -> None:
    cloud = joined()
    assert replace_relay(instance_event(cloud, kind, state=state), cloud.world) == {}


def test_foreign_instance_is_nobodys_relay() -> None:
    event = BusEvent.from_document(
        {"detail-type": STATE_CHANGE, "detail": {"instance-id": "i-00000000", "state": "terminated"}}
    )
    assert replace_relay(event, Cloud().world) == {}


def test_last_moments_are_not_worth_a_successor_and_the_partner_goes_too() -> None:
    cloud = joined(sent=999_000_000)
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "removed"}
    assert cloud.alive() == []
    assert path_ids(cloud) == ["direct"]


def test_third_generation_is_not_replaced() -> None:
    cloud = joined()
    assert replace_relay(relay_lost("source-1-0"), cloud.world) == {"source-1-0": "replaced"}
    assert replace_relay(relay_lost("source-1-1"), cloud.world) == {"source-1-1": "replaced"}
    assert replace_relay(relay_lost("source-1-2"), cloud.world) == {"source-1-2": "removed"}


@pytest.mark.parametrize("event", [relay_lost(), relay_slow()], ids=["lost", "slow"])
def test_successor_that_is_lost_as_soon_as_it_has_joined_did_take_over_from_a_lost_relay(
    event: BusEvent, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = joined()
    write = cloud.agents.write_membership

    def write_and_lose(shared: str, membership: Membership) -> bool:
        written = write(shared, membership)
        if states(cloud).get("source-1-1") == "JOINED":
            lose(cloud.world, relay(cloud, "source-1-1"), "its instance is terminated")
        return written

    monkeypatch.setattr(cloud.agents, "write_membership", write_and_lose)
    slow = event.detail_type == "Relay Slow"
    assert replace_relay(event, cloud.world) == {"source-1-0": "kept" if slow else "replaced"}
    old = relay(cloud, "source-1-0")
    assert (old.successor, old.not_replaced) == (None if slow else "source-1-1", None)


def test_delivered_transfer_replaces_nobody() -> None:
    cloud = joined()
    cloud.transfers.change(transfer(), transfer_life.finish(delivered()))
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "over"}


def test_relay_that_the_teardown_terminates_is_not_lost() -> None:
    cloud = joined()
    cloud.transfers.change(transfer(), transfer_life.FENCE)
    assert replace_relay(instance_event(cloud, STATE_CHANGE, state="shutting-down"), cloud.world) == {
        "source-1-0": "over"
    }
    assert states(cloud)["source-1-0"] == "JOINED"


def test_no_capacity_for_a_successor_releases_the_partner_and_is_told() -> None:
    cloud = joined()
    cloud.compute[WEST].refusals = dict.fromkeys(["t3.small", "t3.medium"], "InsufficientInstanceCapacity")
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "removed"}
    assert cloud.alive() == []
    assert path_ids(cloud) == ["direct"]
    [(kind, told)] = cloud.events.put_events
    assert (kind, told["nodeId"], told["cause"], told["pairs"]) == (
        "Transfer Degraded",
        "source-1-0",
        "connection reset",
        0,
    )
    assert told["reason"].startswith("NoCapacity: no source relay in us-west-2")


def test_replacement_is_told_and_written_into_the_node() -> None:
    cloud = joined()
    replace_relay(relay_lost(), cloud.world)
    assert cloud.events.put_events == [
        (
            "Relay Replaced",
            {
                "transferId": "first",
                "nodeId": "source-1-0",
                "cause": "connection reset",
                "successor": "source-1-1",
            },
        )
    ]
    lost = relay(cloud, "source-1-0")
    assert (lost.successor, lost.not_replaced, lost.reason) == ("source-1-1", None, "connection reset")


def test_relay_that_is_lost_before_it_joined_is_only_taken_out() -> None:
    cloud = spawned(1)
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "removed"}
    assert states(cloud)["source-1-0"] == "LOST"


def test_successor_whose_partner_is_lost_meanwhile_is_released_too() -> None:
    cloud = joined()

    def partner_dies() -> None:
        partner = next(node for node in cloud.nodes.of("first") if node.stage == 1)
        lose(cloud.world, partner, "its instance is terminated")

    cloud.compute[WEST].on_launch = partner_dies
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "removed"}
    assert cloud.alive() == []
    assert set(states(cloud).values()) == {"LOST"}


def test_replacement_that_broke_off_is_taken_up_by_a_later_event() -> None:
    cloud = joined()
    admit = cloud.groups[WEST].admit

    def refuse(*_: object) -> None:
        raise ClientError({"Error": {"Code": "InternalError", "Message": "x"}}, "AuthorizeSecurityGroupIngress")

    cloud.groups[WEST].admit = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(ClientError):
        replace_relay(relay_lost(), cloud.world)
    assert states(cloud)["source-1-1"] == "SPAWNED"
    cloud.groups[WEST].admit = admit  # type: ignore[method-assign]
    # Whoever has asked for it may still be waiting.
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "known"}
    cloud.clock.time += RESUME_SECONDS
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "replaced"}
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "LOST", "source-1-1": "JOINED"}
    assert len(cloud.alive()) == 2


def test_loss_that_nobody_acted_on_is_taken_up_by_a_later_event() -> None:
    cloud = joined()
    lose(cloud.world, relay(cloud, "source-1-0"), "its instance is terminated")
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "known"}
    cloud.clock.time += RESUME_SECONDS + 1
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "replaced"}


def test_throttled_launch_is_left_to_a_later_event() -> None:
    cloud = joined()
    cloud.compute[WEST].refusals = {"t3.small": "RequestLimitExceeded"}
    with pytest.raises(Throttled):
        replace_relay(relay_lost(), cloud.world)
    assert not relay(cloud, "source-1-0").settled


def test_transfer_has_as_many_replacements_as_relays() -> None:
    cloud = joined()
    assert replace_relay(relay_lost("source-1-0"), cloud.world) == {"source-1-0": "replaced"}
    assert replace_relay(relay_lost("destination-1-0"), cloud.world) == {"destination-1-0": "replaced"}
    assert replace_relay(relay_lost("source-1-1"), cloud.world) == {"source-1-1": "removed"}
    assert relay(cloud, "source-1-1").not_replaced == "2 replacements are the most for 2 relays"
    assert (cloud.alive(), path_ids(cloud)) == ([], ["direct"])


def test_warned_relay_drains_while_its_successor_boots() -> None:
    cloud = joined()
    seen: list[tuple[list[str], str, bool]] = []

    def note() -> None:
        warned = relay(cloud, "source-1-0")
        seen.append((path_ids(cloud), warned.state, warned.instance_id in cloud.alive()))

    cloud.compute[WEST].on_launch = note
    began = cloud.clock.time
    assert replace_relay(instance_event(cloud, SPOT_WARNING), cloud.world) == {"source-1-0": "replaced"}
    assert seen == [(["direct"], "DRAINING", True)]
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "LOST", "source-1-1": "JOINED"}
    assert path_ids(cloud) == ["direct", "pair-1"]
    assert cloud.clock.time - began >= DRAIN_SECONDS
    assert len(cloud.alive()) == 2


def test_warned_relay_drains_where_a_successor_would_not_pay_too() -> None:
    cloud = joined(sent=999_000_000)
    began = cloud.clock.time
    assert replace_relay(instance_event(cloud, SPOT_WARNING), cloud.world) == {"source-1-0": "removed"}
    assert cloud.clock.time - began >= DRAIN_SECONDS
    assert cloud.alive() == []


def test_end_of_a_warned_relay_is_no_second_loss() -> None:
    cloud = joined()
    ended: list[Any] = []

    def end() -> None:
        ended.append(replace_relay(instance_event(cloud, STATE_CHANGE, state="shutting-down"), cloud.world))

    cloud.clock.at(1.0, end)
    assert replace_relay(instance_event(cloud, SPOT_WARNING), cloud.world) == {"source-1-0": "replaced"}
    assert ended == [{"source-1-0": "known"}]
    assert relay(cloud, "source-1-0").reason == "spot interruption in two minutes"
    assert [kind for kind, _ in cloud.events.put_events] == ["Relay Replaced"]
    assert len(cloud.alive()) == 2


def test_successor_that_a_full_security_group_does_not_admit_is_terminated_and_told() -> None:
    cloud = joined()

    def refuse(*_: object) -> None:
        raise TooManyRules("60 rules")

    cloud.groups[WEST].admit = refuse  # type: ignore[method-assign,assignment]
    cloud.groups[IRELAND].admit = refuse  # type: ignore[method-assign,assignment]
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "removed"}
    assert relay(cloud, "source-1-0").not_replaced == "source-1-1 did not join: 60 rules"
    assert cloud.alive() == []


def test_drained_relay_of_which_the_replacing_function_died_ends_with_the_next_word_of_it() -> None:
    cloud = joined()
    drained = relay(cloud, "source-1-0")
    cloud.nodes.change(drained, node_life.drain("slow"))
    cloud.nodes.change(drained, node_life.succeed("source-1-1"))
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "known"}
    assert (relay(cloud, "source-1-0").state, relay(cloud, "source-1-0").reason) == ("LOST", "slow")
    assert drained.instance_id not in cloud.alive()


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


def test_limit_that_was_lifted_holds_no_successor_back() -> None:
    cloud = joined()
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.estimate is not None
    limited = record.estimate.figures.model_copy(
        update={"source": Figure(value=5.0, origin="configured", note=LIMIT_NOTE)}
    )
    cloud.transfers.change(
        transfer(), transfer_life.note(estimate=record.estimate.model_copy(update={"figures": limited}))
    )
    cloud.transfers.change(transfer(), transfer_life.note(bandwidth=BandwidthLimit().set_to(40).changed_to(None, 7.0)))
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "replaced"}
