"""Copy Unit: S3 copies the objects of one unit; what a function that was cut off has copied is not copied again."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.copies.units import Round
from lambdas.core.documents import Count, Handover
from lambdas.core.errors import UnitGoesOn
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.copying import Unit
from lambdas.operations.copies.opening import open_buckets
from lambdas.runtime.handler import task_state


class UnitInput(Handover):
    """Input of the state; `unit`: its number in the round, from 0."""

    transfer: AcceptedTransfer
    round: Round
    unit: Count


def copy_unit(event: UnitInput, world: World) -> dict[str, Any]:
    """Nothing: what was done is noted. Raises UnitGoesOn where its time is over, TransferFenced, Throttled."""
    unit = Unit(world, event.transfer, open_buckets(world, event.transfer), event.round.number, event.unit)
    if not unit.run():
        raise UnitGoesOn(f"unit {event.unit} of round {event.round.number} goes on in another function")
    return {}


handler = task_state("Copy Unit", UnitInput, copy_unit)
