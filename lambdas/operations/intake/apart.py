"""Source and destination are told apart, or the transfer is refused before anything is written or costs money."""

import logging
from collections.abc import Sequence
from urllib.parse import unquote

from lambdas.adapters.world import World
from lambdas.core.errors import SurveyProblem
from lambdas.core.intake.overlap import Meeting, meetings
from lambdas.core.seats import commands
from lambdas.core.survey.survey import DestinationSurvey, Marked
from lambdas.core.survey.whereabouts import Whereabouts
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.intake import marks
from lambdas.operations.seats.commands import Order, answer, run_all

_LOG = logging.getLogger(__name__)
# A mark is made and looked for at once; a file system that does not answer so long fails the survey.
COMMAND_SECONDS = 120.0


def check_apart(
    transfer: AcceptedTransfer,
    kernel: str | None,
    places: Sequence[Whereabouts],
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
    directories = list(dict.fromkeys(meeting.directory for meeting in found if meeting.directory))
    # Those of an attempt that has ended in the midst of this.
    marks.take_away(transfer, world, COMMAND_SECONDS)
    name = None
    try:
        name = marks.put(transfer, world, COMMAND_SECONDS)
        look = Order.on(transfer.at_source, "scan", commands.marked(transfer, name, directories))
        return Marked.from_document(answer(look, *run_all(world, transfer, [look], COMMAND_SECONDS))).seen
    finally:
        marks.take_away(transfer, world, COMMAND_SECONDS, name)


def _refusal(transfer: AcceptedTransfer, meeting: Meeting) -> SurveyProblem:
    where = transfer.request.destination.told(transfer.at_destination.instance_id)
    path = f"'{unquote(meeting.path, errors='backslashreplace')}' of {transfer.at_source.instance_id}"
    return SurveyProblem(
        f"$.destination.path: {where} {meeting.verb} the source's {path}: both machines see one directory; nothing was "
        "written; choose a destination that is apart from all source paths"
    )
