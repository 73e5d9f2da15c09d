"""EC2's events about machines, on the whole way that they take: told by one function, acted upon by others."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.handlers.reactions.lose_end import lose_end
from lambdas.handlers.reactions.replace_relay import replace_relay
from lambdas.handlers.reactions.tell_machine_ends import tell_machine_ends
from lambdas.runtime.handler import STATE_CHANGE, BusEvent
from tests.lambdas.told import CONTROL

READERS = {"Relay Lost": replace_relay, "Relay Warned": replace_relay, "End Lost": lose_end}


def of_ec2(kind: str, instance_id: str, **detail: str) -> BusEvent:
    detail = {"instance-id": instance_id, **detail}
    return BusEvent.from_document({"detail-type": kind, "source": "aws.ec2", "detail": detail})


def stopping(instance_id: str) -> BusEvent:
    return of_ec2(STATE_CHANGE, instance_id, state="stopping")


def hear(event: BusEvent, world: World) -> dict[str, Any]:
    """Hand what is told of the event to its readers, as the bus would; what they return, together."""
    bus: Any = world.events
    before = len(bus.put_events)
    tell_machine_ends(event, world)
    told, bus.put_events[before:] = bus.put_events[before:], []
    done: dict[str, Any] = {}
    for kind, detail in told:
        body = {"schemaVersion": 1, "type": kind, **detail}
        done |= READERS[kind](BusEvent.from_document({"detail-type": kind, "source": CONTROL, "detail": body}), world)
    return done
