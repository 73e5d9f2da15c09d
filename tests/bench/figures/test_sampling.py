"""Weighted sample integration against the last sample and the plain mean (GEO-DMS, Figure 4)."""

import pytest

from bench.figures.sampling import SEED, errors, last_sample, plain_mean, recorded, synthetic, weighted

SEEDS = range(SEED, SEED + 20)


def test_each_strategy_predicts_every_sample_but_the_first_from_those_before() -> None:
    samples = [10.0, 20.0, 30.0, 1000.0]
    assert last_sample(samples) == [10, 20, 30]
    assert plain_mean(samples) == [10, 15, 20]
    assert weighted(samples) == pytest.approx([10, 15, 20])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["stable", "noisy", "outliers"])
def test_weighted_is_closest_where_the_rate_itself_does_not_change(name: str, seed: int) -> None:
    found = errors(synthetic(seed)[name])
    assert found["weighted"] < found["plain mean"] < found["last sample"]


@pytest.mark.parametrize("seed", SEEDS)
def test_weighted_is_behind_after_a_step_by_a_few_percent(seed: int) -> None:
    found = errors(synthetic(seed)["step"])
    assert found["last sample"] < found["weighted"] < found["last sample"] + 4


@pytest.mark.parametrize(
    ("ahead", "closest"), [(1, "last sample"), (10, "last sample"), (20, "weighted"), (60, "weighted")]
)
def test_recorded_trace_is_predicted_best_by_weighting_only_beyond_its_load_swings(ahead: int, closest: str) -> None:
    found = errors(recorded(ahead))
    assert min(found, key=lambda strategy: found[strategy]) == closest


def test_one_seed_gives_one_set_of_traces() -> None:
    assert synthetic(7) == synthetic(7) != synthetic(8)
