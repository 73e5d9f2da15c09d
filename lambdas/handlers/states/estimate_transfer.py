"""Estimate Transfer: what each number of pairs would take and cost, and which one to use."""

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.ends.bucket import SourceBucket
from lambdas.core.estimate.dry_run import dry_run
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.record import transfer_life
from lambdas.core.request.deletion import NO_EXTRAS, WouldDelete
from lambdas.core.restores.summary import Restores
from lambdas.core.survey.survey import Survey
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.estimation import estimate_for
from lambdas.operations.estimate.pooling import fixed, note_estimate
from lambdas.operations.intake.extras import where as extras_where
from lambdas.runtime.handler import task_state


class EstimateInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    survey: Survey


def estimate_transfer(event: EstimateInput, world: World) -> Estimate:
    """The estimate; raises BudgetTooSmall, DeadlineUnreachable or MissingPrice."""
    transfer, survey = event.transfer, event.survey
    result = estimate_for(
        transfer,
        survey.to_send.bytes,
        world,
        survey,
        restores=_restores(transfer, world),
        pool_price=fixed(transfer, world),
    )
    note_estimate(world, transfer, result)
    if transfer.request.dry_run:
        where = f"s3://{world.env.control_bucket}/{world.shared_key(transfer, survey.folder)}"
        deleted = _would_delete(transfer, survey, world) if transfer.request.delete else None
        world.transfers.change(transfer, transfer_life.note(dry_run=dry_run(survey, result, where, deleted)))
    return result


def _restores(transfer: AcceptedTransfer, world: World) -> Restores | None:
    """What the listing of archived objects has found, where there was one."""
    source = transfer.request.source
    if not isinstance(source, SourceBucket) or source.restoring is None:
        return None
    record = world.transfers.get(transfer.transfer_id)
    return record.restores if record else None


def _would_delete(transfer: AcceptedTransfer, survey: Survey, world: World) -> WouldDelete:
    return WouldDelete.of(survey.extras or NO_EXTRAS, transfer.request.max_delete, extras_where(transfer, world))


handler = task_state("Estimate Transfer", EstimateInput, estimate_transfer)
