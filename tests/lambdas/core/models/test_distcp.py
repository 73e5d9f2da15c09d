"""DistCp's steps, the staged mode by Equation 5.1, and the smallest number of pairs that keeps up."""

from dataclasses import replace
from itertools import pairwise
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.models.distcp import Clusters, DistCp, Stages, fewest_pairs, launched_if_faster
from lambdas.core.models.models import Ends, Pair, Parameters, hdfs

DISTCP = DistCp(start_seconds=30, map_mb_per_second=4, maps=7)
WORKER = Pair(inter=10, intra=50)
LAUNCHED = Pair(inter=15, intra=90, spawn_seconds=80)
CLUSTERS = Clusters(Ends(10, 50, 50), (WORKER, WORKER), export_mb_per_second=40, import_mb_per_second=20)

sizes = st.floats(1, 1e6)
rates = st.floats(0.1, 1e3)
pairs_launched = st.lists(st.builds(Pair, inter=rates, intra=rates, spawn_seconds=st.floats(0, 300)), max_size=4)


@pytest.mark.parametrize(("files", "rounds"), [(1, 1), (7, 1), (8, 2), (14, 2), (15, 3), (21, 3), (22, 4)])
def test_distcp_takes_a_round_for_each_m_files(files: int, rounds: int) -> None:
    assert DISTCP.seconds(files, 512) == pytest.approx(30 + rounds * 128)


@given(st.integers(1, 500), st.integers(1, 50), rates)
def test_distcp_steps_after_each_multiple_of_m_and_nowhere_else(files: int, maps: int, file_mb: float) -> None:
    distcp = DistCp(10, 2, maps)
    step = distcp.seconds(files + 1, file_mb) - distcp.seconds(files, file_mb)
    assert step == pytest.approx(file_mb / 2 if files % maps == 0 else 0, abs=1e-6)


def test_staged_is_export_store_and_forward_and_import() -> None:
    # 1000 MB: 25 s, 20 s to the relays, 1000 / (2 · 10) between the regions, 20 s from the relays, 50 s.
    stages = CLUSTERS.staged(1000)
    assert stages == Stages(25, 90, 50)
    assert stages.seconds == 165
    assert stages.staging_share == pytest.approx(75 / 165)


def test_staged_with_launched_pairs_counts_t_v_and_all_external_rates() -> None:
    stages = CLUSTERS.staged(1000, [LAUNCHED] * 2)
    assert stages.transfer_seconds == pytest.approx(80 + 40 + 1000 / (2 * 10 + 2 * 15))


@given(sizes, pairs_launched)
def test_staged_is_equation_5_1_of_the_models(size: float, launched: list[Pair]) -> None:
    relays = (*CLUSTERS.workers, *launched)
    known = Parameters(size, CLUSTERS.ends, relays, export_seconds=size / 40, import_seconds=size / 20)
    assert CLUSTERS.staged(size, launched).seconds == pytest.approx(hdfs(known))


def test_zero_wait_in_the_middle_lets_pairs_boot_during_the_export() -> None:
    # The export of 1000 MB takes 25 s, so a pair with a T_v of 30 s joins the three paths of 10 MB/s after 5 s.
    stages = CLUSTERS.staged(1000, [replace(LAUNCHED, spawn_seconds=30)], "zero-wait")
    assert stages.transfer_seconds == pytest.approx(5 + (1000 - 5 * 30) / 45)
    early = CLUSTERS.staged(1000, [replace(LAUNCHED, spawn_seconds=20)], "zero-wait")
    assert early.transfer_seconds == pytest.approx(1000 / 45)


def test_zero_wait_in_the_middle_is_held_by_the_name_nodes() -> None:
    stages = CLUSTERS.staged(1000, [replace(LAUNCHED, spawn_seconds=0)] * 5, "zero-wait")
    assert stages.transfer_seconds == pytest.approx(1000 / 50)


@given(sizes, pairs_launched)
def test_zero_wait_is_never_behind_store_and_forward(size: float, launched: list[Pair]) -> None:
    staged = CLUSTERS.staged(size, launched).seconds
    zero_wait = CLUSTERS.staged(size, launched, "zero-wait").seconds
    assert zero_wait <= staged * (1 + 1e-9)


def test_streamed_has_no_stages_and_is_held_by_what_the_workers_move() -> None:
    assert CLUSTERS.streamed(1000) == pytest.approx(1000 / 20)
    # 80 s with the workers alone.
    assert CLUSTERS.streamed(2000, [LAUNCHED]) == pytest.approx(80 + (2000 - 80 * 20) / 35)
    assert CLUSTERS.streamed(1000, [replace(LAUNCHED, spawn_seconds=0)] * 9) == pytest.approx(1000 / 100)


@pytest.mark.parametrize(("size", "count"), [(1000, 0), (10_000, 2)])
def test_pairs_are_launched_only_where_the_forecast_is_shorter(size: float, count: int) -> None:
    pairs = [LAUNCHED] * 2
    launched = launched_if_faster(pairs, lambda relays: CLUSTERS.staged(size, relays).seconds)
    assert launched == tuple(pairs[:count])


def test_pairs_that_change_nothing_are_not_launched() -> None:
    assert launched_if_faster([LAUNCHED], lambda _: 7.0) == ()


def test_fewest_pairs_is_the_first_that_is_no_slower() -> None:
    times = [100.0, 120.0, 90.0, 80.0]
    assert [fewest_pairs(most, times.__getitem__, 3) for most in (100, 99, 90, 80, 79)] == [0, 2, 2, 3, None]
    assert fewest_pairs(90, times.__getitem__, most_pairs=1) is None


@given(st.integers(1, 30), st.integers(0, 12))
def test_fewest_pairs_keeps_up_with_distcp_and_one_less_does_not(files: int, most: int) -> None:
    bound = DISTCP.seconds(files, 512)

    def seconds(pairs: int) -> float:
        return CLUSTERS.staged(files * 512, [LAUNCHED] * pairs).seconds

    found = fewest_pairs(bound, seconds, most)
    slower = range(most + 1 if found is None else found)
    assert all(seconds(pairs) > bound for pairs in slower)
    assert found is None or seconds(found) <= bound


def test_each_further_pair_saves_less() -> None:
    times = [CLUSTERS.staged(8000, [LAUNCHED] * pairs).seconds for pairs in range(1, 12)]
    saved = [more - less for more, less in pairwise(times)]
    assert all(earlier > later > 0 for earlier, later in pairwise(saved))


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        (lambda: DistCp(-1, 4, 7), "start_seconds"),
        (lambda: DistCp(0, 0, 7), "map_mb_per_second"),
        (lambda: DistCp(0, inf, 7), "map_mb_per_second"),
        (lambda: DistCp(0, 4, 0), "maps"),
        (lambda: DISTCP.seconds(0, 512), "files"),
        (lambda: DISTCP.seconds(1, nan), "file_mb"),
        (lambda: replace(CLUSTERS, workers=()), "workers"),
        (lambda: replace(CLUSTERS, workers=(LAUNCHED,)), "workers"),
        (lambda: replace(CLUSTERS, export_mb_per_second=0), "export_mb_per_second"),
        (lambda: replace(CLUSTERS, import_mb_per_second=-1), "import_mb_per_second"),
        (lambda: CLUSTERS.staged(0), "size"),
        (lambda: CLUSTERS.streamed(-1), "size"),
        (lambda: fewest_pairs(nan, lambda _: 1.0), "at_most_seconds"),
        (lambda: fewest_pairs(1.0, lambda _: 1.0, -1), "most_pairs"),
    ],
)
def test_what_cannot_be_is_refused_by_name(wrong: object, names: str) -> None:
    assert callable(wrong)
    with pytest.raises(ValueError, match=names):
        wrong()
