"""Resolve Paths: choose the address of each kind of hop, open it, and prove that it is reachable."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from lambdas.adapters.records import CommandResult
from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import AgentBusy, LaunchRefused, PathUnreachable
from lambdas.core.fleet.layout import FIRST_RECEIVER, FIRST_SENDER, Joint, Layout
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.core.places.machines import EndMachine
from lambdas.core.record import transfer_life
from lambdas.core.seats import commands
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import Seat
from lambdas.operations.fleet.providers.launched import security_group
from lambdas.operations.seats.commands import (
    Order,
    Running,
    answer,
    await_all,
    begin,
    is_busy,
    is_started,
    send_again,
)
from lambdas.operations.side_by_side import look_at_each
from lambdas.runtime.handler import task_state

# A first command also installs the daemon (some MB): one machine may begin most of a minute after the other. The
# listener waits so long. The other probe does while it is refused: the machine is there then, its listener to come.
LISTEN_SECONDS, CONNECT_SECONDS = 60.0, 15.0
# Both probes, and whoever of them has to come again; the Lambda has 300.
COMMAND_SECONDS = 240.0
LISTENER, CALLER = 0, 1


class ResolveInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer


def resolve_paths(event: ResolveInput, world: World) -> ResolvedPaths:
    """Addresses of the hops; raises PathUnreachable, or AgentBusy where a machine's agent did not begin."""
    transfer = event.transfer
    if transfer.on_one_machine:
        return _within(transfer, world)
    public = transfer.between_regions and world.env.inter_region_path == "internet"
    addresses = {seat.seat_id: _address(seat.machine, public) for seat in (*transfer.senders, *transfer.receivers)}
    try:
        group = security_group(world, transfer.at_destination, "endpoint")
    except LaunchRefused as error:
        raise PathUnreachable(str(error)) from error
    groups = world.at(transfer.at_destination.place).groups
    for seat in transfer.senders:  # each to all receivers, which have one group: paths are laid out anew at once
        groups.admit(group, addresses[seat.seat_id], transfer.receiver_port, transfer.transfer_id)
    for joints in Layout.of(transfer).rounds():
        _prove_all(world, transfer, joints, addresses)
    paths = ResolvedPaths(
        direct_reachable=True,
        inter_region="public" if public else "private",
        source_address=addresses[FIRST_SENDER],
        receiver_address=f"{addresses[FIRST_RECEIVER]}:{transfer.receiver_port}",
        receiver_inside_address=f"{transfer.at_destination.private_address}:{transfer.receiver_port}",
    )
    world.transfers.change(transfer, transfer_life.note(paths=paths))
    return paths


def _within(transfer: AcceptedTransfer, world: World) -> ResolvedPaths:
    """Of two daemons on each machine: what one sends the other leaves it not, so that no rule or route has a say."""
    if len(transfer.receivers) > 1:
        _admit_each_other(transfer, world)
    own = transfer.at_source.private_address
    there = f"{own}:{transfer.receiver_port}"
    paths = ResolvedPaths(
        direct_reachable=True,
        inter_region="private",
        source_address=own,
        receiver_address=there,
        receiver_inside_address=there,
    )
    world.transfers.change(transfer, transfer_life.note(paths=paths))
    return paths


def _admit_each_other(transfer: AcceptedTransfer, world: World) -> None:
    """A machine that has lost one of its two daemons goes on with another machine's, if the end's group is there."""
    with suppress(LaunchRefused):
        group = security_group(world, transfer.at_destination, "endpoint")
        groups = world.at(transfer.at_destination.place).groups
        for seat in transfer.senders:
            groups.admit(group, seat.machine.private_address, transfer.receiver_port, transfer.transfer_id)


def _address(end: EndMachine, public: bool) -> str:
    if not public:
        return end.private_address
    if end.public_address is None:
        raise PathUnreachable(
            f"{end.instance_id} ({end.region}) has no public address and the deployment's path between regions is the "
            "internet: give it a public address, or peer the VPCs and deploy with interRegionPath 'peering'"
        )
    return end.public_address


def _prove_all(world: World, transfer: AcceptedTransfer, joints: Sequence[Joint], addresses: Mapping[str, str]) -> None:
    """Prove paths of which no two have a machine in common, all at once."""
    if len(joints) == 1:
        _prove(world, transfer, joints[0], addresses)
        return
    looks = look_at_each(
        {f"{joint.sender}>{joint.receiver}": joint for joint in joints},
        lambda joint: _prove(world, transfer, joint, addresses),
    )
    if looks.broken:
        raise next(iter(looks.broken.values()))


def _prove(world: World, transfer: AcceptedTransfer, joint: Joint, addresses: Mapping[str, str]) -> None:
    """A listening probe at the destination, a connecting one at the source."""
    target = f"{addresses[joint.receiver]}:{transfer.receiver_port}"
    start, end = (_seat(transfer, seat_id).machine for seat_id in (joint.sender, joint.receiver))
    listen = commands.receiver_addresses(transfer, end)
    orders = [
        Order.on(end, "probe", commands.probe(transfer.transfer_id, "listen", listen, LISTEN_SECONDS)),
        Order.on(start, "probe", commands.probe(transfer.transfer_id, "connect", target, CONNECT_SECONDS)),
    ]
    running = begin(world, transfer, orders, COMMAND_SECONDS)
    decisive = False
    while True:
        # Where one has failed the other one waits for nobody. Where both succeed the listener has let go of the port.
        await_all(world, running, lambda: bool(_failed(running)))
        if CALLER in running.results and CALLER not in _failed(running):
            return
        late = [at for at in running.waiting if not is_started(world, running, at)]
        await_all(world, running, partial(_all_begun, world, running, late))
        busy = [is_busy(orders[at], result) for at, result in running.results.items() if not result.started]
        if busy:
            raise AgentBusy("\n".join(busy))
        if not late and (decisive or not running.waiting):
            break
        # What one probe found before the other machine's agent had begun with its own proves nothing: now it has.
        decisive = True
        for at in _failed(running):
            send_again(world, running, at)
    waits = CommandResult(False, "InProgress", "", "it still waits")
    listened, connected = (running.results.get(at, waits) for at in (LISTENER, CALLER))
    raise PathUnreachable(
        f"{start.instance_id} ({addresses[joint.sender]}) does not reach {end.instance_id} at {target}: check that "
        f"group '{world.env.deployment}-endpoint' is attached to both machines, the route tables and network ACLs of "
        f"both subnets, and host firewalls on TCP {transfer.receiver_port}. Source said: {connected.tail(300)}. "
        f"Destination said: {listened.tail(300)}"
    )


def _seat(transfer: AcceptedTransfer, seat_id: str) -> Seat:
    """Whether or not its daemon takes part: nobody receives what is only measured."""
    return next(seat for seat in (*transfer.senders, *transfer.receivers) if seat.seat_id == seat_id)


def _failed(running: Running) -> list[int]:
    """Return which of the probes have ended in vain."""
    ended = [(at, running.orders[at], result) for at, result in running.results.items()]
    return [
        at for at, order, result in ended if not result.succeeded or not answer(order, result).get("reachable", True)
    ]


def _all_begun(world: World, running: Running, late: list[int]) -> bool:
    return all(at in running.results or is_started(world, running, at) for at in late)


handler = task_state("Resolve Paths", ResolveInput, resolve_paths)
