import pytest

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.report.route_report import egress, routes
from tests.lambdas.builders import IRELAND, WEST, node
from tests.lambdas.handlers.test_routes import FRANKFURT, STRAIGHT, THROUGH, accepted, routed

NODES = [
    *(node(stage, joined_at=1.0) for stage in (0, 1)),
    node(2, joined_at=1.0),
    node(3, joined_at=1.0, region=FRANKFURT),
    node(4, joined_at=1.0),
    node(4, 2),
]
BY_PATH = {"direct": 1e9, "pair-1": 2e9, "route-2-1-1-1": 3e9}


def planned() -> Estimate:
    """Straight on costs $0.02 per GB, through Frankfurt $0.04."""
    return routed(STRAIGHT.model_copy(update={"usd_per_gb": 0.02}), THROUGH)


def test_each_way_has_its_bytes_its_relays_and_the_egress_of_its_borders() -> None:
    # The meter counts 6 GB, a hundredth of them twice, at the dearest way's $0.04.
    found = routes(accepted(), planned(), NODES, BY_PATH, 6.06 * 0.04)
    assert [(one.stage, one.regions, one.relays, one.bytes) for one in found] == [
        (None, [WEST, IRELAND], 0, 10**9),
        (0, [WEST, IRELAND], 2, 2 * 10**9),
        (2, [WEST, FRANKFURT, IRELAND], 3, 3 * 10**9),
    ]
    assert [one.egress_usd for one in found] == pytest.approx([1.01 * 0.02, 1.01 * 0.04, 1.01 * 0.12], rel=1e-4)
    assert sum(one.share for one in found) == pytest.approx(1.0, abs=1e-3)
    assert egress(found, 6.06 * 0.04) == pytest.approx(1.01 * 0.18, rel=1e-4)


def test_without_third_regions_the_meters_figure_stands() -> None:
    plain = accepted().model_copy(update={"transit": []})
    assert routes(plain, planned(), NODES, BY_PATH, 0.2) == []
    assert egress([], 0.2) == 0.2


def test_before_any_byte_has_arrived_the_meters_figure_stands() -> None:
    assert egress(routes(accepted(), planned(), NODES, {}, 0.003), 0.003) == 0.003
