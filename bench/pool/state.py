"""A pool in simulation: its nodes and leases, and what the core's functions decide about them. Seconds, MB/s."""

from dataclasses import dataclass, field

from bench.pool.draws import Asked
from lambdas.core.pool import pool_life
from lambdas.core.pool.placement import Host, Placed, given_back, place, placed_anew, width
from lambdas.core.pool.pool_node import LIVE, OPEN, PoolNode
from lambdas.core.pool.refresh import ToldLimit, Wanted, refreshed
from lambdas.core.pool.shares import Claim, divide_among_tenants
from lambdas.core.pool.size import Need, PoolSettings, resized
from lambdas.core.pool.spread import carried, spread

NODE_MB_S = 100.0
ENDS_MB_S = 300.0
DIRECT_MB_S = 20.0
DEMAND_MB_S = ENDS_MB_S - DIRECT_MB_S
BOOT_SECONDS = 60.0
ZONE = "eu-west-1a"
SETTINGS = PoolSettings(region="eu-west-1", least=2, most=12, instance_type="c6in.large", mode="asymmetric")


@dataclass
class Running:
    """A transfer that moves: MB left, its leases' nodes, and when it began and got its first lease."""

    asked: Asked
    left: float
    usd_per_gb: float
    admitted_at: float
    through_pool: float = 0.0
    nodes: tuple[str, ...] = ()


@dataclass
class Pool:
    """Everything that the simulation keeps of the pool."""

    nodes: dict[str, PoolNode] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    told: dict[str, ToldLimit] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    rates: dict[str, float] = field(default_factory=dict)
    started: int = 0
    owed: bool = False

    @property
    def open_nodes(self) -> list[PoolNode]:
        """Those that take leases."""
        return [node for node in self.nodes.values() if node.state in OPEN]

    @property
    def machines(self) -> int:
        """Those that cost."""
        return sum(node.state in LIVE for node in self.nodes.values())

    @property
    def capacity(self) -> float:
        """Of nodes that serve, those that drain included."""
        return sum(node.capacity_mb_s for node in self.nodes.values() if node.state not in ("STARTING", "ENDED"))

    def resize(self, active: int, now: float) -> None:
        """Start, drain and end nodes; those come up that were started a minute ago."""
        for node in list(self.nodes.values()):
            if node.state == "STARTING" and now - node.requested_at >= BOOT_SECONDS:
                self._change(node.node_id, pool_life.get_ready(now))
        found = resized(self.nodes.values(), active, SETTINGS, "v1", self.needs, now)
        self.needs = found.needs
        for _ in range(found.start):
            self.started += 1
            name = f"n{self.started}"
            self.nodes[name] = PoolNode(
                node_id=name,
                region=SETTINGS.region,
                zone=ZONE,
                instance_id="i-0aaaaaaaaaaaaaaa1",
                instance_type=SETTINGS.instance_type,
                version="v1",
                state="STARTING",
                capacity_mb_s=NODE_MB_S,
                requested_at=now,
            )
        for name in found.drain:
            self._change(name, pool_life.drain("more nodes than are wanted", now))
            anew = placed_anew(name, self._placed(), self._hosts(), SETTINGS.leases_per_node)
            for transfer, other in anew.items():
                self._take(transfer, name, now)
                if other:
                    self._give(transfer, other)
        for name in found.end:
            self._change(name, pool_life.end(now))
            del self.nodes[name]

    def widen(self, now: float) -> None:
        """Give and take leases as shares have become."""
        shares = self.shares()
        total, hosts = sum(shares.values()), self._hosts()
        widths = {
            name: width(share, len(self.running), hosts, SETTINGS.leases_per_node, total)
            for name, share in shares.items()
        }
        for transfer, node in given_back(widths, self._placed(), hosts).items():
            self._take(transfer, node, now)
        for transfer in sorted(widths, key=lambda name: (len(self.running[name].nodes), name)):
            own = self.running[transfer]
            lacking = widths[transfer] - len(own.nodes)
            rate = shares[transfer] / widths[transfer]
            chosen = place(rate * lacking, lacking, ZONE, self._hosts(), SETTINGS.leases_per_node, own.nodes)
            for node in chosen if lacking > 0 else ():
                self._give(transfer, node)

    def shares(self) -> dict[str, float]:
        """Each transfer's share of the open nodes, all tenants alike."""
        claims: dict[str, dict[str, Claim]] = {}
        for name, one in self.running.items():
            claims.setdefault(one.asked.tenant, {})[name] = Claim(demand=DEMAND_MB_S)
        capacity = sum(node.capacity_mb_s for node in self.open_nodes)
        divided = divide_among_tenants({tenant: Claim() for tenant in claims}, claims, capacity)
        return {name: share for own in divided.values() for name, share in own.items()}

    def refresh(self, now: float) -> None:
        """Tell limits; nodes follow those of an earlier refresh."""
        capacities = {name: node.capacity_mb_s for name, node in self.nodes.items()}
        nodes_of = {name: one.nodes for name, one in self.running.items()}
        shares = self.shares()
        tops = {name: min(DEMAND_MB_S, carried(nodes, capacities)) for name, nodes in nodes_of.items()}
        targets = {name: min(shares[name], tops[name]) for name in shares}
        rates = spread(targets, tops, nodes_of, capacities)
        wanted = {f"{transfer}/{node}": Wanted(rate, (node,)) for (transfer, node), rate in rates.items()}
        ended = {
            name: (node,) for name in self.told if name not in wanted and (node := name.partition("/")[2]) in self.nodes
        }
        followed = {name: one.limit.number for name, one in self.told.items() if now - one.at >= 1.0}
        found = refreshed(self.told, followed, wanted, capacities, now, ended)
        self.told, self.owed = found.state, bool(found.after)
        self.rates = dict.fromkeys(self.running, 0.0)
        for name, one in found.state.items():
            transfer = name.partition("/")[0]
            if name in wanted:
                self.rates[transfer] += one.limit.mb_s

    def end(self, transfer: str, now: float) -> Running:
        """A transfer has ended: its leases go."""
        for node in self.running[transfer].nodes:
            self._take(transfer, node, now)
        return self.running.pop(transfer)

    def _hosts(self) -> list[Host]:
        load = dict.fromkeys(self.nodes, 0.0)
        for one in self.running.values():
            for node in one.nodes:
                load[node] += self.rates.get(one.asked.name, 0.0) / len(one.nodes)
        return [
            Host(one.node_id, one.zone, one.capacity_mb_s, one.leases, load[one.node_id]) for one in self.open_nodes
        ]

    def _placed(self) -> dict[str, Placed]:
        return {name: Placed(self.rates.get(name, 0.0), ZONE, one.nodes) for name, one in self.running.items()}

    def _change(self, name: str, change: pool_life.Change | None) -> None:
        after = pool_life.after(self.nodes[name], change) if change else None
        if after is None:
            raise SystemExit(f"bench-pool: {self.nodes[name]} refuses {change}")
        self.nodes[name] = after

    def _give(self, transfer: str, node: str) -> None:
        self._change(node, pool_life.give(self.nodes[node], SETTINGS.leases_per_node))
        self.running[transfer].nodes += (node,)

    def _take(self, transfer: str, node: str, now: float) -> None:
        self._change(node, pool_life.take_back(self.nodes[node], now))
        one = self.running[transfer]
        one.nodes = tuple(other for other in one.nodes if other != node)
