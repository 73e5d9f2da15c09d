"""From launched to joined: rules opened, daemons started, relays let into the membership."""

from lambdas.adapters.records import CommandResult, Instance, NotManagedError
from lambdas.adapters.world import World
from lambdas.core.ends import commands
from lambdas.core.errors import TooManyRules
from lambdas.core.fleet import node_life, pairing, relay_node
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import Admission, admissions, route_of
from lambdas.core.transfer import RELAY_PORT
from lambdas.core.transfer_record import Estimated
from lambdas.operations.fence import running
from lambdas.operations.fleet import membership
from lambdas.operations.fleet.launch import security_group
from lambdas.operations.fleet.relay_end import fail_to_start, lose

# EC2 may not show an instance for some seconds after RunInstances has named it.
UNSEEN_SECONDS = 60.0
# Also while a daemon is being started, which takes a moment.
SHORTEST_PAUSE = 0.2


class RelayStarter:
    """Brings SPAWNED nodes to READY, one look at a time; after a lost Lambda it may start over."""

    def __init__(self, world: World, record: Estimated) -> None:
        self._world = world
        self._transfer = record.transfer
        self._paths = record.paths
        self._route = route_of(record.transfer)
        self._sent: dict[str, str] = {}
        self._admitted: set[Admission] = set()

    def pause(self, waited: float) -> float:
        """Seconds until the next look: 5 % of what was waited, so that a quick boot is seen quickly."""
        shortest = SHORTEST_PAUSE if self._sent else max(SHORTEST_PAUSE, waited / 20)
        return min(self._world.env.poll_seconds, shortest)

    def look(self, nodes: list[Node]) -> None:
        """One look at every SPAWNED node."""
        for stage in self._route.stages:
            waiting = [node for node in nodes if node.stage == stage.index and node.state == "SPAWNED"]
            if waiting:
                self._look_at_stage(stage.region, waiting)

    def _look_at_stage(self, region: str, waiting: list[Node]) -> None:
        running = [node for node in waiting if node.running_at is not None]
        if booting := [node for node in waiting if node.running_at is None]:
            found = {i.instance_id: i for i in self._world.compute(region).describe(n.instance_id for n in booting)}
            running += [now for node in booting if (now := self._booted(node, found.get(node.instance_id)))]
        unsent = [node for node in running if node.node_id not in self._sent]
        if unsent:
            online = self._world.commands(region).online(node.instance_id for node in unsent)
            for node in unsent:
                if node.instance_id in online:
                    self._start(node)
        for node in running:
            if command_id := self._sent.get(node.node_id):
                self._finish(node, self._world.commands(region).result(command_id, node.instance_id))

    def _booted(self, node: Node, instance: Instance | None) -> Node | None:
        """The node with its addresses once its instance runs."""
        now = self._world.clock.now()
        if instance is None:
            if now - node.requested_at > UNSEEN_SECONDS:
                lose(self._world, node, f"EC2 does not know {node.instance_id}")
            return None
        if instance.gone or instance.state in ("stopping", "stopped"):
            why = f" ({instance.state_reason})" if instance.state_reason else ""
            lose(self._world, node, f"the instance is {instance.state}{why}")
            return None
        if instance.state != "running" or (self._paths.inter_region == "public" and not instance.public_address):
            return None
        booted = node_life.boot(now, instance.private_address, instance.public_address)
        # Before the node is said to run, since nobody opens its hops after that.
        try:
            self._admit(node.model_copy(update=booted.values))
        except TooManyRules as error:
            fail_to_start(self._world, node, str(error))
            return None
        return self._world.nodes.change(node, booted)

    def _admit(self, node: Node) -> None:
        """Open the hops of a relay that has its addresses.

        Where the direct path is measured, the source reaches the relays of the last stage too.
        """
        existing = {machine.stage for machine in self._transfer.existing}
        wanted = admissions(self._route, self._paths, node, existing, self._transfer.receiver_port)
        here = self._route.stages[node.stage]
        if self._transfer.request.is_profiling and here is self._route.stages[-1]:
            wanted.append(Admission(here, "relay", self._paths.source_address, RELAY_PORT))
        for one in wanted:
            if one not in self._admitted:
                group = security_group(self._world, one.place, one.group)
                groups = self._world.groups(one.place.region)
                groups.admit(group, one.address, one.port, self._transfer.transfer_id)
                self._admitted.add(one)

    def _start(self, node: Node) -> None:
        key = self._world.agents.route_key(self._transfer.shared)
        if key is None:
            return  # the sender has not published it yet
        listen = commands.listen_addresses(node.private_address, node.public_address, RELAY_PORT)
        command = commands.relay(
            node.transfer_id,
            node.node_id,
            listen,
            key,
            relay_node.RELAY_IDLE_SECONDS,
            # A machine of the user is not to power itself off.
            time_to_live_seconds=None if node.existing else self._world.env.relay_time_to_live_seconds,
            bandwidth_limit_mbps=node.bandwidth_limit_mbps,
        )
        machines = self._world.commands(node.region)
        try:
            sent = machines.send("relay", node.instance_id, node.transfer_id, command, node.cpu_percent)
        except NotManagedError:
            return
        self._sent[node.node_id] = sent
        if node.online_at is None:
            self._world.nodes.change(node, node_life.answer(self._world.clock.now()))

    def _finish(self, node: Node, result: CommandResult | None) -> None:
        if result is None:
            return
        del self._sent[node.node_id]
        if result.succeeded:
            self._world.nodes.change(node, node_life.start(self._world.clock.now(), RELAY_PORT))
        else:
            reason = f"cpt-relay did not start ({result.status}): {result.tail()}"
            fail_to_start(self._world, node, reason)


def await_ready(world: World, record: Estimated, *, join_at_once: bool, seconds: float) -> list[Node]:
    """Look until no node is SPAWNED or may join, the time is up or the transfer is over; the nodes as they are then."""
    transfer_id, route = record.transfer.transfer_id, route_of(record.transfer)
    starter = RelayStarter(world, record)
    started = world.clock.monotonic()
    while True:
        starter.look(world.nodes.of(transfer_id))
        nodes = world.nodes.of(transfer_id)
        if join_at_once and any(node.state == "READY" for node in nodes):
            join_ready(world, transfer_id)
            nodes = world.nodes.of(transfer_id)
        useful = running(world, transfer_id)
        # Another invocation may have made a partner ready since.
        coming = any(node.state == "SPAWNED" for node in nodes) or (join_at_once and pairing.entrants(route, nodes))
        if not useful or not coming:
            return nodes
        waited = world.clock.monotonic() - started
        if waited >= seconds:
            for node in nodes:
                # A younger one is a successor, which whoever has launched it waits for.
                if node.state == "SPAWNED" and world.clock.now() - node.requested_at >= seconds:
                    fail_to_start(world, node, f"not ready within {seconds:.0f} s: {_where_it_hangs(node)}")
            return world.nodes.of(transfer_id)
        world.clock.sleep(starter.pause(waited))


def _where_it_hangs(node: Node) -> str:
    if node.running_at is None:
        return "the instance does not run, or has no public address (does its subnet give one?)"
    if node.online_at is None:
        return "its SSM agent does not answer, or the sender has not published its key"
    return "its daemon did not say that it listens"


def join_ready(world: World, transfer_id: str) -> None:
    """Let every ready relay that has somebody to work with carry data."""
    record = running(world, transfer_id)
    if record is None:
        return
    for node in pairing.entrants(route_of(record.transfer), world.nodes.of(transfer_id)):
        world.nodes.change(node, node_life.join(world.clock.now()))
    membership.settle(world, transfer_id)
