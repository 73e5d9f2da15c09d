"""Relays of another type, market or zone pass the same check as the first choice."""

from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.estimate.budget import HELD_SECONDS, needed
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.fleet.launch_plan import Step, Subnet
from lambdas.core.fleet.topology import stage_at
from lambdas.core.spending import cross_zone
from lambdas.core.spending.second_choice import bearable
from lambdas.core.tariff import cost
from lambdas.core.tariff.prices import Market
from lambdas.core.tariff.relay_prices import RelayPrice
from lambdas.core.transfer.accepted import AcceptedTransfer
from tests.lambdas.builders import IRELAND, WEST, estimate, node, transfer

OWN, OTHER = Subnet("subnet-a", "us-west-2a"), Subnet("subnet-b", "us-west-2b")
THERE = Subnet("subnet-i", "eu-west-1a")
DEAR, PLANNED = 3.6, 0.1


def known(pairs: int = 2) -> Estimate:
    dear = [RelayPrice(instance_type="c6in.8xlarge", region=one, on_demand_usd=DEAR) for one in (WEST, IRELAND)]
    return estimate(pairs).model_copy(update={"relay_prices": dear})


def within(spare: float, found: Estimate, **relays: str) -> AcceptedTransfer:
    most = needed(found.chosen, found.figures) + spare
    return transfer(objective={"maxCostUsd": most}, relays=relays)


def step(kind: str = "c6in.8xlarge", subnet: Subnet = OWN, market: Market = "on-demand") -> Step:
    return Step(market, kind, subnet)


def each(found: Estimate) -> float:
    """What one dear relay costs more, as long as the row takes and the meter needs."""
    lived = max(found.chosen.seconds, 60)
    return (DEAR - PLANNED) * (lived + HELD_SECONDS) / 3600


def test_without_a_budget_any_type_will_do() -> None:
    accepted = transfer()
    assert bearable(step(), stage_at(accepted, 0), 8, [], accepted, known()) == 8


def test_the_first_choice_is_not_asked_again() -> None:
    accepted = within(0.0, known())
    assert bearable(step("t3.small"), stage_at(accepted, 0), 8, [], accepted, known()) == 8


def test_dearer_relays_fit_into_what_the_row_leaves_free_half_of_it_for_each_side() -> None:
    found = known()
    for spare, fit in ((0.0, 0), (1.9, 0), (2.1, 1), (4.1, 2), (40.0, 2)):
        accepted = within(spare * each(found), found)
        for stage in (0, 1):
            own = step(subnet=(OWN, THERE)[stage])
            assert bearable(own, stage_at(accepted, stage), 2, [], accepted, found) == fit, spare


def test_dear_relays_that_run_already_take_their_part_of_it() -> None:
    found = known()
    accepted = within(4.1 * each(found), found)
    dear = [node(0, 1, instance_type="c6in.8xlarge"), node(1, 1, instance_type="c6in.8xlarge")]
    assert bearable(step(), stage_at(accepted, 0), 2, dear, accepted, found) == 1
    ended = [one.model_copy(update={"ended_at": 1060.0}) for one in dear]
    assert bearable(step(), stage_at(accepted, 0), 2, ended, accepted, found) == 1


def test_spot_is_not_replaced_by_on_demand_that_the_budget_does_not_bear() -> None:
    found = known().model_copy(
        update={"relay_prices": [RelayPrice(instance_type="t3.small", region=WEST, on_demand_usd=1.0, spot_usd=0.1)]}
    )
    accepted = within(0.001, found, market="spot")
    spot, fallen_back = step("t3.small", market="spot"), step("t3.small")
    assert bearable(spot, stage_at(accepted, 0), 2, [], accepted, found) == 2
    assert bearable(fallen_back, stage_at(accepted, 0), 2, [], accepted, found) == 0


def test_other_zones_and_dearer_types_are_borne_together_or_not_at_all() -> None:
    found = known()
    zones = cross_zone.surcharge(transfer(), found.bytes)
    accepted = within(zones + 2.1 * each(found), found)
    assert bearable(step(subnet=OTHER), stage_at(accepted, 0), 2, [], accepted, found) == 1
    short = within(zones + 1.9 * each(found), found)
    assert bearable(step(subnet=OTHER), stage_at(short, 0), 2, [], short, found) == 0
    # As cheap, but elsewhere, beside dear ones that took the room.
    dear = [node(0, 1, instance_type="c6in.8xlarge")]
    assert bearable(step("t3.small", OTHER), stage_at(short, 0), 1, dear, short, found) == 0


@given(st.integers(1, 8), st.floats(0.0, 3.0), st.floats(0.11, 8.0))
def test_what_is_borne_on_both_sides_costs_no_more_than_the_budget(pairs: int, spare: float, hour: float) -> None:
    prices = [RelayPrice(instance_type="m5.large", region=one, on_demand_usd=hour) for one in (WEST, IRELAND)]
    found = estimate(pairs).model_copy(update={"relay_prices": prices})
    accepted = within(spare, found)
    fit = [
        bearable(step("m5.large", subnet), stage_at(accepted, at), pairs, [], accepted, found)
        for at, subnet in enumerate((OWN, THERE))
    ]
    seconds = found.chosen.seconds
    more = sum(fit) * (cost.relays(1, seconds, hour) - cost.relays(1, seconds, PLANNED))
    more += sum(fit) * (hour - PLANNED) * HELD_SECONDS / 3600
    assert more <= spare + 1e-9
