"""An object was written where a start listens, from a queue: it is collected, and its window ends by a schedule."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.intake.arrivals import CollectedStart
from lambdas.core.intake.starts import ObjectCreated
from lambdas.operations.intake.collecting import collect
from lambdas.runtime.batches import queued
from lambdas.runtime.handler import BusEvent


def collect_object(event: BusEvent, world: World) -> dict[str, Any]:
    """What became of it, by each start that collects it."""
    created = ObjectCreated.from_document(event.detail)
    key = created.stored.key
    starts = _starts(event, world, created.bucket.name, key)
    if created.is_folder:
        return {start.name: f"ignored: {key}" for start in starts}
    return {start.name: f"{collect(world, start, created.arrival)}: {key}" for start in starts}


def _starts(event: BusEvent, world: World, bucket: str, key: str) -> list[CollectedStart]:
    """The one that its rule names; a rule without one is of a bucket for which people add starts."""
    if "start" in event.detail:
        return [CollectedStart.from_document(event.detail["start"])]
    return [start.collected for start in world.added_starts.get().taking(bucket, key)]


handler = queued(collect_object)
