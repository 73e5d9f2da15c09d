"""The meter of a transfer whose routes change: what was sent stays as dear as it was, whatever is planned since."""

import pytest

from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.route_use import RouteUse
from lambdas.core.fleet.relay_node import NodeState
from lambdas.core.spending.meter import Reading
from tests.lambdas.builders import IRELAND, WEST, estimate, figure, node

FRANKFURT = "eu-central-1"
DEAR_GB, DIRECT = 0.09, 20.0


def through(relays: list[int], rate: float = 30.0) -> RouteUse:
    return RouteUse(
        stage=2,
        regions=[WEST, FRANKFURT, IRELAND],
        relays=relays,
        rate=figure(rate),
        usd_per_gb=DEAR_GB,
        hours_usd=[0.02] * 3,
    )


def straight() -> RouteUse:
    return RouteUse(
        stage=0, regions=[WEST, IRELAND], relays=[1, 1], rate=figure(7), usd_per_gb=0.02, hours_usd=[0.1, 0.1]
    )


def routed(*uses: RouteUse) -> Estimate:
    plain = estimate(2)
    rows = [row.model_copy(update={"planned": list(uses)}) if row.pairs == 2 else row for row in plain.rows]
    return plain.model_copy(update={"rows": rows})


def reading(known: Estimate, *stages: int, state: NodeState = "JOINED") -> Reading:
    nodes = [node(stage, state=state) for stage in stages]
    return Reading(1100.0, nodes, known, 100, 1000.0, 10**10, 10**10, 1.0)


def test_bytes_that_took_a_dear_route_stay_dear_when_another_row_is_chosen() -> None:
    before = reading(routed(through([1, 1, 1])), 2, 3, 4)
    # "relays do not help": the row without relays is chosen.
    given_up = routed(through([1, 1, 1])).model_copy(update={"chosen_pairs": 0})
    after = reading(given_up, 2, 3, 4, state="LOST")
    assert before.spent().egress == after.spent().egress == pytest.approx(10 * DEAR_GB)


@pytest.mark.parametrize(
    "relays", [[1, 1, 1], [0, 0, 0]], ids=["planned", "to leave, or kept since its successor was refused"]
)
def test_a_route_may_carry_as_much_as_it_can_while_its_relays_live(relays: list[int]) -> None:
    known = routed(straight(), through(relays))
    assert reading(known, 2, 3, 4).fleet_rate == DIRECT + 30.0


def test_pairs_that_are_to_leave_for_a_route_count_while_they_live() -> None:
    assert reading(routed(through([1, 1, 1])), 0, 1, 2, 3, 4).fleet_rate == DIRECT + 20.0 + 30.0


def test_pairs_of_a_route_count_as_that_says() -> None:
    assert reading(routed(straight(), through([1, 1, 1])), 0, 1, 2, 3, 4).fleet_rate == DIRECT + 7.0 + 30.0


@pytest.mark.parametrize("left", [False, True])
def test_relay_after_a_route_that_sends_straight_has_its_own_routes_type_and_price(*, left: bool) -> None:
    into = straight().model_copy(update={"stage": 5, "relays": [0, 0] if left else [2, 0], "usd_per_gb": 0.02})
    after = through([1, 1, 1]).model_copy(update={"stage": 6, "hours_usd": [0.3, 0.4, 0.5]})
    known = routed(into, after).model_copy(update={"destination_type": "t3.medium"})
    assert [known.type_of(stage) for stage in (5, 6, 7, 8)] == ["t3.small"] * 3 + ["t3.medium"]
    assert [known.hour_usd(stage) for stage in (5, 6, 7, 8)] == [0.1, 0.3, 0.4, 0.5]
    assert known.gb_usd_of(6) == DEAR_GB
