"""One look at one active transfer: what the minute's schedule finds when events were lost."""

from collections.abc import Callable, Mapping
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Progress
from lambdas.core.fleet.relay_node import ENDED_INSTANCE_STATES, JOIN_TIMEOUT_SECONDS, LIVE_STATES, Node
from lambdas.core.places.place import Place
from lambdas.core.record.transfer_record import Outcome, Planned, TransferRecord
from lambdas.core.seats.epochs import first_epoch
from lambdas.core.spending.meter import Decision
from lambdas.core.transfer.record_format import FORMAT_VERSION, in_words
from lambdas.operations import pausing
from lambdas.operations.chunks import retry
from lambdas.operations.fleet import membership, relay_end, relay_start
from lambdas.operations.fleet.providers import launched
from lambdas.operations.fleet.replacement import RESUME_SECONDS
from lambdas.operations.report import outcome
from lambdas.operations.seats import reports, retiring
from lambdas.operations.side_by_side import Looks
from lambdas.operations.spending import metering
from lambdas.operations.token import release

# Step Functions may not know an execution for a while after it has begun.
UNKNOWN_SECONDS = 120.0
# Await Relays ends at the join timeout, and Pre-Test Relays within Lambda's 900 s; a relay that has not joined by then
# was left behind by a state that died.
UNUSED_SECONDS = JOIN_TIMEOUT_SECONDS + 900
# Whoever launches relays while data moves waits for them in the same function: the launch takes two minutes at most.
AWAITED_SECONDS = JOIN_TIMEOUT_SECONDS + 120
# Until a second look at what the first one did not find.
AGAIN_SECONDS = 5.0


def look_at(world: World, record: TransferRecord) -> Looks[Any]:
    """Repeat a lost release, retry, tell of lost relays, hold the budget; one part fails without the others.

    What records say comes first: nobody waits for EC2 to learn that a chunk is to be sent again.
    """
    looks = _try({"state": lambda: _at_once(world, record)})
    at_once = looks.found.pop("state", {})
    if at_once is not None and "over" in at_once:
        return Looks(at_once)
    parts = _parts(world, record) if at_once is None else {}
    more = _try({**parts, "budget": lambda: metering.enforce(world, record).value})
    if more.found.get("budget") == Decision.GO_ON.value:
        del more.found["budget"]
    return Looks({**(at_once or {}), **more.found}, looks.broken | more.broken)


def _try(parts: Mapping[str, Callable[[], object]]) -> Looks[Any]:
    looks = Looks[Any]()
    for name, part in parts.items():
        try:
            looks.found[name] = part()
        except Exception as error:  # noqa: BLE001  raised when all parts have been looked at
            looks.broken[name] = error
    return looks


def _parts(world: World, record: TransferRecord) -> dict[str, Callable[[], object]]:
    """What is looked at while data moves, in this order."""
    transfer = record.transfer
    sender = reports.of_sender(world, transfer)
    return {
        "retried": lambda: _retry_noted(world, record, sender),
        "limit": lambda: membership.follow_timetable(world, transfer),
        **({"pause": lambda: pausing.settle(world, record)} if record.pause else {}),
        "lost": lambda: _tell_lost_relays(world, record, sender),
        "outlived": lambda: _terminate_ended(world, record),
        "unused": lambda: _discard_old_unused(world, record),
        **({"settled": lambda: retiring.settle(world, transfer)} if record.retired else {}),
    }


def _at_once(world: World, record: TransferRecord) -> dict[str, Any] | None:
    """What ends the look because the transfer waits, or is over; None where it moves."""
    transfer = record.transfer
    status = world.executions.status(transfer.execution_arn)
    if status is None and world.clock.now() - transfer.execution_started_at < UNKNOWN_SECONDS:
        return {"waiting": "its execution is not known yet"}
    if status != "RUNNING":
        about = {"transferId": transfer.transfer_id, "executionArn": transfer.execution_arn}
        world.events.put("Execution Over", about)
        return {"over": status}
    token = world.tokens.get(transfer.transfer_id)
    if token is None or record.fenced:
        return {"waiting": "its states are at work"}
    if transfer.format_version != FORMAT_VERSION:
        # Its states are over but for the wait of Start Transfer: nobody else would end it before its heartbeats stop.
        why = in_words(transfer.transfer_id, transfer.format_version)
        return {"refused": release(world, token, Outcome(error="RecordOfOtherVersion", cause=why))}
    if record.outcome is not None:
        return {"released": release(world, token, record.outcome)}
    if not isinstance(record, Planned):
        return {"waiting": "it has no plan"}
    for seat in record.living:
        found = outcome.take(world, record, seat.seat_id)
        if "released" in found:
            return found
    return None


def _retry_noted(world: World, record: TransferRecord, sender: Progress | None) -> int:
    """Failures that a sender noted in the items and nobody decided; read only where there may be any.

    A later sender does not count those of its predecessor, which may have died before it told of them.
    """
    if sender is None or record.plan is None:
        return 0
    if sender.failed_chunks == 0 and sender.epoch <= first_epoch(record.earlier_starts + 1):
        return 0
    items = world.chunks.read(record.transfer.partition, record.plan)
    noted = [chunk for chunk in items if chunk.awaits_policy]
    decided = [
        retry.decide(world, record.transfer.partition, chunk.chunk, chunk.attempt, chunk.reason or "stream-lost")
        for chunk in noted
    ]
    return sum(decision != "known" for decision in decided)


def _tell_lost_relays(world: World, record: TransferRecord, sender: Progress | None) -> int:
    """Put Relay Lost for each relay whose end nobody heard of, or whose replacement stopped half-way; how many.

    So it is with a relay that was to be released, and has no lanes any more: whoever drained it may have died.
    """
    nodes = world.nodes.of(record.transfer.transfer_id)
    live = [node for node in nodes if node.state in LIVE_STATES]
    told = {lost.node_id: lost.message for lost in world.agents.lost_relays(record.transfer.partition)}
    dead = {node: told[node.node_id] for node in live if node.node_id in told} | _dead(world, live)
    late = world.clock.now() - RESUME_SECONDS
    left = {n: n.reason or "" for n in nodes if n.state == "LOST" and not n.settled and (n.ended_at or 0) < late}
    left |= {n: n.reason or "" for n in nodes if n.state == "DRAINING" and _followed(n, nodes, late)}
    given_up = [n for n in nodes if n.state == "DRAINING" and n.not_replaced and not relay_end.has_lanes(sender, n)]
    left |= {n: n.reason or "" for n in given_up}
    for node, reason in (dead | left).items():
        world.events.put("Relay Lost", {**node.about, "message": reason})
    return len(dead | left)


def _followed(node: Node, nodes: list[Node], before: float) -> bool:
    """Return whether its successor had joined `before` that time."""
    return any(n.node_id == node.successor and n.joined_at is not None and n.joined_at < before for n in nodes)


def _terminate_ended(world: World, record: TransferRecord) -> int:
    """Terminate instances whose relay has ended: whoever ended it may have died in between; how many there were."""
    ended = [n for n in world.nodes.of(record.transfer.transfer_id) if n.state not in LIVE_STATES and n.is_ours]
    count = 0
    for region in sorted({node.region for node in ended}):
        mine = [node.instance_id for node in ended if node.region == region]
        alive = [i.instance_id for i in world.at(Place(region)).compute.describe(mine) if not i.gone]
        launched.terminate(world, region, alive)
        count += len(alive)
    return count


def _dead(world: World, live: list[Node]) -> dict[Node, str]:
    """Return the relays whose instance carries no more, and why."""
    found: dict[Node, str] = {}
    for region in sorted({node.region for node in live}):
        mine = [node for node in live if node.region == region]
        shown = _shown(world, region, mine)
        old = [n for n in mine if world.clock.now() - n.requested_at > relay_start.UNSEEN_SECONDS]
        if any(node.instance_id not in shown for node in old):
            # EC2's lists are eventually consistent, and a relay that is told of as lost is terminated.
            world.clock.sleep(AGAIN_SECONDS)
            shown |= _shown(world, region, mine)
        for node in mine:
            state = shown.get(node.instance_id)
            if state in ENDED_INSTANCE_STATES:
                found[node] = f"its instance is {state}"
            elif state is None and node in old:
                found[node] = "EC2 does not list its instance any more"
    return found


def _shown(world: World, region: str, nodes: list[Node]) -> dict[str, str]:
    shown = world.at(Place(region)).compute.describe(node.instance_id for node in nodes)
    return {instance.instance_id: instance.state for instance in shown}


def _discard_old_unused(world: World, record: TransferRecord) -> int:
    """Terminate relays that have not joined in time; how many there were."""
    now, count = world.clock.now(), 0
    nodes = world.nodes.of(record.transfer.transfer_id)
    for most in (UNUSED_SECONDS, AWAITED_SECONDS):
        late = [n for n in nodes if now - n.requested_at > most]
        old = late if most == UNUSED_SECONDS else [n for n in late if _is_of_a_reaction(record, n)]
        count += relay_end.discard_unused(world, old, f"not joined within {most:.0f} s")
    return count


def _is_of_a_reaction(record: TransferRecord, node: Node) -> bool:
    """Return whether it was launched while data moved by one function, which lets it join."""
    decided = record.decisions[-1].at if record.decisions else None
    if decided is None or record.estimate is None or record.estimate.on_the_way is not None:
        return False  # states of the execution may still be on their way to it
    return node.requested_at >= decided
