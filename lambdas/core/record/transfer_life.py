"""The life of a transfer: from which status its record may change, into what, who makes the change, and what it sets.

    nothing, FAILED before a plan ── create ──> ACTIVE
    SUCCEEDED, SUCCEEDED_WITH_SKIPS, FAILED ── resume ──> ACTIVE, of the next run
    ACTIVE ── finish ──> DONE
    ACTIVE, DONE ── succeed ──> SUCCEEDED    … ── succeed-with-skips ──> SUCCEEDED_WITH_SKIPS    … ── fail ──> FAILED
    any ── fence, note, note-stage, count-attempt; ended ── reopen: the status stays

An execution takes a transfer by `create` or `resume`, each of which replaces a record that is closed. Every other
change is of the execution that has the record: one that a later execution has overtaken changes nothing. A change that
does not hold is a normal answer to its caller. A status that has ended stays: `succeed` and `fail` may come again, for
a transfer that was reopened, but none takes the place of another.

All conditions are data. The store over DynamoDB makes expressions of them; its twin in memory, in the tests, judges the
same ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from pydantic.alias_generators import to_camel

from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.copies.summary import Copies
from lambdas.core.documents import Document
from lambdas.core.estimate.dry_run import DryRun
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.relay_watch import Watch
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.core.pool.place_in_queue import PoolTurn
from lambdas.core.pool.price_wait import PriceWait
from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.record.pause import Pause
from lambdas.core.record.transfer_record import ENDED, Beside, EndStatus, Outcome, Spawned, Status, TransferRecord
from lambdas.core.record.unfinished_uploads import UnfinishedUploads
from lambdas.core.request.bandwidth import BandwidthLimit
from lambdas.core.request.deletion import Deleted
from lambdas.core.restores.summary import Restores
from lambdas.core.seats.liveness import Seats
from lambdas.core.seats.retirement import RetiredSeat
from lambdas.core.spending.meter import BudgetDecision, Spent
from lambdas.core.survey.survey import LeftAlone, Same, UnkeptCounts, Unselected
from lambdas.core.transfer.accepted import AcceptedTransfer

ChangeName = Literal[
    "note", "note-stage", "count-attempt", "fence", "finish", "succeed", "succeed-with-skips", "fail", "reopen"
]  # fmt: skip


class Comparison(NamedTuple):
    """One comparison of an attribute; inner ones follow a dot. What is absent holds in no other comparison.

    `size`: of a list.
    """

    attribute: str
    relation: Literal["absent", "=", "<=", "in", "size"]
    value: Any = None


# Alternatives, of each of which all comparisons must hold.
Condition = tuple[tuple[Comparison, ...], ...]


class Rule(NamedTuple):
    """The effect of changes of one name; without a target the status stays.

    `sets`: attributes, of which `note` sets some. `removes` and `counts`: others, which go or grow by one.
    """

    writer: str
    sources: frozenset[Status]
    target: Status | None
    sets: tuple[str, ...]
    removes: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()


# What a document is compared by with the one that it replaces: a later reading, or the next version.
SUCCESSION: dict[str, tuple[str, Literal["=", "<="], int]] = {
    "spent": ("at", "<=", 0),
    "seats": ("version", "=", -1),
    "bandwidth": ("version", "=", -1),
    "pause": ("version", "=", -1),
}
ANY: frozenset[Status] = frozenset({"ACTIVE", "DONE", *ENDED})


class Noted(TypedDict, total=False):
    """Documents that `note` sets, each as a whole."""

    receiver_port: int
    paths: ResolvedPaths
    same: Same
    left_alone: LeftAlone
    unselected: Unselected
    empty_source: str
    unkept: UnkeptCounts
    dry_run: DryRun
    deleted: Deleted
    copies: Copies
    restores: Restores
    unfinished: UnfinishedUploads
    source_paths: list[dict[str, Any]]
    estimate: Estimate
    pool_price: PoolPrice
    price_wait: PriceWait
    pool_turn: PoolTurn
    plan: TransferPlan
    spawned: Spawned
    watch: Watch
    budget: BudgetDecision
    bandwidth: BandwidthLimit
    pause: Pause
    shared: bool
    spent: Spent
    seats: Seats
    teardown: dict[str, int]
    decisions: list[dict[str, Any]]
    beside: list[dict[str, Any]]
    marks: list[str]
    retired: list[dict[str, Any]]


def _end(target: EndStatus) -> Rule:
    return Rule("report", frozenset({"ACTIVE", "DONE", target}), target, (), removes=("active",))


RULES: dict[ChangeName, Rule] = {
    "note": Rule("control plane, people", ANY, None, tuple(map(to_camel, Noted.__annotations__))),
    "note-stage": Rule("states", ANY, None, ("stages",)),
    "count-attempt": Rule("Start Transfer, watch over the ends", ANY, None, (), counts=("attempt",)),
    "fence": Rule("teardown, meter", ANY, None, ("fenced",)),
    "finish": Rule("ends, control plane", frozenset({"ACTIVE"}), "DONE", ("outcome",)),
    "succeed": _end("SUCCEEDED"),
    "succeed-with-skips": _end("SUCCEEDED_WITH_SKIPS"),
    "fail": _end("FAILED"),
    "reopen": Rule("states", frozenset(ENDED), None, ("active",)),
}


@dataclass(frozen=True)
class Change:
    """A change of a record; `values` by the item's own names, those inside a map after a dot."""

    name: ChangeName
    values: dict[str, Any]
    read: tuple[Comparison, ...] = ()
    """What its writer has read of the record, and goes by."""

    def __post_init__(self) -> None:
        names = {name.split(".")[0] for name in self.values}
        if not names <= set(self.rule.sets) or (self.rule.sets and not names):
            raise ValueError(f"{self.name} sets {self.rule.sets}, not {tuple(self.values)}")

    @property
    def rule(self) -> Rule:
        """The table's rule for changes of this name."""
        return RULES[self.name]

    @property
    def document(self) -> dict[str, Any]:
        """The item's changed attributes, by its own names."""
        return {**({"status": self.rule.target} if self.rule.target else {}), **self.values}

    def condition(self, transfer: AcceptedTransfer) -> Condition:
        """Return when it may be made by the transfer's execution."""
        alternatives: Condition = (_of(transfer, self.rule.sources),)
        for name in SUCCESSION.keys() & self.values.keys():
            inner, relation, step = SUCCESSION[name]
            before = Comparison(f"{name}.{inner}", relation, self.values[name][inner] + step)
            none = Comparison(f"{name}.{inner}", "absent")
            alternatives = tuple((*own, one) for own in alternatives for one in (none, before))
        if "decisions" in self.values:
            # One is added to those that its writer has read: of two at once, one is refused.
            known = len(self.values["decisions"]) - 1
            read = Comparison("decisions", "size", known) if known else Comparison("decisions", "absent")
            alternatives = tuple((*own, read) for own in alternatives)
        alternatives = tuple((*own, *self.read) for own in alternatives)
        if self.values.get("marks"):
            # A teardown fences before it looks for them: one that is put later would stay.
            alternatives = tuple((*own, Comparison("fenced", "=", False)) for own in alternatives)
        return alternatives


FENCE, REOPEN = Change("fence", {"fenced": True}), Change("reopen", {"active": "yes"})
# The record then has the start that is to be ordered.
COUNT_ATTEMPT = Change("count-attempt", {})


def note(**noted: Unpack[Noted]) -> Change:
    """These documents take the place of earlier ones."""
    values = ((to_camel(name), value) for name, value in noted.items())
    return Change("note", {name: doc.to_document() if isinstance(doc, Document) else doc for name, doc in values})


def note_beside(before: Sequence[Beside], now: Sequence[Beside]) -> Change:
    """Other transfers that used the same ends, in place of what was read `before`: two that end at once both count."""
    known = [one.to_document() for one in before]
    read = Comparison("beside", "=", known) if known else Comparison("beside", "absent")
    return Change("note", {"beside": [one.to_document() for one in now]}, (read,))


def note_retired(record: TransferRecord, now: Sequence[RetiredSeat]) -> Change:
    """Retired seats in place of what was read: of two that retire at once the second looks again who is left.

    No start was ordered since either: whoever orders a later one reads after it who is retired.
    """
    known = [one.to_document() for one in record.retired]
    read = Comparison("retired", "=", known) if known else Comparison("retired", "absent")
    return Change(
        "note", {"retired": [one.to_document() for one in now]}, (read, Comparison("attempt", "=", record.attempt))
    )


def note_stage(stage: str, times: Mapping[str, float]) -> Change:
    """A state was entered, or left (`enteredAt`, `leftAt`: Unix time, s)."""
    return Change("note-stage", {f"stages.{stage}": dict(times)})


def finish(outcome: Outcome) -> Change:
    """The data has arrived, or will not: the first outcome counts."""
    return Change("finish", {"outcome": outcome.to_document()})


def close(status: EndStatus) -> Change:
    """It is reported, and nothing is left to take down."""
    return Change(next(name for name, rule in RULES.items() if rule.target == status), {})


class Beginning(NamedTuple):
    """A whole item, and when it may be written."""

    item: dict[str, Any]
    condition: Condition


def create(transfer: AcceptedTransfer) -> Beginning:
    """The first run. One that failed before it had a plan has moved nothing: its name is free again."""
    free = (*_closed("FAILED"), Comparison("plan", "absent"), Comparison("run", "=", 1))
    return Beginning(_new(transfer), ((Comparison("transferId", "absent"),), free))


def resume(transfer: AcceptedTransfer, item: Mapping[str, Any]) -> Beginning:
    """Run n over `item`, the record of run n-1, which has ended. Epochs are counted on."""
    new = {**_new(transfer), "attempt": item["attempt"], "earlierStarts": item["attempt"]}
    new |= {name: item[name] for name in ("sourcePaths", "marks") if name in item}
    if unfulfilled := TransferRecord.parse(item).unfulfilled:
        new["earlier"] = unfulfilled.to_document()
    return Beginning(new, ((*_closed(*ENDED), Comparison("run", "=", transfer.run - 1)),))


def _of(transfer: AcceptedTransfer, statuses: Iterable[Status]) -> tuple[Comparison, ...]:
    # The run is not enough: a name that became free begins with run 1 again.
    own = Comparison("executionArn", "=", transfer.execution_arn)
    return (own, *([] if statuses == ANY else [Comparison("status", "in", sorted(statuses))]))


def _closed(*statuses: EndStatus) -> tuple[Comparison, ...]:
    return (Comparison("status", "in", sorted(statuses)), Comparison("active", "absent"))


def _new(transfer: AcceptedTransfer) -> dict[str, Any]:
    state = {"status": "ACTIVE", "active": "yes", "fenced": False, "attempt": 0, "stages": {}}
    return {**transfer.to_document(), **state}
