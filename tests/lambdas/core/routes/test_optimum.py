"""The planner against the exact optimum of HiGHS; `make bench-routes` draws other maps in every run."""

from collections.abc import Sequence
from math import inf
from random import Random

from bench.routes.algorithm_one import algorithm_one
from bench.routes.draws import Question, question
from bench.routes.optimum import optimum
from bench.routes.shares import Shares
from lambdas.core.routes.selection import select

MAPS = 1000
SEED = 19
ROUNDING = 1e-5


def rate(asked: Question, least_gain: float) -> float:
    scheme = select(
        asked.network,
        asked.source,
        asked.destination,
        asked.most_relays,
        most_in_region=asked.most_in_region,
        straight=asked.straight,
        least_gain=least_gain,
    )
    return scheme.rate(asked.network, asked.straight or inf)


def is_plain(asked: Question) -> bool:
    """Whether it asks for nothing that Algorithm 1 does not know."""
    return not (asked.most_in_region or asked.straight or asked.network.inside)


def shown(name: str, found: Sequence[float]) -> Shares:
    shares = Shares(found)
    print(f"{name}: {shares}")  # noqa: T201  `pytest -s` shows the difference, and so does a failure
    return shares


def test_planner_reaches_the_optimum_on_a_thousand_maps() -> None:
    random = Random(SEED)
    full, few, printed = [], [], []
    for _ in range(MAPS):
        asked = question(random)
        best = optimum(
            asked.network, asked.source, asked.destination, asked.most_relays, asked.most_in_region, asked.straight
        )
        assert best.proven
        if best.rate < ROUNDING:
            assert rate(asked, 0) == 0
            continue
        full.append(rate(asked, 0) / best.rate)
        few.append(rate(asked, 0.05) / best.rate)
        if is_plain(asked):
            plain = algorithm_one(asked.network, asked.source, asked.destination, asked.most_relays)
            printed.append(plain.rate(asked.network) / best.rate)
    ours = shown("select, any number of routes", full)
    fewer = shown("select, no route that adds less than 5 %", few)
    theirs = shown("Algorithm 1 as printed, where it can be asked", printed)
    assert max(full) <= 1 + ROUNDING
    assert ours.worst >= 0.98
    assert ours.mean >= 0.9999
    assert fewer.worst >= 0.98 / 1.05
    assert theirs.mean < ours.mean
