"""The lock of a destination: on its bucket, or on each machine, with one port at all of them and of what they share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from lambdas.adapters.world import World
from lambdas.core.ends.bucket import DestinationBucket
from lambdas.core.intake.destination_lock import NO_PORT, NOWHERE, Busy, Holding, Way
from lambdas.core.transfer.accepted import RECEIVER_PORTS, AcceptedTransfer

_Asked = tuple[Sequence[str], str]
"""Machines, and the path that is locked on each of them."""


def acquire(
    world: World,
    transfer: AcceptedTransfer,
    ways: Mapping[str, tuple[Way, ...]] = MappingProxyType({}),
    shared: tuple[Way, ...] = (),
) -> Holding | Busy:
    """Take the lock and a port of every machine, or learn what is in the way. Taking it again is fine.

    `ways`: to the destination, as each machine has told them; `shared`: those that other machines may see.
    """
    asked, transfer_id = transfer.request.destination, transfer.transfer_id
    if isinstance(asked, DestinationBucket):
        return _of_bucket(world, transfer, asked)
    held = _at_machines(world, (asked.lock_ids, asked.lock_path), transfer_id, ways)
    if isinstance(held, Busy) or not shared:
        return held
    # Last: whoever has it waits for nothing else, so that no two wait for each other.
    others = world.locks.acquire_shared(transfer_id, shared)
    return others if isinstance(others, Busy) else held


def _at_machines(world: World, asked: _Asked, transfer_id: str, ways: Mapping[str, tuple[Way, ...]]) -> Holding | Busy:
    machines, path = asked
    if len(machines) == 1:
        return world.locks.acquire(machines[0], path, transfer_id, ways.get(machines[0], ()))
    ports = list(RECEIVER_PORTS)
    while True:
        held = _at_all(world, asked, transfer_id, ways, ports)
        if not isinstance(held, int):
            return held
        # Another transfer has this port at one of the machines.
        _release_machines(world, machines, transfer_id)
        ports.remove(held)


def release(world: World, transfer: AcceptedTransfer, look: Callable[[], object] = lambda: None) -> None:
    """Give all of it back: at every machine, the bucket, and what machines share.

    `look` ends it between two steps, where a later run has it by now.
    """
    world.locks.release_shared(transfer.transfer_id)
    look()
    _release_machines(world, lock_ids(transfer), transfer.transfer_id)


def _release_machines(world: World, held: Iterable[str], transfer_id: str) -> None:
    for lock_id in held:
        world.locks.release(lock_id, transfer_id)


def lock_ids(transfer: AcceptedTransfer) -> tuple[str, ...]:
    """Return all that it holds: with a bucket's also a port of the machine on which that is written."""
    asked, machines = transfer.request.destination, transfer.request.source.machine_ids
    return (*machines, *asked.lock_ids) if isinstance(asked, DestinationBucket) else asked.lock_ids


def _of_bucket(world: World, transfer: AcceptedTransfer, asked: DestinationBucket) -> Holding | Busy:
    """The bucket's lock, and a port of the source's machines, on which it is written; of two buckets there is none."""
    first: Holding | None = None
    if machines := transfer.request.source.machine_ids:
        port = _at_machines(world, (machines, NOWHERE), transfer.transfer_id, {})
        if isinstance(port, Busy):
            return replace(port, machine=port.machine or machines[0])
        first = port
    for lock_id in asked.lock_ids:
        held = world.locks.acquire(lock_id, asked.lock_path, transfer.transfer_id, ports=(NO_PORT,))
        if isinstance(held, Busy):
            return held
        first = first or replace(held, port=RECEIVER_PORTS[0])
    return first or Busy(None)


def _at_all(
    world: World,
    asked: _Asked,
    transfer_id: str,
    ways: Mapping[str, tuple[Way, ...]],
    ports: list[int],
) -> Holding | Busy | int:
    """What was taken, or is in the way; a port where one machine has it and another does not."""
    first, (machines, path) = None, asked
    # In one order, whoever asks: of two that want the same machines one gets all of them.
    for lock_id in sorted(machines):
        own = ways.get(lock_id, ())
        held = world.locks.acquire(lock_id, path, transfer_id, own, [first.port] if first else ports)
        if isinstance(held, Busy):
            if held.holder is None and first is not None:
                return first.port
            return replace(held, machine=lock_id)
        first = first or held
    return first or Busy(None)
