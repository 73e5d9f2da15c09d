"""The last lines of what a transfer's daemons have logged, kept in the control bucket before the machines are gone.

The control plane reads them by Run Command and writes them itself, so a relay needs no right to the bucket. Nobody
waits for long: a log that does not come within seconds is lost, and whatever goes wrong ends nothing else.
"""

from collections.abc import Iterable, Iterator, Sequence

from lambdas.adapters.records import CommandResult, NotManagedError
from lambdas.adapters.world import World
from lambdas.core.fleet.relay_node import LIVE_STATES, Node
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.seats.commands import MOST_MACHINES
from lambdas.operations.side_by_side import look_at_each

# From all relays of a region together, the sending of commands included; a machine that answers at all prints its log
# within a second or two.
SECONDS = 5.0
# A call that began in time may take until it is given up, 4 s.
MOST_SECONDS = SECONDS + 4.0
# While a transfer waits for a successor, which takes half a minute to boot.
SECONDS_OF_LOST = 2.0


def keep_of_relays(world: World, transfer: AcceptedTransfer, nodes: Iterable[Node], seconds: float = SECONDS) -> int:
    """Keep the logs of those whose agent has had a command, all regions side by side; how many were kept.

    Machines of the user are left out: their logs stay where they are.
    """
    with_agent = [n for n in nodes if n.state in LIVE_STATES and n.online_at is not None and n.is_ours]
    by_region = {region: [n for n in with_agent if n.region == region] for region in {n.region for n in with_agent}}
    looks = look_at_each(by_region, lambda mine: _keep_of_region(world, transfer, mine, seconds))
    return sum(looks.found.values())


def keep_of_stopped(world: World, transfer: AcceptedTransfer, results: Sequence[tuple[str, CommandResult]]) -> int:
    """Keep what the document `stop` has printed of each machine, by a name for it; how many logs were kept."""
    printed = {name: (name, result.error) for name, result in results if result.succeeded}
    looks = look_at_each(printed, lambda one: _put(world, transfer, *one))
    return sum(looks.found.values())


def _keep_of_region(world: World, transfer: AcceptedTransfer, nodes: list[Node], seconds: float) -> int:
    until = world.clock.monotonic() + seconds
    waiting = {node.node_id: (node, command_id) for node, command_id in _asked(world, nodes, until)}
    kept = 0
    while waiting:
        for name, (node, command_id) in list(waiting.items()):
            if world.clock.monotonic() > until:
                return kept
            if result := world.at(node.place).brief_commands.result(command_id, node.instance_id):
                del waiting[name]
                kept += _put(world, transfer, name, result.output)
        if not waiting or world.clock.monotonic() + world.env.poll_seconds > until:
            break
        world.clock.sleep(world.env.poll_seconds)
    return kept


def _asked(world: World, nodes: Sequence[Node], until: float) -> Iterator[tuple[Node, str]]:
    """One command for as many as it may name; where one of them has gone, SSM refuses that, and each has its own."""
    for at in range(0, len(nodes), MOST_MACHINES):
        if world.clock.monotonic() > until:
            return
        some = nodes[at : at + MOST_MACHINES]
        try:
            sent = world.at(some[0].place).brief_commands.send(
                "log", [node.instance_id for node in some], some[0].transfer_id, None
            )
            yield from ((node, sent) for node in some)
        except NotManagedError:
            for node in some if len(some) > 1 else []:
                yield from _asked(world, [node], until)


def _put(world: World, transfer: AcceptedTransfer, name: str, text: str) -> int:
    """Write one log; 1, or 0 where the machine had nothing to tell."""
    if not text.strip():
        return 0
    world.objects.put(world.key(transfer.transfer_id, f"logs/{transfer.run}/{name}.log"), text.encode())
    return 1
