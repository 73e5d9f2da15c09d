"""Which of a route's relays a pre-test may give back."""

from lambdas.core.estimate.pair_use import pair_use
from lambdas.core.estimate.route_use import RouteUse
from lambdas.operations.fleet.pre_test import has_spare
from tests.lambdas.builders import IRELAND, WEST, figure, figures


def test_pairs_are_launched_twice_of_planned_routes_just_what_is_wanted() -> None:
    planned = RouteUse(
        stage=0, regions=[WEST, IRELAND], relays=[2, 3], rate=figure(20), usd_per_gb=0.02, hours_usd=[0.1, 0.1]
    )
    assert has_spare(pair_use(2, figures()))
    assert not has_spare(planned)
