"""What the objective prefers among rows, as a key: the least is best."""

from lambdas.core.estimate import distcp
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.rows import Row
from lambdas.core.request.request import Objective
from lambdas.core.tariff.cost import worth


def preference(row: Row, objective: Objective, figures: Figures) -> tuple[float, float]:
    """By time, cost, energy, or the cost with what its hours are worth; a deadline is met at the least cost, and
    DistCp's time with the fewest pairs.
    """
    if objective.deadline_seconds is not None:
        return max(row.sure_seconds - objective.deadline_seconds, 0.0), row.cost_usd
    match objective.minimise:
        case "time":
            return row.seconds, row.pairs
        case "cost":
            return row.cost_usd, row.seconds
        case "energy":
            return row.energy_wh or 0.0, row.pairs
        case "pairs":
            return max(row.expected_seconds - distcp.most_seconds(figures), 0.0), row.pairs
        case "balanced":
            return round(row.cost_usd + worth(row.seconds, objective.value_of_time), 9), row.pairs
