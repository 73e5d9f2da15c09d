"""Open Plan: what the ends must know of a plan before its first chunk, and the first path; the listing goes on."""

from lambdas.adapters.world import World
from lambdas.core.chunks import listing, object_parts, plan, whole_blocks
from lambdas.core.chunks.chunk import first_range, range_size
from lambdas.core.chunks.listing import OpenSurvey
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.documents import Handover
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.chunks.extending import publish
from lambdas.operations.fleet.sharing import begin
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once_in_execution


class OpenInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    survey: OpenSurvey


def open_plan(event: OpenInput, world: World) -> TransferPlan:
    """The plan without a chunk; sizes are judged by what is listed so far."""
    transfer, listed, requested = event.transfer, event.survey.listed, event.transfer.request.chunk_size_mib
    lanes = object_parts.lanes(transfer, plan.lanes_per_path(0.0, listed.bytes, listed.files))
    part_bytes = plan.chunk_size(listed.bytes, lanes, requested)
    least = object_parts.UNKNOWN_BYTES if object_parts.become_parts(transfer) else listing.LEAST_CHUNK_MIB * plan.MIB
    part_bytes = part_bytes if requested else whole_blocks.usual_bytes(transfer, max(part_bytes, least))
    opened = TransferPlan(
        transfer_id=transfer.transfer_id,
        plan_id=transfer.plan_id,
        chunk_size_bytes=part_bytes,
        chunks=0,
        range_size=range_size(transfer.partition),
        first_range=first_range(transfer.partition, transfer.run),
        last_phase_chunks=0,
        bytes=listed.bytes,
        files=listed.files,
        manifest_parts=[],
        lanes_per_path=object_parts.lanes(transfer, lanes, part_bytes),
        open=True,
    )
    begin(world, publish(world, transfer, opened))
    return opened


handler = task_state("Open Plan", OpenInput, once_in_execution("open-plan", open_plan))
