"""Whether a pre-test pays: for each number of pairs the row that the objective prefers, with one or without."""

from lambdas.core.estimate.budget import within
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.rows import Row
from lambdas.core.request.request import Objective


def better_of(
    plain: list[Row], tested: list[Row], objective: Objective, figures: Figures, most_tested: int
) -> list[Row]:
    """The rows of `plain`, each replaced by that of `tested` where it is preferred and the budget bears it.

    Both p = 0 first. A pre-test of p pairs launches twice as many, and quotas leave `most_tested`.
    """
    borne = within(tested, objective.max_cost_usd, figures)
    return [
        other
        if 0 < other.pairs <= most_tested // 2
        and other in borne
        and preference(other, objective) < preference(row, objective)
        else row
        for row, other in zip(plain, tested, strict=True)
    ]
