"""The scenarios of the estimator's benchmark."""

import pytest

from bench.estimate.scenarios import MACHINE_LIMIT, NAMED, PROBE_SECONDS, Machine, Scenario, Slower, generated
from lambdas.core.estimate.pre_tests import seconds

EVERY_SEED = [scenario for seed in range(25) for scenario in generated(seed, 8)]


def test_the_same_seed_generates_the_same_scenarios() -> None:
    assert generated(7, 8) == generated(7, 8)
    assert generated(7, 8) != generated(8, 8)


def test_names_tell_scenarios_apart() -> None:
    names = [scenario.name for scenario in (*NAMED, *generated(1, 8))]
    assert len(set(names)) == 35
    assert not any("," in name or " " in name for name in names)


@pytest.mark.parametrize("scenario", [*NAMED, *EVERY_SEED[:11]], ids=lambda scenario: scenario.name)
def test_a_scenario_is_long_enough_to_measure_and_short_enough_to_wait_for(scenario: Scenario) -> None:
    assert 5 <= scenario.seconds(scenario.pairs) <= 30
    assert 100 <= scenario.size <= 4000
    assert 0 <= scenario.measured_pairs <= max(scenario.pairs, 2)
    assert scenario.rate(scenario.pairs) <= MACHINE_LIMIT


@pytest.mark.parametrize("scenario", [one for one in (*NAMED, *EVERY_SEED) if one.links], ids=lambda one: one.name)
def test_where_links_have_caps_of_their_own_third_regions_are_worth_their_relays(scenario: Scenario) -> None:
    assert len(scenario.regions) > 2
    assert scenario.rate(scenario.pairs) > 1.1 * scenario.direct * (1 + scenario.pairs)


def test_limits_of_the_ends_lie_anywhere_also_where_no_earlier_transfer_meets_them() -> None:
    def binds(one: Scenario, pairs: int) -> bool:
        return one.direct + pairs * one.pair > one.ends

    assert any(binds(one, one.pairs) and not binds(one, one.measured_pairs) for one in EVERY_SEED)
    assert any(binds(one, one.measured_pairs) for one in EVERY_SEED if one.pairs)
    assert any(not binds(one, one.pairs) for one in EVERY_SEED if one.pairs)


def test_generated_scenarios_differ_in_all_that_matters() -> None:
    assert {scenario.pairs for scenario in EVERY_SEED} == set(range(9))
    assert any(scenario.files > 1 for scenario in EVERY_SEED)
    assert any(scenario.slower for scenario in EVERY_SEED)
    assert any(scenario.rate(scenario.pairs) == scenario.ends for scenario in EVERY_SEED)


def test_three_relays_of_a_route_carry_what_its_narrowest_link_does() -> None:
    (scenario,) = (one for one in NAMED if one.name == "third-region")
    assert scenario.direct == 4
    assert scenario.rate(2) == 4 + 25


def test_with_a_pre_test_pairs_join_when_it_is_over() -> None:
    machine = Machine(20, 160)
    plain, tested = (Scenario("a", 600, 2, machine, machine, machine, pre_test=test) for test in (False, True))
    assert tested.seconds(0) == plain.seconds(0)
    later = seconds(PROBE_SECONDS, 2)
    # What two pairs would have carried meanwhile comes at the rate of all three paths.
    assert tested.seconds(2) - plain.seconds(2) == pytest.approx(later * 2 / 3)


def test_of_unequal_relays_the_mean_counts() -> None:
    machine = Machine(20, 160)
    unequal = Scenario("a", 600, 4, machine, machine, machine, slower=(Slower(2, 0.5), Slower(3, 0.7)))
    # of six launches: 20, 10, 14, 10, 20, 7
    assert unequal.pair == pytest.approx(81 / 6)
    assert unequal.rate(2) == pytest.approx(20 + 27)


def test_pairs_carry_from_when_they_have_joined() -> None:
    machine = Machine(20, 160)
    scenario = Scenario("a", 600, 2, machine, machine, machine, boot_seconds=3.8)
    assert scenario.seconds(0) == 30
    assert scenario.seconds(2) == pytest.approx(5 + 500 / 60)
