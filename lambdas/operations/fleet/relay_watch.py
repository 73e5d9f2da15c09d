"""One look at what the relays of one transfer carry; what is wrong goes onto the bus, where one rule replaces them."""

from typing import TypeGuard

from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Progress
from lambdas.core.fleet import relay_watch
from lambdas.core.fleet.membership import Membership
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.relay_watch import SLOW_SECONDS, Circumstances, Suspicion
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated, TransferRecord
from lambdas.operations.fleet.remaining import allowed_mb_s, ends_mb_s
from lambdas.operations.seats import reports


def has_relays(record: TransferRecord) -> TypeGuard[Estimated]:
    """Return whether there is anything to watch."""
    wanted = isinstance(record, Estimated) and (record.estimate.chosen_pairs > 0 or bool(record.decisions))
    return wanted and record.running


def look_at(world: World, record: Estimated) -> dict[str, str]:
    """Note what each path has delivered, judge the joined relays; the verdict on each that is slow or silent."""
    transfer_id = record.transfer.transfer_id
    progress = reports.of_sender(world, record.transfer)
    membership = world.agents.membership(record.transfer.partition)
    if progress is None or membership is None:
        return {}
    through = relay_watch.paths_through(membership)
    seen = relay_watch.seen(record.watch, relay_watch.look(progress, membership), through, record.plan.chunk_size_bytes)
    if seen is record.watch:
        return {}  # the sender has not reported since
    world.transfers.change(record.transfer, transfer_life.note(watch=seen))
    now = circumstances(record, progress, membership)
    joined = [node for node in world.nodes.of(transfer_id) if node.state == "JOINED"]
    suspicions = relay_watch.judge(seen, joined, through, now)
    for suspicion in suspicions:
        _tell(world, next(node for node in joined if node.node_id == suspicion.node_id), suspicion)
    # A limit that was lowered since makes no rate fall.
    before = min(record.decisions[-1].total if record.decisions else 0.0, allowed_mb_s(record, membership))
    if not suspicions and (rate := relay_watch.fallen(seen, before, now)) is not None:
        message = f"{rate:.1f} MB/s for {SLOW_SECONDS:.0f} s, {before:.1f} MB/s when relays were decided about"
        rates = {"rateMBps": round(rate, 3), "expectedMBps": round(before, 3)}
        world.events.put("Rate Fell", {"transferId": transfer_id, **rates, "message": message})
    return {suspicion.node_id: suspicion.verdict for suspicion in suspicions}


def circumstances(record: Estimated, progress: Progress, membership: Membership | None = None) -> Circumstances:
    """What rates are judged by beside the looks."""
    return Circumstances(
        ends=ends_mb_s(record, membership),
        remaining=record.plan.bytes - progress.bytes,
        chunk_bytes=record.plan.chunk_size_bytes,
    )


def _tell(world: World, node: Node, found: Suspicion) -> None:
    if found.verdict == "silent":
        message = f"nothing came through it for {SLOW_SECONDS:.0f} s, while others delivered"
        world.events.put("Relay Lost", {**node.about, "message": message})
        return
    message = f"slow: {found.rate:.1f} of {found.expected:.1f} MB/s for {SLOW_SECONDS:.0f} s"
    rates = {"rateMBps": round(found.rate, 3), "expectedMBps": round(found.expected, 3)}
    world.events.put("Relay Slow", {**node.about, **rates, "message": message})
