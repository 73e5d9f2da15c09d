"""The meter: what a transfer has spent, what it will spend before anybody looks again, and what follows from both.

Everything is computed from durable records, so nothing is lost with a function or a daemon that ends. Dollars, bytes,
MB/s (10^6 bytes), seconds; times in Unix seconds. Prices are those of the estimate.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import ceil
from typing import Literal, NamedTuple

from lambdas.core.documents import Count, Document
from lambdas.core.estimate.budget import (
    FLIGHT_SECONDS,
    HELD_SECONDS,
    LATE_SECONDS,
    LOOK_SECONDS,
    RELEASE_SECONDS,
    most_rate,
)
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.row_cost import RELAYS_OF_PAIR
from lambdas.core.fleet.relay_node import Node
from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.request.request import Objective
from lambdas.core.spending.relay_price import hour_usd
from lambdas.core.spending.sent import Sent
from lambdas.core.tariff import control_plane, cost
from lambdas.core.tariff.prices import Market

# Of the relays beside the source, and beside the destination.
PAIR_STAGES = (0, 1)


class Dollars(NamedTuple):
    """What was or will be spent on each."""

    relays: float
    egress: float
    cross_zone: float
    control_plane: float
    requests: float = 0.0
    file_systems: float = 0.0
    pool: float = 0.0

    @property
    def total(self) -> float:
        """Dollars for relays, traffic, control plane, a bucket's requests, file systems and the pool together."""
        return sum(self)


class Spent(Document):
    """Attribute `spent` of the record `transfer`: what was spent until `at`."""

    at: float
    relays: float
    egress: float
    cross_zone: float
    control_plane: float
    requests: float = 0.0
    file_systems: float = 0.0
    pool: float = 0.0
    """As if all bytes since the first lease had gone through it; the report knows the ways they took."""
    unpooled_bytes: Count = 0
    """Sent before the last look at which the transfer had never had a lease."""
    total: float
    sent: Sent

    @classmethod
    def of(cls, dollars: Dollars, at: float, sent: Sent, unpooled_bytes: int = 0) -> "Spent":
        """What a look found."""
        return cls(at=at, **dollars._asdict(), total=dollars.total, sent=sent, unpooled_bytes=unpooled_bytes)

    def not_below(self, before: "Spent | None") -> "Spent":
        """Money that was spent stays spent, whatever a later look makes of it."""
        if before is None:
            return self
        most = Dollars(
            max(self.relays, before.relays),
            max(self.egress, before.egress),
            max(self.cross_zone, before.cross_zone),
            max(self.control_plane, before.control_plane),
            max(self.requests, before.requests),
            max(self.file_systems, before.file_systems),
            max(self.pool, before.pool),
        )
        return Spent.of(most, self.at, self.sent, self.unpooled_bytes)

    def since(self, before: "Spent | None") -> "Increase":
        """What this look found beyond an earlier one; never below zero."""
        if before is None:
            return Increase(self.total, self.sent.bytes)
        return Increase(max(self.total - before.total, 0.0), max(self.sent.bytes - before.sent.bytes, 0))


class Increase(NamedTuple):
    """What came to a transfer's account between two looks."""

    dollars: float
    bytes: int


class Decision(Enum):
    """What a look leads to."""

    GO_ON = "within"
    RELEASE_FLEET = "direct"
    STOP = "stop"


class BudgetDecision(Document):
    """Attribute `budget` of the record `transfer`, and of the report: what kept the transfer within its budget."""

    decision: Literal["direct", "stop"]
    cause: str


@dataclass(frozen=True)
class Reading:
    """What the records say at `now`.

    `chunks`: of the plan; `since`: first payload byte; `sent_bytes`: what has left the source's region, repeats and
    probes included; `left_bytes`: neither delivered nor on the way, with as many
    repeats as so far; `rate`: of the sender; `market`: what was asked for; `zone_usd_per_gb`: the most that what is
    sent costs between zones; `limit`: the highest limit, MB/s, that may hold until the
    next look, infinite where there may be none; None: that of the estimate. `rest_usd_per_gb`:
    by a way that relays are to make up, where that is dearer than those that they have. `chunk_bytes`: of a
    chunk at most, which is sent as a whole or not at all. `probes_usd`: the
    most that a pre-test may still send (`probes_to_come`); `probing`: when it began and ended, infinite while it runs,
    None before. `moved_bytes`: read at the source and written at the destination so far, repeats included; `may_save`:
    what is sent may stand for any number of these.
    """

    now: float
    nodes: Sequence[Node]
    estimate: Estimate | None = None
    chunks: int = 0
    since: float | None = None
    sent_bytes: int = 0
    left_bytes: int = 0
    rate: float = 0.0
    market: Market = "on-demand"
    zone_usd_per_gb: float = 0.0
    limit: float | None = None
    rest_usd_per_gb: float = 0.0
    chunk_bytes: int = 0
    probes_usd: float = 0.0
    moved_bytes: int = 0
    may_save: bool = False
    probing: tuple[float, float] | None = None
    pool_price: PoolPrice | None = None
    """What a GB through the pool costs the transfer; None where it may have no lease."""
    unpooled_bytes: int = 0
    """Of the bytes sent, those that went before its first lease, as far as a look has seen that."""
    restored_usd: float = 0.0
    """For archived objects of a bucket, as far as S3 was asked to restore them."""

    @property
    def live(self) -> list[Node]:
        """Relays that still cost."""
        return [node for node in self.nodes if node.ended_at is None]

    @property
    def fleet_rate(self) -> float:
        """The most that may be sent until the next look: the present rate, or that of all relays that may join."""
        if self.estimate is None:
            return self.rate
        live = Counter(node.stage for node in self.live)
        if self.probes_usd:  # of those that are tested the better half joins
            live = Counter({stage: min(count, self.estimate.chosen_pairs) for stage, count in live.items()})
        # A route that is to be left, or whose successor was refused, carries as long as its relays live.
        uses = {use.stage: use for stage in live if (use := self.estimate.use_of(stage))}
        relayed = sum(use.most_of(live) for use in uses.values())
        return max(self.rate, most_rate(relayed, self.estimate.figures, self.limit))

    @property
    def leaving_usd_per_gb(self) -> float:
        """By the dearest way that relays ever made up: nobody knows before the report which way a byte took."""
        if self.estimate is None:
            return 0.0
        routes = map(self.estimate.gb_usd_of, {node.stage for node in self.nodes})
        return max([self.estimate.figures.leaving_gb_usd, *routes, self.rest_usd_per_gb])

    @property
    def file_systems_usd_per_gb(self) -> float:
        """What file systems charge at most for each GB that is moved."""
        return self.estimate.figures.file_systems_gb_usd if self.estimate else 0.0

    @property
    def sent_file_systems_usd_per_gb(self) -> float:
        """The same for each GB that is sent; where that may stand for any number of bytes, all is held back at once."""
        return 0.0 if self.may_save else self.file_systems_usd_per_gb

    @property
    def leased_usd_per_gb(self) -> float:
        """Through every stage at which it ever had a lease in the pool."""
        stages = {node.stage: node.region for node in self.nodes if node.provider == "pool"}
        return self.pool_price.usd_per_gb(stages.values()) if self.pool_price else 0.0

    @property
    def pooled_usd(self) -> float:
        """For what was sent since its first lease."""
        return cost.egress(max(self.sent_bytes - self.unpooled_bytes, 0), self.leased_usd_per_gb)

    @property
    def pool_usd_per_gb(self) -> float:
        """The same for what is still to be sent, where it wants relays that the pool may give it."""
        wanted = self.estimate.figures.pool_gb_usd if self.estimate and self.estimate.chosen_pairs else 0.0
        return max(self.leased_usd_per_gb, wanted)

    @property
    def direct_rate(self) -> float:
        """Of the direct path alone; the present rate where nobody knows."""
        return self.estimate.figures.direct.now if self.estimate else self.rate

    @property
    def probes_of_each(self) -> float:
        """The most that a pre-test costs for each relay that is to be launched for it."""
        return 0.0 if self.probes_usd else _probes_of_relay(self.estimate)

    @property
    def unseen_probes_usd(self) -> float:
        """The most that probes have cost whose relays ended before there was a result."""
        if self.probing is None:
            return 0.0
        since, until = self.probing
        ended = [node.ended_at for node in self.nodes if node.is_untested and node.ready_at is not None]
        return sum(at is not None and since < at <= until for at in ended) * _probes_of_relay(self.estimate)

    def spent(self) -> Dollars:
        """So far."""
        return self.after(0.0, 0.0)

    def until_next_look(self) -> Dollars:
        """If nothing is done now, and all is stopped at the next look."""
        return self.after(LOOK_SECONDS, max(self.fleet_rate * LOOK_SECONDS * 1e6, self.chunk_bytes))

    def released_now(self) -> Dollars:
        """If the fleet is released now, and all is stopped at the next look."""
        most = self.fleet_rate * RELEASE_SECONDS + self.direct_rate * LOOK_SECONDS
        return self.after(LOOK_SECONDS, max(most * 1e6, self.chunk_bytes), fleet_seconds=RELEASE_SECONDS)

    def released_next_time(self) -> Dollars:
        """If the fleet goes on until the next look, is released then, and the rest goes on the direct path."""
        rest = self.left_bytes / 1e6 / self.direct_rate if self.direct_rate else 0.0
        return self.after(
            LOOK_SECONDS + rest, self.left_bytes + self.fleet_rate * FLIGHT_SECONDS * 1e6, fleet_seconds=HELD_SECONDS
        )

    def after(self, seconds: float, more_bytes: float, fleet_seconds: float | None = None) -> Dollars:
        """`seconds` from now, when up to `more_bytes` have left; relays that live end after `fleet_seconds`.

        No more can leave than is left and, should all lanes break, what is in flight. The control plane goes on until a
        look that is late: a lease reserves that, and a decision to go on has to leave the sender a chunk.
        """
        ends = self.now + (seconds if fleet_seconds is None else fleet_seconds)
        in_flight = self.fleet_rate * FLIGHT_SECONDS * 1e6 if self.left_bytes and seconds else 0.0
        more = min(more_bytes, self.left_bytes + in_flight)
        sent, moved = self.sent_bytes + more, self.moved_bytes + more
        if self.may_save and seconds:
            moved = self.moved_bytes + self.left_bytes + in_flight
        since = self.now if self.since is None else self.since
        moving = self.now + (max(seconds, LATE_SECONDS) if seconds else 0.0) - since
        return Dollars(
            relays=relay_dollars(self.nodes, ends, self.estimate, self.market),
            # Nothing moves before there is an estimate.
            egress=cost.egress(sent, self.leaving_usd_per_gb)
            + (self.probes_usd if seconds else 0.0)
            + self.unseen_probes_usd,
            cross_zone=cost.egress(sent, self.zone_usd_per_gb),
            control_plane=control_dollars(self.chunks, self.nodes, max(moving, 0.0), self.estimate),
            requests=request_dollars(sent, self.estimate) + self.restored_usd,
            file_systems=cost.egress(moved, self.file_systems_usd_per_gb),
            pool=self.pooled_usd + cost.egress(more, self.pool_usd_per_gb),
        )


def decide(reading: Reading, objective: Objective, *, releases: bool = True) -> Decision:
    """What keeps the total below `objective.max_cost_usd` whatever happens until the next look.

    With onBudget "direct" relays are paid only from what the rest of the data does not need on the direct path; without
    `releases` there is nothing that could go on without them.
    """
    most = objective.max_cost_usd
    if most is None:
        return Decision.GO_ON
    if not reading.live or objective.on_budget == "stop" or not releases:
        return Decision.GO_ON if reading.until_next_look().total <= most else Decision.STOP
    if reading.released_next_time().total <= most:
        return Decision.GO_ON
    return Decision.RELEASE_FLEET if reading.released_now().total <= most else Decision.STOP


def affordable(reading: Reading, objective: Objective, wanted: int, relay_hour_usd: float = 0.0) -> int:
    """How many of `wanted` more relays the budget bears until they can be released again.

    `relay_hour_usd`: what an hour of one costs, where that is more than the estimate counts on.
    """
    most = objective.max_cost_usd
    if most is None or reading.estimate is None:
        return wanted
    kept = reading.until_next_look() if objective.on_budget == "stop" else reading.released_next_time()
    used = {stage for use in reading.estimate.routes for stage in use.stages()}
    each = cost.relays(1, HELD_SECONDS, max(relay_hour_usd, *map(reading.estimate.hour_usd, used or PAIR_STAGES)))
    each += reading.probes_of_each
    return wanted if each == 0 else max(min(wanted, int((most - kept.total) / each)), 0)


def probes_to_come(nodes: Iterable[Node], estimate: Estimate | None) -> float:
    """The most dollars that a pre-test may still cost: nobody knows what its probes have sent until they are done."""
    untested = any(node.is_untested and node.ended_at is None for node in nodes)
    return _probes_usd(estimate) if untested else 0.0


def _probes_usd(estimate: Estimate | None) -> float:
    return (estimate.chosen.probes_usd_at_most or 0.0) if estimate and estimate.pre_test else 0.0


def _probes_of_relay(estimate: Estimate | None) -> float:
    if estimate is None:
        return 0.0
    return _probes_usd(estimate) / max(sum(use.tested.count for use in estimate.routes), 1)


def relay_dollars(nodes: Iterable[Node], now: float, estimate: Estimate | None, market: Market) -> float:
    """Each relay from its request to its end, 60 s at least, at the price that the estimate had for its type.

    Another type or market, launched where the first had no capacity, counts as what it is (`relay_price`).
    """
    return sum(
        cost.relays(
            1,
            # One that was launched since the reading began costs what one that begins now does.
            max((node.ended_at or now) - node.requested_at, 0.0),
            hour_usd(node.instance_type, node.region, node.market, node.stage, estimate, market),
        )
        for node in nodes
        if node.is_ours
    )


def request_dollars(sent_bytes: float, estimate: Estimate | None) -> float:
    """A bucket's requests: those of the estimate, by the share of its bytes that was sent; of no bytes all of them."""
    if estimate is None or estimate.figures.requests is None:
        return 0.0
    share = sent_bytes / estimate.bytes if estimate.bytes else 1.0
    return estimate.figures.requests.value * share


def control_dollars(chunks: int, nodes: Iterable[Node], seconds: float, estimate: Estimate | None) -> float:
    """Requests of the control plane for `chunks` chunks that moved for `seconds`."""
    spawn, entries = (estimate.figures.spawn.value, estimate.figures.entries or 0) if estimate else (0.0, 0)
    # A relay's successor has its stage and slot. As the row counts them: two relays are a pair's.
    pairs = ceil(len({(node.stage, node.slot) for node in nodes}) / RELAYS_OF_PAIR)
    return control_plane.dollars(control_plane.calls(chunks, pairs, seconds, spawn, entries))
