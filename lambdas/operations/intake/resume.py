"""A transfer's name, taken by its first execution, or by a later one that goes on with what has ended."""

from lambdas.adapters.world import World
from lambdas.core.errors import InvalidRequest, NoSuchTransfer, TransferEnding, TransferRunning, WriteConflict
from lambdas.core.intake import resume_check
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.record_format import FORMAT_VERSION, in_words


def take_name(world: World, transfer: AcceptedTransfer) -> AcceptedTransfer:
    """The transfer with the number of its run, its record written; the same again for the same execution.

    Raises InvalidRequest, NoSuchTransfer, TransferRunning or TransferEnding.
    """
    name = transfer.transfer_id
    if transfer.request.resume:
        return _resumed(world, transfer)
    if not world.transfers.create(transfer):
        raise InvalidRequest(
            f"$.name: '{name}' was used by another execution; choose another name, or, once that has ended, go on "
            "with it by $.resume: true"
        )
    return transfer


def _resumed(world: World, transfer: AcceptedTransfer) -> AcceptedTransfer:
    name = transfer.transfer_id
    known = world.transfers.get(name)
    if known is None:
        raise NoSuchTransfer(f"$.resume: there is no transfer '{name}'; give its name as $.name, or leave resume out")
    found = known.transfer
    if found.execution_arn != transfer.execution_arn:
        if known.fenced and not known.ended:
            # A state that outlasted its execution opens the transfer once more, until the reconciler's next look.
            raise TransferEnding(f"$.resume: '{name}' is still being taken down ({found.execution_arn})")
        if not known.ended:
            raise TransferRunning(
                f"$.resume: '{name}' has not ended ({found.execution_arn}); wait for it, or cancel it first"
            )
        if found.format_version != FORMAT_VERSION:
            raise InvalidRequest(f"$.resume: {in_words(name, found.format_version)}")
        found = _next_run(world, found, transfer)
    # Nothing of this run is there yet. What the earlier one left would be taken for this one's.
    world.agents.forget(transfer.partition)
    world.chunks.forget_finish(transfer.partition)
    world.nodes.forget(name)
    return found


def _next_run(world: World, before: AcceptedTransfer, now: AcceptedTransfer) -> AcceptedTransfer:
    problems = resume_check.differences(before, now)
    if before.run >= resume_check.MAX_RUNS:
        problems.append(f"$.name: '{now.transfer_id}' was run {before.run} times; give it another name")
    if problems:
        raise InvalidRequest(problems)
    transfer = now.model_copy(update={"run": before.run + 1})
    if not world.transfers.resume(transfer):
        raise WriteConflict(f"another execution takes '{now.transfer_id}' up at the same time")
    return transfer
