"""Rates of leases: each transfer's share is spread over the nodes that it has leases on, and no node is overfilled.

The rates are a matrix, transfers by nodes, whose rows are to add up to the shares and whose columns may not exceed the
nodes' capacities. Rows and columns are scaled in turn (iterative proportional fitting), which soon comes near such a
matrix where one exists. What is missing then is found by moving other transfers' rates to their other nodes (augmenting
paths of a flow), and what nodes have left is given away node by node.
"""

from collections import deque
from collections.abc import Mapping
from itertools import islice, pairwise
from math import fsum

from lambdas.core.models.checks import not_negative

# Rounds of scaling, and moves for one transfer; a division that is this close needs no more of them.
ROUNDS = 6
MOVES = 40
# So many transfers are moved for at most, which bounds the time that a large pool takes.
MOVED_FOR = 50
CLOSE = 0.002
# MB/s; less than that is nothing.
_LEAST = 1e-6

LeaseId = tuple[str, str]
"""Transfer and node."""


def spread(
    shares: Mapping[str, float],
    tops: Mapping[str, float],
    nodes_of: Mapping[str, tuple[str, ...]],
    capacities: Mapping[str, float],
) -> dict[LeaseId, float]:
    """Return the rate of each lease, MB/s.

    `shares` and `tops`: what each transfer should have, and the most that it can use. `nodes_of`: its nodes. A transfer
    whose nodes cannot carry its share has less, and what a node then has left goes to others on it, up to their tops.
    Raises KeyError for a node without a capacity.
    """
    for node, capacity in capacities.items():
        not_negative(f"capacities.{node}", capacity, "MB/s")
    rates = _begun(shares, nodes_of, capacities)
    for _ in range(ROUNDS):
        _fit_nodes(rates, capacities)
        if not _lacking(rates, shares):
            break
        _fit_shares(rates, shares)
    _fit_nodes(rates, capacities)
    _fill(rates, shares, capacities)
    if lacking := _lacking(rates, shares):
        _move(rates, lacking, capacities)
    _fill(rates, tops, capacities)
    return {(transfer, node): rate for transfer, row in rates.items() for node, rate in row.items()}


def carried(nodes: tuple[str, ...], capacities: Mapping[str, float]) -> float:
    """The most that leases on these nodes carry together, MB/s: a transfer's share is no more than that."""
    return fsum(capacities[node] for node in nodes)


Rates = dict[str, dict[str, float]]


def _begun(
    shares: Mapping[str, float], nodes_of: Mapping[str, tuple[str, ...]], capacities: Mapping[str, float]
) -> Rates:
    """Each share divided as its nodes' capacities are."""
    rates: Rates = {}
    for transfer, nodes in nodes_of.items():
        whole = carried(nodes, capacities)
        share = shares[transfer] / whole if whole > 0 else 0.0
        rates[transfer] = {node: share * capacities[node] for node in nodes}
    return rates


def _used(rates: Rates) -> dict[str, float]:
    used: dict[str, float] = {}
    for row in rates.values():
        for node, rate in row.items():
            used[node] = used.get(node, 0.0) + rate
    return used


def _fit_nodes(rates: Rates, capacities: Mapping[str, float]) -> None:
    scales = {node: capacities[node] / used for node, used in _used(rates).items() if used > capacities[node]}
    if scales:
        for row in rates.values():
            for node, rate in row.items():
                row[node] = rate * scales.get(node, 1.0)


def _fit_shares(rates: Rates, shares: Mapping[str, float]) -> None:
    for transfer, row in rates.items():
        total = sum(row.values())
        if total > 0:
            scale = shares[transfer] / total
            for node, rate in row.items():
                row[node] = rate * scale


def _lacking(rates: Rates, shares: Mapping[str, float]) -> dict[str, float]:
    """What transfers lack that are not close to their share, those that lack most of it first."""
    found = {name: shares[name] - sum(row.values()) for name, row in rates.items() if row}
    return dict(
        sorted(
            ((name, lack) for name, lack in found.items() if lack > CLOSE * shares[name] + _LEAST),
            key=lambda one: (-one[1] / shares[one[0]], one[0]),
        )
    )


def _move(rates: Rates, lacking: Mapping[str, float], capacities: Mapping[str, float]) -> None:
    """Make room for those who lack some: others on their nodes go to nodes with some left, by way of third ones."""
    left = {node: capacities[node] - used for node, used in _used(rates).items()}
    on_node: dict[str, list[str]] = {}
    for transfer, row in rates.items():
        for node in row:
            on_node.setdefault(node, []).append(transfer)
    if not any(room > _LEAST for room in left.values()):
        return
    for transfer, lack in islice(lacking.items(), MOVED_FOR):
        missing = lack
        for _ in range(MOVES):
            path = _path(transfer, rates, left, on_node) if missing > _LEAST else []
            if not path:
                break
            # One that gives way on a node goes to the next node of the path.
            gives = [rates[mover][came[1]] for came, (mover, _) in pairwise(path)]
            amount = min(missing, left[path[-1][1]], *gives)
            for index, (mover, node) in enumerate(path):
                rates[mover][node] += amount
                if index:
                    rates[mover][path[index - 1][1]] -= amount
            left[path[-1][1]] -= amount
            missing -= amount


def _path(
    transfer: str, rates: Rates, left: Mapping[str, float], on_node: Mapping[str, list[str]]
) -> list[tuple[str, str]]:
    """The shortest way to a node that has some left: who takes what on which node; each gives way on the one before."""
    by: dict[str, str] = {}
    came: dict[str, str] = {}
    waiting = deque([transfer])
    while waiting:
        mover = waiting.popleft()
        for node in rates[mover]:
            if node in by:
                continue
            by[node] = mover
            if left[node] > _LEAST:
                path = [(mover, node)]
                while path[0][0] != transfer:
                    before = came[path[0][0]]
                    path.insert(0, (by[before], before))
                return path
            for other in on_node[node]:
                if other != transfer and other not in came and rates[other][node] > _LEAST:
                    came[other] = node
                    waiting.append(other)
    return []


def _fill(rates: Rates, most: Mapping[str, float], capacities: Mapping[str, float]) -> None:
    """Give what nodes have left to whoever has less than their most: on each node all have the same part of what is
    left, as far as they lack it. Nodes with the least left come first, since others can give more of what is lacking.
    """
    left = {node: capacities[node] - used for node, used in _used(rates).items()}
    lacking = {transfer: most[transfer] - sum(row.values()) for transfer, row in rates.items()}
    hungry: dict[str, list[str]] = {}
    for transfer, row in rates.items():
        if lacking[transfer] > 0:
            for node in row:
                if left[node] > 0:
                    hungry.setdefault(node, []).append(transfer)
    for node in sorted(hungry, key=lambda name: (left[name], name)):
        waiting = sorted(hungry[node], key=lambda name: (lacking[name], name))
        for index, transfer in enumerate(waiting):
            more = min(max(lacking[transfer], 0.0), left[node] / (len(waiting) - index))
            rates[transfer][node] += more
            left[node] -= more
            lacking[transfer] -= more
