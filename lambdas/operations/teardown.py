"""Teardown, on every path and any number of times: fence first, then relays, daemons, rules, lock, token, objects.

Relays cost money by the second, so they are told to end before daemons are stopped, which takes up to a minute; but
not before their logs are kept, which takes some seconds at most.
"""

from collections.abc import Sequence
from contextlib import suppress

from lambdas.adapters.records import CommandResult
from lambdas.adapters.world import World
from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.errors import (
    AgentBusy,
    CommandFailed,
    MissingPermission,
    SurveyProblem,
    TeardownIncomplete,
    Throttled,
)
from lambdas.core.fleet import firewall, node_life
from lambdas.core.fleet.firewall import Rule
from lambdas.core.fleet.relay_node import LIVE_STATES
from lambdas.core.fleet.topology import regions_of
from lambdas.core.places.machines import EndMachine
from lambdas.core.places.place import Place
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import Seat
from lambdas.operations import leftovers, logs
from lambdas.operations.copies import teardown as copies_teardown
from lambdas.operations.fence import fence
from lambdas.operations.fleet.providers import launched, pool
from lambdas.operations.intake import holding, marks
from lambdas.operations.seats.commands import Order, run_all

STOP_SECONDS = 60.0
# Instances shut down within 60 s as a rule; twice that before the state machine's own retry takes over.
TERMINATE_SECONDS = 120.0
# An instance launched a moment ago may not be listed yet: nothing must be found in two looks, one second apart.
CLEAN_LOOKS = 2
TEMPORARY = ("keys/", "listing/", "announced/", "compare/", "changed/", "equal/", "manifest/", "digests/", "plan.json")
# Another run may go on with a plan that is not fulfilled; the bucket's own rule removes what nobody comes back for.
PLAN = ("manifest/", "plan.json")


class _TakenUpError(Exception):
    """A later execution has the transfer: what there is, is that one's."""


def tear_down(world: World, record: TransferRecord) -> dict[str, int]:
    """Leave nothing running; what was taken down. Raises TeardownIncomplete when instances are left.

    Another teardown of the same execution may be faster, and a later execution begin: then this one ends where it is.
    """
    transfer = record.transfer
    done = {"stopped": 0, "terminated": 0, "revokedRules": 0, "deletedObjects": 0, "keptLogs": 0}
    if not fence(world, transfer):
        return done
    if transfer.errand.copies:
        done["abortedUploads"] = copies_teardown.take_down(world, record) + leftovers.settle(world, record)
        holding.release(world, transfer)
        world.transfers.change(transfer, transfer_life.note(teardown=done))
        return done
    with suppress(_TakenUpError):
        done["keptLogs"] = logs.keep_of_relays(world, transfer, world.nodes.of(transfer.transfer_id))
        ended = _begin_to_terminate(world, transfer)
        ended_at = world.clock.now()
        stopped = _stop_daemons(world, transfer)
        done["stopped"] = sum(result.succeeded for _, result in stopped)
        done["keptLogs"] += logs.keep_of_stopped(world, transfer, stopped)
        _take_marks_away(world, transfer)
        wanted = record.estimate is not None and record.estimate.chosen_pairs > 0
        ended |= _terminate(world, transfer, relays_wanted=wanted)
        done["terminated"] = len(ended)
        _end_nodes(world, transfer, ended_at)
        done["revokedRules"] = _revoke(world, transfer)
        _look_again(world, transfer)
        holding.release(world, transfer, lambda: _look_again(world, transfer))
        _look_again(world, transfer)
        world.tokens.delete(transfer.transfer_id)
        done["deletedObjects"] = _delete_objects(world, transfer)
        if isinstance(transfer.request.destination, BucketEnd):
            done["abortedUploads"] = leftovers.settle(world, _look_again(world, transfer))
        world.transfers.change(transfer, transfer_life.note(teardown=done))
    return done


def release_relays(world: World, transfer: AcceptedTransfer) -> int:
    """Terminate the relays of a transfer whose data has arrived; how many were told to end.

    EC2 charges until then. Whatever it does not know yet, or launches late, is the teardown's to find.
    """
    with suppress(_TakenUpError):
        logs.keep_of_relays(world, transfer, world.nodes.of(transfer.transfer_id))
        released = _begin_to_terminate(world, transfer)
        _end_nodes(world, transfer, world.clock.now())
        return len(released)
    return 0


def find(world: World, transfer_id: str | None, execution_arn: str) -> TransferRecord | None:
    """The transfer's record; by its execution where the id is unknown (validation failed half-way).

    None where another execution has taken it up: what there is, is that one's.
    """
    if transfer_id is not None:
        return _of(world, transfer_id, execution_arn)
    return next((r for r in world.transfers.active() if r.transfer.execution_arn == execution_arn), None)


def _look_again(world: World, transfer: AcceptedTransfer) -> TransferRecord:
    """The record as it is now; raises _TakenUpError.

    Before each step that destroys something, and after what is destroyed was listed: so that is never a later run's.
    """
    record = _of(world, transfer.transfer_id, transfer.execution_arn)
    if record is None:
        raise _TakenUpError
    return record


def _of(world: World, transfer_id: str, execution_arn: str) -> TransferRecord | None:
    record = world.transfers.get(transfer_id)
    return record if record and record.transfer.execution_arn == execution_arn else None


def _stop_daemons(world: World, transfer: AcceptedTransfer) -> list[tuple[str, CommandResult]]:
    """Results by a name for each machine.

    One that is gone, or whose agent is lost or busy, cannot be told; its daemon sees the fence by itself.
    """
    lent = [(machine.instance_id, machine) for machine in transfer.existing]
    ends = [*_named("source", transfer.senders), *_named("destination", transfer.receivers)]
    if transfer.on_one_machine:  # what stops one of its daemons stops both; the log is called like the end that it is
        senders = len(transfer.senders)
        ends = ends[senders:] if isinstance(transfer.request.source, BucketEnd) else ends[:senders]
    machines = [*ends, *lent]
    try:
        orders = [Order.on(machine, "stop") for _, machine in machines]
        results = run_all(world, transfer, orders, STOP_SECONDS)
    except (Throttled, MissingPermission):
        return []
    return [(name, result) for (name, _), result in zip(machines, results, strict=True)]


def _named(end: str, seats: Sequence[Seat]) -> list[tuple[str, EndMachine]]:
    """The machines of an end: the first is called like it, the others have their number."""
    return [(f"{end}-{number}" if number else end, seat.machine) for number, seat in enumerate(seats)]


def _take_marks_away(world: World, transfer: AcceptedTransfer) -> None:
    """Those of a survey that has ended in the midst of a look; of a machine that is gone, the next run's."""
    _look_again(world, transfer)
    with suppress(CommandFailed, SurveyProblem, AgentBusy, Throttled, MissingPermission):
        marks.take_away(transfer, world, STOP_SECONDS)


def _begin_to_terminate(world: World, transfer: AcceptedTransfer) -> set[str]:
    """Ask EC2 to terminate what lives; the instances' ids."""
    alive = {region: _alive(world, region, transfer.transfer_id) for region in regions_of(transfer)}
    _look_again(world, transfer)
    for region, ids in alive.items():
        if ids:
            launched.terminate(world, region, ids)
    return {id_ for ids in alive.values() for id_ in ids}


def _terminate(world: World, transfer: AcceptedTransfer, *, relays_wanted: bool) -> set[str]:
    terminated: set[str] = set()
    # Where relays were never wanted, none can still turn up.
    wanted_looks = CLEAN_LOOKS if relays_wanted else 1
    clean = 0
    deadline = world.clock.monotonic() + TERMINATE_SECONDS
    while True:
        alive = _begin_to_terminate(world, transfer)
        terminated |= alive
        clean = 0 if alive else clean + 1
        if clean >= wanted_looks:
            return terminated
        if world.clock.monotonic() >= deadline:
            left = ", ".join(sorted(alive))
            raise TeardownIncomplete(f"still alive {TERMINATE_SECONDS:.0f} s after TerminateInstances: {left}")
        world.clock.sleep(world.env.poll_seconds)


def _alive(world: World, region: str, transfer_id: str) -> list[str]:
    """Return live relays by tag and by the node table: a new instance may be listed before its tags are."""
    tagged = {i.instance_id for i in world.at(Place(region)).compute.of_transfer(transfer_id)}
    nodes = [n for n in world.nodes.of(transfer_id) if n.region == region and n.is_ours]
    known = [node.instance_id for node in nodes]
    listed = {i.instance_id for i in world.at(Place(region)).compute.describe(known) if not i.gone} if known else set()
    return sorted(tagged | listed)


def _end_nodes(world: World, transfer: AcceptedTransfer, ended_at: float) -> None:
    nodes = world.nodes.of(transfer.transfer_id)
    _look_again(world, transfer)
    for node in nodes:
        if node.state in LIVE_STATES:
            world.nodes.change(node, node_life.take_down(max(ended_at, node.requested_at)))
    # Also of those that have ended before: whoever ended them may have died before it gave the lease back.
    pool.take_back(world, nodes)


def _revoke(world: World, transfer: AcceptedTransfer) -> int:
    count = 0
    for region in regions_of(transfer):
        groups = world.at(Place(region)).groups
        others = _others(world, transfer)
        doomed = firewall.to_revoke(groups.rules(), others, pool.ways_of(world, others))
        moving = _still_moving(world, transfer, doomed)
        doomed = [rule for rule in doomed if rule.transfer_id not in moving]
        _look_again(world, transfer)
        groups.revoke(doomed)
        count += len(doomed)
        # A transfer that began meanwhile may have found its rule in place.
        for other in _others(world, transfer) if doomed else []:
            for rule in firewall.shared(doomed, other):
                groups.admit(rule.group_id, rule.address, rule.port, other.transfer_id)
    return count


def _still_moving(world: World, transfer: AcceptedTransfer, doomed: list[Rule]) -> set[str]:
    """Return the owners of these rules that move though the index of active transfers did not have them."""
    owners = {rule.transfer_id for rule in doomed} - {transfer.transfer_id}
    records = (world.transfers.get(owner) for owner in sorted(owners))
    return {r.transfer.transfer_id for r in records if r is not None and not r.closed and not r.fenced}


def _delete_objects(world: World, transfer: AcceptedTransfer) -> int:
    prefix = world.shared_key(transfer, "")
    names = [key.removeprefix(prefix) for key in world.objects.keys(prefix)]
    record = _look_again(world, transfer)
    unfulfilled, kept = record.unfulfilled, tuple[str, ...]()
    if unfulfilled and unfulfilled.listing:
        # A later run compares anew, so that what was found equal is not kept.
        kept = (*PLAN, unfulfilled.listing.planned_folder)
    elif record.dry_run:
        kept = (record.dry_run.where.partition(prefix)[2],)
    temporary = [prefix + name for name in names if name.startswith(TEMPORARY) and not name.startswith(kept)]
    return world.objects.delete(temporary)


def _others(world: World, transfer: AcceptedTransfer) -> list[AcceptedTransfer]:
    """Return transfers that still move. Two that end together would each leave the rule that both share."""
    active = (record for record in world.transfers.active() if not record.fenced)
    return [record.transfer for record in active if record.transfer.transfer_id != transfer.transfer_id]
