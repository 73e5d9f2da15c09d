"""What the dissertation says of its Figures 4.3 to 4.16, against its equations with its parameters.

Names that begin with `test_text_` hold the text to be wrong: `docs/models.md` lists them.
"""

from functools import partial
from itertools import pairwise

import pytest

from bench.figures import series
from bench.figures.published import (
    EGRESS_GB,
    H1_2XLARGE_HOUR,
    H1_2XLARGE_PAIR,
    PRINTED_T2_SMALL_HOUR,
    T2_SMALL_PAIR,
    h1_ends,
    ratio,
    t2_small,
)
from lambdas.core.models.models import MODELS, ModelName, piped_gain_threshold
from lambdas.core.tariff.cost import Billing

SIZES = range(250, 200_001, 250)
RATIOS = [1.5 * step for step in range(1, 20)]


def seconds(model: ModelName, size: float, pairs: int) -> float:
    return MODELS[model](t2_small(size, pairs))


def crossover(model: ModelName, pairs: int, other: ModelName = "sequential") -> float | None:
    """The size, MB, from which on `model` is the faster one; None: never up to 200 GB."""
    slower = [size for size in SIZES if seconds(model, size, pairs) >= seconds(other, size, pairs)]
    if not slower or slower[-1] == SIZES[-1]:
        return None if slower else 0.0
    assert slower == list(SIZES[: len(slower)]), "they cross more than once"
    return slower[-1] + 250


dollars = partial(series.dollars, "piped")
per_dollar = partial(series.per_dollar, "piped")


def sequential_per_dollar(size: float) -> float:
    return series.per_dollar("sequential", t2_small(size, 0))


def test_4_3_basic_loses_with_two_and_four_pairs() -> None:
    assert crossover("basic", 2) is None
    assert crossover("basic", 4) is None


def test_text_of_4_3_basic_with_eight_pairs_wins_from_17_gb_on_not_10() -> None:
    assert crossover("basic", 8) == 17_000
    assert seconds("sequential", 16_848, 8) == pytest.approx(seconds("basic", 16_848, 8), rel=1e-4)


def test_4_4_pipelining_wins_with_four_and_eight_pairs() -> None:
    assert (crossover("pipelined", 4), crossover("pipelined", 8)) == (3_250, 2_250)


def test_text_of_4_4_pipelining_never_wins_with_two_pairs() -> None:
    assert crossover("pipelined", 2) is None


def test_4_5_piping_wins_with_two_pairs_and_earlier_with_more() -> None:
    assert [crossover("piped", pairs) for pairs in (2, 4, 8)] == [8_250, 3_250, 2_500]
    assert crossover("piped", 1) is None


@pytest.mark.parametrize("pairs", [2, 4, 8])
def test_4_6_both_optimizations_beat_basic_at_every_size(pairs: int) -> None:
    assert crossover("pipelined", pairs, "basic") == 0
    assert crossover("piped", pairs, "basic") == 0


def test_4_6_optimized_gains_a_little_with_four_pairs_and_more_with_eight() -> None:
    gains = [seconds("sequential", 10_000, p) / seconds("piped", 10_000, p) for p in (2, 4, 8)]
    assert gains == pytest.approx([1.03, 1.39, 1.69], abs=0.005)


def test_text_of_4_6_piping_adds_nothing_to_pipelining_below_some_size() -> None:
    """Eq. 3.3 lets each relay's s/p overlap inside, Eq. 3.4 does not."""
    assert [crossover("piped", pairs, "pipelined") for pairs in (2, 4, 8)] == [0, 6_500, 8_000]


def test_4_7_and_4_10_cost_grows_linearly_and_with_the_pairs() -> None:
    for pairs in (2, 4, 8):
        at = [dollars(t2_small(size, pairs)) for size in (10_000, 20_000, 30_000)]
        assert at[1] - at[0] == pytest.approx(at[2] - at[1], rel=1e-3)
    for size in (1_000, 100_000):
        by_pairs = [dollars(t2_small(size, pairs)) for pairs in (2, 4, 8)]
        assert size / 1000 * EGRESS_GB < by_pairs[0] < by_pairs[1] < by_pairs[2]


def test_4_11_large_transfers_get_more_per_dollar_with_more_pairs() -> None:
    found = [per_dollar(t2_small(100_000, pairs)) for pairs in (2, 4, 8)]
    assert sequential_per_dollar(100_000) < found[0] < found[1] < found[2]


def test_text_of_4_11_with_the_price_that_table_4_4_prints_relays_never_pay() -> None:
    for size in (1_000, 10_000, 100_000, 1_000_000):
        found = [per_dollar(t2_small(size, pairs), PRINTED_T2_SMALL_HOUR) for pairs in (2, 4, 8)]
        assert max(found) < sequential_per_dollar(size)


def test_text_of_4_8_throughput_per_dollar_falls_with_the_inverse_of_size_not_linearly() -> None:
    at = [sequential_per_dollar(size) for size in (1_000, 2_000, 4_000)]
    assert [2 * at[1], 4 * at[2]] == pytest.approx([at[0], at[0]])
    with_relays = [per_dollar(t2_small(size, 8)) for size in (100, 1_000, 10_000)]
    assert with_relays[0] < with_relays[1] > with_relays[2]


def test_4_9_and_4_12_throughput_is_constant_directly_and_tends_to_a_limit_with_relays() -> None:
    for pairs in (2, 4, 8):
        rates = [size / seconds("piped", size, pairs) for size in SIZES]
        limit = 1 / (2 / 90 + 1 / (15 * pairs))
        assert all(slower < faster < limit for slower, faster in pairwise(rates))
        assert rates[-1] == pytest.approx(limit, rel=0.02)


def test_4_13_speedup_rises_with_the_ratio_and_with_the_pairs() -> None:
    def speedup(times: float, pairs: int) -> float:
        return series.speedup("piped", ratio(times, pairs))

    for pairs in (2, 4, 8):
        assert all(speedup(less, pairs) < speedup(more, pairs) for less, more in pairwise(RATIOS))
        threshold = piped_gain_threshold(5000, pairs, 1.25, 90)
        assert speedup(threshold * 0.99, pairs) < 1 < speedup(threshold * 1.01, pairs)
    assert all(speedup(times, 2) < speedup(times, 4) < speedup(times, 8) for times in RATIOS)


def test_text_of_table_5_5_the_ratio_that_is_needed_is_not_seven() -> None:
    needed = [piped_gain_threshold(5000, pairs, 1.25, 90) for pairs in (2, 4, 8)]
    assert needed == pytest.approx([4.19, 2.75, 2.35], abs=0.005)
    assert piped_gain_threshold(10_000, 2, 15, 90) == pytest.approx(5.48, abs=0.005)
    assert piped_gain_threshold(2_000, 4, 15, 90) > 7


def test_4_14_extra_cost_falls_with_the_ratio() -> None:
    for pairs in (2, 4, 8):
        at = [dollars(ratio(times, pairs)) for times in RATIOS]
        assert at == sorted(at, reverse=True)


def test_text_of_4_14_extra_cost_is_in_proportion_to_time() -> None:
    egress = 5 * EGRESS_GB
    for slow, fast in pairwise(RATIOS):
        times = MODELS["piped"](ratio(fast, 4)) / MODELS["piped"](ratio(slow, 4))
        extra = [dollars(ratio(r, 4)) - egress for r in (fast, slow)]
        assert extra[0] / extra[1] == pytest.approx(times, rel=5e-3)


def wide_against_small(size: float, pairs: int) -> tuple[float, float]:
    """MB/s per dollar with relays of h1.2xlarge and of t2.small (4.15)."""
    return (
        per_dollar(h1_ends(size, pairs, H1_2XLARGE_PAIR), H1_2XLARGE_HOUR),
        per_dollar(h1_ends(size, pairs, T2_SMALL_PAIR)),
    )


@pytest.mark.parametrize(("pairs", "until"), [(2, 5_500), (4, 9_250), (8, 16_000)])
def test_4_15_small_relays_give_more_per_dollar_up_to_a_size(pairs: int, until: int) -> None:
    for size in range(250, until + 1, 250):
        wide, small = wide_against_small(size, pairs)
        assert wide < small


@pytest.mark.parametrize(("pairs", "beyond"), [(2, 5_750), (4, 9_500), (8, 16_250)])
def test_text_of_4_15_wide_relays_give_more_per_dollar_beyond_it(pairs: int, beyond: int) -> None:
    for size in (beyond, 2 * beyond, 10 * beyond):
        wide, small = wide_against_small(size, pairs)
        assert wide > small


def test_4_16_coarser_billing_costs_more_and_the_more_so_with_many_pairs() -> None:
    def by_billing(size: float, pairs: int) -> list[float]:
        return [dollars(t2_small(size, pairs), billing=billing) for billing in Billing]

    for size in range(1_000, 500_001, 7_000):
        for pairs in (2, 4, 8):
            at = by_billing(size, pairs)
            assert at == sorted(at)
        few, many = by_billing(size, 2), by_billing(size, 8)
        if seconds("piped", size, 2) < 3600:
            assert many[2] - many[0] > few[2] - few[0]


def test_text_of_table_5_6_with_p_times_s_more_pairs_would_slow_the_transfer() -> None:
    printed = [90 + 2 * 10_000 / 90 + 10_000 * pairs / 15 for pairs in (1, 2, 4)]
    assert printed == sorted(printed)
    assert seconds("piped", 10_000, 1) > seconds("piped", 10_000, 2) > seconds("piped", 10_000, 4)


def test_text_of_table_5_7_needs_three_prices_for_one_type() -> None:
    """The rows p = 1, 2, 3: seconds and dollars as printed, 8 GB."""
    rows = {1: (713, 0.219), 2: (521, 0.203), 3: (493, 0.201)}
    hours = [(paid - 0.160) / (lasted * 2 * pairs) * 3600 for pairs, (lasted, paid) in rows.items()]
    assert hours == pytest.approx([0.149, 0.074, 0.050], abs=0.001)
    # By Eq. 3.4 the second pair saves half of the sequential time, whatever v_i and T_v are.
    assert rows[1][0] - rows[2][0] < 0.75 * 545 / 2


def test_text_of_6_1_2_a_speedup_of_1_4_takes_29_percent_off_not_25() -> None:
    shorter = 1 - 1 / 1.4
    assert shorter == pytest.approx(0.286, abs=0.001)
    assert seconds("sequential", 8192, 4) / seconds("piped", 8192, 4) == pytest.approx(1.34, abs=0.005)
