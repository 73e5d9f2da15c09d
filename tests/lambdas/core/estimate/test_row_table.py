"""Which numbers of pairs have a row, and which of them is chosen where there may be many."""

from typing import Any

import pytest

from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.estimate import Estimate, estimate
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.row_counts import between, coarse
from lambdas.core.estimate.rows import build_rows
from lambdas.core.request.request import Objective
from tests.lambdas.builders import figure
from tests.lambdas.core.estimate.test_estimate import GB, ends, offer

FAST = Objective(minimise="time")


def run(size: int = 1000 * GB, rate: float = 15.0, full: float = 1000.0, **changes: Any) -> Estimate:
    """Direct path and pairs of `rate` MB/s between machines that move `full` MB/s, relays after 90 s."""
    options: dict[str, Any] = {
        "requested": "auto",
        "pre_test": False,
        "objective": Objective(),
        "most_pairs": 16,
        "pre_test_seconds": 10.0,
        "notes": [],
    }
    relays = [offer("t3.small", rate, 0.023, spawn=figure(90.0))]
    return estimate(size, ends(source=full, destination=full, direct=rate), relays, **{**options, **changes})


def pairs_of(found: Estimate) -> list[int]:
    return [row.pairs for row in found.rows]


def test_rows_double_beyond_eight_up_to_what_the_deployment_allows() -> None:
    assert coarse(3) == [0, 1, 2, 3]
    assert coarse(64) == [*range(9), 16, 32, 64]
    assert coarse(40) == [*range(9), 16, 32, 40]
    assert between(16, coarse(64)) == [*range(9, 16), *range(17, 32)]
    assert between(4, coarse(64)) == []


def test_sixteen_pairs_are_taken_where_eight_leave_the_ends_half_empty() -> None:
    found = run(objective=FAST)
    assert (found.chosen_pairs, pairs_of(found)) == (16, [*range(9), 15, 16])
    assert found.chosen.seconds < 0.55 * found.row(8).seconds
    (note,) = found.notes
    assert note == "the last row is the best one: this deployment allows 16 pairs (maxPairs), and more may be better"


def test_the_best_number_between_two_rows_is_found_and_its_neighbours_are_shown() -> None:
    # 26 pairs and the direct path fill ends of 405 MB/s.
    found = run(full=405.0, most_pairs=64, objective=FAST)
    assert (found.chosen_pairs, found.notes) == (26, [])
    assert pairs_of(found) == [*range(9), 16, 25, 26, 27, 32]
    every = build_rows(1000 * GB, 64, found.figures)
    for objective in (FAST, Objective(), Objective(value_of_time_usd_per_hour=0.1), Objective(minimise="cost")):
        best = min(every, key=lambda row: preference(row, objective, found.figures))
        assert run(full=405.0, most_pairs=64, objective=objective).chosen_pairs == best.pairs


def test_ends_that_eight_pairs_fill_get_no_further_rows() -> None:
    assert pairs_of(run(full=120.0, most_pairs=64, objective=FAST)) == [*range(9)]


def test_ends_of_which_more_may_come_get_rows_for_that() -> None:
    wide = figure(120.0).model_copy(update={"high": 1000.0})
    using = ends(direct=15.0).model_copy(update={"source": wide, "destination": wide})
    relays = [offer("t3.small", 15.0, 0.023, spawn=figure(90.0))]
    found = estimate(
        1000 * GB, using, relays, requested="auto", pre_test=False, objective=FAST, most_pairs=64,
        pre_test_seconds=10.0, notes=[],
    )  # fmt: skip
    assert found.chosen_pairs == 7
    assert pairs_of(found)[-1] == 64


def test_a_quota_is_the_last_row() -> None:
    relays = [offer("t3.small", 15.0, 0.023, spawn=figure(90.0), most_pairs=12)]
    found = estimate(
        1000 * GB, ends(source=1000.0, destination=1000.0, direct=15.0), relays, requested="auto", pre_test=False,
        objective=FAST, most_pairs=64, pre_test_seconds=10.0, notes=[],
    )  # fmt: skip
    assert (found.chosen_pairs, pairs_of(found)[-1]) == (12, 12)
    assert found.notes == ["the quota of vCPUs leaves 12 pairs of t3.small; a larger one allows more"]


def test_pairs_that_were_asked_for_have_a_row_though_ends_are_full() -> None:
    found = run(full=120.0, requested=40, most_pairs=64)
    assert (found.chosen_pairs, pairs_of(found)) == (40, [*range(9), 16, 32, 39, 40])
    assert found.notes == []


@pytest.mark.parametrize("borne", [11, 14, 16, 30])
def test_a_budget_takes_the_most_pairs_that_it_bears_whatever_rows_there_are(borne: int) -> None:
    used = run(requested=40, most_pairs=64).figures
    least = needed(build_rows(50 * GB, 40, used)[borne], used) + 1e-6
    found = run(50 * GB, requested=40, most_pairs=64, objective=Objective(max_cost_usd=least))
    assert found.chosen_pairs == borne
    assert found.reason == f"40 pairs were asked for; {borne} fit into {least} dollars"
    assert needed(found.row(borne + 1), used) > least


def test_rows_that_somebody_was_shown_are_there_again() -> None:
    assert pairs_of(run(full=120.0, most_pairs=64, also=[13, 99])) == [*range(9), 13]


def test_a_number_that_is_decided_on_the_way_gets_its_row() -> None:
    found = run(objective=FAST)
    with pytest.raises(LookupError, match="no row of 11 pairs"):
        found.row(11)
    more = found.having(11)
    assert pairs_of(more) == [*range(9), 11, 15, 16]
    assert more.row(8).seconds > more.row(11).seconds > more.row(15).seconds
    assert more.having(11) is more
