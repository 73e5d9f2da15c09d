"""Chunk Failed: another attempt after a back-off, or the end of this chunk. Only this brings a chunk back."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.events import ChunkFailed
from lambdas.operations.retry import decide
from lambdas.runtime.handler import BusEvent, event_rule


def retry_chunk(event: BusEvent, world: World) -> dict[str, Any]:
    """The write names the attempt it comes from: an event that arrives twice or late changes nothing."""
    failed = ChunkFailed.from_document(event.detail)
    return {"decision": decide(world, failed.transfer_id, failed.chunk, failed.attempt, failed.reason)}


handler = event_rule(retry_chunk)
