"""The largest estimates fit into the transfer's record and into the state of its execution."""

from itertools import permutations

import pytest

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.fitting import MOST_BYTES, MOST_CANDIDATES, fitted, size_of
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.estimate.undecided import Undecided
from lambdas.core.places.machines import TransitRegion
from lambdas.core.request.request import Objective
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.relay_prices import RelayPrice
from lambdas.operations.estimate.estimation import estimate_for
from tests.lambdas.builders import IRELAND, WEST, estimate, profile, transfer
from tests.lambdas.cloud import Cloud

THIRD = ("eu-central-1", "ap-northeast-1", "us-east-1", "us-east-2", "eu-west-2", "eu-west-3", "sa-east-1", "ca-west-1")
FAMILIES = ("t3", "m5", "m6i", "m6in", "c6in")
SMALL = [f"{family}.{size}" for family in FAMILIES for size in ("large", "xlarge", "2xlarge", "4xlarge")]
LARGE = [f"{family}.{size}" for family in FAMILIES for size in ("8xlarge", "12xlarge", "16xlarge", "24xlarge")]


@pytest.mark.parametrize("pairs", ["auto", 64])
def test_64_pairs_of_20_types_a_side_through_8_regions_fit(pairs: object) -> None:
    cloud = Cloud(third=THIRD, instance_types=(*SMALL, *LARGE), max_pairs=64)
    for region, facts in cloud.instance_types.items():
        zones = frozenset({f"{region}a"})
        for kind in (*SMALL, *LARGE):
            facts.known[kind] = TypeFacts(kind, 4, "x86_64", 10.0, 25.0, 100.0, 100.0, False, zones)
    for place, (start, end) in enumerate(permutations((WEST, IRELAND, *THIRD), 2)):
        rate = 2.0 if (start, end) == (WEST, IRELAND) else 20.0 + place % 13
        for kind in (*SMALL, *LARGE):
            cloud.profiles.profiles[kind, f"{start}>{end}"] = profile(rate, 5000, 5)
    cloud.profiles.profiles["m5.large", f"{WEST}>{IRELAND}"] = profile(5, 20_000, 5)
    for quota in cloud.quotas.values():
        quota.limits = {"on-demand": 1e6, "spot": 1e6}
    relays = {"pairs": pairs, "instanceTypes": {"source": SMALL, "destination": LARGE}, "market": "spot"}
    asked = transfer(relays={"through": list(THIRD), **relays})
    request = asked.request.model_copy(update={"objective": Objective(minimise="time")})
    transit = [TransitRegion(region=region, vpc_id="vpc-transit") for region in THIRD]
    found = estimate_for(asked.model_copy(update={"request": request, "transit": transit}), 10**14, cloud.world)
    assert found.chosen_pairs == 64
    assert found.rows[-1].planned
    assert size_of(found) <= MOST_BYTES
    assert len(found.candidates) == MOST_CANDIDATES
    assert "388 more types of relays are allowed" in found.notes


def large(rows: int) -> Estimate:
    """Each row has nine routes of 1.5 kB."""
    rate = Figure(value=20.0, low=10.0, high=30.0, origin="measured", note="x" * 1000)
    use = RouteUse(
        stage=0, regions=[WEST, "eu-central-1", IRELAND], relays=[1, 1, 1], rate=rate, usd_per_gb=0.04,
        hours_usd=[0.1] * 3,
    )  # fmt: skip
    found = estimate(rows)
    return found.model_copy(update={"rows": [row.model_copy(update={"planned": [use] * 3}) for row in found.rows]})


def test_rows_that_nobody_needs_go_first_and_are_named() -> None:
    question = Undecided(decided_by="directMBps", pairs=[0, 4], question="x")
    found = fitted(large(15).model_copy(update={"chosen_pairs": 7, "undecided": question}))
    assert size_of(found) <= MOST_BYTES
    assert {0, 4, 6, 7, 8, 15} <= {row.pairs for row in found.rows}
    left = [pairs for pairs in range(16) if pairs not in {row.pairs for row in found.rows}]
    assert found.notes == [f"rows that did not fit: {', '.join(map(str, left))} pairs"]
    assert fitted(estimate(15)) == estimate(15)


def test_of_prices_the_dearest_stay_and_those_of_the_chosen_type() -> None:
    prices = [
        RelayPrice(instance_type=f"c6in.{place}xlarge", region=WEST, on_demand_usd=place / 10)
        for place in range(1, 500)
    ]
    mine = RelayPrice(instance_type="t3.small", region=WEST, on_demand_usd=0.001)
    found = fitted(estimate(3).model_copy(update={"relay_prices": [mine, *prices]}))
    assert MOST_BYTES - 200 < size_of(found) <= MOST_BYTES
    assert found.relay_prices is not None
    assert found.relay_prices[0] == mine
    assert found.relay_prices[1:] == prices[-len(found.relay_prices) + 1 :]
