"""A minute of the schedules: the watches, then every function that an event of theirs leads to."""

from typing import Any

from lambdas.core.documents import SCHEMA_VERSION
from lambdas.handlers.reactions.reconcile import reconcile
from lambdas.handlers.reactions.restart_end import restart_end
from lambdas.handlers.reactions.sweep_execution import sweep_execution
from lambdas.handlers.reactions.watch_ends import watch_ends
from lambdas.handlers.reactions.watch_transfers import watch_transfers
from lambdas.runtime.handler import CONTROL, BusEvent
from tests.lambdas.cloud import Cloud

RULES = {"Look Due": reconcile, "End Silent": restart_end, "Execution Over": sweep_execution}


def of_control(kind: str, **detail: Any) -> BusEvent:
    """An event of the control plane as its rule hands it over."""
    body = {"schemaVersion": SCHEMA_VERSION, "type": kind, **detail}
    return BusEvent.from_document({"detail-type": kind, "source": CONTROL, "detail": body})


def look_due(transfer_id: str = "first") -> BusEvent:
    return of_control("Look Due", transferId=transfer_id)


def minute(cloud: Cloud) -> dict[str, Any]:
    """What all functions together found of each transfer; the events between them are taken from the bus."""
    found: dict[str, Any] = {}
    _add(found, watch_ends(BusEvent(), cloud.world))
    _deliver(cloud, found)
    watch_transfers(BusEvent(), cloud.world)
    _deliver(cloud, found)
    return found


def _deliver(cloud: Cloud, found: dict[str, Any]) -> None:
    while due := [(kind, detail) for kind, detail in cloud.events.put_events if kind in RULES]:
        cloud.events.put_events[:] = [event for event in cloud.events.put_events if event not in due]
        for kind, detail in due:
            answer = RULES[kind](of_control(kind, **detail), cloud.world)
            _add(found, {detail["transferId"]: answer} if kind == "Execution Over" else answer)


def _add(found: dict[str, Any], more: dict[str, Any]) -> None:
    for transfer_id, answer in more.items():
        found.setdefault(transfer_id, {}).update(answer)
