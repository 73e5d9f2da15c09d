"""What an end writes into the records of its transfer before it puts an event."""

from lambdas.core.chunks.chunk_life import Change
from lambdas.core.chunks.events import ChunkFailed, RelayLost, TransferDelivered, TransferFailed
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import shared
from tests.lambdas.cloud import Cloud

AGENT, CONTROL = "cpt.agent", "cpt.control"


def told(cloud: Cloud, event: BusEvent) -> BusEvent:
    """The event, as its end puts it: noted, with the source of ends."""
    match event.detail_type:
        case "Chunk Failed":
            failed = ChunkFailed.from_document(event.detail)
            values = {"failedAttempt": failed.attempt, "reason": failed.reason}
            cloud.chunks.change(
                shared(failed.transfer_id), failed.chunk, Change("note-failure", failed.attempt, values)
            )
        case "Relay Lost":
            lost = RelayLost.from_document(event.detail)
            cloud.agents.lost.setdefault(shared(lost.transfer_id), []).append(lost)
        case "Transfer Delivered":
            delivered = TransferDelivered.from_document(event.detail)
            cloud.agents.outcomes[shared(delivered.transfer_id), "s0"] = delivered
        case "Transfer Failed":
            end = TransferFailed.from_document(event.detail)
            cloud.agents.outcomes[shared(end.transfer_id), end.seat] = end
        case _:
            return event
    return event.model_copy(update={"source": AGENT})
