"""The record of a transfer: one schema of its item in the transfers table, read once, into the phase that it is in.

A phase says what the record holds for certain. Work that needs the paths or the plan asks for a record of that phase.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args

from pydantic import Field

from lambdas.core.chunks.events import Delivered
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.copies.summary import Copies
from lambdas.core.documents import Count, Document, Handover, TransferId
from lambdas.core.estimate.dry_run import DryRun
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.first_contact import RelayDecision
from lambdas.core.estimate.profiling import Measured
from lambdas.core.fleet.relay_watch import Watch
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.core.pool.place_in_queue import PoolTurn
from lambdas.core.pool.price_wait import PriceWait
from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.record.pause import Pause
from lambdas.core.record.unfinished_uploads import UnfinishedUploads
from lambdas.core.request.bandwidth import BandwidthLimit, limit_at
from lambdas.core.request.deletion import Deleted
from lambdas.core.restores.summary import Restores
from lambdas.core.seats.liveness import Seats
from lambdas.core.seats.retirement import RetiredSeat, living
from lambdas.core.spending.meter import BudgetDecision, Spent
from lambdas.core.survey.survey import LeftAlone, Same, UnkeptCounts, Unselected
from lambdas.core.survey.whereabouts import SourcePath
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.record_format import FORMAT_VERSION, format_of
from lambdas.core.transfer.seat import Seat

EndStatus = Literal["SUCCEEDED", "SUCCEEDED_WITH_SKIPS", "FAILED"]
Status = Literal["ACTIVE", "DONE", EndStatus]
# Of a transfer that is reported.
ENDED: frozenset[EndStatus] = frozenset(get_args(EndStatus))
Phase = TypeVar("Phase", bound="TransferRecord")
# Attributes that mean the same in every format, beside the transfer itself: what a teardown and its report go by.
_ANY_FORMAT = frozenset({"status", "fenced", "outcome", "stages", "active", "attempt", "teardown", "marks"})


class Spawned(Document):
    """Pairs wanted (twice as many with a pre-test) and launched; `notes`: why fewer, or not the first choice."""

    wanted: Count
    launched: Count
    notes: list[str]


class Beside(Document):
    """Another transfer that used one of the same ends, and when: Unix seconds."""

    transfer_id: TransferId
    since: float
    until: float


class Outcome(Handover):
    """The end of moving the data, or of measuring: `delivered`, `measured`, or the error that fails the task."""

    delivered: Delivered | None = None
    measured: Measured | None = None
    error: str | None = None
    cause: str | None = None


class TransferRecord(Handover):
    """The record of an accepted transfer; times in Unix seconds.

    `active`: present until the transfer is reported and nothing is left to take down. `attempt`: the last start of
    the ends; `earlier_starts`: the last one of the runs before this. `teardown`: what was taken down, once all was.
    `budget`: present once the budget no longer covers relays. `same`: what was at the destination already.
    `unselected`: what is not moved. `empty_source`: says in words that there was no file to move.
    `unkept`: extended attributes that are not kept. `dry_run`: what would be done,
    where that is all that was asked for. `deleted`: what became of the extras. `source_paths`: what the source was on
    in the first run. `earlier`: the plan of an earlier run, which may not be fulfilled. `bandwidth`: once another limit
    was set than that with which it began. `decisions`: about relays, taken while data moved. `beside`: transfers that
    ended before this one, and used one of its ends meanwhile. `marks`: names of those that may be in the destination.
    """

    transfer: AcceptedTransfer
    status: Status
    fenced: bool
    active: Literal["yes"] | None = None
    attempt: Count = 0
    stages: dict[str, dict[str, float]] = Field(default_factory=dict)
    paths: ResolvedPaths | None = None
    estimate: Estimate | None = None
    plan: TransferPlan | None = None
    spawned: Spawned | None = None
    outcome: Outcome | None = None
    teardown: dict[str, Count] | None = None
    pool_price: PoolPrice | None = None
    """Where it may have leases in a pool: what they cost, as it was when it began."""
    price_wait: PriceWait | None = None
    """Where it waits, or has waited, for a price of the pool: what the last look found."""
    pool_turn: PoolTurn | None = None
    """Where it has asked for leases and it was not its turn: where it stood when it asked last."""
    spent: Spent | None = None
    budget: BudgetDecision | None = None
    watch: Watch = Field(default_factory=Watch)
    same: Same | None = None
    left_alone: LeftAlone | None = None
    unselected: Unselected | None = None
    empty_source: str | None = None
    unkept: UnkeptCounts | None = None
    dry_run: DryRun | None = None
    deleted: Deleted | None = None
    copies: Copies | None = None
    """Where both ends are buckets: what S3 copies, as far as it is known."""
    restores: Restores | None = None
    """Where archived objects are restored first: what of them is known."""
    unfinished: UnfinishedUploads | None = None
    """Where the destination is a bucket: what waits there for the next run, once all was taken down."""
    source_paths: list[SourcePath] | None = None
    earlier: TransferPlan | None = None
    earlier_starts: Count = 0
    seats: Seats | None = None
    bandwidth: BandwidthLimit | None = None
    pause: Pause | None = None
    """None where nobody ever paused it."""
    shared: bool = False
    """A limit over several transfers has held for it."""
    decisions: list[RelayDecision] = Field(default_factory=list)
    beside: list[Beside] = Field(default_factory=list)
    marks: list[str] = Field(default_factory=list)
    retired: list[RetiredSeat] = Field(default_factory=list)
    """Seats that were given up while others of their side went on, in the order in which that happened."""

    @classmethod
    def parse(cls, item: Mapping[str, Any]) -> "TransferRecord":
        """The record of an item, in its phase.

        Of another format only what a teardown needs is read: whose it is, and how far it has ended.
        """
        if format_of(item) != FORMAT_VERSION:
            item = {name: item[name] for name in (_TRANSFER | _ANY_FORMAT) & item.keys()}
        phase = next((phase for phase, needs in _PHASES if needs <= item.keys()), cls)
        return phase.from_document({**item, "transfer": {name: item[name] for name in _TRANSFER & item.keys()}})

    @property
    def closed(self) -> bool:
        """The transfer is reported, and nothing is left to take down."""
        return self.active is None

    @property
    def ended(self) -> bool:
        """Another execution may resume the transfer."""
        return self.closed and self.status in ENDED

    @property
    def living(self) -> tuple[Seat, ...]:
        """The seats in which a daemon is to work."""
        return living(self.transfer, self.retired)

    @property
    def moving(self) -> bool:
        """The sender follows the membership."""
        return self.status == "ACTIVE" and not self.fenced

    @property
    def running(self) -> bool:
        """Relays may still be of use."""
        return self.moving and self.budget is None and not self.paused

    @property
    def paused(self) -> bool:
        """A person has paused it, and it is to send nothing."""
        return self.pause is not None and self.pause.paused

    @property
    def awaits_price(self) -> bool:
        """Nothing of it has begun: the pool is too dear."""
        return self.price_wait is not None and self.price_wait.wait_seconds is not None

    def is_of(self, transfer: AcceptedTransfer) -> bool:
        """Return whether the transfer's execution has it, and no later one has taken it up."""
        return self.transfer.execution_arn == transfer.execution_arn

    def serves(self, transfer: AcceptedTransfer) -> bool:
        """Return whether the transfer's execution may start anything: it has the record, and is not being torn down."""
        return not self.fenced and self.is_of(transfer)

    @property
    def delivered(self) -> Delivered | None:
        """The sender's word when all had arrived."""
        return self.outcome.delivered if self.outcome else None

    @property
    def measured(self) -> Measured | None:
        """The results of a profiling execution; None where data was moved, or nothing was found."""
        return self.outcome.measured if self.outcome else None

    @property
    def limit(self) -> BandwidthLimit:
        """The bound on the sender's rate, now and before."""
        asked = limit_at(self.transfer.request.bandwidth_limit_mbps, self.transfer.execution_started_at)
        return self.bandwidth or BandwidthLimit().set_to(asked)

    @property
    def unfulfilled(self) -> TransferPlan | None:
        """The plan that a later run may go on with: this one's, or before it has one that of an earlier run.

        Not one of which the ends have noted checksums alone: what was delivered of it is compared anew.
        """
        if self.plan is None:
            return self.earlier
        if not self.transfer.request.tells_content:
            return None
        return None if self.plan.chunks == 0 or self.delivered or self.plan.open else self.plan


class Planned(TransferRecord):
    """It is known how the ends reach each other, and what is moved: they may be started."""

    paths: ResolvedPaths
    plan: TransferPlan


class Estimated(Planned):
    """It is known, too, how many relays are wanted: they may be launched."""

    estimate: Estimate

    def is_all_sent(self, moved_bytes: int) -> bool:
        """Whether all that is planned has left the sender, which has moved so many bytes: relays change nothing."""
        return not self.plan.open and moved_bytes >= self.plan.bytes > 0


_TRANSFER = frozenset(str(field.alias) for field in AcceptedTransfer.model_fields.values())
# The latest first.
_PHASES: tuple[tuple[type[TransferRecord], frozenset[str]], ...] = (
    (Estimated, frozenset({"paths", "plan", "estimate"})),
    (Planned, frozenset({"paths", "plan"})),
)
