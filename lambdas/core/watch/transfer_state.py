"""A transfer as its records tell it, for people to watch."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lambdas.core.estimate.first_contact import RelayDecision
from lambdas.core.pool.place_in_queue import PoolTurn
from lambdas.core.pool.price_wait import PriceWait
from lambdas.core.request.bandwidth import BandwidthLimit, LimitChange
from lambdas.core.restores.summary import Restores
from lambdas.core.transfer.record_format import with_seats
from lambdas.core.watch.moved import from_and_to
from lambdas.core.watch.seat_state import SeatState, seats_of
from lambdas.core.watch.standing_limit import LimitByTimetable, by_timetable

# A function that asks for approval leaves at once; whether a person has answered shows in what was entered next.
ASKING = frozenset({"Await Approval", "Await Measuring Approval"})
AFTER_RESTORES = frozenset({"Plan Chunks", "List Objects", "Tear Down", "Write Report"})
AFTER_QUEUE = frozenset({"Verify Transfer", "Tear Down", "Write Report"})
AFTER_APPROVAL = ("Apply Approval", "Apply Measuring Approval", "Tear Down", "Write Report")


@dataclass(frozen=True)
class Lane:
    """A live TCP stream; MB/s over the last interval."""

    path_id: str
    lane: int
    megabytes_per_second: float


@dataclass(frozen=True)
class Relay:
    """One relay, as its node item tells it; Unix seconds, None where it did not come so far."""

    node_id: str
    instance_type: str
    region: str
    state: str
    requested_at: float
    joined_at: float | None = None
    ended_at: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class TransferState:
    """One look. Bytes, seconds since 1970, MB/s, dollars; None where nothing is known yet."""

    transfer_id: str
    status: str = "UNKNOWN"
    stage: str = ""
    label: str | None = None
    moved: tuple[str, str] | None = None
    """From where to where."""
    awaits_approval: bool = False
    is_profiling: bool = False
    estimate: dict[str, Any] | None = None
    total_bytes: int | None = None
    is_total: bool = True
    """False while a listing of buckets goes on: there may be more."""
    delivered_bytes: int = 0
    megabytes_per_second: float = 0.0
    first_byte_at: float | None = None
    spent_usd: float | None = None
    """The meter's count at its last look, once a minute."""
    bandwidth_limit_mbps: int | None = None
    """Mbit/s."""
    timetable: LimitByTimetable | None = None
    paused: bool = False
    """A person has paused it."""
    restores: Restores | None = None
    """While S3 restores archived objects, and the transfer waits for them."""
    pool_turn: PoolTurn | None = None
    """While it waits for leases in the pool."""
    price_wait: PriceWait | None = None
    """While it waits for a price of the pool."""
    is_copied: bool = False
    """S3 copies it, between two buckets."""
    limit_changes: tuple[LimitChange, ...] = ()
    paths: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = ()
    seats: tuple[SeatState, ...] = ()
    """The machines at both ends, senders first."""
    relays: tuple[Relay, ...] = ()
    decisions: tuple[RelayDecision, ...] = ()
    """About relays, taken while data moved."""
    entered: Mapping[str, float] = field(default_factory=dict)
    """Times at which each state of the state machine was entered."""

    @property
    def doing(self) -> str:
        """The states that it is in, in words."""
        stage = self.stage or self.status.lower()
        if self.restores is not None:
            stage = self.restores.progress_in_words
        if self.price_wait is not None:
            stage = self.price_wait.words
        if self.pool_turn is not None:
            stage = f"{stage}, {self.pool_turn.words}"
        return f"paused in {stage}" if self.paused else stage

    @property
    def seconds_left(self) -> float | None:
        """At the present rate; None while nothing flows."""
        if self.total_bytes is None or self.megabytes_per_second <= 0 or not self.is_total:
            return None
        return max(self.total_bytes - self.delivered_bytes, 0) / (self.megabytes_per_second * 1e6)

    @property
    def chosen(self) -> dict[str, Any] | None:
        """The estimate's row that was chosen."""
        if self.estimate is None:
            return None
        pairs = self.estimate["chosenPairs"]
        return next((row for row in self.estimate["rows"] if row["pairs"] == pairs), None)


def state_of(
    transfer_id: str,
    records: Mapping[str, Mapping[str, Any]],
    nodes: list[Mapping[str, Any]],
    clock: Callable[[], float] = time.time,
) -> TransferState:
    """Return what the records (by sort key) and node items of a transfer say, numbers as DynamoDB gives them."""
    transfer = records.get("transfer", {})
    plan, copies = _document(transfer.get("plan")), _document(transfer.get("copies"))
    told = {name: _document(item.get("document")) for name, item in records.items() if "#" in name}
    reports = {
        name.removeprefix("progress#"): found for name, found in told.items() if found and name.startswith("progress#")
    }
    failures = {
        name.removeprefix("outcome#"): found for name, found in told.items() if found and name.startswith("outcome#")
    }
    senders = [report for seat_id, report in sorted(reports.items()) if seat_id.startswith("s")]
    membership = _document(records.get("membership", {}).get("membership")) or {}
    spent = _document(transfer.get("spent")) or {}
    limit = BandwidthLimit.from_document(_document(transfer.get("bandwidth")) or {})
    request = _document(transfer.get("request")) or {}
    stages: dict[str, Any] = _document(transfer.get("stages")) or {}
    running = [name for name, times in stages.items() if "leftAt" not in times]
    return TransferState(
        transfer_id=transfer_id,
        status=str(transfer.get("status", "UNKNOWN")),
        stage=", ".join(running),
        label=request.get("label"),
        moved=from_and_to(request),
        awaits_approval=bool(ASKING & stages.keys()) and stages.keys().isdisjoint(AFTER_APPROVAL),
        is_profiling=request.get("profile") == "measure",
        estimate=_document(transfer.get("estimate")),
        total_bytes=int(plan["bytes"]) if plan else int(copies["plannedBytes"]) if copies else None,
        is_total=copies is None or bool(copies["isListed"]),
        delivered_bytes=_delivered(senders, plan),
        megabytes_per_second=sum(float(sender.get("rateMBps", 0.0)) for sender in senders),
        first_byte_at=min((at for sender in senders if (at := sender.get("firstByteAt")) is not None), default=None),
        spent_usd=spent.get("total"),
        bandwidth_limit_mbps=membership.get("bandwidthLimitMbps"),
        paused=bool((_document(transfer.get("pause")) or {}).get("paused")),
        restores=_awaited(_document(transfer.get("restores")), stages),
        pool_turn=_pool_turn(_document(transfer.get("poolTurn")), stages),
        price_wait=_price_wait(_document(transfer.get("priceWait"))),
        is_copied=copies is not None,
        timetable=by_timetable(request, limit, clock()),
        limit_changes=tuple(limit.changes),
        paths=tuple(path["pathId"] for path in membership.get("paths", [])),
        lanes=tuple(
            Lane(lane["pathId"], lane["lane"], lane["rateMBps"])
            for sender in senders
            for lane in sender.get("lanes", [])
        ),
        seats=seats_of(with_seats(_document(transfer) or {}), reports, failures, membership),
        relays=tuple(_relay(_document(node) or {}) for node in nodes),
        decisions=tuple(map(RelayDecision.from_document, _json(transfer.get("decisions")) or [])),
        entered={name: float(times["enteredAt"]) for name, times in stages.items()},
    )


def _awaited(restores: dict[str, Any] | None, stages: Mapping[str, Any]) -> Restores | None:
    """What S3 restores now; None before it was asked, and as soon as anything comes after that."""
    if restores is None or restores.get("askedAt") is None or not stages.keys().isdisjoint(AFTER_RESTORES):
        return None
    return Restores.from_document(restores)


def _price_wait(wait: dict[str, Any] | None) -> PriceWait | None:
    """What the transfer waits for; None once it has begun."""
    found = PriceWait.from_document(wait) if wait else None
    return found if found and found.wait_seconds is not None else None


def _pool_turn(turn: dict[str, Any] | None, stages: Mapping[str, Any]) -> PoolTurn | None:
    """Where it stands in the queue; None once it goes on, or data has arrived."""
    found = PoolTurn.from_document(turn) if turn else None
    went_on = float(stages.get("Await Relays", {}).get("enteredAt", 0.0))
    is_over = not stages.keys().isdisjoint(AFTER_QUEUE)
    return None if found is None or is_over or found.at <= went_on else found


def _delivered(senders: list[dict[str, Any]], plan: dict[str, Any] | None) -> int:
    """What has arrived. Of several senders the one that finishes counts at the end what the others brought, too."""
    told = sum(int(sender.get("bytes", 0)) for sender in senders)
    return min(told, int(plan["bytes"])) if plan and len(senders) > 1 else told


def _relay(node: dict[str, Any]) -> Relay:
    return Relay(
        node_id=node["nodeId"],
        instance_type=node["instanceType"],
        region=node["region"],
        state=node["state"],
        requested_at=float(node["requestedAt"]),
        joined_at=node.get("joinedAt"),
        ended_at=node.get("endedAt"),
        reason=node.get("reason"),
    )


def _document(value: Any) -> dict[str, Any] | None:
    """A record's attribute as plain JSON values; DynamoDB's numbers come as Decimal."""
    parsed = _json(value)
    return parsed if isinstance(parsed, dict) else None


def _json(value: Any) -> Any:
    if value is None:
        return None
    return json.loads(value if isinstance(value, str) else json.dumps(value, default=_number))


def _number(value: Any) -> int | float:
    return int(value) if value == int(value) else float(value)
