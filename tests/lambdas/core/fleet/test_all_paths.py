"""Paths of all routes of a transfer together."""

from lambdas.core.fleet import pairing
from lambdas.core.fleet.membership import Membership
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import Route, routes_of
from lambdas.core.places.machines import TransitRegion
from tests.lambdas.builders import node, paths, transfer

THIRD = [TransitRegion(region=f"us-east-{number}", vpc_id="vpc-transit") for number in range(1, 9)]
ROUTES = routes_of(transfer().model_copy(update={"transit": THIRD}))
# DynamoDB's item holds 400 KB; the membership is one, and the looks at its paths are kept in another.
ITEM_BYTES = 400_000


def relays(route: Route, counts: list[int]) -> list[Node]:
    return [
        node(stage, slot, state="JOINED")
        for stage, count in zip(route.indices, counts, strict=True)
        for slot in range(1, count + 1)
    ]


def test_all_paths_of_nine_unequal_routes_fit_the_records() -> None:
    pair, through = ROUTES[0], [route for route in ROUTES if len(route.between) == 1 and not route.is_straight]
    nodes = [*relays(pair, [8, 7]), *(one for route in through for one in relays(route, [5, 4, 4]))]
    found = pairing.all_paths(ROUTES, nodes, paths(), 2)
    largest = 8 + 8 * 5
    assert len(found) <= pairing.MESH_PATHS + pairing.LEAST_REACH * largest
    assert len(Membership(version=1, paths=found).to_json()) < ITEM_BYTES / 2
    used = {hop.node_id for path in found for hop in path.hops}
    assert used == {one.node_id for one in nodes}


def test_one_mesh_has_the_whole_bound_beside_routes_of_equal_stages() -> None:
    pair, through = ROUTES[0], ROUTES[1]
    alone = pairing.all_paths(ROUTES, relays(pair, [8, 7]), paths(), 2)
    both = pairing.all_paths(ROUTES, [*relays(pair, [8, 7]), *relays(through, [3, 3, 3])], paths(), 2)
    assert len(alone) == 56
    assert both[: len(alone)] == alone
    assert len(both) == len(alone) + 3
