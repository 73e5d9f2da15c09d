"""Events of a transfer, read off one look at its records: a later look yields all of them too."""

import math
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Literal

from pydantic import Field

from cli.options import and_local
from lambdas.core.documents import Count, Document
from lambdas.core.request.bandwidth import Mbps, SetBy, limit_in_words
from lambdas.core.watch.standing_limit import LimitByTimetable, limit_words
from lambdas.core.watch.transfer_state import Relay, TransferState
from lambdas.core.words import dollars, duration, size

# States that make the estimate of an execution: it has one of them.
ESTIMATING = ("Estimate Transfer", "Estimate Measuring")


class WatchEvent(Document):
    """Contract `watch-event`; `at` in Unix seconds."""

    transfer_id: str

    @property
    def key(self) -> tuple[str, ...]:
        """Two of the same key are one, seen twice."""
        return (type(self).__name__,)


class StageEntered(WatchEvent):
    """A state of the state machine."""

    type: Literal["Stage Entered"] = "Stage Entered"
    at: float
    stage: str

    @property
    def key(self) -> tuple[str, ...]:
        """Decide Relays, and what follows from it, may run more than once."""
        return ("stage", self.stage, str(self.at))

    def words(self) -> str:
        """Return the stage's name, as the state machine has it."""
        return self.stage


class RelayChanged(WatchEvent):
    """A relay was launched, joined the transfer, or left it, and why."""

    type: Literal["Relay Launched", "Relay Joined", "Relay Left"]
    at: float
    node_id: str
    instance_type: str
    region: str
    reason: str | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """Each of the three comes once for a relay."""
        return (self.type, self.node_id)

    @property
    def what(self) -> str:
        """`joined`, with what is new in it."""
        verb = self.type.split()[1].lower()
        if self.type == "Relay Launched":
            return f"{verb}: {self.instance_type} in {self.region}"
        return f"{verb}: {self.reason}" if self.reason else verb

    def words(self) -> str:
        """`relay source-1-0 joined`."""
        return f"relay {self.node_id} {self.what}"


class LimitChanged(WatchEvent):
    """A person, or the timetable, set another limit, Mbit/s; None: lifted it."""

    type: Literal["Limit Changed"] = "Limit Changed"
    at: float
    bandwidth_limit_mbps: Mbps | None = None
    by: SetBy = "person"

    @property
    def key(self) -> tuple[str, ...]:
        """It may be set as often as people like."""
        return (self.type, str(self.at))

    def words(self) -> str:
        """`limit 400 Mbit/s (50 MB/s)`."""
        return f"limit {limit_in_words(self.bandwidth_limit_mbps, self.by)}"


class RelaysDecided(WatchEvent):
    """Data showed how many pairs of relays are to serve; `after`: seconds of data."""

    type: Literal["Relays Decided"] = "Relays Decided"
    at: float
    pairs: Count
    after: float = Field(alias="afterSeconds", ge=0)
    reason: str

    @property
    def key(self) -> tuple[str, ...]:
        """It is decided again when more is known."""
        return (self.type, str(self.at))

    def words(self) -> str:
        """`decided after 6 s of data: 3 pairs: …`."""
        return f"decided after {duration(self.after)} of data: {self.pairs} pairs: {self.reason}"


class Estimated(WatchEvent):
    """The estimate's choice; seconds and dollars for the whole transfer."""

    type: Literal["Estimated"] = "Estimated"
    pairs: Count
    seconds: float = Field(ge=0)
    cost: float = Field(alias="costUsd", ge=0)
    reason: str

    @property
    def key(self) -> tuple[str, ...]:
        """A person may choose another row later."""
        return ("estimated", str(self.pairs))

    def words(self) -> str:
        """In one line."""
        return f"{self.pairs} pairs, {duration(self.seconds)}, {dollars(self.cost)}: {self.reason}"


class ApprovalRequired(WatchEvent):
    """It waits for a person."""

    type: Literal["Approval Required"] = "Approval Required"

    def words(self) -> str:
        """Return what they have to do."""
        name = self.transfer_id
        return (
            f"{name} waits for approval: cpt approve {name} [--pairs N]{and_local()}, or cpt reject {name}{and_local()}"
        )


Told = StageEntered | RelayChanged | LimitChanged | RelaysDecided | Estimated | ApprovalRequired


class LaneRate(Document):
    """One TCP stream, MB/s."""

    path_id: str
    lane: Count
    rate: float = Field(alias="rateMBps", ge=0)


def path_rates(lanes: Iterable[LaneRate]) -> dict[str, float]:
    """MB/s of all lanes of a path, by path."""
    rates: dict[str, float] = {}
    for lane in sorted(lanes, key=lambda lane: lane.path_id):
        rates[lane.path_id] = rates.get(lane.path_id, 0.0) + lane.rate
    return rates


class Progressed(WatchEvent):
    """Progress: bytes, MB/s, seconds, dollars so far."""

    type: Literal["Progress"] = "Progress"
    bytes: Count
    total_bytes: Count
    rate: float = Field(alias="rateMBps", ge=0)
    seconds_left: float | None = None
    spent: float | None = Field(default=None, alias="spentUsd", ge=0)
    bandwidth_limit_mbps: Mbps | None = None
    timetable: LimitByTimetable | None = None
    lanes: list[LaneRate]

    def words(self) -> str:
        """In one line."""
        money = "" if self.spent is None else f"  {dollars(self.spent)} so far"
        paths = ", ".join(f"{path} {rate:,.1f}" for path, rate in path_rates(self.lanes).items())
        return (
            f"{size(self.bytes):>9} of {size(self.total_bytes)}  {self.rate:6.1f} MB/s"
            f"{limit_words(self.bandwidth_limit_mbps, self.timetable)}  "
            f"{duration(self.seconds_left):>8} left{money}  {paths}"
        )


class Ended(WatchEvent):
    """The last of all; `report` as `cpt report --json` prints it."""

    type: Literal["Transfer Ended"] = "Transfer Ended"
    status: str
    report: dict[str, Any]


def happened(state: TransferState) -> list[Told]:
    """Everything up to this look, in the order of its time."""
    timed: list[StageEntered | RelayChanged | LimitChanged | RelaysDecided] = [
        *_stages(state),
        *_relays(state),
        *_limits(state),
        *_decisions(state),
    ]
    found: list[tuple[float, Told]] = [(event.at, event) for event in timed]
    if state.chosen and state.estimate:
        row = state.chosen
        chosen = Estimated(
            transfer_id=state.transfer_id,
            pairs=row["pairs"],
            seconds=row["seconds"],
            cost=row["costUsd"],
            reason=state.estimate["reason"],
        )
        made = (state.entered[name] for name in ESTIMATING if name in state.entered)
        found.append((next(made, math.inf), chosen))
    if state.awaits_approval:
        found.append((math.inf, ApprovalRequired(transfer_id=state.transfer_id)))
    return [event for _, event in sorted(found, key=lambda pair: pair[0])]


def in_words(events: Iterable[Told]) -> Iterator[tuple[Told, str]]:
    """A line for each, with its first event; relays that did the same one after another share one."""
    for _, run in groupby(events, key=_likeness):
        together = list(run)
        first = together[0]
        if isinstance(first, RelayChanged) and len(together) > 1:
            names = ", ".join(event.node_id for event in together if isinstance(event, RelayChanged))
            yield first, f"relays {names} {first.what}"
        else:
            yield first, first.words()


def _likeness(event: Told) -> tuple[object, ...]:
    if isinstance(event, RelayChanged):
        return (event.type, event.instance_type, event.region, event.reason)
    return event.key


def progress(state: TransferState) -> Progressed | None:
    """None before the sender has sent anything, and where nothing is to be moved."""
    if state.total_bytes is None or state.first_byte_at is None:
        return None
    return Progressed(
        transfer_id=state.transfer_id,
        bytes=state.delivered_bytes,
        total_bytes=state.total_bytes,
        rate=state.megabytes_per_second,
        seconds_left=state.seconds_left,
        spent=state.spent_usd,
        bandwidth_limit_mbps=state.bandwidth_limit_mbps,
        timetable=state.timetable,
        lanes=[LaneRate(path_id=lane.path_id, lane=lane.lane, rate=lane.megabytes_per_second) for lane in state.lanes],
    )


class Untold:
    """Passes each event on once."""

    def __init__(self) -> None:
        self._told: set[tuple[str, ...]] = set()

    def of(self, found: Iterable[Told]) -> Iterator[Told]:
        """Those that were not told yet."""
        for event in found:
            if event.key not in self._told:
                self._told.add(event.key)
                yield event


def _stages(state: TransferState) -> Iterator[StageEntered]:
    for stage, at in state.entered.items():
        yield StageEntered(transfer_id=state.transfer_id, at=at, stage=stage)


def _limits(state: TransferState) -> Iterator[LimitChanged]:
    for change in state.limit_changes:
        yield LimitChanged(transfer_id=state.transfer_id, at=change.at, bandwidth_limit_mbps=change.mbps, by=change.by)


def _decisions(state: TransferState) -> Iterator[RelaysDecided]:
    for one in state.decisions:
        yield RelaysDecided(
            transfer_id=state.transfer_id, at=one.at, pairs=one.pairs, after=one.after, reason=one.reason
        )


def _relays(state: TransferState) -> Iterator[RelayChanged]:
    for relay in state.relays:
        yield _changed(state, relay, "Relay Launched", relay.requested_at)
        if relay.joined_at is not None:
            yield _changed(state, relay, "Relay Joined", relay.joined_at)
        if relay.ended_at is not None:
            yield _changed(state, relay, "Relay Left", relay.ended_at, relay.reason)


def _changed(
    state: TransferState,
    relay: Relay,
    kind: Literal["Relay Launched", "Relay Joined", "Relay Left"],
    at: float,
    reason: str | None = None,
) -> RelayChanged:
    return RelayChanged(
        transfer_id=state.transfer_id,
        type=kind,
        at=float(at),
        node_id=relay.node_id,
        instance_type=relay.instance_type,
        region=relay.region,
        reason=reason,
    )
