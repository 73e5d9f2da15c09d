"""Both ends looked at; where the request allows it, the source's listing is left to others while it goes on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lambdas.adapters.records import CommandResult
from lambdas.adapters.world import World
from lambdas.core.chunks import listing
from lambdas.core.chunks.listing import Announcement, OpenSurvey
from lambdas.core.errors import EmptySource, TransferFenced
from lambdas.core.intake.destination_lock import Busy, refusal, ways_of
from lambdas.core.intake.shared_directories import shared_ways
from lambdas.core.intake.survey import check, check_room, empty_source
from lambdas.core.record import transfer_life
from lambdas.core.seats import commands
from lambdas.core.survey.survey import DestinationSurvey, SourceSurvey, Survey, Unselected
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.intake import beside, holding, listed_keys
from lambdas.operations.intake.apart import check_apart
from lambdas.operations.intake.destination_diff import compared
from lambdas.operations.intake.extras import with_extras
from lambdas.operations.intake.sources import check_mirror, check_sources, remember_mirror
from lambdas.operations.seats.commands import (
    LONGEST_POLL,
    Order,
    Running,
    answer,
    await_all,
    await_answer,
    begin,
    run_all,
)

# The document's own limit is 840 s; the Lambda has 900.
COMMAND_SECONDS = 870.0
# A listing that ends within a second of its first object is waited for: sizes that are known make better plans.
WAITED_SECONDS = 1.0
WATCHED_POLL = 1.0
SOURCE, DESTINATION, FIRST_BESIDE = 0, 1, 2


def look_at_ends(transfer: AcceptedTransfer, world: World) -> Survey | OpenSurvey:
    """The surveys, open where the listing goes on and may be followed.

    Raises SurveyProblem, EmptySource, DestinationTooSmall, DaemonVersionSkew, CommandFailed, DestinationBusy,
    DestinationTaken or DeletionRefused.
    """
    announce = listing.announcement_name(transfer) if listing.may_be_followed(transfer) else None
    keys = listed_keys.share(world, transfer, world.shared_key(transfer, listed_keys.FOLDER))
    running = _scan(transfer, announce, world, keys)
    opening = _Opening(world, transfer, running, follows=announce is not None)
    longest_poll = LONGEST_POLL if announce is None else WATCHED_POLL
    results = await_all(world, running, opening.possible, longest_poll)
    if opening.survey:
        return opening.survey
    survey = _survey(running, results)
    check(transfer, survey)
    _check_beside(transfer, running, survey.source, survey.destination, world)
    _note_left_out(transfer, survey.source, world)
    _tell_empty(transfer, survey.source, world)
    _hold_apart(transfer, running, survey, world)
    check_mirror(transfer, survey.source.places or [], world)
    survey = compared(transfer, survey, world)
    check_room(transfer, survey.to_send, survey.source, survey.destination)
    survey = with_extras(transfer, survey, world)
    remember_mirror(transfer, survey.source.places or [], world)
    return survey


def look_at_measured_ends(transfer: AcceptedTransfer, world: World) -> Survey:
    """The surveys of machines that are only measured: nothing is compared, and the source need not have a file.

    Raises what `look_at_ends` does but for EmptySource and DeletionRefused.
    """
    running = _scan(transfer, None, world)
    survey = _survey(running, await_all(world, running, longest_poll=LONGEST_POLL))
    check(transfer, survey)
    _note_left_out(transfer, survey.source, world)
    _hold_apart(transfer, running, survey, world)
    check_room(transfer, survey.to_send, survey.source, survey.destination)
    return survey


def _scan(transfer: AcceptedTransfer, announce: str | None, world: World, key_parts: int | None = None) -> Running:
    """Begin to list the source and to check the destination, which is held first where the request waits for it."""
    destination = Order.on(
        transfer.at_destination, "scan", commands.scan_destination(transfer, world.control(transfer))
    )
    if transfer.request.when_busy == "wait":
        # While it waits it looks again and again: at the destination only, not at the whole source.
        (result,) = run_all(world, transfer, [destination], COMMAND_SECONDS)
        hold(transfer, DestinationSurvey.from_document(answer(destination, result)), world)
    source = commands.scan_source(transfer, world.control(transfer), announce, key_parts)
    orders = [Order.on(transfer.at_source, "scan", source), destination, *beside.orders(transfer, world)]
    return begin(world, transfer, orders, COMMAND_SECONDS)


def _survey(running: Running, results: Iterable[CommandResult]) -> Survey:
    printed = [answer(order, result) for order, result in zip(running.orders, results, strict=True)]
    return Survey(
        source=SourceSurvey.from_document(printed[SOURCE]),
        destination=DestinationSurvey.from_document(printed[DESTINATION]),
    )


def _check_beside(
    transfer: AcceptedTransfer,
    running: Running,
    source: SourceSurvey | Announcement,
    destination: DestinationSurvey,
    world: World,
) -> None:
    """All machines of an end see one directory."""
    if len(running.orders) > FIRST_BESIDE:
        told = (source.kernel, source.places or [], source.daemon_version)
        beside.check(transfer, running, FIRST_BESIDE, told, destination, world)


def _others(transfer: AcceptedTransfer, running: Running) -> dict[str, DestinationSurvey]:
    return beside.destinations(transfer, running, FIRST_BESIDE)


def _hold_apart(transfer: AcceptedTransfer, running: Running, survey: Survey, world: World) -> None:
    """Take the destination, and refuse what would read and write the same files."""
    hold(transfer, survey.destination, world, _others(transfer, running))
    places = survey.source.places or []
    check_apart(transfer, survey.source.kernel, places, survey.destination, world)
    check_sources(transfer, places, world)


def _note_left_out(transfer: AcceptedTransfer, source: SourceSurvey, world: World) -> None:
    if source.unkept:
        world.transfers.change(transfer, transfer_life.note(unkept=source.unkept))
    if source.unselected:
        where = f"s3://{world.env.control_bucket}/{world.shared_key(transfer, 'unselected/')}"
        world.transfers.change(
            transfer, transfer_life.note(unselected=Unselected(counts=source.unselected, where=where))
        )


def _tell_empty(transfer: AcceptedTransfer, source: SourceSurvey, world: World) -> None:
    """Raise EmptySource where the source has no file and the request does not take that for a success; else note it."""
    told = empty_source(transfer, source)
    if told is None:
        return
    if transfer.request.empty_source == "fail":
        raise EmptySource(f"{told}, or leave $.emptySource out to take this for a success")
    world.transfers.change(transfer, transfer_life.note(empty_source=told))


def hold(
    transfer: AcceptedTransfer,
    destination: DestinationSurvey,
    world: World,
    others: Mapping[str, DestinationSurvey] = MappingProxyType({}),
) -> None:
    """Take the destination's lock by the directory that it is; `others`: as other machines of it have told.

    Raises DestinationBusy or DestinationTaken; TransferFenced where the transfer has ended meanwhile.
    """
    told = {transfer.at_destination.instance_id: destination, **others}
    ways = {instance_id: ways_of(survey) for instance_id, survey in told.items()}
    shared = shared_ways(told.values(), transfer.at_destination.vpc_id)
    held = holding.acquire(world, transfer, ways, shared)
    if isinstance(held, Busy):
        raise refusal(transfer, held)
    record = world.transfers.get(transfer.transfer_id)
    if record is not None and not record.serves(transfer):
        # Resolve Paths has failed beside it: the teardown may have given the lock back before it was taken here.
        if record.is_of(transfer):
            holding.release(world, transfer)
        raise TransferFenced(f"{transfer.transfer_id} has ended before its ends were surveyed")


def survey_of_followed(transfer: AcceptedTransfer, found: OpenSurvey, world: World) -> Survey:
    """The survey whose listing was followed, once it is done; raises what `look_at_ends` does, and TransferFenced."""
    order = Order("scan", transfer.at_source.place, transfer.at_source.instance_id)
    result = await_answer(world, transfer, order, found, COMMAND_SECONDS, lambda: not goes_on(world, transfer))
    if result is None:
        raise TransferFenced(f"{transfer.transfer_id} has ended before its listing")
    survey = Survey(source=SourceSurvey.from_document(answer(order, result)), destination=found.destination)
    check(transfer, survey)
    check_sources(transfer, survey.source.places or [], world)
    _note_left_out(transfer, survey.source, world)
    _tell_empty(transfer, survey.source, world)
    check_room(transfer, survey.to_send, survey.source, survey.destination)
    return survey


def announced(transfer: AcceptedTransfer, world: World) -> Announcement | None:
    """Return what the objects of the listing hold so far; None before the first."""
    body = world.objects.read(world.shared_key(transfer, listing.announcement_name(transfer)))
    return None if body is None else Announcement.model_validate_json(body, by_alias=True, by_name=False)


def goes_on(world: World, transfer: AcceptedTransfer) -> bool:
    """Return whether the transfer may still move data, or has moved all of it."""
    record = world.transfers.get(transfer.transfer_id)
    return record is not None and record.serves(transfer) and not (record.outcome and record.outcome.error)


@dataclass
class _Opening:
    """Looks whether the listing can be followed from here on."""

    world: World
    transfer: AcceptedTransfer
    running: Running
    follows: bool
    survey: OpenSurvey | None = None
    first_seen: float | None = None

    def possible(self) -> bool:
        """Return whether the first object is there, a second has passed, and the destination is empty and at peace."""
        done = self.running.results
        others = range(DESTINATION, len(self.running.orders))
        if not self.follows or SOURCE in done or not all(at in done and done[at].succeeded for at in others):
            return False
        destination = DestinationSurvey.from_document(answer(self.running.orders[DESTINATION], done[DESTINATION]))
        listed = announced(self.transfer, self.world)
        if listed is None or listed.complete or listed.problem_count or destination.problem_count:
            return False
        if destination.occupied or destination.daemon_version != listed.daemon_version:
            return False
        now = self.world.clock.monotonic()
        self.first_seen = now if self.first_seen is None else self.first_seen
        if now - self.first_seen >= WAITED_SECONDS:
            hold(self.transfer, destination, self.world, _others(self.transfer, self.running))
            _check_beside(self.transfer, self.running, listed, destination, self.world)
            check_apart(self.transfer, listed.kernel, listed.places or [], destination, self.world)
            self.survey = OpenSurvey(
                command_id=self.running.sent[SOURCE],
                answer_id=self.running.answers.get(SOURCE),
                destination=destination,
                listed=listed,
            )
        return self.survey is not None
