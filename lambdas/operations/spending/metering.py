"""Looks at the meter of a transfer, and what follows before its budget is passed: relays released, or all stopped."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from types import MappingProxyType

from lambdas.adapters.world import World
from lambdas.core.errors import BudgetReached
from lambdas.core.estimate.budget import FLIGHT_SECONDS, HELD_SECONDS
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.layout import FIRST_SENDER, Layout
from lambdas.core.fleet.membership import Membership
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.shares import divided, leases_of, shares_of
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome, TransferRecord
from lambdas.core.request.bandwidth import MBIT_PER_MB
from lambdas.core.seats.epochs import start_of
from lambdas.core.spending import cross_zone, leasing, meter
from lambdas.core.spending.meter import BudgetDecision, Decision, Reading, Spent
from lambdas.core.spending.sent import Sent
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations import token
from lambdas.operations.fence import fence
from lambdas.operations.fleet import membership, relay_end
from lambdas.operations.seats import reports

# States in which relays are probed: each execution has one of them.
_PROBING = ("Pre-Test Relays", "Measure Relays")
_NO_STARTS: Mapping[str, int] = MappingProxyType({})


def look(world: World, record: TransferRecord, delivered_bytes: int = 0) -> Spent:
    """Count, and keep what was counted; `delivered_bytes`: what is known to have arrived, whatever the sender said."""
    sent = _sent(world, record)
    reading = _read(world, record, sent)
    least = 0 if reading.may_save else delivered_bytes
    moved = max(reading.moved_bytes, delivered_bytes)
    known = replace(reading, sent_bytes=max(reading.sent_bytes, least), moved_bytes=moved)
    return _keep(world, record, known, sent)


def _may_save(record: TransferRecord) -> bool:
    """Whether more may arrive than crosses the network; the sender alone knows how much."""
    request, listing = record.transfer.request, record.plan.listing if record.plan else None
    has_earlier_versions = listing is not None and listing.equal_folder is not None
    return request.compress != "never" or request.preserve.sparse or has_earlier_versions


def _keep(world: World, record: TransferRecord, reading: Reading, sent: Sent) -> Spent:
    spent = Spent.of(reading.spent(), reading.now, sent, reading.unpooled_bytes).not_below(record.spent)
    if world.transfers.change(record.transfer, transfer_life.note(spent=spent)):
        more = spent.since(record.spent)
        world.metrics.put({"DollarsSpent": more.dollars, "BytesSent": more.bytes})
    return spent


def enforce(world: World, record: TransferRecord) -> Decision:
    """One look, and what was done about it."""
    sent = _sent(world, record)
    reading = _read(world, record, sent)
    _keep(world, record, reading, sent)
    if not record.moving:
        return Decision.GO_ON
    request = record.transfer.request
    decision = meter.decide(reading, request.objective, releases=record.transfer.errand.goes_on_without_relays)
    if decision is Decision.STOP:
        _stop(world, record, reading)
        return decision
    _lease(world, record, reading, sent)
    if decision is Decision.RELEASE_FLEET or (record.budget is not None and reading.live):
        _release(world, record, reading)
        decision = Decision.RELEASE_FLEET
    return decision


def grant(world: World, transfer: AcceptedTransfer, start: int, seat_ids: Sequence[str] = (FIRST_SENDER,)) -> None:
    """Give senders of a start, before they begin, what the budget bears, if there is one."""
    record = world.transfers.get(transfer.transfer_id)
    if record is None or not record.serves(transfer) or not transfer.errand.has_budget_lease:
        return
    sent = _sent(world, record)
    _lease(world, record, _read(world, record, sent), sent, dict.fromkeys(seat_ids, start))
    # Relays that were launched since that reading are in the lease of the start before, which this one replaced.
    renew_lease(world, record)


def renew_lease(world: World, record: TransferRecord) -> None:
    """Look at what the budget bears since something else costs: relays that were launched, for example."""
    if record.transfer.request.objective.max_cost_usd is not None:
        sent = _sent(world, record)
        _lease(world, record, _read(world, record, sent), sent)


def _lease(
    world: World, record: TransferRecord, reading: Reading, sent: Sent, new_starts: Mapping[str, int] = _NO_STARTS
) -> None:
    """Write the lease of a reading, unless a later one stands.

    `new_starts`: of senders that are about to begin, by seat; any other one that has none gets none.
    An end that was started by a version without leases would not read its membership any more.
    """
    most = record.transfer.request.objective.max_cost_usd
    if most is None:
        return
    spent = record.spent.total if record.spent else 0.0

    def leased(current: Membership) -> Membership | None:
        known, layout = current.budget_lease, Layout.of(record.transfer, current.retired)
        starts = _starts(layout, current, new_starts)
        if not starts:
            return None
        lease = leasing.lease_of(reading, most, max(starts.values()), sent, spent)
        if not new_starts and lease.is_older_than(known):
            return None
        if len(layout.senders) == 1:
            return current.leased(lease)
        counted = {
            seat_id: sent.of(seat_id).start_bytes if sent.of(seat_id).start == start else 0
            for seat_id, start in starts.items()
        }
        shares = shares_of(layout, current.bandwidth_limit_mbps, divided(lease, starts, counted), current.limit_lease)
        return current.leased(lease, shares)

    membership.change(world, record.transfer.partition, leased)


def _starts(layout: Layout, current: Membership, new: Mapping[str, int]) -> dict[str, int]:
    """The starts whose processes hold a lease, by seat."""
    if len(layout.senders) == 1:
        held = {FIRST_SENDER: current.budget_lease.start} if current.budget_lease else {}
    else:
        held = {seat_id: lease.start for seat_id, lease in leases_of(current).items()}
    return {seat_id: start for seat_id, start in {**held, **new}.items() if seat_id in layout.living_senders}


def bears(world: World, record: TransferRecord, limit_mbps: int | None) -> bool:
    """Whether the budget, if there is one, holds with another limit on the sender's rate; None: with none."""
    if record.transfer.request.objective.max_cost_usd is None:
        return True
    reading = replace(_read(world, record, _sent(world, record)), limit=_mb_s(limit_mbps))
    return meter.decide(reading, record.transfer.request.objective) is Decision.GO_ON


def bears_relays(world: World, record: TransferRecord, planned: Estimate, more: int) -> bool:
    """Whether the budget, if there is one, bears `more` relays of another plan, and what that may send, together."""
    objective = record.transfer.request.objective
    if objective.max_cost_usd is None:
        return True
    reading = _read(world, record, _sent(world, record))
    dearest = max(
        [planned.figures.leaving_gb_usd, *(use.usd_per_gb for use in planned.routes if use.count)],
    )
    reading = replace(reading, estimate=planned, rest_usd_per_gb=dearest)
    return meter.decide(reading, objective) is Decision.GO_ON and meter.affordable(reading, objective, more) >= more


def affordable(world: World, record: TransferRecord, wanted: int, relay_hour_usd: float = 0.0) -> int:
    """How many of `wanted` more relays the budget bears, at so many dollars an hour where they are dear."""
    reading = _read(world, record, _sent(world, record))
    return meter.affordable(reading, record.transfer.request.objective, wanted, relay_hour_usd)


def _sent(world: World, record: TransferRecord) -> Sent:
    sent = record.spent.sent if record.spent else Sent()
    for seat_id, progress in reports.of_senders(world, record.transfer).items():
        sent = sent.after(start_of(progress.epoch), progress.wire_bytes, seat_id)
    if told := record.delivered:
        sent = sent.after(start_of(told.epoch), told.wire_bytes, told.seat or FIRST_SENDER)
    return sent


def _read(world: World, record: TransferRecord, sent: Sent) -> Reading:
    transfer = record.transfer
    # First: whoever launches meanwhile has a later reading, which this one must not take the place of.
    now = world.clock.now()
    nodes = world.nodes.of(transfer.transfer_id)
    progress = reports.of_sender(world, transfer)
    planned = record.plan.bytes if record.plan else record.estimate.bytes if record.estimate else 0
    delivered, moved, rate = (progress.bytes, progress.moved_bytes, progress.rate) if progress else (0, 0, 0.0)
    on_the_way = min(max(moved - delivered, 0), rate * FLIGHT_SECONDS * 1e6)
    useful = delivered + on_the_way
    repeats = max(moved / useful, 1.0) if useful else 1.0
    first_byte_at = progress.first_byte_at if progress else None
    return Reading(
        now=now,
        nodes=nodes,
        estimate=record.estimate,
        chunks=record.plan.chunks if record.plan else 0,
        # Where nothing is moved, relays are measured for as long as the execution runs.
        since=transfer.execution_started_at if transfer.errand.costs_from_its_start else first_byte_at,
        sent_bytes=sent.bytes + _probe_bytes(world, record, nodes),
        # Nobody knows whether what is left can be packed as well as what was sent.
        left_bytes=max(round((planned - useful) * repeats), 0),
        rate=rate,
        market=transfer.request.relays.market,
        zone_usd_per_gb=cross_zone.per_gb(transfer, nodes),
        limit=highest_mb_s(world, record),
        chunk_bytes=record.plan.chunk_size_bytes if record.plan else 0,
        probes_usd=meter.probes_to_come(nodes, record.estimate),
        moved_bytes=progress.moved_for(sent.bytes) if progress else sent.bytes,
        may_save=_may_save(record),
        probing=_probing(record),
        pool_price=record.pool_price,
        unpooled_bytes=_unpooled(record, nodes, sent),
        restored_usd=record.restores.spent_usd if record.restores else 0.0,
    )


def _unpooled(record: TransferRecord, nodes: Sequence[Node], sent: Sent) -> int:
    """Bytes that cannot have gone through the pool: all until there was a lease, then what an earlier look has kept."""
    if all(node.provider != "pool" for node in nodes):
        return sent.bytes
    return record.spent.unpooled_bytes if record.spent else 0


def _probing(record: TransferRecord) -> tuple[float, float] | None:
    times = next((record.stages[name] for name in _PROBING if name in record.stages), None)
    return (times["enteredAt"], times.get("leftAt", inf)) if times else None


def highest_mb_s(world: World, record: TransferRecord) -> float:
    """The highest limit that may hold until the next look is felt, in MB/s; infinite where there may be none."""
    wish = record.transfer.request.bandwidth_limit_mbps
    return _mb_s(record.limit.highest(wish, world.clock.now(), HELD_SECONDS))


def _mb_s(limit_mbps: int | None) -> float:
    return inf if limit_mbps is None else limit_mbps / MBIT_PER_MB


def _probe_bytes(world: World, record: TransferRecord, nodes: list[Node]) -> int:
    """What pre-tests sent between the regions; what a profiling execution found says more."""
    # Relays of a route have the rate of the hop that they feed; both of a pair have its rate, which is counted once.
    rates = sum(node.measured_hop or 0.0 for node in nodes)
    rates += sum(node.measured_inter_region or 0.0 for node in nodes if node.stage == 0 and node.measured_hop is None)
    measured = record.measured.sent_bytes if record.measured else 0
    return max(round(rates * world.pre_test_seconds(record.transfer.request) * 1e6), measured)


def _release(world: World, record: TransferRecord, reading: Reading) -> None:
    """Nothing is launched or joins any more; lanes drain, so that nothing is sent twice, then relays are terminated."""
    cause = f"{_why(record, reading)}; its relays were released and the rest goes on the direct path"
    released = BudgetDecision(decision="direct", cause=cause)
    world.transfers.change(record.transfer, transfer_life.note(budget=released))
    relay_end.release_all(world, record.transfer, cause)


def _stop(world: World, record: TransferRecord, reading: Reading) -> None:
    """The outcome first, as always; then the ends see the fence, and relays need not wait for the teardown."""
    transfer_id = record.transfer.transfer_id
    cause = f"{_why(record, reading)}; what has arrived stays: start again with a larger one for the rest"
    outcome = Outcome(error=BudgetReached.__name__, cause=cause)
    if not world.transfers.change(record.transfer, transfer_life.finish(outcome)):
        return
    stopped = BudgetDecision(decision="stop", cause=cause)
    world.transfers.change(record.transfer, transfer_life.note(budget=stopped))
    if world.tokens.get(transfer_id) is not None:
        fence(world, record.transfer)
    relay_end.end_all(world, record.transfer, cause)
    token.finish(world, record.transfer, outcome)


def _why(record: TransferRecord, reading: Reading) -> str:
    most, spent = record.transfer.request.objective.max_cost_usd, reading.spent().total
    return f"$.objective.maxCostUsd: {most} dollars are nearly used up, {spent:.4f} are spent"
