"""Where a transfer's leases go: over how many nodes, and on which.

A node of `capacity` MB/s with room for `leases_per_node` leases counts as so many parts of `capacity /
leases_per_node`, and a transfer gets as many nodes as its share has parts. While leases are scarce it gets no more than
its part of them, so that a transfer that comes later finds some. MB/s.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor

# A share of just so many parts does not become one more by rounding.
_ROUNDED = 1e-9


@dataclass(frozen=True)
class Host:
    """A node as placement sees it.

    `load`: what its leases are to forward together. `leases`: how many it has, those on their way included.
    """

    node_id: str
    zone: str
    capacity: float
    leases: int = 0
    load: float = 0.0

    def loaded(self, rate: float) -> "Host":
        """With one lease more, of this rate."""
        return Host(self.node_id, self.zone, self.capacity, self.leases + 1, self.load + rate)


def width(share: float, active: int, hosts: Iterable[Host], leases_per_node: int, total: float) -> int:
    """Over how many nodes a transfer is placed, at least 1.

    `active`: transfers that have leases or are about to, this one included. `total`: all shares together. Each transfer
    has one lease; of those beyond, each has the part that its share is of all shares.
    """
    every = list(hosts)
    capacity = sum(host.capacity for host in every)
    leases = len(every) * leases_per_node
    if not capacity or share <= 0:
        return 1
    by_share = ceil(share / (capacity / leases) - _ROUNDED)
    beyond = max(leases - active, 0) * (share / total if total > 0 else 0.0)
    return max(1, min(by_share, len(every), 1 + floor(beyond + _ROUNDED)))


def place(
    share: float,
    count: int,
    zone: str,
    hosts: Iterable[Host],
    leases_per_node: int,
    without: Collection[str] = (),
) -> list[str]:
    """Choose up to `count` nodes for a transfer of this share, whose end is in `zone`.

    Nodes that the lease's part fits on come first, of these the end's own zone, then the one that is least loaded for
    its capacity. `without`: nodes that the transfer has leases on. Fewer than `count`, or none, where no more have a
    lease to give.
    """
    rate = share / max(count, 1)
    open_hosts = [
        host for host in hosts if host.leases < leases_per_node and host.node_id not in without and host.capacity > 0
    ]

    def order(host: Host) -> tuple[bool, bool, float, str]:
        load = (host.load + rate) / host.capacity
        return load > 1.0 + _ROUNDED, host.zone != zone, load, host.node_id

    return [host.node_id for host in sorted(open_hosts, key=order)[:count]]


@dataclass(frozen=True)
class Placed:
    """A transfer with leases: its share, its end's zone, and its nodes."""

    share: float
    zone: str
    nodes: tuple[str, ...]


def placed_anew(
    lost: str, transfers: Mapping[str, Placed], hosts: Iterable[Host], leases_per_node: int
) -> dict[str, str | None]:
    """Where each transfer's lease on a lost (or draining) node goes; None where no node has one to give.

    No other lease moves. Transfers that have no other node come first, then those with the largest shares.
    """
    left = {host.node_id: host for host in hosts if host.node_id != lost}
    on_it = [name for name, one in transfers.items() if lost in one.nodes]
    found: dict[str, str | None] = {}
    for name in sorted(on_it, key=lambda name: (len(transfers[name].nodes), -transfers[name].share, name)):
        one = transfers[name]
        rate = one.share / len(one.nodes)
        chosen = place(rate, 1, one.zone, left.values(), leases_per_node, without=one.nodes)
        found[name] = chosen[0] if chosen else None
        if chosen:
            left[chosen[0]] = left[chosen[0]].loaded(rate)
    return found


def given_back(widths: Mapping[str, int], transfers: Mapping[str, Placed], hosts: Iterable[Host]) -> dict[str, str]:
    """Return one lease that each transfer with more nodes than its width gives back: the one on its fullest node.

    One at a time, so that a share which changes back soon has cost one lease at most.
    """
    by_id = {host.node_id: host for host in hosts}

    def fullness(node: str) -> tuple[float, str]:
        host = by_id.get(node)
        return (host.load / host.capacity if host and host.capacity > 0 else 0.0), node

    return {
        name: max(one.nodes, key=fullness) for name, one in transfers.items() if len(one.nodes) > max(widths[name], 1)
    }
