"""One look at one active transfer: what the minute's schedule finds when events were lost."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core import transfer_life
from lambdas.core.chunks.progress import Progress
from lambdas.core.ends.epochs import first_epoch
from lambdas.core.fleet.relay_node import ENDED_INSTANCE_STATES, JOIN_TIMEOUT_SECONDS, LIVE_STATES, Node
from lambdas.core.record_format import FORMAT_VERSION, in_words
from lambdas.core.transfer import Failure
from lambdas.core.transfer_record import ENDED, Outcome, Planned, TransferRecord
from lambdas.operations import teardown
from lambdas.operations.chunks import retry
from lambdas.operations.ends import end_daemons
from lambdas.operations.fleet import membership, relay_end, relay_start
from lambdas.operations.fleet.replacement import RESUME_SECONDS
from lambdas.operations.report import outcome, reporting
from lambdas.operations.token import release

# Step Functions may not know an execution for a while after it has begun.
UNKNOWN_SECONDS = 120.0
# Await Relays ends at the join timeout, and Pre-Test Relays within Lambda's 900 s; a relay that has not joined by then
# was left behind by a state that died.
UNUSED_SECONDS = JOIN_TIMEOUT_SECONDS + 900
# Whoever launches relays while data moves waits for them in the same function: the launch takes two minutes at most.
AWAITED_SECONDS = JOIN_TIMEOUT_SECONDS + 120


def look_at(world: World, record: TransferRecord) -> dict[str, Any] | None:
    """Repeat a lost release, retry, tell of lost relays, see to the ends; None when its execution is over."""
    transfer = record.transfer
    status = world.executions.status(transfer.execution_arn)
    if status is None and world.clock.now() - transfer.execution_started_at < UNKNOWN_SECONDS:
        return {"waiting": "its execution is not known yet"}
    if status != "RUNNING":
        return None
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
    for side in end_daemons.sides(transfer):
        found = outcome.take(world, record, side)
        if "released" in found:
            return found
    sender = world.agents.progress(transfer.shared, "sender")
    return {
        "retried": _retry_noted(world, record, sender),
        "lost": _tell_lost_relays(world, record, sender),
        "outlived": _terminate_ended(world, record),
        "unused": _discard_old_unused(world, record),
        "limit": membership.follow_timetable(world, transfer),
        **end_daemons.look_at(world, record, token),
    }


def terminate_strays(world: World) -> list[str]:
    """Relays of transfers that are over, launched at the last moment or shown too late; the instances' ids."""
    # Read before the transfers: one that begins in between has no relay among these.
    relays_of = {region: world.compute(region).of_deployment() for region in world.env.regions}
    active = {record.transfer.transfer_id for record in world.transfers.active()}
    strays = {
        region: [i.instance_id for i in found if i.transfer_id not in active] for region, found in relays_of.items()
    }
    for region, ids in strays.items():
        world.compute(region).terminate(ids)
    return [id_ for ids in strays.values() for id_ in ids]


def sweep(world: World, record: TransferRecord) -> dict[str, Any]:
    """Take down and report what no execution runs any more."""
    status = world.executions.status(record.transfer.execution_arn)
    end(world, record, status)
    return {"swept": status}


def end(world: World, record: TransferRecord, status: str | None) -> dict[str, int]:
    """Teardown of a transfer whose execution is `status`, and its report if there is none; what was taken down."""
    done = teardown.tear_down(world, record)
    # That took minutes: somebody else may have reported it, and a later execution gone on with it.
    now = teardown.find(world, record.transfer.transfer_id, record.transfer.execution_arn)
    if now is None:
        return done
    if now.status in ENDED:
        world.transfers.change(now.transfer, transfer_life.close(now.status))
        return done
    failure = Failure(error="ExecutionGone", cause=f"the execution is {status or 'unknown'}; taken down")
    reporting.write(world, now, failure)
    return done


def _retry_noted(world: World, record: Planned, sender: Progress | None) -> int:
    """Failures that a sender noted in the items and nobody decided; read only where there may be any.

    A later sender does not count those of its predecessor, which may have died before it told of them.
    """
    if sender is None:
        return 0
    if sender.failed_chunks == 0 and sender.epoch <= first_epoch(record.earlier_starts + 1):
        return 0
    items = world.chunks.read(record.transfer.shared, record.plan)
    noted = [chunk for chunk in items if chunk.awaits_policy]
    decided = [
        retry.decide(world, record.transfer.shared, chunk.chunk, chunk.attempt, chunk.reason or "stream-lost")
        for chunk in noted
    ]
    return sum(decision != "known" for decision in decided)


def _tell_lost_relays(world: World, record: TransferRecord, sender: Progress | None) -> int:
    """Put Relay Lost for each relay whose end nobody heard of, or whose replacement stopped half-way; how many.

    So it is with a relay that was to be released, and has no lanes any more: whoever drained it may have died.
    """
    nodes = world.nodes.of(record.transfer.transfer_id)
    live = [node for node in nodes if node.state in LIVE_STATES]
    told = {lost.node_id: lost.message for lost in world.agents.lost_relays(record.transfer.shared)}
    dead = {node: told[node.node_id] for node in live if node.node_id in told} | _dead(world, live)
    late = world.clock.now() - RESUME_SECONDS
    left = {n: n.reason or "" for n in nodes if n.state == "LOST" and not n.settled and (n.ended_at or 0) < late}
    left |= {n: n.reason or "" for n in nodes if n.state == "DRAINING" and _followed(n, nodes, late)}
    given_up = [n for n in nodes if n.state == "DRAINING" and n.not_replaced and not relay_end.has_lanes(sender, n)]
    left |= {n: n.reason or "" for n in given_up}
    for node, reason in (dead | left).items():
        about = {"transferId": node.transfer_id, "nodeId": node.node_id, "message": reason}
        world.events.put("Relay Lost", about)
    return len(dead | left)


def _followed(node: Node, nodes: list[Node], before: float) -> bool:
    """Return whether its successor had joined `before` that time."""
    return any(n.node_id == node.successor and n.joined_at is not None and n.joined_at < before for n in nodes)


def _terminate_ended(world: World, record: TransferRecord) -> int:
    """Terminate instances whose relay has ended: whoever ended it may have died in between; how many there were."""
    ended = [n for n in world.nodes.of(record.transfer.transfer_id) if n.state not in LIVE_STATES and not n.existing]
    count = 0
    for region in sorted({node.region for node in ended}):
        mine = [node.instance_id for node in ended if node.region == region]
        alive = [i.instance_id for i in world.compute(region).describe(mine) if not i.gone]
        world.compute(region).terminate(alive)
        count += len(alive)
    return count


def _dead(world: World, live: list[Node]) -> dict[Node, str]:
    """Return the relays whose instance carries no more, and why."""
    found: dict[Node, str] = {}
    for region in sorted({node.region for node in live}):
        mine = [node for node in live if node.region == region]
        shown = {i.instance_id: i.state for i in world.compute(region).describe(n.instance_id for n in mine)}
        for node in mine:
            state = shown.get(node.instance_id)
            if state in ENDED_INSTANCE_STATES:
                found[node] = f"its instance is {state}"
            elif state is None and world.clock.now() - node.requested_at > relay_start.UNSEEN_SECONDS:
                found[node] = "EC2 does not list its instance any more"
    return found


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
