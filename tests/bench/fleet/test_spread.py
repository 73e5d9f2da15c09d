"""The premise and the claim of the case `spread`, by the model."""

import pytest

from bench.fleet.arithmetic import spread
from bench.fleet.draws import Fleet
from bench.fleet.spread import ENDS, MOST_WITH, SIZE, SPAWN_SECONDS, draw, expected, row

ALIKE = (1.0,) * 4


def test_the_transfer_lasts_as_many_starts_as_8_gb_in_the_thesis() -> None:
    spawns = SIZE / ENDS.inter / SPAWN_SECONDS
    assert spawns == pytest.approx(8192 / 15 / 90, rel=0.01)


def test_a_pre_test_keeps_the_better_half() -> None:
    tested = Fleet("tested", (0.5, 0.5, 0.5, 0.5, *ALIKE), (*ALIKE, *ALIKE))
    assert expected(tested) == expected(Fleet("tested", (*ALIKE, *ALIKE), (*ALIKE, *ALIKE)))
    assert expected(Fleet("plain", ALIKE, ALIKE)) < expected(tested)  # which had to wait for the test


def test_fleets_are_what_the_seed_draws_whether_they_spread_or_not() -> None:
    spreads = [spread([expected(one) for one in draw(seed, 12)[0]]) for seed in range(20)]
    assert min(spreads) < 0.17 < max(spreads)
    plain, tested = draw(7, 12)
    assert plain[3].sources == tested[3].sources[:4]


def test_by_the_model_the_claim_holds_for_most_seeds_but_is_not_built_in() -> None:
    claims = [spread([expected(one) for one in draw(seed, 12)[1]]) <= MOST_WITH for seed in range(100)]
    assert 90 <= sum(claims) < 100


def test_a_row_has_the_spread_its_bar_and_the_model() -> None:
    fleets = [Fleet("a", ALIKE, ALIKE), Fleet("b", ALIKE, ALIKE)]
    found = row("with pre-test", fleets, [10.0, 10.8], MOST_WITH)
    assert found.measured == pytest.approx(100 * 0.8 / 10.4)
    assert not found.holds
    assert "by the model 0.0%" in found.note
    assert row("without pre-test", fleets, [10.0, 12.0]).bar is None
