"""Maps that are drawn at random, for tests and benchmarks."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from random import Random

from lambdas.core.routes.network_map import Link, NetworkMap


@dataclass(frozen=True)
class Question:
    """A map, the two regions in question, and what may be used between them."""

    network: NetworkMap
    source: str
    destination: str
    most_relays: int
    most_in_region: Mapping[str, int]
    straight: float


def question(random: Random, most_regions: int = 5, most_relays: int = 10) -> Question:
    """Every kind of map: with and without gains below 1, unequal sides, missing links, quotas, slow ends."""
    regions = [f"r{number}" for number in range(random.randint(3, most_regions))]
    equal, full_gain, whole = (random.random() < 0.5 for _ in range(3))
    links = [
        Link(
            one,
            other,
            rate=random.uniform(5, 25),
            receive=inf if equal else random.uniform(5, 25),
            gain=1.0 if full_gain else random.uniform(0.2, 1),
            usd_per_gb=random.choice((0.01, 0.02, 0.09)),
        )
        for one in regions
        for other in regions
        if one != other and (whole or random.random() < 0.8)
    ]
    inside = {region: random.uniform(5, 40) for region in regions[:2]} if random.random() < 0.3 else {}
    quotas = {region: random.randint(0, 4) for region in regions if random.random() < 0.4}
    return Question(
        NetworkMap.of(links, inside),
        regions[0],
        regions[1],
        random.randint(1, most_relays),
        quotas if random.random() < 0.5 else {},
        random.uniform(10, 60) if random.random() < 0.3 else 0.0,
    )
