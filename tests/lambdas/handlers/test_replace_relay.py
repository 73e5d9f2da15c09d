from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.core.errors import NoCapacity
from lambdas.handlers.await_relays import AwaitInput, await_relays
from lambdas.handlers.replace_relay import SPOT_WARNING, STATE_CHANGE, replace_relay
from lambdas.operations.relays import lose
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import IRELAND, WEST, paths, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import path_ids, spawned, states


def joined(*, sent: int = 0) -> Cloud:
    cloud = spawned(1)
    await_relays(AwaitInput(transfer=transfer(), paths=paths()), cloud.world)
    cloud.agents.progresses["first", "sender"] = progress(3, sent=sent, rate=40.0)
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
    return BusEvent.from_document({"detail-type": "Relay Lost", "detail": detail})


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
    membership = cloud.agents.membership("first")
    assert membership is not None
    assert [(path.path_id, path.generation) for path in membership.paths] == [("direct", 0), ("pair-1", 1)]
    assert len(cloud.alive()) == 2


def test_event_that_comes_twice_replaces_once() -> None:
    cloud = joined()
    replace_relay(relay_lost(), cloud.world)
    assert replace_relay(relay_lost(), cloud.world) == {}
    assert len(cloud.alive()) == 2


@pytest.mark.parametrize("state", ["stopping", "shutting-down", "terminated"])
def test_instance_that_ends_is_a_lost_relay(state: str) -> None:
    cloud = joined()
    assert replace_relay(instance_event(cloud, STATE_CHANGE, state=state), cloud.world) == {"source-1-0": "replaced"}


def test_spot_warning_replaces_before_the_end() -> None:
    cloud = joined()
    assert replace_relay(instance_event(cloud, SPOT_WARNING), cloud.world) == {"source-1-0": "replaced"}


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


def test_delivered_transfer_replaces_nobody() -> None:
    cloud = joined()
    cloud.transfers.finish("first", {"delivered": {}})
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "over"}


def test_relay_that_the_teardown_terminates_is_not_lost() -> None:
    cloud = joined()
    cloud.transfers.fence("first")
    assert replace_relay(instance_event(cloud, STATE_CHANGE, state="shutting-down"), cloud.world) == {
        "source-1-0": "over"
    }
    assert states(cloud)["source-1-0"] == "JOINED"


def test_no_capacity_for_a_successor_releases_the_partner() -> None:
    cloud = joined()
    cloud.compute[WEST].refusals = dict.fromkeys(["t3.small", "t3.medium"], "InsufficientInstanceCapacity")
    with pytest.raises(NoCapacity):
        replace_relay(relay_lost(), cloud.world)
    assert cloud.alive() == []
    assert path_ids(cloud) == ["direct"]


def test_relay_that_is_lost_before_it_joined_is_only_taken_out() -> None:
    cloud = spawned(1)
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "removed"}
    assert states(cloud)["source-1-0"] == "LOST"


def test_successor_whose_partner_is_lost_meanwhile_is_released_too() -> None:
    cloud = joined()

    def partner_dies() -> None:
        partner = next(node for node in cloud.nodes.of("first") if node.role == "destination")
        lose(cloud.world, partner, "its instance is terminated")

    cloud.compute[WEST].on_launch = partner_dies
    assert replace_relay(relay_lost(), cloud.world) == {"source-1-0": "removed"}
    assert cloud.alive() == []
    assert set(states(cloud).values()) == {"LOST"}


def test_error_of_aws_while_replacing_leaves_nothing_running() -> None:
    cloud = joined()

    def refuse(*_: object) -> None:
        raise ClientError({"Error": {"Code": "InternalError", "Message": "x"}}, "AuthorizeSecurityGroupIngress")

    cloud.groups[WEST].admit = refuse  # type: ignore[method-assign,assignment]
    cloud.groups[IRELAND].admit = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(ClientError):
        replace_relay(relay_lost(), cloud.world)
    assert cloud.alive() == []
    assert path_ids(cloud) == ["direct"]
