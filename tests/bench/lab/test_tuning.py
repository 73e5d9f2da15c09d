"""RCD, PCP, MC and Globus' settings, on sizes whose outcome was worked out by hand."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.lab.tuning import CHANNELS, MOST_PIPELINING, Growing, Setting, globus, mc, pcp, rcd

MB = 1_000_000
SIZES = st.lists(st.integers(1, 500 * MB), min_size=1, max_size=200)


def test_rcd_divides_at_the_mean_until_pipelining_stays() -> None:
    # BDP 8 MB: all have mean 2.5 and pipelining 4; {1, 1} wants 8, {4, 4} wants 2. Both are short.
    [first, second] = rcd([4 * MB, MB, 4 * MB, MB], 8 * MB, min_chunk=4 * MB)
    assert (first.sizes, first.setting.pipelining) == ((MB, MB), 4)
    assert (second.sizes, second.setting.pipelining) == ((4 * MB, 4 * MB), 4)


def test_rcd_divides_no_chunk_that_is_short() -> None:
    [only] = rcd([4 * MB, MB, 4 * MB, MB], 8 * MB, min_chunk=5 * MB)
    assert only.setting == Setting(4)


def test_rcd_at_the_root_never_pipelines_more_than_it_may() -> None:
    [only] = rcd([1000] * 50, 100 * MB)
    assert only.setting.pipelining == MOST_PIPELINING


@given(SIZES, st.integers(1, 100 * MB))
def test_rcd_keeps_every_file_once_in_the_order_of_size(sizes: list[int], bdp: int) -> None:
    chunks = rcd(sizes, bdp, min_chunk=bdp)
    assert [size for chunk in chunks for size in chunk.sizes] == sorted(sizes)
    assert all(1 <= chunk.setting.pipelining <= MOST_PIPELINING for chunk in chunks)


def test_pcp_doubles_concurrency_of_small_files_while_the_rate_grows_and_keeps_the_best() -> None:
    [phase] = pcp([MB] * 100, 8 * MB)
    state, seen = phase.begins, []
    for rate in (10.0, 19.0, 30.0, 30.5, 30.5):
        seen.append(state.setting.concurrency)
        state = state.after(rate)
    assert seen == [1, 2, 4, 8, 4]
    assert state.setting == Setting(1, 1, 4)


def test_pcp_takes_parallelism_before_concurrency_for_files_beyond_a_bdp() -> None:
    [phase] = pcp([100 * MB] * 4, 8 * MB)
    state, seen = phase.begins, []
    for rate in (10.0, 20.0, 20.0, 30.0, 30.0):
        seen.append((state.setting.parallelism, state.setting.concurrency))
        state = state.after(rate)
    assert seen == [(1, 1), (2, 1), (4, 1), (2, 2), (2, 4)]
    assert (state.setting.parallelism, state.setting.concurrency) == (2, 2)


def test_growing_stops_at_the_most() -> None:
    state = Growing(Setting(1), ("concurrency",))
    for number in range(1, 20):
        state = state.after(100.0 * number**3)
    assert state.setting.concurrency == CHANNELS


@given(SIZES, st.integers(1, 100 * MB))
def test_mc_gives_all_channels_and_one_at_least_to_each_class(sizes: list[int], bdp: int) -> None:
    classes = mc(sizes, bdp, buffer=4 * MB)
    assert sum(one.setting.concurrency for one in classes) == CHANNELS
    assert all(one.setting.concurrency >= 1 for one in classes)
    assert sorted(size for one in classes for size in one.sizes) == sorted(sizes)
    assert all(one.sizes[-1] <= other.sizes[0] for one, other in pairwise(classes))


@pytest.mark.parametrize(
    ("sizes", "setting"),
    [
        ([4 * MB] * 101, Setting(20, 2, 2)),
        ([300 * MB] * 5, Setting(5, 8, 2)),
        ([60 * MB] * 101, Setting(10, 4, 2)),
        ([MB], Setting(10, 4, 2)),
    ],
)
def test_globus_chooses_by_number_and_mean(sizes: list[int], setting: Setting) -> None:
    assert globus(sizes) == setting
