"""What the dissertation prints of Figures 6.5 to 6.9: what holds with the fitted parameters, what holds with none.

Names that begin with `test_text_` hold the text to be wrong: `docs/models.md` lists them.
"""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.figures.hdfs import CLUSTERS, DISTCP, DISTCP_OF_MORE, FITTED, MAPS_OF_MORE, pairs_to_match
from bench.figures.hdfs_outcomes import outcomes, pairs_before_the_step
from bench.figures.published import M4_LARGE_INTRA, T2_MICRO_PAIR
from bench.results import Result
from lambdas.core.models.distcp import Clusters, DistCp, fewest_pairs
from lambdas.core.models.models import Ends, Pair

FILE_MB = 512.0
OUTCOMES = outcomes()
CANNOT = {outcome.case: outcome for outcome in OUTCOMES if outcome.bar is None}

inters = st.floats(1, 50)
# A name node holds no blocks, so what it exports and imports comes and goes by its network.
stagings = st.floats(1, M4_LARGE_INTRA)
distcps = st.builds(DistCp, st.floats(0, 300), st.floats(0.1, 50), st.just(7))


def clusters(inter: float, exporting: float = 60.0, importing: float = 60.0) -> Clusters:
    ends = Ends(inter, M4_LARGE_INTRA, M4_LARGE_INTRA)
    return Clusters(ends, (Pair(inter, M4_LARGE_INTRA),) * 2, exporting, importing)


def staged(between: Clusters, files: int, pairs: int = 0, pair: Pair = T2_MICRO_PAIR) -> float:
    return between.staged(files * FILE_MB, (pair,) * pairs).seconds


@pytest.mark.parametrize("outcome", [one for one in OUTCOMES if one.bar is not None], ids=lambda one: one.case)
def test_printed_outcome_holds(outcome: Result) -> None:
    assert outcome.holds, outcome


def test_every_outcome_that_has_no_bar_says_what_is_printed() -> None:
    assert len(CANNOT) == 4
    assert all(outcome.note.startswith("printed: ") for outcome in CANNOT.values())


def test_6_9_two_pairs_match_distcp_with_eight_files() -> None:
    assert pairs_to_match(8, DISTCP_OF_MORE) == 2


def test_6_9_more_files_need_more_pairs_until_distcp_steps() -> None:
    found = list(pairs_before_the_step().values())
    assert found == sorted(found)
    assert pairs_to_match(MAPS_OF_MORE + 1, DISTCP_OF_MORE) == 2 < found[-1]


def test_15_maps_with_two_workers_more_would_change_nothing_that_is_printed() -> None:
    # 7 may be two workers with four tasks each, less the job's own: then four have 15.
    other = DistCp(DISTCP_OF_MORE.start_seconds, DISTCP_OF_MORE.map_mb_per_second, 15)
    for files in (2, 4, 8, 12, 16):
        assert other.seconds(files, FILE_MB) == DISTCP_OF_MORE.seconds(files, FILE_MB)


@given(inters, stagings, stagings)
def test_6_8_binds_the_rate_of_m4_large(inter: float, exporting: float, importing: float) -> None:
    """Nothing is launched for 4 files and two pairs of either type for 8: v_e is from 7.8 to 12.3 MB/s."""
    between, wide = clusters(inter, exporting, importing), Pair(inter, M4_LARGE_INTRA, 83)
    pays = {
        files: [staged(between, files, 2, pair) < staged(between, files) for pair in (wide, T2_MICRO_PAIR)]
        for files in (4, 8)
    }
    assume(abs(inter - 7.79) > 0.02 and abs(inter - 12.34) > 0.02)
    assert (not any(pays[4]) and all(pays[8])) == (7.79 < inter < 12.34)


@given(inters, stagings, stagings, distcps)
def test_text_of_6_6_staged_cannot_equal_distcp_with_two_files_and_beat_it_with_seven(
    inter: float, exporting: float, importing: float, distcp: DistCp
) -> None:
    between = clusters(inter, exporting, importing)
    two, seven = staged(between, 2), staged(between, 7)
    assert seven == pytest.approx(3.5 * two)
    if seven <= distcp.seconds(7, FILE_MB):
        assert distcp.seconds(2, FILE_MB) >= 3.5 * two * (1 - 1e-9)


@given(inters, stagings, stagings)
def test_text_of_6_7_share_of_export_and_import_does_not_grow_with_the_files(
    inter: float, exporting: float, importing: float
) -> None:
    between = clusters(inter, exporting, importing)
    shares = [between.staged(files * FILE_MB).staging_share for files in (2, 12)]
    assert shares[0] == pytest.approx(shares[1])


@given(inters, stagings, stagings, distcps)
def test_text_of_6_9_two_pairs_for_eight_files_are_not_for_the_distcp_of_6_5(
    inter: float, exporting: float, importing: float, distcp: DistCp
) -> None:
    """6.5: no slower without pairs. So the smallest p is 0, with any parameters."""
    between = clusters(inter, exporting, importing)
    assume(staged(between, 8) <= distcp.seconds(8, FILE_MB))
    assert fewest_pairs(distcp.seconds(8, FILE_MB), lambda pairs: staged(between, 8, pairs)) == 0


@given(st.floats(7.79, 50), stagings, stagings, st.floats(0, 1))
def test_text_of_6_9_ten_pairs_do_not_last_until_distcp_steps(
    inter: float, exporting: float, importing: float, place: float
) -> None:
    """Where one pair is too slow for 8 files and two are not, ten are too slow for 14, and DistCp is as fast."""
    between = clusters(inter, exporting, importing)
    one, two = (staged(between, 8, pairs) for pairs in (1, 2))
    bound = two + place * (one - two)
    assume(two <= bound < one)
    assert fewest_pairs(bound, lambda pairs: staged(between, 14, pairs)) is None


@pytest.mark.parametrize(("staging", "pairs"), [(580, None), (600, 10)])
def test_6_9_ten_pairs_would_last_only_with_eight_times_the_network_for_staging(
    staging: float, pairs: int | None
) -> None:
    """At the least v_e that 6.8 allows, and with the slowest DistCp that one pair does not match for 8 files."""
    between = clusters(7.8, staging, staging)
    bound = staged(between, 8, 1) - 1e-6
    assert fewest_pairs(bound, lambda count: staged(between, 14, count)) == pairs


def test_fitted_parameters_are_those_that_are_drawn() -> None:
    assert "v_e = 11 MB/s" in FITTED
    assert CLUSTERS.ends.inter == 11
    assert (CLUSTERS.export_mb_per_second, CLUSTERS.import_mb_per_second) == (60, 60)
    assert (DISTCP.map_mb_per_second, DISTCP.start_seconds, DISTCP_OF_MORE.maps) == (1.55, 100, 14)


def test_6_9_each_further_pair_saves_less() -> None:
    times = [staged(CLUSTERS, 8, pairs) for pairs in range(1, 11)]
    saved = [more - less for more, less in pairwise(times)]
    assert saved == sorted(saved, reverse=True)


def all_that_can_hold(inter: float = 11.0, staging: float = 60.0, rate: float = 1.55, start: float = 100.0) -> bool:
    """All outcomes with a bar, with parameters of their own."""
    between, wide = clusters(inter, staging, staging), Pair(inter, M4_LARGE_INTRA, 83)
    base, more = (DistCp(start, rate, maps) for maps in (7, MAPS_OF_MORE))

    def two(files: int, pair: Pair) -> float:
        return min(staged(between, files), staged(between, files, 2, pair))

    def saves(files: int, pair: Pair) -> bool:
        return two(files, pair) < staged(between, files)

    return (
        all(staged(between, files) <= base.seconds(files, FILE_MB) for files in range(1, 17))
        and all(staged(between, files) <= base.seconds(2 * files, FILE_MB / 2) for files in range(1, 17))
        and base.seconds(8, FILE_MB) >= 1.5 * base.seconds(7, FILE_MB)
        and not any(saves(files, pair) for files in (2, 4) for pair in (wide, T2_MICRO_PAIR))
        and all(saves(files, pair) for files in (8, 12, 16) for pair in (wide, T2_MICRO_PAIR))
        and two(8, T2_MICRO_PAIR) <= 1.05 * two(8, wide)
        and min(two(12, T2_MICRO_PAIR), two(12, wide)) >= more.seconds(12, FILE_MB)
        and abs(two(16, T2_MICRO_PAIR) / more.seconds(16, FILE_MB) - 1) <= 0.1
        and two(16, wide) >= more.seconds(16, FILE_MB)
        and fewest_pairs(more.seconds(8, FILE_MB), lambda pairs: staged(between, 8, pairs)) == 2
    )


@pytest.mark.parametrize(
    "parameters",
    [(11.0, 60.0, 1.55, 100.0), (9.5, 31.5, 1.06, 68.4), (12.2, 70.2, 1.66, 84.2), (11.6, 31.0, 1.22, 130.8)],
)
def test_all_that_can_hold_does_with_parameters_that_are_far_apart(
    parameters: tuple[float, float, float, float],
) -> None:
    assert all_that_can_hold(*parameters)


@pytest.mark.parametrize("factor", [0.95, 1.05])
@pytest.mark.parametrize("moved", range(4))
def test_no_fitted_parameter_can_move_by_5_percent_alone(moved: int, factor: float) -> None:
    parameters = [11.0, 60.0, 1.55, 100.0]
    parameters[moved] *= factor
    assert not all_that_can_hold(*parameters)
