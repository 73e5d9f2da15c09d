"""The equations against the check values, and the zero-wait model against its definition."""

from dataclasses import replace
from itertools import pairwise
from math import inf, nan
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.figures.published import t2_small
from lambdas.core.models import models
from lambdas.core.models.models import MODELS, Ends, ModelName, Pair, Parameters
from lambdas.core.models.zero_wait import Serving, rate_at, zero_wait


@pytest.mark.parametrize(
    ("pairs", "basic", "pipelined", "piped"),
    [(2, 953.25, 752.14, 645.56), (4, 786.58, 529.91, 478.89), (8, 703.25, 418.80, 395.56)],
)
def test_check_values(pairs: int, basic: float, pipelined: float, piped: float) -> None:
    at = t2_small(10_000, pairs)
    assert MODELS["sequential"](at) == pytest.approx(666.67, abs=0.005)
    assert MODELS["basic"](at) == pytest.approx(basic, abs=0.005)
    assert MODELS["pipelined"](at) == pytest.approx(pipelined, abs=0.005)
    assert MODELS["piped"](at) == pytest.approx(piped, abs=0.005)


def test_cut_through_and_zero_wait_with_the_published_figures() -> None:
    at = t2_small(8192, 4)
    assert MODELS["sequential"](at) == pytest.approx(546, abs=0.5)
    assert MODELS["piped"](at) == pytest.approx(408, abs=1)
    assert MODELS["cut-through"](at) == pytest.approx(227, abs=0.5)
    assert MODELS["zero-wait"](at) == pytest.approx(181, abs=0.5)


def test_every_name_has_a_model_and_every_model_a_name() -> None:
    assert tuple(MODELS) == get_args(ModelName)


def test_pre_test_export_and_import_add_their_time() -> None:
    at = replace(t2_small(10_000, 2), pre_test_seconds=60, export_seconds=30, import_seconds=20)
    assert MODELS["pre-tested"](at) == pytest.approx(60 + MODELS["piped"](at))
    assert MODELS["hdfs"](at) == pytest.approx(50 + MODELS["piped"](at))


def test_general_sum() -> None:
    assert models.general(90, 20, 30, 10) == 150


def test_speedup_is_a_ratio_of_times() -> None:
    assert models.speedup(545, 521) == pytest.approx(1.046, abs=0.0005)


def test_pairs_that_differ_count_with_their_mean() -> None:
    like = Parameters(10_000, Ends(15, 90, 90), (Pair(15, 90, 90),) * 2)
    unlike = Parameters(10_000, Ends(15, 90, 90), (Pair(10, 80, 70), Pair(20, 100, 90)))
    for name in ("basic", "pipelined", "piped", "cut-through"):
        assert MODELS[name](unlike) == pytest.approx(MODELS[name](like))
    assert MODELS["zero-wait"](unlike) < MODELS["zero-wait"](like)


def test_hop_inside_a_datacenter_is_held_by_the_slower_side() -> None:
    wide_ends = Parameters(1000, Ends(10, 300, 200), (Pair(20, 100, 0),))
    assert MODELS["piped"](wide_ends) == pytest.approx(10 + 50 + 10)
    wide_relays = Parameters(1000, Ends(10, 100, 50), (Pair(20, 400, 0),))
    assert MODELS["piped"](wide_relays) == pytest.approx(10 + 50 + 20)


def test_piped_wins_exactly_above_the_threshold() -> None:
    size, pairs, inter = 10_000.0, 4, 15.0
    threshold = models.piped_gain_threshold(size, pairs, inter, 90)
    for factor, wins in ((1.01, True), (0.99, False)):
        at = Parameters.uniform(size, pairs, inter=inter, intra=inter * threshold * factor, spawn_seconds=90)
        assert (MODELS["piped"](at) < MODELS["sequential"](at)) == wins
    assert models.piped_gain_threshold(1_000, 4, inter, 90) == inf


def test_threshold_with_relays_of_another_type_than_the_ends() -> None:
    threshold = models.piped_gain_threshold(50_000, 4, 30, 90, pair_inter=15)
    for factor, wins in ((1.01, True), (0.99, False)):
        pair = Pair(15, 30 * threshold * factor, 90)
        at = Parameters(50_000, Ends(30), (pair,) * 4)
        assert (MODELS["piped"](at) < MODELS["sequential"](at)) == wins


def test_a_leaving_path_stops_carrying() -> None:
    paths = [Serving(10), Serving(10, joins=0, leaves=5)]
    assert zero_wait(100, paths, inf, inf) == 5.0
    assert zero_wait(200, paths, inf, inf) == 15.0


def test_ends_hold_the_rate() -> None:
    assert zero_wait(100, [Serving(50), Serving(50)], 20, 25) == 5.0


def test_nothing_serving_never_ends_and_nothing_to_move_takes_no_time() -> None:
    assert zero_wait(1, [], 10, 10) == inf
    assert zero_wait(1, [Serving(10, joins=0, leaves=0.05)], 10, 10) == inf
    assert zero_wait(0, [Serving(10)], 10, 10) == 0.0
    assert zero_wait(0, [Serving(10, joins=5)], 10, 10) == 0.0


@pytest.mark.parametrize("value", [0.0, -1.0, nan])
@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda value: Parameters(value, Ends(15)), "size"),
        (lambda value: Parameters(1, Ends(15), split=value), "split"),
        (lambda value: Ends(value), r"ends\.inter"),
        (lambda value: Ends(15, source=value), r"ends\.source"),
        (lambda value: Ends(15, destination=value), r"ends\.destination"),
        (lambda value: Pair(value), r"pair\.inter"),
        (lambda value: Pair(15, value), r"pair\.intra"),
        (lambda value: zero_wait(1, [Serving(1)], value, 1), "source"),
        (lambda value: models.piped_gain_threshold(value, 1, 1, 1), "size"),
        (lambda value: models.piped_gain_threshold(1, 1, value, 1), "inter"),
    ],
)
def test_size_or_rate_that_is_not_above_zero_is_refused(build: Any, name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name}: {value}; must be a .*above 0"):
        build(value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Parameters(inf, Ends(15)), "size: inf; must be a finite number of MB above 0"),
        (lambda: Pair(15, 90, -1), r"pair\.spawn_seconds: -1; must be a number of seconds, 0 or more"),
        (lambda: t2_small(100, -1), "pairs: -1; must be a number of pairs, 0 or more"),
        (lambda: MODELS["piped"](t2_small(100, 0)), "pairs: 0; must be a whole number, 1 or more"),
        (lambda: models.piped_gain_threshold(1, 0, 1, 1), "pairs: 0; must be a whole number, 1 or more"),
        (lambda: Serving(-1), "rate: -1; must be a number of MB/s, 0 or more"),
        (lambda: Serving(1, 5, 4), "leaves: 4; must not be before joins, 5 seconds"),
        (lambda: zero_wait(-1, [], 1, 1), "size: -1; must be a number of MB, 0 or more"),
    ],
)
def test_what_cannot_be_is_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


rates = st.floats(0.001, 1e5)
times = st.floats(0, 1e4)
relay_pairs = st.lists(st.builds(Pair, inter=rates, intra=rates, spawn_seconds=times), max_size=8).map(tuple)
any_transfer = st.builds(
    Parameters,
    size=st.floats(1e-3, 1e9),
    ends=st.builds(
        Ends, inter=rates, source=st.one_of(rates, st.just(inf)), destination=st.one_of(rates, st.just(inf))
    ),
    pairs=relay_pairs,
)
schedules = st.lists(
    st.tuples(rates, times, st.one_of(times, st.just(inf))).map(lambda t: Serving(t[0], t[1], max(t[1], t[2]))),
    max_size=6,
)


@given(any_transfer)
def test_zero_wait_is_never_above_sequential(at: Parameters) -> None:
    assert MODELS["zero-wait"](at) <= MODELS["sequential"](at) * (1 + 1e-9)


@given(any_transfer)
def test_zero_wait_is_never_above_cut_through_nor_cut_through_above_piped(at: Parameters) -> None:
    if at.pairs:
        assert MODELS["zero-wait"](at) <= MODELS["cut-through"](at) * (1 + 1e-9)
    like = replace(at, pairs=at.pairs[:1] * len(at.pairs))
    if at.pairs:
        assert MODELS["cut-through"](like) <= MODELS["piped"](like) * (1 + 1e-9)


@given(any_transfer, st.builds(Pair, inter=rates, intra=rates, spawn_seconds=times))
def test_one_pair_more_is_never_slower(at: Parameters, pair: Pair) -> None:
    more = replace(at, pairs=(*at.pairs, pair))
    assert MODELS["zero-wait"](more) <= MODELS["zero-wait"](at) * (1 + 1e-9)


@given(size=st.floats(1, 1e9), pairs=st.integers(1, 63), inter=rates, intra=rates, spawn=times, split=rates)
def test_one_like_pair_more_is_never_slower_in_any_model(
    size: float, pairs: int, inter: float, intra: float, spawn: float, split: float
) -> None:
    fewer, more = (
        Parameters.uniform(size, p, inter=inter, intra=intra, spawn_seconds=spawn, split=split)
        for p in (pairs, pairs + 1)
    )
    for model in MODELS.values():
        assert model(more) <= model(fewer) * (1 + 1e-9)


@given(st.floats(0.1, 1e6), schedules.flatmap(lambda paths: st.tuples(st.just(paths), st.permutations(paths))), rates)
def test_order_of_the_paths_does_not_matter(
    size: float, paths: tuple[list[Serving], list[Serving]], source: float
) -> None:
    one, other = (zero_wait(size, order, source, inf) for order in paths)
    assert one == other


@given(size=st.floats(0.1, 1e6), direct=rates, relays=schedules, source=rates, destination=rates)
def test_relays_that_come_and_go_never_slow_the_direct_path(
    size: float, direct: float, relays: list[Serving], source: float, destination: float
) -> None:
    alone = zero_wait(size, [Serving(direct)], source, destination)
    assert zero_wait(size, [Serving(direct), *relays], source, destination) <= alone * (1 + 1e-9)


@given(size=st.floats(0.1, 1e5), direct=rates, relays=schedules, source=rates, destination=rates)
def test_integral_of_the_rate_up_to_the_end_is_the_size(
    size: float, direct: float, relays: list[Serving], source: float, destination: float
) -> None:
    paths = [Serving(direct), *relays]
    end = zero_wait(size, paths, source, destination)
    changes = {t for p in paths for t in (p.joins, p.leaves) if 0 < t < end}
    steps = [0.0, *sorted(changes), end]
    moved = sum(rate_at(a, paths, source, destination) * (b - a) for a, b in pairwise(steps))
    assert moved == pytest.approx(size, rel=1e-6)
