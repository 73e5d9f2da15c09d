"""The way from launched to joined: rules opened, daemons started, relays let into the membership."""

from collections.abc import Callable, Sequence

from lambdas.adapters.records import CommandResult, Instance, NotManagedError
from lambdas.adapters.world import World
from lambdas.core.errors import TooManyRules
from lambdas.core.fleet import node_life, relay_node
from lambdas.core.fleet.membership import RELAY_PORT
from lambdas.core.fleet.reconcile import Fleet, NodeChange, Wish, reconcile
from lambdas.core.fleet.relay_node import JOIN_TIMEOUT_SECONDS, LIVE_STATES, Node
from lambdas.core.fleet.topology import Admission, admissions, route_at, routes_of
from lambdas.core.places.place import Place
from lambdas.core.record.transfer_record import Estimated
from lambdas.core.seats import commands
from lambdas.operations.fence import running
from lambdas.operations.fleet import hand, membership
from lambdas.operations.fleet.providers.launched import security_group
from lambdas.operations.fleet.relay_end import fail_to_start, lose
from lambdas.operations.seats.commands import MOST_MACHINES

# EC2 may not show an instance for some seconds after RunInstances has named it.
UNSEEN_SECONDS = 60.0
# A node of the pool reads its leases twice a second.
LEASE_POLL_SECONDS = 0.25

Hops = Callable[[Estimated, Node, Sequence[Node]], list[Admission]]
"""Who is let in for a relay that has its addresses, beside others that live."""


def hops_of_route(record: Estimated, node: Node, relays: Sequence[Node]) -> list[Admission]:
    """The hops of the route that the relay serves."""
    transfer = record.transfer
    existing = {machine.stage for machine in transfer.existing}
    others = [seat.machine for seat in transfer.senders[1:]]
    route, port = route_at(transfer, node.stage), transfer.receiver_port
    return admissions(route, record.paths, node, existing, port, others, relays)


class RelayStarter:
    """Brings SPAWNED nodes to READY, one look at a time; after a lost Lambda it may start over."""

    def __init__(self, world: World, record: Estimated, hops: Hops) -> None:
        self._world = world
        self._record, self._hops = record, hops
        self._transfer = record.transfer
        self._paths = record.paths
        self._sent: dict[str, str] = {}
        self._missed: set[str] = set()
        self._admitted: set[Admission] = set()
        self._relays: list[Node] = []

    def look(self, nodes: list[Node]) -> None:
        """One look at every SPAWNED node."""
        self._relays = [node for node in nodes if node.state in LIVE_STATES]
        for node in nodes:
            if node.state == "SPAWNED" and node.provider == "pool":
                self._look_at_lease(node)
        spawned = [node for node in nodes if node.state == "SPAWNED" and node.provider != "pool"]
        for region in dict.fromkeys(node.region for node in spawned):
            self._look_at_region(region, [node for node in spawned if node.region == region])

    def _look_at_region(self, region: str, waiting: list[Node]) -> None:
        running = [node for node in waiting if node.running_at is not None]
        if booting := [node for node in waiting if node.running_at is None]:
            shown = self._world.at(Place(region)).compute.describe(node.instance_id for node in booting)
            found = {instance.instance_id: instance for instance in shown}
            running += [now for node in booting if (now := self._booted(node, found.get(node.instance_id)))]
        unsent = [node for node in running if node.node_id not in self._sent]
        if unsent:
            online = self._world.at(Place(region)).commands.online(node.instance_id for node in unsent)
            there = [node for node in unsent if node.instance_id in online]
            # What of the processor a machine lends is the command's, and not a part of what it carries.
            for share in dict.fromkeys(node.cpu_percent for node in there):
                self._start(region, [node for node in there if node.cpu_percent == share][:MOST_MACHINES], share)
        sent = [(node, command_id) for node in running if (command_id := self._sent.get(node.node_id))]
        ended = {command_id: self._world.at(Place(region)).commands.ended(command_id) for _, command_id in sent}
        for node, command_id in sent:
            if result := ended[command_id].get(node.instance_id):
                self._finish(node, command_id, result)

    def _look_at_lease(self, node: Node) -> None:
        """Its machine runs already, and reads what it is to do by itself: nothing here waits for Run Command."""
        if node.running_at is None:
            ready = self._opened(node, node.private_address, node.public_address)
            if ready is None:
                return
            node = ready
        if node.node_id not in self._sent and (keys := self._route_keys()) is not None:
            command = commands.relay(
                node.transfer_id, keys, relay_node.RELAY_IDLE_SECONDS, {node.instance_id: self._told(node)}
            )
            self._world.pool.command(node, commands.encode(command))
            self._sent[node.node_id] = node.node_id
            self._world.nodes.change(node, node_life.answer(self._world.clock.now()))
        lease = self._world.pool.lease(node)
        if lease is None or not lease.is_live:
            lose(self._world, node, "the pool has taken its lease back")
        elif lease.failed is not None:
            fail_to_start(self._world, node, f"cpt-relay did not start on the pool's node: {lease.failed}")
        elif lease.listening_at is not None:
            self._world.nodes.change(node, node_life.start(self._world.clock.now(), lease.port))

    def _booted(self, node: Node, instance: Instance | None) -> Node | None:
        """The node with its addresses once its instance runs."""
        now = self._world.clock.now()
        if instance is None:
            # Missing once may be a list that has not caught up.
            missed_before = node.node_id in self._missed
            self._missed.add(node.node_id)
            if missed_before and now - node.requested_at > UNSEEN_SECONDS:
                lose(self._world, node, f"EC2 does not know {node.instance_id}")
            return None
        self._missed.discard(node.node_id)
        if instance.gone or instance.state in ("stopping", "stopped"):
            why = f" ({instance.state_reason})" if instance.state_reason else ""
            lose(self._world, node, f"the instance is {instance.state}{why}")
            return None
        if instance.state != "running" or (self._paths.inter_region == "public" and not instance.public_address):
            return None
        return self._opened(node, instance.private_address, instance.public_address)

    def _opened(self, node: Node, private_address: str, public_address: str | None) -> Node | None:
        """The node with its addresses, once its hops are open."""
        booted = node_life.boot(self._world.clock.now(), private_address, public_address)
        # Before the node is said to run, since nobody opens its hops after that.
        try:
            self._admit(node.model_copy(update=booted.values))
        except TooManyRules as error:
            fail_to_start(self._world, node, str(error))
            return None
        return self._world.nodes.change(node, booted)

    def _admit(self, node: Node) -> None:
        """Open the hops of a relay that has its addresses."""
        for one in self._hops(self._record, node, self._relays):
            if one not in self._admitted:
                group = security_group(self._world, one.beside, one.group)
                groups = self._world.at(one.beside.place).groups
                groups.admit(group, one.address, one.port, self._transfer.transfer_id)
                self._admitted.add(one)

    def _start(self, region: str, nodes: Sequence[Node], cpu_percent: int | None) -> None:
        """One command for all of them, which tells each machine what is its own."""
        keys = self._route_keys()
        if keys is None:
            return
        transfer_id, machines = self._transfer.transfer_id, {node.instance_id: self._told(node) for node in nodes}
        command = commands.relay(transfer_id, keys, relay_node.RELAY_IDLE_SECONDS, machines)
        try:
            sent = self._world.at(Place(region)).commands.send(
                "relay", list(machines), transfer_id, command, commands.Share(cpu_percent), JOIN_TIMEOUT_SECONDS
            )
        except NotManagedError:
            # SSM shows a machine that has ended as online for minutes: it is not to keep the others from theirs.
            for node in nodes if len(nodes) > 1 else []:
                self._start(region, [node], cpu_percent)
            return
        for node in nodes:
            self._sent[node.node_id] = sent
            if node.online_at is None:
                self._world.nodes.change(node, node_life.answer(self._world.clock.now()))

    def _route_keys(self) -> list[str] | None:
        """Those of all seats that dial relays and count; None where one has not published its own yet."""
        partition = self._transfer.partition
        layout, seats = membership.layout(self._world, self._transfer), list[str]()
        # Senders keep relays alive, whoever dials them for data.
        seats += layout.living_senders
        if self._transfer.request.destination.kind == "bucket":
            seats += layout.living_receivers
        keys = [self._world.agents.route_key(partition, seat_id) for seat_id in seats]
        return [key for key in keys if key] if all(keys) else None

    def _told(self, node: Node) -> commands.RelayMachine:
        return commands.RelayMachine(
            node_id=node.node_id,
            listen=commands.listen_addresses(node.private_address, node.public_address, node.port or RELAY_PORT),
            # A machine of the user is not to power itself off.
            time_to_live_seconds=self._world.env.relay_time_to_live_seconds if node.is_ours else None,
            bandwidth_limit_mbps=node.bandwidth_limit_mbps,
        )

    def _finish(self, node: Node, command_id: str, result: CommandResult) -> None:
        if result.succeeded:
            self._world.nodes.change(node, node_life.start(self._world.clock.now(), RELAY_PORT))
        elif result.started:
            printed = self._world.at(node.place).commands.result(command_id, node.instance_id)
            if printed is None:
                return  # SSM is too busy to say why
            reason = f"cpt-relay did not start ({printed.status}): {printed.tail()}"
            fail_to_start(self._world, node, reason)
        del self._sent[node.node_id]  # what the agent did not start is sent again at the next look


def await_ready(
    world: World, record: Estimated, *, join_at_once: bool, seconds: float, hops: Hops = hops_of_route
) -> list[Node]:
    """Look until no node is SPAWNED or may join, the time is up or the transfer is over; the nodes as they are then."""
    transfer_id = record.transfer.transfer_id
    starter = RelayStarter(world, record, hops)
    started = world.clock.monotonic()
    while True:
        starter.look(world.nodes.of(transfer_id))
        nodes = world.nodes.of(transfer_id)
        if join_at_once and any(node.state == "READY" for node in nodes):
            join_ready(world, transfer_id)
            nodes = world.nodes.of(transfer_id)
        useful = running(world, transfer_id)
        # Another invocation may have made a partner ready since.
        coming = any(node.state == "SPAWNED" for node in nodes) or (join_at_once and _joins(world, record, nodes))
        if not useful or not coming:
            return nodes
        waited = world.clock.monotonic() - started
        if waited >= seconds:
            for node in nodes:
                # A younger one is a successor, which whoever has launched it waits for.
                if node.state == "SPAWNED" and world.clock.now() - node.requested_at >= seconds:
                    fail_to_start(world, node, f"not ready within {seconds:.0f} s: {_where_it_hangs(node)}")
            return world.nodes.of(transfer_id)
        world.clock.sleep(_pause(world, nodes))


def _pause(world: World, nodes: Sequence[Node]) -> float:
    """Seconds until the next look; a lease is there within one."""
    leased = any(node.state == "SPAWNED" and node.provider == "pool" for node in nodes)
    return min(world.env.poll_seconds, LEASE_POLL_SECONDS) if leased else world.env.poll_seconds


def _where_it_hangs(node: Node) -> str:
    if node.running_at is None:
        return "the instance does not run, or has no public address (does its subnet give one?)"
    if node.online_at is None:
        return "its SSM agent does not answer, or the sender has not published its key"
    return "its daemon did not say that it listens, or its SSM agent is busy with other commands"


def join_ready(world: World, transfer_id: str) -> None:
    """Let every ready relay that has somebody to work with carry data."""
    record = running(world, transfer_id)
    if record is None:
        return
    hand.move(world, transfer_id, _joins(world, record, world.nodes.of(transfer_id)))


def _joins(world: World, record: Estimated, nodes: list[Node]) -> list[NodeChange]:
    due = reconcile(Wish(joins=True), Fleet(routes_of(record.transfer), nodes), world.clock.now())
    return [one for one in due if isinstance(one, NodeChange)]
