"""The proof that all machines of an end see one and the same directory, before anything is written or costs money.

Of a bucket there is nothing to prove: S3 answers all alike. Each machine that is to write it says whether it may.
At the destination a mark decides: the first machine puts it there, every other one sees it come and go. At the source
what the machines say of their file systems is enough where it can be; where it leaves a doubt, a mark decides too.
"""

import logging
from collections.abc import Sequence
from posixpath import normpath
from urllib.parse import quote, unquote

from lambdas.adapters.world import World
from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.ends.hdfs import HdfsEnd
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.ends.seated import DestinationPath
from lambdas.core.errors import CommandFailed, SurveyProblem
from lambdas.core.intake.one_directory import NOT_THERE, Doubt, Verdict, doubts
from lambdas.core.intake.survey import check_beside
from lambdas.core.seats import commands
from lambdas.core.survey.survey import DestinationSurvey, Marked, SourceSurvey
from lambdas.core.survey.whereabouts import Whereabouts
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import Seat
from lambdas.operations.intake import marks
from lambdas.operations.seats.commands import Order, Running, answer, run_all

_LOG = logging.getLogger(__name__)
COMMAND_SECONDS = 120.0
# A client of a network file system may show for so long what is gone: NFS keeps attributes for 60 s at most.
GONE_SECONDS, AGAIN_SECONDS = 75.0, 5.0


def orders(transfer: AcceptedTransfer, world: World) -> list[Order]:
    """Scans of the other machines of both ends: a destination as any, a source without its listing."""
    control = world.control(transfer)
    looks = [
        Order.on(seat.machine, "scan", commands.scan_beside(transfer, control, seat.seat_id, NOT_THERE))
        for seat in _readers(transfer)
    ]
    return looks + [
        Order.on(seat.machine, "scan", commands.scan_destination(transfer, world.control(transfer), seat.seat_id))
        for seat in transfer.receivers[1:]
    ]


def destinations(transfer: AcceptedTransfer, running: Running, first: int) -> dict[str, DestinationSurvey]:
    """What other machines of the destination have said of it, by machine."""
    found, receivers = {}, transfer.receivers[1:]
    for at, seat in enumerate(receivers, first + len(_readers(transfer))):
        if (result := running.results.get(at)) is not None:
            found[seat.machine.instance_id] = DestinationSurvey.from_document(answer(running.orders[at], result))
    return found


def check(
    transfer: AcceptedTransfer,
    running: Running,
    first: int,
    source: tuple[str | None, Sequence[Whereabouts], str],
    destination: DestinationSurvey,
    world: World,
) -> None:
    """Raise SurveyProblem where a machine does not see what the first of its end does.

    DaemonVersionSkew and CommandFailed as any survey.
    `first`: the place of the first of `orders` among those that were run. `source`: kernel, places and version.
    """
    told = [answer(running.orders[at], running.results[at]) for at in range(first, len(running.orders))]
    kernel, places, version = source
    senders, receivers = _readers(transfer), transfer.receivers[1:]
    looks = [SourceSurvey.from_document(one) for one in told[: len(senders)]]
    others = [DestinationSurvey.from_document(one) for one in told[len(senders) :]]
    asked = transfer.request.destination
    check_beside(asked, version, zip(senders, looks, strict=True), zip(receivers, others, strict=True))
    for seat, look in zip(senders, looks, strict=True):
        found = doubts(kernel, places, look.kernel, look.places or [])
        if other := [doubt for doubt in found if doubt.verdict is Verdict.OTHER]:
            raise _refusal(transfer, seat, other[0])
        for doubt in found:
            _decide(transfer, seat, doubt, world)
    if receivers and isinstance(asked, DestinationPath):
        directory = _deepest(asked.path, len(destination.ways[0].missing))
        _prove_destination(transfer, directory, world)


def _readers(transfer: AcceptedTransfer) -> Sequence[Seat]:
    """The other machines that read a source of their own sight: whoever asks for a bucket is answered by S3."""
    return () if isinstance(transfer.request.source, BucketEnd) else transfer.senders[1:]


def _decide(transfer: AcceptedTransfer, seat: Seat, doubt: Doubt, world: World) -> None:
    """A mark in the source, where one may be put there."""
    if transfer.request.dry_run:
        _LOG.warning("it is not known whether all machines of the source see '%s'", doubt.path)
        return
    path = _deepest(unquote(doubt.path, errors="surrogateescape"), doubt.missing)
    try:
        seen = marks.seen_at(transfer, world, COMMAND_SECONDS, path, [seat.machine])
    except (CommandFailed, SurveyProblem):
        raise _refusal(transfer, seat, doubt) from None
    if not all(seen):
        raise _refusal(transfer, seat, doubt)


def _prove_destination(transfer: AcceptedTransfer, directory: str, world: World) -> None:
    if transfer.request.dry_run:
        _LOG.warning("it is not known whether all machines of the destination see one directory")
        return
    others = transfer.receivers[1:]
    marks.take_away(transfer, world, COMMAND_SECONDS)  # those of an attempt that has ended in the midst of this
    name = None
    try:
        name = marks.put(transfer, world, COMMAND_SECONDS)
        for seat, seen in zip(others, _look(transfer, world, name, directory, others), strict=True):
            if not seen:
                raise _refused(transfer, seat, directory, "does not see a file that was put there")
    finally:
        marks.take_away(transfer, world, COMMAND_SECONDS, name)
    until = world.clock.monotonic() + GONE_SECONDS
    while True:
        left = [
            seat for seat, seen in zip(others, _look(transfer, world, name, directory, others), strict=True) if seen
        ]
        if not left:
            return
        if world.clock.monotonic() >= until:
            raise _refused(transfer, left[0], directory, "still sees a file that was removed there: it has a copy")
        world.clock.sleep(AGAIN_SECONDS)


def _look(transfer: AcceptedTransfer, world: World, name: str, directory: str, seats: Sequence[Seat]) -> list[bool]:
    command = commands.marked_at_destination(transfer, name, quote(directory.encode(), safe="/~"))
    looks = [Order.on(seat.machine, "scan", command) for seat in seats]
    results = run_all(world, transfer, looks, COMMAND_SECONDS)
    return [Marked.from_document(answer(*one)).seen for one in zip(looks, results, strict=True)]


def _deepest(path: str, missing: int) -> str:
    """The deepest directory of a path that exists; so many names below it do not."""
    names = [name for name in normpath(path).split("/") if name]
    return "/" + "/".join(names[: len(names) - missing])


def _refused(transfer: AcceptedTransfer, seat: Seat, directory: str, what: str) -> SurveyProblem:
    asked, number = transfer.request.destination, transfer.receivers.index(seat)
    return SurveyProblem(
        f"$.destination.{asked.field_of(number)}: {seat.machine.instance_id} {what} ('{directory}' of "
        f"{transfer.at_destination.instance_id}): both see another directory at '{asked.where}'; "
        f"{_remedy('destination', asked)}, or leave the machine out"
    )


def _refusal(transfer: AcceptedTransfer, seat: Seat, doubt: Doubt) -> SurveyProblem:
    asked, number = transfer.request.source, transfer.senders.index(seat)
    path = unquote(doubt.path, errors="backslashreplace")
    is_what = "is not what it is" if doubt.verdict is Verdict.OTHER else "cannot be proven to be what it is"
    return SurveyProblem(
        f"$.source.{asked.field_of(number)}: '{path}' on {seat.machine.instance_id} {is_what} on "
        f"{transfer.at_source.instance_id}: there {doubt.first}; here {doubt.here}; {_remedy('source', asked)}, or "
        "leave the machine out"
    )


def _remedy(side: str, asked: SourceEnd | DestinationEnd) -> str:
    if isinstance(asked, HdfsEnd):
        return f"name workers of one cluster in $.{side}.{asked.several_field}"
    return f"mount the same directory at this path on all of $.{side}.{asked.several_field}"
