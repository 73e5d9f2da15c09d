"""Teardown, on every path and any number of times: fence first, then daemons, relays, rules, lock, token, objects."""

from contextlib import suppress

from lambdas.adapters.world import World
from lambdas.core import transfer_life
from lambdas.core.errors import MissingPermission, TeardownIncomplete, Throttled
from lambdas.core.fleet import firewall, node_life
from lambdas.core.fleet.relay_node import LIVE_STATES
from lambdas.core.fleet.topology import route_of
from lambdas.core.transfer import AcceptedTransfer
from lambdas.core.transfer_record import TransferRecord
from lambdas.operations.ends.commands import Order, run_all
from lambdas.operations.fence import fence

STOP_SECONDS = 60.0
# Instances shut down within 60 s as a rule; twice that before the state machine's own retry takes over.
TERMINATE_SECONDS = 120.0
# An instance launched a moment ago may not be listed yet: nothing must be found in two looks, one second apart.
CLEAN_LOOKS = 2
TEMPORARY = ("listing/", "announced/", "compare/", "changed/", "equal/", "manifest/", "digests/", "plan.json")
# Another run may go on with a plan that is not fulfilled; the bucket's own rule removes what nobody comes back for.
PLAN = ("manifest/", "plan.json")


class _TakenUpError(Exception):
    """A later execution has the transfer: what there is, is that one's."""


def tear_down(world: World, record: TransferRecord) -> dict[str, int]:
    """Leave nothing running; what was taken down. Raises TeardownIncomplete when instances are left.

    Another teardown of the same execution may be faster, and a later execution begin: then this one ends where it is.
    """
    transfer = record.transfer
    done = {"stopped": 0, "terminated": 0, "revokedRules": 0, "deletedObjects": 0}
    if not fence(world, transfer):
        return done
    with suppress(_TakenUpError):
        done["stopped"] = _stop_daemons(world, transfer)
        wanted = record.estimate is not None and record.estimate.chosen_pairs > 0
        done["terminated"] = _terminate(world, transfer, relays_wanted=wanted)
        _end_nodes(world, transfer)
        done["revokedRules"] = _revoke(world, transfer)
        _look_again(world, transfer)
        world.locks.release(transfer.request.destination.lock_id, transfer.transfer_id)
        _look_again(world, transfer)
        world.tokens.delete(transfer.transfer_id)
        done["deletedObjects"] = _delete_objects(world, transfer)
        world.transfers.change(transfer, transfer_life.note(teardown=done))
    return done


def find(world: World, transfer_id: str | None, execution_arn: str) -> TransferRecord | None:
    """The transfer's record; by its execution where the id is unknown (validation failed half-way).

    None where another execution has taken it up: what there is, is that one's.
    """
    if transfer_id is not None:
        record = world.transfers.get(transfer_id)
        return record if record and record.transfer.execution_arn == execution_arn else None
    return next((r for r in world.transfers.active() if r.transfer.execution_arn == execution_arn), None)


def _look_again(world: World, transfer: AcceptedTransfer) -> TransferRecord:
    """The record as it is now; raises _TakenUpError.

    Before each step that destroys something, and after what is destroyed was listed: so that is never a later run's.
    """
    record = find(world, transfer.transfer_id, transfer.execution_arn)
    if record is None:
        raise _TakenUpError
    return record


def _stop_daemons(world: World, transfer: AcceptedTransfer) -> int:
    """A machine that is gone or has lost its agent cannot be told; its daemon sees the fence by itself."""
    try:
        machines = [transfer.source, transfer.destination, *transfer.existing]
        orders = [Order.on(machine, "stop") for machine in machines]
        results = run_all(world, transfer.transfer_id, orders, STOP_SECONDS)
    except (Throttled, MissingPermission):
        return 0
    return sum(result.succeeded for result in results)


def _terminate(world: World, transfer: AcceptedTransfer, *, relays_wanted: bool) -> int:
    regions = route_of(transfer).regions
    terminated: set[str] = set()
    # Where relays were never wanted, none can still turn up.
    wanted_looks = CLEAN_LOOKS if relays_wanted else 1
    clean = 0
    deadline = world.clock.monotonic() + TERMINATE_SECONDS
    while True:
        alive = {region: _alive(world, region, transfer.transfer_id) for region in regions}
        _look_again(world, transfer)
        for region, ids in alive.items():
            if ids:
                world.compute(region).terminate(ids)
                terminated.update(ids)
        clean = 0 if any(alive.values()) else clean + 1
        if clean >= wanted_looks:
            return len(terminated)
        if world.clock.monotonic() >= deadline:
            left = ", ".join(id_ for ids in alive.values() for id_ in ids)
            raise TeardownIncomplete(f"still alive {TERMINATE_SECONDS:.0f} s after TerminateInstances: {left}")
        world.clock.sleep(world.env.poll_seconds)


def _alive(world: World, region: str, transfer_id: str) -> list[str]:
    """By tag and by the node table: a new instance's tags may be shown later than the instance."""
    tagged = {i.instance_id for i in world.compute(region).of_transfer(transfer_id)}
    nodes = [n for n in world.nodes.of(transfer_id) if n.region == region and n.state in LIVE_STATES]
    known = [node.instance_id for node in nodes if not node.existing]
    listed = {i.instance_id for i in world.compute(region).describe(known) if not i.gone} if known else set()
    return sorted(tagged | listed)


def _end_nodes(world: World, transfer: AcceptedTransfer) -> None:
    nodes = world.nodes.of(transfer.transfer_id)
    _look_again(world, transfer)
    for node in nodes:
        if node.state in LIVE_STATES:
            world.nodes.change(node, node_life.take_down(world.clock.now()))


def _revoke(world: World, transfer: AcceptedTransfer) -> int:
    count = 0
    for region in route_of(transfer).regions:
        groups = world.groups(region)
        doomed = firewall.to_revoke(groups.rules(), _others(world, transfer))
        _look_again(world, transfer)
        groups.revoke(doomed)
        count += len(doomed)
        # A transfer that began meanwhile may have found its rule in place.
        for other in _others(world, transfer) if doomed else []:
            for rule in firewall.shared(doomed, other):
                groups.admit(rule.group_id, rule.address, rule.port, other.transfer_id)
    return count


def _delete_objects(world: World, transfer: AcceptedTransfer) -> int:
    prefix = world.shared_key(transfer, "")
    names = [key.removeprefix(prefix) for key in world.objects.keys(prefix)]
    unfulfilled = _look_again(world, transfer).unfulfilled
    # A later run compares anew, so that what was found equal is not kept.
    kept = (*PLAN, unfulfilled.listing.planned_folder) if unfulfilled and unfulfilled.listing else ()
    temporary = [prefix + name for name in names if name.startswith(TEMPORARY) and not name.startswith(kept)]
    world.objects.delete(temporary)
    return len(temporary)


def _others(world: World, transfer: AcceptedTransfer) -> list[AcceptedTransfer]:
    """Those that still move. Of two that end together, each would else leave the rule that they share to the other."""
    active = (record for record in world.transfers.active() if not record.fenced)
    return [record.transfer for record in active if record.transfer.transfer_id != transfer.transfer_id]
