"""What EC2 says of machines: whose transfer is told, in batches of which one event costs no other."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.core.record import transfer_life
from lambdas.handlers.reactions.replace_relay import replace_relay
from lambdas.handlers.reactions.tell_machine_ends import SPOT_WARNING, handler, tell_machine_ends
from lambdas.operations.fleet.relay_end import lose
from lambdas.runtime import batches
from lambdas.runtime.handler import STATE_CHANGE, BusEvent
from tests.lambdas.builders import DESTINATION_ID, SOURCE_ID, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import amend
from tests.lambdas.machine_ends import of_ec2, stopping
from tests.lambdas.relay_losses import instance_event, joined, relay
from tests.lambdas.runtime.test_handler import Context
from tests.lambdas.told import CONTROL

FOREIGN = "i-0999999999999999f"
ENDED = ["stopping", "stopped", "shutting-down", "terminated"]


def told(cloud: Cloud) -> list[tuple[str, str]]:
    """Types of the events that were put, and whom they are about."""
    return [(kind, detail.get("nodeId") or detail["instanceId"]) for kind, detail in cloud.events.put_events]


@pytest.mark.parametrize("state", ENDED)
def test_instance_of_a_relay_that_ends_is_told_of_as_a_lost_relay(state: str) -> None:
    cloud = joined()
    assert tell_machine_ends(instance_event(cloud, STATE_CHANGE, state=state), cloud.world) == {
        "first": ["Relay Lost: source-1-0"]
    }
    about = {**relay(cloud, "source-1-0").about, "message": f"its instance is {state}"}
    assert cloud.events.put_events == [("Relay Lost", about)]


def test_warning_of_a_spot_relay_is_handed_on() -> None:
    cloud = joined()
    tell_machine_ends(instance_event(cloud, SPOT_WARNING), cloud.world)
    assert told(cloud) == [("Relay Warned", "source-1-0")]


@pytest.mark.parametrize("machine", [SOURCE_ID, DESTINATION_ID])
def test_each_transfer_of_which_it_is_an_end_is_told(machine: str) -> None:
    cloud = joined()
    for name in ("second", "third"):
        cloud.transfers.create(transfer(name))
    cloud.transfers.change(transfer("third"), transfer_life.close("FAILED"))
    assert tell_machine_ends(stopping(machine), cloud.world) == {"first": ["End Lost"], "second": ["End Lost"]}


@pytest.mark.parametrize("event", [of_ec2(SPOT_WARNING, SOURCE_ID), of_ec2(STATE_CHANGE, SOURCE_ID, state="running")])
def test_an_end_that_still_carries_data_is_not_lost(event: BusEvent) -> None:
    cloud = joined()
    assert tell_machine_ends(event, cloud.world) == {}
    assert told(cloud) == []


def test_nobody_is_told_of_foreign_machines_and_of_relays_that_have_ended() -> None:
    cloud = joined()
    ended = instance_event(cloud, STATE_CHANGE, state="terminated")
    lose(cloud.world, relay(cloud, "source-1-0"), "connection reset")
    for event in (stopping(FOREIGN), of_ec2(SPOT_WARNING, FOREIGN), ended):
        assert tell_machine_ends(event, cloud.world) == {}
    assert told(cloud) == []


def message(number: int, body: str) -> dict[str, Any]:
    source = {"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-west-2:000000000000:cpt-machine-ends"}
    return {"messageId": f"m{number}", "receiptHandle": f"r{number}", "body": body, "attributes": {}, **source}


def batch(*events: BusEvent | str) -> dict[str, Any]:
    bodies = [e if isinstance(e, str) else json.dumps(e.to_document()) for e in events]
    return {"Records": [message(number, body) for number, body in enumerate(bodies)]}


def failed(cloud: Cloud, monkeypatch: pytest.MonkeyPatch, *events: BusEvent | str) -> list[str]:
    """Messages of a batch that come again."""
    monkeypatch.setattr(batches, "world", lambda **_: cloud.world)
    answer = handler(batch(*events), Context())  # type: ignore[arg-type]
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def test_of_a_batch_only_the_events_that_failed_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = joined()
    by_instance, refused = cloud.nodes.by_instance, relay(cloud, "destination-1-0").instance_id

    def throttled(instance_id: str) -> Any:
        if instance_id == refused:
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "Query")
        return by_instance(instance_id)

    cloud.nodes.by_instance = throttled  # type: ignore[method-assign]
    ended = instance_event(cloud, STATE_CHANGE, state="terminated")
    assert failed(cloud, monkeypatch, stopping(refused), "{", ended, stopping(FOREIGN)) == ["m0", "m1"]
    assert told(cloud) == [("Relay Lost", "source-1-0")]


def test_batch_of_which_all_fail_is_no_error_of_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed(Cloud(), monkeypatch, "{", "[]") == ["m0", "m1"]


def test_batch_of_which_none_fails_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed(joined(), monkeypatch, stopping(FOREIGN), stopping(SOURCE_ID)) == []


def test_event_of_before_a_lent_machine_was_taken_is_about_no_relay_of_now() -> None:
    """Its owner had stopped and started it; the event comes late, or again from the dead letters."""
    cloud = joined()
    requested = relay(cloud, "source-1-0").requested_at

    def seconds_after(seconds: float) -> BusEvent:
        event = instance_event(cloud, STATE_CHANGE, state="stopped")
        return event.model_copy(update={"time": datetime.fromtimestamp(requested + seconds, UTC)})

    assert tell_machine_ends(seconds_after(-60), cloud.world) == {}
    assert tell_machine_ends(seconds_after(-1), cloud.world) != {}, "a second is long, and two clocks differ"
    assert tell_machine_ends(seconds_after(5), cloud.world) != {}


def test_relay_of_a_later_run_is_not_lost_by_what_was_told_of_its_namesake() -> None:
    cloud = joined()
    tell_machine_ends(instance_event(cloud, STATE_CHANGE, state="terminated"), cloud.world)
    [(kind, detail)] = cloud.events.put_events
    body = {"schemaVersion": 1, "type": kind, **detail}
    event = BusEvent.from_document({"detail-type": kind, "source": CONTROL, "detail": body})
    amend(cloud, relay(cloud, "source-1-0"), instance_id="i-0fffffffffffffff1")
    assert replace_relay(event, cloud.world) == {}
    assert relay(cloud, "source-1-0").state == "JOINED"
