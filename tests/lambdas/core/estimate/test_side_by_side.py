"""Direct, lent, of the pool, launched: each by itself, at its best."""

from lambdas.core.estimate.side_by_side import side_by_side
from lambdas.core.request.request import Objective
from tests.lambdas.builders import figures
from tests.lambdas.core.estimate.test_pool_figures import GB, pooled


def test_kinds_of_relays_stand_side_by_side() -> None:
    found = side_by_side(2 * GB, pooled(), Objective(minimise="time"), 8)
    assert [(one.kind, one.pairs) for one in found] == [("direct", 0), ("pool", 3), ("launched", 7)]
    direct, pool, launched = found
    assert pool.seconds < direct.seconds
    assert pool.pool_usd is not None
    assert launched.pool_usd is None
    assert pool.cost_usd > launched.cost_usd > direct.cost_usd
    assert side_by_side(2 * GB, figures(), Objective(), 8) == []
    least = side_by_side(2 * GB, pooled(), Objective(minimise="energy"), 8)
    assert least[2].energy_wh <= launched.energy_wh
