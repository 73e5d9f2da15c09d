"""What was launched of what was wanted, in the transfer's record."""

from lambdas.adapters.world import World
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated, Spawned


def note_spawned(world: World, record: Estimated, spawned: Spawned) -> None:
    """Add to what was noted of earlier launches of the transfer."""
    before = record.spawned if record.decisions else None
    if before:
        spawned = Spawned(
            wanted=before.wanted + spawned.wanted,
            launched=before.launched + spawned.launched,
            notes=[*before.notes, *spawned.notes],
        )
    world.transfers.change(record.transfer, transfer_life.note(spawned=spawned))
