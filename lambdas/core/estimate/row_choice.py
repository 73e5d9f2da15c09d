"""Of two rows for one number of pairs the one that the objective prefers: with a pre-test or on other routes."""

from collections.abc import Sequence

from lambdas.core.estimate.budget import within
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.rows import Row
from lambdas.core.request.request import Objective


def better_of(rows: list[Row], others: Sequence[Row | None], objective: Objective, figures: Figures) -> list[Row]:
    """The rows, each replaced by the other one where there is one that is preferred and that the budget bears."""
    borne = within([row for row in others if row], objective.max_cost_usd, figures)
    return [
        other if other and other in borne and _is_better(other, row, objective, figures) else row
        for row, other in zip(rows, others, strict=True)
    ]


def _is_better(other: Row, row: Row, objective: Objective, figures: Figures) -> bool:
    return preference(other, objective, figures) < preference(row, objective, figures)
