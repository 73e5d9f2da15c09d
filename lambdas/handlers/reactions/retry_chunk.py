"""Chunk Failed: another attempt after a back-off, or the end of this chunk. Only this brings a chunk back."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import ChunkFailed
from lambdas.operations.chunks.retry import decide
from lambdas.runtime.handler import BusEvent, event_rule


def retry_chunk(event: BusEvent, world: World) -> dict[str, Any]:
    """Only an attempt that the sender noted in the item has failed, and for the reason that stands there.

    The write names the attempt it comes from: an event that arrives twice or late changes nothing.
    """
    failed = ChunkFailed.from_document(event.detail)
    record = world.transfers.get(failed.transfer_id)
    if record is None:
        return {"decision": "known"}
    shared = record.transfer.partition
    chunk = world.chunks.get(shared, failed.chunk)
    if chunk is None or not chunk.awaits_policy or chunk.attempt != failed.attempt:
        return {"decision": "known"}
    return {"decision": decide(world, shared, chunk.chunk, chunk.attempt, chunk.reason or failed.reason)}


handler = event_rule(retry_chunk)
