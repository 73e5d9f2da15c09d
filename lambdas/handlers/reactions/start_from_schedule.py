"""A schedule is due: start the request that it carries."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.intake.starts import ScheduledStart
from lambdas.operations.intake.starting import start
from lambdas.runtime.handler import BusEvent, event_rule


def start_from_schedule(event: BusEvent, world: World) -> dict[str, Any]:
    """A run that comes twice starts once, since the execution's name is made from schedule and scheduled time."""
    due = ScheduledStart.from_document(event.detail)
    return start(world, due.origin, due.execution_name, lambda: due.request).to_document()


handler = event_rule(start_from_schedule)
