"""The reason says why not one row more and not one fewer."""

from typing import Any

import pytest

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import EndFigures
from lambdas.core.estimate.rows import build_rows
from lambdas.core.estimate.steps import beside
from lambdas.core.request.request import Objective
from lambdas.core.words import dollars
from tests.lambdas.builders import figure, figures
from tests.lambdas.core.estimate.test_estimate import GB, ends, run

# The three outputs that a user could not tell the choice from: figures that were given, the demo, and machines of which
# nobody knows what they send.
GIVEN = figures(direct=15.0, pair=15.0, source=90.0, destination=90.0, spawn=90.0, relay_hour=0.023)


def told(pairs: int, most: int = 8, **objective: Any) -> str:
    return beside(build_rows(8 * GB, most, GIVEN), pairs, Objective(**objective), GIVEN)


def test_both_steps_have_their_seconds_their_worth_and_their_price() -> None:
    rows = build_rows(8 * GB, 8, GIVEN)
    saved, more, next_more = (
        rows[4].seconds - rows[5].seconds,
        rows[5].cost_usd - rows[4].cost_usd,
        rows[6].cost_usd - rows[5].cost_usd,
    )
    assert told(5) == (
        f"the 5th pair saves {saved:.1f} s ({dollars(saved / 360)}) for {dollars(more)}; "
        f"a 6th would save nothing for {dollars(next_more)}"
    )


def test_no_step_leads_from_the_direct_path_and_none_beyond_the_last_row() -> None:
    assert told(1).startswith("a 2nd would save ")
    assert told(0).startswith("1 pair would save 3 min 42 s ($0.6157) for ")
    assert told(8).startswith("the 8th pair saves nothing for ")
    assert ";" not in told(8)
    assert told(0, most=0) == ""


def test_time_and_cost_are_not_weighed_against_each_other_where_nobody_asks_for_that() -> None:
    assert "($" not in told(5, minimise="time")
    assert told(0, minimise="cost").startswith("1 pair would save 3 min 42 s for $0.00")


def test_energy_is_said_in_watt_hours() -> None:
    assert told(0, minimise="energy") == "1 pair would save 3 min 42 s for 10.1 Wh"


def test_a_deadline_says_which_row_is_too_late() -> None:
    late = build_rows(8 * GB, 8, GIVEN)[3].seconds
    assert told(4, deadline_seconds=200).startswith(
        f"3 pairs may take {late // 60:.0f} min {late % 60:02.0f} s, which is too late; a 5th would save 14.8 s for $"
    )


def test_a_budget_says_that_it_does_not_bear_the_next_row() -> None:
    assert told(2, max_cost_usd=0.171).endswith("; a 3rd would not fit into 0.171 dollars")


@pytest.mark.parametrize(("pairs", "words"), [(8, "16 pairs would save "), (16, "pairs 9 to 16 save ")])
def test_rows_that_double_are_named_by_their_pairs(pairs: int, words: str) -> None:
    wide = figures(direct=15.0, pair=15.0, source=1000.0, destination=1000.0, spawn=90.0)
    rows = [row for row in build_rows(100 * GB, 16, wide) if row.pairs in (*range(9), 16)]
    assert words in beside(rows, pairs, Objective(), wide)


def test_numbers_are_read_as_people_say_them() -> None:
    wide = figures(direct=15.0, pair=15.0, source=1000.0, destination=1000.0, spawn=90.0)
    rows = build_rows(100 * GB, 24, wide)
    said = {pairs: beside(rows, pairs, Objective(), wide) for pairs in (2, 7, 10, 11, 17, 20, 22)}
    assert [said[pairs].split(" pair")[0] for pairs in (2, 11, 22)] == ["the 2nd", "the 11th", "the 22nd"]
    nexts = [said[pairs].split("; ")[1].split(" would")[0] for pairs in (2, 7, 10, 17, 20, 22)]
    assert nexts == ["a 3rd", "an 8th", "an 11th", "an 18th", "a 21st", "a 23rd"]


def demo(**changes: Any) -> Estimate:
    """As `make demo`: 600 MB between machines of 20 MB/s to another region and 160 MB/s in all, relays after 8 s."""
    return run(600 * 10**6, using=EndFigures.model_validate(ends(**changes).model_dump(), by_name=True))


def test_every_estimate_that_chooses_says_why_neither_fewer_nor_more() -> None:
    found = demo()
    fewer, more = (found.row(found.chosen_pairs + step) for step in (-1, 1))
    assert f"the {found.chosen_pairs}" in found.reason
    assert f"saves {fewer.seconds - found.chosen.seconds:.1f} s ($" in found.reason
    assert f"for {dollars(more.cost_usd - found.chosen.cost_usd)}" in found.reason
    assert "would save" not in run(requested=3).reason


def test_what_is_not_known_yet_is_said_first() -> None:
    unknown = figure(40.0).model_copy(update={"low": 10.0, "high": 160.0})
    found = run(20 * GB, using=ends().model_copy(update={"direct": unknown}))
    assert found.reason.startswith("not known yet, the first seconds of data decide: whether relays help depends on ")
    assert found.undecided is not None


def test_rows_have_their_cost_with_what_their_hours_are_worth() -> None:
    for value in (10.0, 36.0):
        found = run(objective=Objective(value_of_time_usd_per_hour=value))
        for row in found.rows:
            assert row.cost_and_time_usd == pytest.approx(row.cost_usd + row.seconds / 3600 * value, abs=1e-5)
        assert found.chosen.cost_and_time_usd == min(row.cost_and_time_usd or 0.0 for row in found.rows)
