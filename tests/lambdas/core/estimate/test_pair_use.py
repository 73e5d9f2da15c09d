import pytest

from lambdas.core.estimate.figures import Burst, Figures, LentPair
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.estimate.pair_use import pair_uses
from lambdas.core.estimate.rows import build_row
from tests.lambdas.builders import figure, figures

ENDS = ["us-west-2", "eu-west-1"]
GB = 10**9


def known(*lent: LentPair, **changes: object) -> Figures:
    return figures().model_copy(update={"pair_route": PairRoute(regions=ENDS), "lent": list(lent), **changes})


def test_no_pairs_use_no_route() -> None:
    assert pair_uses(0, known()) == []


def test_pairs_are_one_route_with_a_stage_beside_each_end() -> None:
    (use,) = pair_uses(3, known())
    assert (use.stage, use.regions, use.relays, use.lent) == (0, ENDS, [3, 3], None)
    assert use.rate.now == pytest.approx(3 * figures().pair.now)
    assert use.paid == [3, 3]
    assert use.usd_per_gb == figures().leaving_gb_usd
    assert use.hours_usd == [figures().hour_usd(stage) for stage in (0, 1)]


def test_figures_of_no_region_have_the_route_without_one() -> None:
    (use,) = pair_uses(1, figures())
    assert (use.regions, use.between, use.stages()) == ([], [], {0: 1, 1: 1})


def test_lent_machines_are_not_launched_and_hold_their_pairs_down() -> None:
    lent = LentPair(rate=figure(2.0), launches_one=True)
    (use,) = pair_uses(2, known(lent, pair_route=PairRoute(regions=ENDS, lent=[1, 0])))
    assert use.paid == [1, 2]
    assert use.rate.now == pytest.approx(2.0 + figures().pair.now)


def test_what_it_may_carry_at_most_follows_the_pairs_that_live() -> None:
    (use,) = pair_uses(3, known())
    each = figures().pair.most
    assert use.most_of({0: 2, 1: 1}) == pytest.approx(each)
    assert use.most_of({0: 6, 1: 6}) == pytest.approx(6 * each)
    assert use.most_of({0: 3}) == 0.0


def test_a_burst_is_of_all_of_them() -> None:
    pair = figure(10.0).model_copy(update={"burst": Burst(rate=figure(40.0), credit=figure(1000.0))})
    (use,) = pair_uses(2, known(pair=pair))
    assert (use.rate.now, use.rate.value, use.rate.most) == (80.0, 20.0, 80.0)
    assert use.rate.burst is not None
    assert use.rate.burst.credit.value == 2000.0


def test_pairs_that_slow_each_other_down_are_expected_to_carry_less_and_may_carry_all() -> None:
    (use,) = pair_uses(3, known(gain=figure(0.5)))
    assert use.rate.value == pytest.approx(2 * figures().pair.value)
    assert use.rate.most == pytest.approx(3 * figures().pair.most)


def test_a_row_with_relays_has_its_routes_and_its_document_does_not_grow() -> None:
    row = build_row(GB, 3, known())
    assert row.uses(known()) == pair_uses(3, known())
    assert "routes" not in row.to_document()
    assert build_row(GB, 0, known()).uses(known()) == []


def test_beside_a_bucket_they_are_one_route_with_one_stage() -> None:
    (use,) = pair_uses(3, known(pair_route=PairRoute(regions=["us-west-2"]), relay_hours=[figure(0.02)]))
    assert (use.stage, use.regions, use.relays, use.paid, use.between) == (0, ["us-west-2"], [3], [3], [])
    assert (use.paths, use.count, use.slots, use.words, use.stages()) == (3, 3, 3, "3 relays", {0: 3})
    assert use.hours_usd == [0.02]
    assert use.rate.now == pytest.approx(3 * figures().pair.now)
    assert use.most_of({0: 2}) == pytest.approx(2 * figures().pair.most)
    assert (use.has(0), use.has(1)) == (True, False)


def test_a_relay_beside_a_bucket_costs_half_of_a_pair_and_the_machine_is_the_only_end() -> None:
    """With the hour of each relay: 60 s are paid at least, and both rows move the same bytes in the same time."""
    hour = figure(3.6)
    pair = build_row(GB, 2, known(relay_hours=[hour, hour]))
    relay = build_row(GB, 2, known(pair_route=PairRoute(regions=["us-west-2"]), relay_hours=[hour]))
    none = build_row(GB, 0, known())
    assert relay.seconds == pair.seconds
    assert pair.cost_usd - none.cost_usd == pytest.approx(2 * (relay.cost_usd - none.cost_usd), rel=0.01)
    assert pair.energy_wh == pytest.approx(2 * (relay.energy_wh or 0.0))
