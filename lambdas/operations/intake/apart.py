"""Source and destination are told apart, or the transfer is refused before anything is written or costs money."""

import logging
from collections.abc import Sequence
from secrets import token_hex
from urllib.parse import unquote

from lambdas.adapters.world import World
from lambdas.core.ends import commands
from lambdas.core.errors import SurveyProblem
from lambdas.core.intake.overlap import Meeting, meetings
from lambdas.core.survey import DestinationSurvey, Mark, Marked
from lambdas.core.transfer import AcceptedTransfer
from lambdas.core.whereabouts import Place
from lambdas.operations.ends.commands import Order, answer, run_all

_LOG = logging.getLogger(__name__)
# A mark is made and looked for at once; a file system that does not answer so long fails the survey.
COMMAND_SECONDS = 120.0


def check_apart(
    transfer: AcceptedTransfer,
    kernel: str | None,
    places: Sequence[Place],
    destination: DestinationSurvey,
    world: World,
) -> None:
    """Raise SurveyProblem where the destination is a directory of the source, or holds one; CommandFailed.

    Where only inodes say so, a mark in the destination decides, which a dry run does not make.
    """
    found = list(meetings(kernel, places, destination))
    certain = [meeting for meeting in found if meeting.certain]
    if certain:
        raise _refusal(transfer, certain[0])
    if not found:
        return
    if transfer.request.dry_run:
        if by_birth := [meeting for meeting in found if meeting.by_birth]:
            raise _refusal(transfer, by_birth[0])
        _LOG.warning("it is not known whether source and destination are apart: %s", found[0])
        return
    if _is_seen(transfer, found, world):
        raise _refusal(transfer, found[0])


def _is_seen(transfer: AcceptedTransfer, found: Sequence[Meeting], world: World) -> bool:
    name = token_hex(16)
    directories = list(dict.fromkeys(meeting.directory for meeting in found if meeting.directory))
    _put(transfer, name, world, present=True)
    try:
        look = Order.on(transfer.source, "scan", commands.marked(transfer, name, directories))
        return Marked.from_document(_run(transfer, look, world)).seen
    finally:
        _put(transfer, name, world, present=False)


def _put(transfer: AcceptedTransfer, name: str, world: World, *, present: bool) -> None:
    order = Order.on(transfer.destination, "scan", commands.mark(transfer, name, present=present))
    Mark.from_document(_run(transfer, order, world))


def _run(transfer: AcceptedTransfer, order: Order, world: World) -> dict[str, object]:
    return answer(order, *run_all(world, transfer, [order], COMMAND_SECONDS))


def _refusal(transfer: AcceptedTransfer, meeting: Meeting) -> SurveyProblem:
    where = f"'{transfer.request.destination.path}' on {transfer.destination.instance_id}"
    path = f"'{unquote(meeting.path, errors='backslashreplace')}' of {transfer.source.instance_id}"
    return SurveyProblem(
        f"$.destination.path: {where} {meeting.verb} the source's {path}: both machines see one directory; nothing was "
        "written; choose a destination that is apart from all source paths"
    )
