from dataclasses import replace

import pytest

from lambdas.core.errors import BudgetTooSmall
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.places.machines import TransitRegion
from lambdas.core.request.request import Objective
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.tariff.prices import PriceBook
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.estimate.aim import aim_of
from lambdas.operations.estimate.estimation import estimate_for
from lambdas.operations.estimate.routing import ways_of
from tests.lambdas.builders import IRELAND, WEST, figure, profile, transfer
from tests.lambdas.cloud import Cloud

FRANKFURT, TOKYO = "eu-central-1", "ap-northeast-1"
SIZE = 100 * 10**9


def accepted(*third: str, minimise: str = "time", **relays: object) -> AcceptedTransfer:
    asked = transfer(relays={"through": list(third) or "none", "instanceTypes": ["t3.small"], **relays})
    request = asked.request.model_copy(update={"objective": Objective.from_document({"minimise": minimise})})
    transit = [TransitRegion(region=region, vpc_id="vpc-transit") for region in third]
    return asked.model_copy(update={"request": request, "transit": transit})


def known(rates: dict[tuple[str, str], float]) -> Cloud:
    """A cloud whose links have been configured; direct path and pairs are slow."""
    cloud = Cloud(third=(FRANKFURT, TOKYO))
    for region, facts in cloud.instance_types.items():
        facts.known["t3.small"] = TypeFacts(
            "t3.small", 2, "x86_64", 0.128, 5.0, 100.0, 100.0, False, frozenset({f"{region}a"})
        )
    for (start, end), rate in rates.items():
        cloud.profiles.profiles["t3.small", f"{start}>{end}"] = profile(rate, 500, 5)
    cloud.profiles.profiles["m5.large", f"{WEST}>{IRELAND}"] = profile(5, 2000, 5)
    return cloud


def planned(cloud: Cloud, asked: AcceptedTransfer) -> Estimate:
    return estimate_for(asked, SIZE, cloud.world, aim=aim_of(asked, SIZE, cloud.world))


WIDE = {(WEST, FRANKFURT): 60.0, (FRANKFURT, IRELAND): 60.0, (WEST, IRELAND): 10.0}


def test_data_takes_the_way_through_a_third_region_where_that_is_wider() -> None:
    found = planned(known(WIDE), accepted(FRANKFURT))
    through = [use for use in found.routes if use.between == [FRANKFURT]]
    assert [(use.stage, use.regions) for use in through] == [(2, [WEST, FRANKFURT, IRELAND])]
    assert sum(use.count for use in found.routes) <= 2 * found.chosen_pairs
    assert "through eu-central-1" in found.reason


@pytest.mark.parametrize("apart", [(WEST, FRANKFURT), (FRANKFURT, IRELAND)])
def test_border_that_is_not_joined_is_on_no_route_and_named(apart: tuple[str, str]) -> None:
    asked, world = accepted(FRANKFURT), known(WIDE).world
    world = replace(world, env=replace(world.env, inter_region_path="peering"))
    assert estimate_for(asked, SIZE, world).chosen.planned
    found = estimate_for(asked.model_copy(update={"apart": [apart]}), SIZE, world)
    assert all(row.planned == [] for row in found.rows)
    assert f"no peering with routes both ways joins {apart[0]} with {apart[1]}" in found.reason


def test_row_with_a_route_is_faster_than_pairs_of_as_many_relays() -> None:
    cloud = known(WIDE)
    with_routes, pairs = planned(cloud, accepted(FRANKFURT)), planned(cloud, accepted())
    assert all(row.seconds <= other.seconds for row, other in zip(with_routes.rows, pairs.rows, strict=True))
    assert with_routes.row(3).seconds < 0.5 * pairs.row(3).seconds
    assert all(row.planned == [] for row in pairs.rows)


def test_every_border_of_a_route_is_paid() -> None:
    found = planned(known(WIDE), accepted(FRANKFURT))
    (use,) = [use for use in found.routes if use.between]
    borders = [(WEST, FRANKFURT), (FRANKFURT, IRELAND)]
    assert use.usd_per_gb == pytest.approx(sum(PriceBook().egress_gb(*border).usd for border in borders))
    through = SIZE / 1e9 * (use.share * use.usd_per_gb + (1 - use.share) * 0.02)
    relays = found.chosen.cost_usd - through
    assert 0 < relays < 0.1 * through
    assert found.chosen.cost_usd_at_most == pytest.approx(relays + SIZE / 1e9 * use.usd_per_gb, rel=1e-3)


def test_cheapest_is_never_a_way_that_crosses_two_borders() -> None:
    assert planned(known(WIDE), accepted(FRANKFURT, minimise="cost")).chosen_pairs == 0


def test_budget_that_bears_pairs_alone_takes_pairs() -> None:
    cloud, asked = known(WIDE), accepted(FRANKFURT)
    budget = Objective.from_document({"minimise": "time", "maxCostUsd": 2.9})
    asked = asked.model_copy(update={"request": asked.request.model_copy(update={"objective": budget})})
    found = planned(cloud, asked)
    assert found.chosen_pairs > 0
    assert found.chosen.planned == []


def test_narrow_way_through_a_third_region_is_not_taken() -> None:
    rates = {(WEST, FRANKFURT): 12.0, (FRANKFURT, IRELAND): 12.0, (WEST, IRELAND): 10.0}
    assert all(row.planned == [] for row in planned(known(rates), accepted(FRANKFURT)).rows)


def test_way_may_lead_through_two_third_regions() -> None:
    rates = {(WEST, TOKYO): 60.0, (TOKYO, FRANKFURT): 60.0, (FRANKFURT, IRELAND): 60.0, (WEST, IRELAND): 10.0}
    rates |= {(WEST, FRANKFURT): 5.0, (TOKYO, IRELAND): 5.0}
    found = planned(known(rates), accepted(FRANKFURT, TOKYO))
    assert [TOKYO, FRANKFURT] in [use.between for use in found.routes]


def test_region_without_a_quota_gets_no_relay() -> None:
    cloud = known(WIDE)
    cloud.quotas[FRANKFURT].limits = {"on-demand": 1.0, "spot": 1.0}
    assert all(row.planned == [] for row in planned(cloud, accepted(FRANKFURT)).rows)


def test_link_that_nobody_measured_is_no_reason_to_leave_the_direct_one() -> None:
    published = planned(known({(WEST, IRELAND): 10.0}), accepted(FRANKFURT, TOKYO))
    assert all(row.planned == [] for row in published.rows)


def test_while_data_moves_ways_are_of_the_types_and_the_gain_that_were_chosen() -> None:
    cloud = known(WIDE)
    asked = accepted(FRANKFURT, instanceTypes=["t3.small", "t3.medium"])
    chosen = planned(cloud, asked)
    figures = chosen.figures.model_copy(update={"gain": figure(0.5)})
    mixed = chosen.model_copy(update={"destination_type": "t3.medium", "figures": figures})
    ways, alike = ways_of(asked, mixed, cloud.world), ways_of(asked, chosen, cloud.world)
    assert ways is not None
    assert alike is not None
    assert ways.borders[WEST, IRELAND].gain == 0.5
    hours = {region: hour.value for region, hour in alike.hours.items()}
    # A third region has the source's type.
    assert ways.hours[IRELAND].value > hours[IRELAND]
    assert ways.hours[FRANKFURT].value == hours[FRANKFURT]


def test_pre_test_that_is_asked_for_is_of_every_hop_and_relays_join_after_it() -> None:
    cloud = known(WIDE)
    plain, asked = accepted(FRANKFURT, pairs=3), accepted(FRANKFURT, pairs=3)
    asked = asked.model_copy(update={"request": asked.request.model_copy(update={"pre_test": True})})
    tested, untested = planned(cloud, asked), planned(cloud, plain)
    assert FRANKFURT in [region for use in tested.routes for region in use.between]
    assert tested.pre_test
    assert "with a pre-test of every hop" in tested.reason
    # Three hops at most, one after the other, and a probe within the source's region, a quarter as long, before relays
    # join; the direct path carries a little meanwhile.
    wait = 3.25 * cloud.world.pre_test_seconds(asked.request)
    assert 0.8 * wait < tested.chosen.seconds - untested.chosen.seconds <= wait
    # As many relays are launched as without: there is no slower half.
    assert [use.relays for use in tested.routes] == [use.relays for use in untested.routes]


def measuring(cloud: Cloud, *third: str, most_usd: float | None = None) -> Estimate:
    asked = accepted(*third)
    objective = Objective.from_document({"maxCostUsd": most_usd} if most_usd else {})
    request = asked.request.model_copy(update={"profile": "measure", "objective": objective})
    return planned(cloud, asked.model_copy(update={"request": request}))


def test_measuring_with_third_regions_has_a_relay_in_each_and_pays_every_link() -> None:
    cloud = known(WIDE | {(WEST, TOKYO): 30.0})
    found = measuring(cloud, FRANKFURT, TOKYO)
    assert (found.chosen_pairs, found.pre_test, found.bytes) == (1, True, 0)
    launched = {stage: use.regions[stage - use.stage] for use in found.routes for stage in use.stages()}
    assert launched == {0: WEST, 1: IRELAND, 3: FRANKFURT, 6: TOKYO}
    assert "7 links between 4 regions" in found.reason
    seconds = cloud.world.pre_test_seconds(accepted().request)
    # Three rounds and the direct path, 5 s after the launch.
    assert found.chosen.seconds == pytest.approx(5 + 4 * 1.25 * seconds)
    assert found.chosen.cost_usd > measuring(cloud, FRANKFURT).chosen.cost_usd > 0


def test_measuring_leaves_out_a_third_region_without_room_and_refuses_too_small_a_budget() -> None:
    cloud = known(WIDE)
    cloud.quotas[TOKYO].limits = {"on-demand": 1.0, "spot": 1.0}
    found = measuring(cloud, FRANKFURT, TOKYO)
    assert "3 links between 3 regions" in found.reason
    assert any(TOKYO in note and "not measured" in note for note in found.notes)
    with pytest.raises(BudgetTooSmall, match="name fewer regions"):
        measuring(cloud, FRANKFURT, TOKYO, most_usd=0.001)
