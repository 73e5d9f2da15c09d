"""The premise and the claim of the case `spread`, by the model."""

import pytest

from bench.fleet.arithmetic import spread
from bench.fleet.draws import Fleet
from bench.fleet.spread import ENDS, LEAST_DRAWN, LEAST_WITHOUT, MOST_WITH, SIZE, SPAWN_SECONDS, draw, expected, row

ALIKE = (1.0,) * 4


def test_the_transfer_lasts_as_many_starts_as_8_gb_in_the_thesis() -> None:
    spawns = SIZE / ENDS.inter / SPAWN_SECONDS
    assert spawns == pytest.approx(8192 / 15 / 90, rel=0.01)


def test_a_pre_test_keeps_the_better_half() -> None:
    tested = Fleet("tested", (0.5, 0.5, 0.5, 0.5, *ALIKE), (*ALIKE, *ALIKE))
    assert expected(tested) == expected(Fleet("tested", (*ALIKE, *ALIKE), (*ALIKE, *ALIKE)))
    assert expected(Fleet("plain", ALIKE, ALIKE)) < expected(tested)  # which had to wait for the test


@pytest.mark.parametrize("seed", range(20))
def test_fleets_without_a_pre_test_spread_as_the_premise_says(seed: int) -> None:
    plain, tested = draw(seed, 12)
    assert spread([expected(one) for one in plain]) >= LEAST_DRAWN > LEAST_WITHOUT
    assert plain[3].sources == tested[3].sources[:4]


def test_by_the_model_the_claim_holds_for_most_seeds_but_is_not_built_in() -> None:
    claims = [spread([expected(one) for one in draw(seed, 12)[1]]) <= MOST_WITH for seed in range(100)]
    assert 90 <= sum(claims) < 100


def test_a_row_has_the_spread_its_bar_and_the_model() -> None:
    fleets = [Fleet("a", ALIKE, ALIKE), Fleet("b", ALIKE, ALIKE)]
    found = row("with pre-test", fleets, [10.0, 10.8], MOST_WITH, at_least=False)
    assert found.measured == pytest.approx(100 * 0.8 / 10.4)
    assert not found.holds
    assert "by the model 0.0%" in found.note
    assert row("without pre-test", fleets, [10.0, 12.0], LEAST_WITHOUT, at_least=True).holds
