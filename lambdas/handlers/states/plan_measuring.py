"""Plan Measuring: a plan without chunks, and no path for any: the sender only runs the probes."""

from lambdas.adapters.world import World
from lambdas.core.chunks import plan
from lambdas.core.chunks.chunk import first_range, range_size
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.documents import Handover
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.chunks.extending import publish
from lambdas.operations.fleet.membership import begin_without_paths
from lambdas.runtime.handler import task_state
from lambdas.runtime.idempotency import once_in_execution


class PlanInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def plan_measuring(event: PlanInput, world: World) -> TransferPlan:
    """The plan, also in S3 and in the transfer's record."""
    transfer = event.transfer
    lanes = plan.lanes_per_path(0.0, 0, 0)
    found = TransferPlan(
        transfer_id=transfer.transfer_id,
        plan_id=transfer.plan_id,
        chunk_size_bytes=plan.chunk_size(0, lanes, transfer.request.chunk_size_mib),
        chunks=0,
        range_size=range_size(transfer.partition),
        first_range=first_range(transfer.partition, transfer.run),
        last_phase_chunks=0,
        bytes=0,
        files=0,
        manifest_parts=[],
        lanes_per_path=lanes,
    )
    begin_without_paths(world, publish(world, transfer, found))
    return found


handler = task_state("Plan Measuring", PlanInput, once_in_execution("plan-measuring", plan_measuring))
