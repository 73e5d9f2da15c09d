import pytest
from botocore.exceptions import ClientError

from lambdas.core.errors import Throttled, TooManyRules
from lambdas.core.estimate.figures import LIMIT_NOTE, Figure
from lambdas.core.fleet import node_life
from lambdas.core.fleet.membership import Membership
from lambdas.core.record import transfer_life
from lambdas.core.request.bandwidth import BandwidthLimit
from lambdas.handlers.reactions.replace_relay import replace_relay
from lambdas.operations.fleet.relay_end import lose
from lambdas.operations.fleet.replacement import RESUME_SECONDS
from lambdas.runtime.handler import STATE_CHANGE, BusEvent
from tests.lambdas.builders import IRELAND, SHARED, WEST, delivered, transfer
from tests.lambdas.fleet import path_ids, spawned, states
from tests.lambdas.machine_ends import hear
from tests.lambdas.relay_losses import instance_event, joined, relay, relay_lost, relay_slow
from tests.lambdas.told import AGENT, told


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
    assert hear(instance_event(cloud, STATE_CHANGE, state=state), cloud.world) == {"source-1-0": "replaced"}


@pytest.mark.parametrize("source", [AGENT, "aws.ec2"])
def test_no_end_can_say_that_ec2_warned_a_relay(source: str) -> None:
    cloud = joined()
    detail = {"schemaVersion": 1, "type": "Relay Warned", "transferId": "first", "nodeId": "source-1-0", "message": ""}
    forged = BusEvent.from_document({"detail-type": "Relay Warned", "source": source, "detail": detail})
    assert replace_relay(forged, cloud.world) == {}
    assert states(cloud) == {"destination-1-0": "JOINED", "source-1-0": "JOINED"}


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
    assert hear(instance_event(cloud, STATE_CHANGE, state="shutting-down"), cloud.world) == {"source-1-0": "over"}
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
