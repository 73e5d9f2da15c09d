"""A request gets the deployment's defaults."""

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.fleet.launch_plan import Way
from lambdas.operations.intake.acceptance import accept
from tests.lambdas import pools
from tests.lambdas.builders import IRELAND, WEST, request
from tests.lambdas.cloud import Cloud


@pytest.mark.parametrize(
    ("deployment", "asked", "budget"), [(None, {}, None), (20.0, {}, 20.0), (20.0, {"maxCostUsd": 3}, 3)]
)
def test_budget_is_the_requests_own_or_the_deployments(
    deployment: float | None, asked: dict[str, float], budget: float | None
) -> None:
    cloud = Cloud(max_cost_usd=deployment)
    assert accept(request(objective=asked), cloud.world).request.objective.max_cost_usd == budget


FRANKFURT, VIRGINIA = "eu-central-1", "us-east-1"
BLOCKS = {WEST: "10.1.0.0/16", IRELAND: "10.2.0.0/16", FRANKFURT: "10.3.0.0/16", VIRGINIA: "10.4.0.0/16"}


def peered(*borders: tuple[str, str], path: str = "peering") -> Cloud:
    """A cloud whose regions have private ways to each other where they are peered."""
    cloud = Cloud(third=(FRANKFURT, VIRGINIA), inter_region_path=path)
    for region, subnets in cloud.subnets.items():
        others = [other for border in borders if region in border for other in border if other != region]
        subnets.block, subnets.ways = BLOCKS[region], tuple(Way(BLOCKS[other], joins=True) for other in others)
    return cloud


ALL_BUT_ONE = [(WEST, VIRGINIA), (VIRGINIA, IRELAND), (VIRGINIA, FRANKFURT), (FRANKFURT, IRELAND)]


def test_named_region_through_which_no_way_is_joined_is_refused() -> None:
    with pytest.raises(InvalidRequest) as refused:
        accept(request(relays={"through": [FRANKFURT]}), peered((FRANKFURT, IRELAND)).world)
    (problem,) = refused.value.problems
    assert problem == (
        "$.relays.through[0]: no way through 'eu-central-1' can be used, as no peering with routes both ways joins "
        "us-west-2 with eu-central-1; join their VPCs, or leave the region out"
    )


def test_named_region_on_a_way_over_another_one_is_accepted() -> None:
    found = accept(request(relays={"through": [FRANKFURT, VIRGINIA]}), peered(*ALL_BUT_ONE).world)
    assert found.apart == [(WEST, FRANKFURT)]


def test_of_all_regions_borders_that_are_not_joined_are_known() -> None:
    found = accept(request(relays={"through": "auto"}), peered((WEST, FRANKFURT), (FRANKFURT, IRELAND)).world)
    assert found.apart == [(WEST, VIRGINIA), (FRANKFURT, VIRGINIA), (VIRGINIA, IRELAND)]
    assert [one.region for one in found.transit] == [FRANKFURT, VIRGINIA]


def test_over_the_internet_no_border_needs_a_private_route() -> None:
    assert accept(request(relays={"through": [FRANKFURT]}), peered(path="internet").world).apart == []


def test_a_request_for_the_pool_alone_is_refused_where_a_region_has_none() -> None:
    alone = request(relays={"pool": "only"})
    with pytest.raises(InvalidRequest) as refused:
        accept(alone, Cloud(pool_regions={WEST: pools.settings(WEST)}).world)
    assert refused.value.problems == [
        "$.relays.pool: 'only': there is no pool in eu-west-1; us-west-2 has one: write 'prefer', or leave it out"
    ]
    assert accept(alone, Cloud(pool_regions=pools.regions()).world).request.relays.pool == "only"
    assert accept(request(relays={"pool": "prefer"}), Cloud().world).request.relays.pool == "prefer"


def test_a_wait_for_a_price_is_refused_where_neither_region_has_a_pool() -> None:
    patient = request(relays={"maxUsdPerGB": 0.002, "startBy": "6h"})
    with pytest.raises(InvalidRequest) as refused:
        accept(patient, Cloud().world)
    assert refused.value.problems == [
        "$.relays.maxUsdPerGB: 0.002: there is no pool in us-west-2 and eu-west-1; no region has one: leave it out, "
        "and startBy with it"
    ]
    assert accept(patient, Cloud(pool_regions={WEST: pools.settings(WEST)}).world).request.relays.start_by == "6h"
