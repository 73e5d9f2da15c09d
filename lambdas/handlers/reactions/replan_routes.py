"""Plan Due: the routes of a transfer that moves are planned again, and exchanged where others are better."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import PlanDue
from lambdas.operations.fleet.replanning import replan
from lambdas.runtime.handler import CONTROL, BusEvent, event_rule


def replan_routes(event: BusEvent, world: World) -> dict[str, Any]:
    """Return what was done for the transfer that the event names; only the control plane says that a plan is due."""
    if event.source != CONTROL:
        return {}
    due = PlanDue.from_document(event.detail)
    return {due.transfer_id: replan(world, due.transfer_id)}


handler = event_rule(replan_routes)
