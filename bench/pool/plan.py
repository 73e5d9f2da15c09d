"""How long the core takes to plan 10 000 claims, and 10 000 leases on nodes: processor time, drawn from a seed."""

from math import inf
from random import Random
from statistics import median
from time import process_time

from bench.results import Result
from lambdas.core.pool.shares import Claim, divide
from lambdas.core.pool.spread import spread

CLAIMS = 10_000
NODE_MB_S = 100.0
NODES_OF_EACH = 4
ROUNDS = 7
# A Lambda of 2 048 MiB has 2 048 / 1 769 of a processor.
PROCESSOR_SHARE = 2048 / 1769


def rows(random: Random) -> list[Result]:
    """The median of some rounds of each."""
    shares, spreads = [], []
    for _ in range(ROUNDS):
        claims = _claims(random, CLAIMS)
        began = process_time()
        divide(claims, 2.0 * CLAIMS)
        shares.append(process_time() - began)
        spreads.append(_spread(random))
    return [
        Result("10 000 claims divided", 1000 * median(shares) / PROCESSOR_SHARE, "ms", 100),
        Result("10 000 leases spread over 625 nodes", 1000 * median(spreads) / PROCESSOR_SHARE, "ms"),
    ]


def _claims(random: Random, count: int) -> dict[str, Claim]:
    return {
        f"t{number}": Claim(
            demand=random.choice([inf, random.uniform(1, 400)]),
            weight=random.uniform(0.1, 10),
            guarantee=random.choice([0.0, 0.0, 1.0]),
        )
        for number in range(count)
    }


def _spread(random: Random) -> float:
    count = CLAIMS // NODES_OF_EACH
    claims = _claims(random, count)
    nodes = {f"n{number}": NODE_MB_S for number in range(count // NODES_OF_EACH)}
    names = list(nodes)
    nodes_of = {name: tuple(random.sample(names, NODES_OF_EACH)) for name in claims}
    tops = {name: min(claim.top, NODES_OF_EACH * NODE_MB_S) for name, claim in claims.items()}
    shares = {name: min(tops[name], share) for name, share in divide(claims, sum(nodes.values())).shares.items()}
    began = process_time()
    spread(shares, tops, nodes_of, nodes)
    return process_time() - began
