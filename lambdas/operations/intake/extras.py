"""What the destination has and the source does not, found by the destination's daemon."""

from lambdas.adapters.world import World
from lambdas.core.intake.extras import check_extras, check_source
from lambdas.core.request.deletion import ExtrasSurvey
from lambdas.core.seats import commands
from lambdas.core.survey.survey import Survey
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.seats.commands import Order, answer, run_all

# The document's own limit is 840 s. Where the scans before it leave less of the function's 900 s, that ends first.
COMMAND_SECONDS = 870.0


def with_extras(transfer: AcceptedTransfer, survey: Survey, world: World) -> Survey:
    """The survey with the extras, where the request may remove any and something is there.

    Raises CommandFailed, and DeletionRefused unless the request confirms them, or only asks what there is.
    """
    if not transfer.request.delete:
        return survey
    check_source(transfer, survey.source)
    if not survey.destination.occupied:
        return survey
    command = commands.scan_extras(transfer, world.control(transfer), survey.source)
    order = Order.on(transfer.at_destination, "scan", command)
    printed = answer(order, *run_all(world, transfer, [order], COMMAND_SECONDS))
    extras = ExtrasSurvey.from_document(printed)
    if not transfer.request.dry_run:
        check_extras(transfer, survey.source, extras, where(transfer, world))
    return survey.model_copy(update={"extras": extras})


def where(transfer: AcceptedTransfer, world: World) -> str:
    """Return the folder of their list (`s3://…/`), which is kept as long as reports are."""
    return f"s3://{world.env.control_bucket}/{world.shared_key(transfer, commands.extras_folder(transfer))}"
