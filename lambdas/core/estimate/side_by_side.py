"""Where relays could come from, side by side: none, machines of the user, the pool, EC2, each by itself at its best."""

from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.estimate.figures import Figures, NonNegative
from lambdas.core.estimate.preference import preference
from lambdas.core.estimate.rows import Row, build_row
from lambdas.core.request.request import Objective

Kind = Literal["direct", "lent", "pool", "launched"]


class OfKind(Document):
    """Contract `estimate`, `sideBySide`: seconds of data time, dollars, watt-hours with relays of one kind alone.

    `pairs`: as many as the objective prefers; `pool_usd`: dollars of these for the pool.
    """

    kind: Kind
    pairs: Count
    seconds: NonNegative
    cost_usd: NonNegative
    pool_usd: NonNegative | None = None
    energy_wh: Annotated[float, Field(ge=0)]


def side_by_side(size_bytes: int, figures: Figures, objective: Objective, most_launched: int) -> list[OfKind]:
    """Each kind that there is, the direct path first; nothing where there is no pool, as rows say it all then.

    `most_launched`: pairs that the deployment and the quotas leave.
    """
    if figures.pool_usd is None or not size_bytes:
        return []
    route = figures.route.model_copy(update={"lent": None, "asked": None})
    alone = figures.model_copy(update={"lent": [], "pair_route": route, "pooled": None})
    kinds: list[tuple[Kind, int, Figures]] = [
        ("lent", figures.lent_whole, figures),
        ("pool", figures.pooled or 0, alone.model_copy(update={"pooled": figures.pooled})),
        ("launched", most_launched, alone),
    ]
    found = [_of("direct", build_row(size_bytes, 0, figures))]
    for kind, most, own in kinds:
        rows = [build_row(size_bytes, pairs, own) for pairs in range(1, most + 1)]
        if rows:
            found.append(_of(kind, min(rows, key=lambda row: preference(row, objective, figures))))
    return found


def _of(kind: Kind, row: Row) -> OfKind:
    return OfKind(
        kind=kind,
        pairs=row.pairs,
        seconds=row.seconds,
        cost_usd=row.cost_usd,
        pool_usd=row.pool_usd,
        energy_wh=row.energy_wh or 0.0,
    )
