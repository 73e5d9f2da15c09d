"""Lent machines in the rows: their share, the slower of both sides, no launch and no price."""

import pytest

from lambdas.core.estimate.budget import HELD_SECONDS, held_back
from lambdas.core.estimate.figures import Figures, LentPair
from lambdas.core.estimate.lent import lent_pairs
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.estimate.pair_use import pair_uses
from lambdas.core.estimate.rows import build_rows
from lambdas.core.places.machines import ExistingRelay
from tests.lambdas.builders import figure, figures, transfer
from tests.lambdas.core.estimate.test_offers import terms

GB = 10**9


def machine(stage: int, number: int, kind: str = "m5.large") -> ExistingRelay:
    end = transfer().at_source
    return ExistingRelay(
        **{**dict(end), "instance_id": f"i-{number:017x}", "instance_type": kind}, stage=stage, spot=False
    )


def lending(*pairs: tuple[float, bool]) -> Figures:
    lent = [LentPair(rate=figure(rate), launches_one=launches_one) for rate, launches_one in pairs]
    whole = sum(not one.launches_one for one in lent)
    route = PairRoute(lent=[len(lent), whole])
    return figures(spawn=60.0).model_copy(update={"lent": lent, "pair_route": route})


def test_a_machine_carries_its_share_of_what_is_published() -> None:
    full = lent_pairs(terms(), [machine(0, 1), machine(1, 2)], 1.0)
    quarter = lent_pairs(terms(), [machine(0, 1), machine(1, 2)], 0.25)
    assert [one.launches_one for one in quarter] == [False]
    assert quarter[0].rate.value == pytest.approx(full[0].rate.value / 4)
    assert f"i-{1:017x}: 0.25 of" in quarter[0].rate.note


def test_machines_fill_the_first_slots_of_their_side() -> None:
    pairs = lent_pairs(terms(), [machine(0, 1), machine(0, 2), machine(1, 3)], 0.5)
    assert [one.launches_one for one in pairs] == [False, True]
    assert lent_pairs(terms(), [], 0.5) == []


def test_a_pair_goes_as_fast_as_the_slower_of_its_machines() -> None:
    used = lending((5.0, False), (8.0, True), (50.0, True))
    assert [used.pair_at(slot).value for slot in range(4)] == [5.0, 8.0, 20.0, 20.0]


def test_rows_count_the_share_and_not_a_full_relay() -> None:
    rows = build_rows(20 * GB, 2, lending((5.0, False)))
    # The lent pair is there after 10 s, the launched one after 60; the tail of the last chunks is below 0.5 %.
    assert rows[1].seconds == pytest.approx(10 + (20_000 - 10 * 20) / 25, abs=0.001)
    assert rows[2].seconds == pytest.approx(60 + (20_000 - 10 * 20 - 50 * 25) / 45, abs=0.001)
    assert rows[1].limit == "paths: 20.0 direct + 5.0 = 25.0 MB/s"


def test_nothing_is_held_back_for_machines_that_cost_nothing() -> None:
    used, each = lending((20.0, False), (20.0, True)), HELD_SECONDS * 0.1 / 3600
    plain = figures(spawn=60.0)
    free = [
        [held_back(pairs, pair_uses(pairs, one), one, pre_test=test) for one in (plain, used)]
        for pairs, test in ((1, False), (3, False), (1, True))
    ]
    assert [all_paid - lent for all_paid, lent in free] == pytest.approx([2 * each, 3 * each, 3 * each])


def test_a_lent_pair_costs_no_launch() -> None:
    rows = build_rows(20 * GB, 2, lending((5.0, False)))
    # Two relays for these 810 s would be $0.045; what is left are requests of the control plane.
    assert rows[1].cost_usd - rows[0].cost_usd < 0.003
    assert rows[2].cost_usd - rows[1].cost_usd == pytest.approx(2 * rows[2].seconds * 0.1 / 3600, abs=0.002)
