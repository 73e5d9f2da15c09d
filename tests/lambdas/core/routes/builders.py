"""Maps for the planner's tests, as short as they can be written."""

from collections.abc import Mapping
from random import Random

from hypothesis import strategies as st

from bench.routes.draws import Question, question
from lambdas.core.routes.network_map import Link, NetworkMap


def network(rates: Mapping[str, float], usd: Mapping[str, float] | None = None, gain: float = 1.0) -> NetworkMap:
    """Links by the names of their regions, of one letter each: {"ab": 10}."""
    prices = usd or {}
    return NetworkMap.of(
        Link(pair[0], pair[1], rate, gain=gain, usd_per_gb=prices.get(pair, 0.02)) for pair, rate in rates.items()
    )


def questions(most_regions: int = 6, most_relays: int = 12) -> st.SearchStrategy[Question]:
    """Maps of every kind, with quotas and ends that limit."""
    seeds = st.integers(0, 2**32)
    return seeds.map(lambda seed: question(Random(seed), most_regions, most_relays))
