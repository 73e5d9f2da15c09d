"""What of the chosen routes is launched where the budget does not bear all of it."""

import pytest

from lambdas.core.errors import NoCapacity
from lambdas.core.estimate.route_use import RouteUse
from lambdas.operations.spending import metering
from tests.lambdas.builders import IRELAND, WEST
from tests.lambdas.handlers.test_routes import FRANKFURT, STRAIGHT, launched, routed, use


# Relays that the budget bears, and what is launched in each region: paths go one by one, from the last route on.
@pytest.mark.parametrize(
    ("uses", "affordable", "alive"),
    [
        ([use(0, [WEST, IRELAND], [2, 2])], 4, (2, 0, 2)),
        ([use(0, [WEST, IRELAND], [2, 2])], 3, (1, 0, 1)),
        ([STRAIGHT, use(2, [WEST, FRANKFURT, IRELAND], [2, 2, 2])], 7, (2, 1, 2)),
        ([STRAIGHT, use(2, [WEST, FRANKFURT, IRELAND], [2, 2, 2])], 4, (1, 0, 1)),
    ],
)
def test_budget_that_bears_fewer_relays_takes_path_by_path_away(
    uses: list[RouteUse], affordable: int, alive: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metering, "affordable", lambda *_: affordable)
    cloud = launched(routed(*uses))
    found = [len(cloud.compute[region].of_transfer("first")) for region in (WEST, FRANKFURT, IRELAND)]
    assert tuple(found) == alive
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.spawned is not None
    asked = sum(one.count for one in uses)
    notes = [] if sum(alive) == asked else [f"$.objective.maxCostUsd: None bears {sum(alive)} of {asked} relays now"]
    assert record.spawned.notes == notes


def test_budget_that_bears_no_path_is_a_reason_to_go_without_relays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metering, "affordable", lambda *_: 1)
    with pytest.raises(NoCapacity, match="bears 0 of 2 relays now"):
        launched(routed(STRAIGHT))
