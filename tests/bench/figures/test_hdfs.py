"""The series of Figures 6.5 to 6.9."""

from itertools import pairwise
from pathlib import Path

import pytest

from bench.figures.hdfs import (
    CLUSTERS,
    DISTCP,
    FITTED,
    GIVEN,
    M4_LARGE_PAIR,
    added_usd,
    distcp_with_added,
    hdfs_figures,
    pairs_to_match,
    with_added,
)
from bench.figures.published import M4_LARGE_HOUR, T2_MICRO_HOUR, T2_MICRO_PAIR
from bench.plots import Curve, Plot

DOCS = (Path(__file__).parents[3] / "docs" / "models.md").read_text()
PLOTS = {plot.number: plot for plot in hdfs_figures()}


def curves(number: str, panel: int) -> dict[str, Curve]:
    return {curve.label: curve for curve in PLOTS[number].panels[panel].curves}


def test_figures_are_all_there() -> None:
    assert list(PLOTS) == ["6.5", "6.6", "6.7", "6.8", "6.9"]


@pytest.mark.parametrize("plot", PLOTS.values(), ids=list(PLOTS))
def test_every_curve_has_a_value_per_place_and_a_label_of_its_own(plot: Plot) -> None:
    for panel in plot.panels:
        assert all(len(curve.x) == len(curve.y) for curve in panel.curves)
        assert len({curve.label for curve in panel.curves}) == len(panel.curves)


def test_docs_name_what_is_given_and_what_is_fitted() -> None:
    assert f"{GIVEN};" in DOCS
    assert f"{FITTED}." in DOCS


def test_6_5_has_both_sizes_of_files_over_the_same_total() -> None:
    large, small = (curves("6.5", panel) for panel in (0, 1))
    assert (len(large["DistCp"].x), len(small["DistCp"].x)) == (16, 32)
    assert large["DistCp"].x[-1] == small["DistCp"].x[-1] == pytest.approx(8.192)
    assert large["staged"].y[-1] == pytest.approx(small["staged"].y[-1])
    # 8192 MB: twice 60, twice 74.125 and 22 MB/s.
    assert large["staged"].y[-1] == pytest.approx(8192 * (2 / 60 + 2 / 74.125 + 1 / 22))
    assert large["staged, zero wait"].y[-1] == pytest.approx(8192 * (2 / 60 + 1 / 33))
    assert large["CPT"].y[-1] == pytest.approx(8192 / 22)


@pytest.mark.parametrize(("number", "files"), [("6.6", 2), ("6.7", 12)])
def test_timeline_is_the_stages_one_after_the_other(number: str, files: int) -> None:
    bars = curves(number, 0)
    stages = CLUSTERS.staged(files * 512)
    assert bars["export"].x == (0, stages.export_seconds)
    assert bars["export"].x[1] == bars["transfer"].x[0]
    assert bars["transfer"].x[1] == bars["import"].x[0]
    assert bars["import"].x[1] == stages.seconds
    assert bars["DistCp"].x == (0, DISTCP.seconds(files, 512))


def test_6_8_adds_nodes_to_distcp_only_where_they_save_a_round() -> None:
    for files in (2, 4, 7):
        assert distcp_with_added(files) == (DISTCP.seconds(files, 512), 0.0)
    seconds, usd = distcp_with_added(8)
    assert seconds == DISTCP.seconds(7, 512)
    # Four machines for 431 started seconds.
    assert usd == pytest.approx(4 * 431 / 3600 * 0.1)


def test_6_8_counts_2p_instances_for_the_whole_time_and_nothing_where_nothing_is_launched() -> None:
    assert added_usd(4, T2_MICRO_PAIR, T2_MICRO_HOUR) == added_usd(4, M4_LARGE_PAIR, M4_LARGE_HOUR) == 0
    seconds, pairs = with_added(8, T2_MICRO_PAIR)
    assert pairs == 2
    assert seconds == pytest.approx(83 + 4096 * (2 / 60 + 2 / 74.125 + 1 / (22 + 26.75)))
    assert added_usd(8, T2_MICRO_PAIR, T2_MICRO_HOUR) == pytest.approx(4 * 415 / 3600 * 0.0116)


def test_6_9_has_a_gap_where_ten_pairs_are_not_enough() -> None:
    numbers, times = curves("6.9", 0)["staged, against M = 14"], curves("6.9", 1)["staged, against M = 14"]
    found = dict(zip(numbers.x, numbers.y, strict=True))
    assert [found[files] for files in range(1, 16)] == [0] * 7 + [2, 4, 9] + [None] * 4 + [2]
    assert [one is None for one in numbers.y] == [one is None for one in times.y]
    bound = curves("6.9", 1)["DistCp, M = 14"].y
    assert all(taken <= most for taken, most in zip(times.y, bound, strict=True) if taken is not None and most)


def test_6_9_never_needs_a_pair_without_staging() -> None:
    assert {pairs_to_match(files, DISTCP, CLUSTERS.streamed) for files in range(1, 22)} == {0}


def test_6_5_staged_line_is_straight() -> None:
    line = curves("6.5", 0)["staged"].y
    steps = [after - before for before, after in pairwise(one for one in line if one is not None)]
    assert steps == pytest.approx([steps[0]] * len(steps))
