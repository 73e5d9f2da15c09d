"""Launches of pairs by states, and what came of them in the transfer's record."""

from lambdas.adapters.world import World
from lambdas.core.errors import CptError
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet import pairing
from lambdas.core.fleet.launch_queue import LaunchQueue
from lambdas.core.fleet.topology import routes_of
from lambdas.core.record.transfer_record import Estimated, Spawned
from lambdas.operations.fleet.growth import launch_routes
from lambdas.operations.fleet.spawned import note_spawned


def spawn(
    world: World, record: Estimated, estimate: Estimate, wanted: int, paths: int, queue: LaunchQueue | None
) -> Spawned:
    """Launch the `wanted` ones that are lacking of so many paths; raises the decision that EC2's refusal means."""
    try:
        launched = launch_routes(world, record, estimate, paths, queue or LaunchQueue())
    except CptError as error:  # the report is to say why there are none
        note_spawned(world, record, Spawned(wanted=wanted, launched=0, notes=[f"{type(error).__name__}: {error}"]))
        raise
    pairs = pairing.strength(routes_of(record.transfer), launched.nodes, "SPAWNED")
    spawned = Spawned(wanted=wanted, launched=pairs, notes=launched.notes)
    note_spawned(world, record, spawned)
    return spawned
