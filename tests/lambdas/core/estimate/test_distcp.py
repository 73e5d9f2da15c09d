"""DistCp's time in an estimate: what it follows from, who says so, and the fewest pairs that keep up."""

import pytest

from lambdas.core.estimate import distcp
from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.pair_choice import choose
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.profile import Profile
from lambdas.core.estimate.rows import Row, build_rows
from lambdas.core.models.distcp import Clusters, fewest_pairs
from lambdas.core.models.models import Ends, Pair
from lambdas.core.request.distcp_request import DistCpRequest
from lambdas.core.request.request import Objective
from tests.lambdas.builders import figure, figures

MB, GB = 10**6, 10**9
GIVEN = DistCpRequest(maps=7, map_rate=4, start_seconds=30)
PAIRS = Objective(minimise="pairs")
SHOWN = Profile(configured={"direct": 42.0})


def against(seconds: float, **changes: float) -> Figures:
    return figures(**changes).model_copy(update={"distcp": figure(seconds)})


def chosen(found: Figures, objective: Objective = PAIRS, size: int = 20 * GB) -> tuple[int, str]:
    return choose(build_rows(size, 8, found), "auto", objective, found)


@pytest.mark.parametrize(("files", "rounds"), [(1, 1), (7, 1), (8, 2), (14, 2), (15, 3)])
def test_time_steps_after_each_round_of_map_tasks(files: int, rounds: int) -> None:
    found = distcp.figures(GIVEN, files, files * 512 * MB, 2, None)
    assert found["distcp"].value == pytest.approx(30 + rounds * 128)
    assert f"in {rounds} round" in found["distcp"].note


def test_what_the_request_gives_is_said_to_be_its() -> None:
    found = distcp.figures(GIVEN, 12, 12 * 512 * MB, 2, SHOWN)
    assert {name: (one.value, one.origin, one.note) for name, one in found.items()} == {
        "distcp": (286.0, "configured", "12 files of 512 MB in 2 rounds of 7 map tasks"),
        "distcp_maps": (7, "configured", "$.distcp.maps"),
        "distcp_map_rate": (4, "configured", "$.distcp.mapMBps"),
        "distcp_start": (30, "configured", "$.distcp.startSeconds"),
    }


def test_what_nobody_gives_is_the_dissertations_and_said_to_be_fitted_where_it_is() -> None:
    found = distcp.figures(None, 8, 8 * 512 * MB, 2, None)
    assert [found[name].value for name in distcp.FIELDS[1:]] == [7, 1.55, 100]
    assert [found[name].origin for name in distcp.FIELDS] == ["assumed", "published", "assumed", "assumed"]
    assert "fitted to Figures 6.5 to 6.9" in found["distcp_start"].note
    assert found["distcp"].value == pytest.approx(100 + 2 * 512 / 1.55, abs=0.001)


@pytest.mark.parametrize(("files", "workers", "sharing"), [(1, 2, 2), (3, 2, 3), (7, 2, 7), (30, 2, 7), (30, 9, 9)])
def test_a_map_task_shares_what_the_workers_paths_have_carried(files: int, workers: int, sharing: int) -> None:
    found = distcp.figures(None, files, files * GB, workers, SHOWN)["distcp_map_rate"]
    assert found.value == pytest.approx(42.0 / sharing)
    assert found.origin == "configured"
    assert found.note == f"42 MB/s of the workers' own paths, shared by {sharing}"


def test_what_earlier_transfers_measured_is_said_to_be_measured() -> None:
    shown = Profile().refined("direct", 42.0, 1000.0)
    found = distcp.figures(DistCpRequest(start_seconds=5), 7, 7 * GB, 2, shown)
    assert (found["distcp_map_rate"].origin, found["distcp"].origin) == ("measured", "published")
    assert found["distcp_map_rate"].value == pytest.approx(6.0)


def test_rows_are_zero_wait_of_the_workers_and_with_pairs_from_t_v_on() -> None:
    # Two workers at each end, as `several` sums them: 2 · 10 MB/s between the regions, 2 · 80 inside each.
    worker, launched = Pair(inter=10.0, intra=80.0), Pair(inter=20.0, intra=160.0, spawn_seconds=5.0)
    clusters = Clusters(Ends(10.0, 80.0, 80.0), (worker, worker))
    for row in build_rows(20 * GB, 8, figures()):
        assert row.seconds == pytest.approx(clusters.streamed(20_000, [launched] * row.pairs), abs=0.001)


@pytest.mark.parametrize("most", [1100.0, 600.0, 400.0, 250.0, 180.0])
def test_the_fewest_pairs_are_those_of_figure_6_9(most: float) -> None:
    found = against(most)
    rows = build_rows(20 * GB, 8, found)
    pairs, reason = chosen(found)
    expected = fewest_pairs(most, lambda count: rows[count].seconds, 8)
    assert expected is not None
    assert pairs == expected
    assert "DistCp" in reason


def test_the_reason_has_both_times() -> None:
    assert chosen(against(400.0)) == (
        2,
        "2 pairs are the fewest that take at most as long as DistCp: 5 min 37 s, and DistCp takes 6 min 40 s",
    )
    assert chosen(against(1000.0)) == (0, "no pair is needed: 16 min 40 s without, and DistCp takes 16 min 40 s")


def test_where_none_keeps_up_the_fastest_within_the_budget_is_taken() -> None:
    rows = build_rows(20 * GB, 8, against(1.0))
    pairs, reason = chosen(against(1.0))
    assert rows[pairs].seconds == min(row.seconds for row in rows)
    assert reason.startswith("none takes at most as long as DistCp, 1.0 s; 7 pairs take the least time, ")
    most = needed(rows[3], against(1.0))
    pairs, reason = chosen(against(1.0), Objective(minimise="pairs", max_cost_usd=most))
    assert pairs == 3
    assert reason.endswith(f", within {most} dollars")


def test_a_row_is_compared_from_start_to_report_where_that_is_known() -> None:
    row = Row(pairs=1, seconds=90.0, whole_seconds=120.0, speedup=2.0, cost_usd=0.1, limit="x")
    assert preference(row, PAIRS, against(110.0)) == (10.0, 1)
    assert preference(row.model_copy(update={"whole_seconds": None}), PAIRS, against(110.0)) == (0.0, 1)


def test_what_is_left_has_what_is_left_of_distcps_time() -> None:
    left = distcp.after(against(100.0), 30.0)
    assert distcp.most_seconds(left) == 70.0
    assert distcp.most_seconds(distcp.after(left, 500.0)) == 0.0
    assert distcp.after(figures(), 5.0) == figures()


def test_a_note_says_how_many_pairs_keep_up_whatever_is_chosen() -> None:
    found = against(400.0)
    (told,) = distcp.note(build_rows(20 * GB, 8, found), found)
    assert told.startswith("DistCp would take 6 min 40 s, ")
    assert told.endswith("; 2 pairs are the fewest that take at most as long")
    assert distcp.note(build_rows(20 * GB, 8, figures()), figures()) == []
    (none,) = distcp.note(build_rows(20 * GB, 8, against(1.0)), against(1.0))
    assert none.endswith("; no row takes at most as long")
