"""Plan Chunks: pack and cut the listing into chunks; write their items and manifests, once.

The items are written without conditions: a second planner could bring chunks back that are delivered already. Those of
an execution that continues a transfer have numbers of their own, so what came late of an earlier one changes nothing.
"""

from lambdas.adapters.world import World
from lambdas.core.chunks import chunk, object_parts, plan, whole_blocks
from lambdas.core.chunks.transfer_plan import PlanListing, TransferPlan
from lambdas.core.documents import Handover
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.survey.survey import Survey
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.chunks.extending import publish
from lambdas.operations.chunks.planning import part_bytes_for, taken_up, write_chunks
from lambdas.operations.fleet.sharing import begin
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once_in_execution


class PlanInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    survey: Survey
    estimate: Estimate


def plan_chunks(event: PlanInput, world: World) -> TransferPlan:
    """The plan, also in S3 and in the transfer's record: a new one, or that of an earlier run where it still fits."""
    survey = event.survey
    found = taken_up(world, event.transfer, survey.equal_folder) if survey.goes_on else _planned(event, world)
    begin(world, publish(world, event.transfer, found))
    return found


def _planned(event: PlanInput, world: World) -> TransferPlan:
    transfer_id, to_send = event.transfer.transfer_id, event.survey.to_send
    figures = event.estimate.figures
    rate = max(figures.direct.now, figures.pair.now)
    lanes = object_parts.lanes(event.transfer, plan.lanes_per_path(rate, to_send.bytes, to_send.files))
    paths = max(event.estimate.figures.machines or [1]) + event.estimate.chosen_pairs
    shared_by = plan.lanes_to_plan_for(lanes, paths, between_regions=event.transfer.between_machines)
    usual = plan.chunk_size(to_send.bytes, shared_by, event.transfer.request.chunk_size_mib)
    usual = whole_blocks.usual_bytes(event.transfer, object_parts.usual_bytes(event.transfer, usual))
    first_range = chunk.first_range(event.transfer.partition, event.transfer.run)
    parts = to_send.parts
    listing = [
        world.shared_key(event.transfer, f"{event.survey.folder}part-{number:05d}.ndjson") for number in range(parts)
    ]
    part_bytes = part_bytes_for(world, event.transfer, listing, to_send.bytes, usual)
    written = write_chunks(world, event.transfer, listing, part_bytes, first_range)
    return TransferPlan(
        transfer_id=transfer_id,
        plan_id=event.transfer.plan_id,
        chunk_size_bytes=part_bytes,
        chunks=written.count,
        range_size=chunk.range_size(event.transfer.partition),
        first_range=first_range,
        last_phase_chunks=written.last_phase,
        bytes=written.bytes,
        files=to_send.files,
        manifest_parts=written.parts,
        lanes_per_path=object_parts.lanes(event.transfer, lanes, part_bytes),
        listing=_listing(event.survey, parts),
    )


def _listing(survey: Survey, planned_parts: int) -> PlanListing:
    return PlanListing(
        parts=survey.source.parts,
        digest=survey.source.listing_digest,
        planned_folder=survey.folder,
        planned_parts=planned_parts,
        equal_folder=survey.equal_folder,
    )


handler = task_state("Plan Chunks", PlanInput, once_in_execution("plan-chunks", plan_chunks))
