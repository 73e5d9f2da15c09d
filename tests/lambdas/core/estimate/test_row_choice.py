from lambdas.core.estimate.budget import needed
from lambdas.core.estimate.row_choice import better_of
from lambdas.core.estimate.rows import Row, build_rows
from lambdas.core.request.request import Objective
from tests.lambdas.builders import figures

GB = 10**9


def rows(**known: float) -> list[Row]:
    return build_rows(20 * GB, 2, figures(**known))


def test_the_row_that_is_preferred_takes_the_place_of_the_other() -> None:
    slow, fast = rows(), rows(pair=60.0)
    assert better_of(slow, fast, Objective(minimise="time"), figures()) == [slow[0], *fast[1:]]
    assert better_of(fast, slow, Objective(minimise="time"), figures()) == fast


def test_where_there_is_no_other_row_it_stays() -> None:
    assert better_of(rows(), [None] * 3, Objective(), figures()) == rows()


def test_a_row_that_the_budget_does_not_bear_is_none() -> None:
    slow, fast = rows(), rows(pair=60.0)
    objective = Objective(minimise="time", max_cost_usd=needed(fast[2], figures()) - 1e-6)
    assert better_of(slow, [None, None, fast[2]], objective, figures()) == slow
