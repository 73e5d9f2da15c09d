"""Routes to a bucket: relays beside the machine at the other end, which dial the store."""

import pytest

from lambdas.core.fleet import pairing, topology
from lambdas.core.fleet.layout import Layout
from lambdas.core.fleet.membership import RELAY_PORT, TransferPath
from lambdas.core.fleet.topology import Admission, admissions, routes_of, side_of
from lambdas.core.transfer.accepted import AcceptedTransfer
from tests.lambdas.buckets import from_bucket, from_bucket_to_many, from_many_to_bucket, to_bucket
from tests.lambdas.builders import IRELAND, WEST, node, paths

EACH_WAY = pytest.mark.parametrize(
    ("transfer", "name", "region", "way"),
    [
        (to_bucket(), "source", WEST, (WEST, IRELAND)),
        (from_bucket(), "destination", IRELAND, (IRELAND, IRELAND)),
        (from_many_to_bucket(), "source", WEST, (WEST, IRELAND)),
        (from_bucket_to_many(), "destination", IRELAND, (IRELAND, IRELAND)),
    ],
)


@EACH_WAY
def test_a_bucket_has_one_route_of_one_stage_beside_the_machine(
    transfer: AcceptedTransfer, name: str, region: str, way: tuple[str, str]
) -> None:
    (route,) = routes_of(transfer)
    (stage,) = route.stages
    assert (stage.index, stage.name, stage.region, stage.end) == (0, name, region, transfer.at_source)
    assert (route.way, route.is_straight, side_of(transfer, 0)) == (way, True, 0)
    assert topology.regions_of(transfer) == [region]


@EACH_WAY
def test_its_relays_admit_the_machine_and_nobody_admits_them(
    transfer: AcceptedTransfer, name: str, region: str, way: tuple[str, str]
) -> None:
    (route,), (first, *others) = routes_of(transfer), transfer.senders
    beside = [seat.machine for seat in others]
    relay = node(0, region=region, private_address="10.10.0.9")
    found = admissions(route, paths(), relay, (), transfer.receiver_port, beside)
    addresses = [machine.private_address for machine in (first.machine, *beside)]
    assert found == [Admission(route.stages[0], "relay", address, RELAY_PORT) for address in addresses]


def test_a_path_to_a_store_has_one_relay_and_joins_the_seats_of_one_machine() -> None:
    transfer = from_many_to_bucket()
    relays = [node(0, slot, state="JOINED", private_address=f"10.10.0.{slot}") for slot in (1, 2, 3)]
    found = pairing.all_paths(routes_of(transfer), relays, paths(), 4, Layout.of(transfer))
    assert [path.path_id for path in found] == ["route-0-1", "route-0-2", "route-0-3"]
    assert all(path.store for path in found)
    assert [[hop.address for hop in path.hops] for path in found] == [
        [f"10.10.0.{slot}:{RELAY_PORT}"] for slot in (1, 2, 3)
    ]
    assert [(path.sender, path.to) for path in found] == [(None, None), ("s1", "r1"), (None, None)]


def test_a_path_to_a_store_that_no_relay_dials_is_refused() -> None:
    with pytest.raises(ValueError, match="path route-0-1: hops is empty"):
        TransferPath(path_id="route-0-1", generation=0, hops=[], receiver="10.0.0.1:4601", lanes=1, store=True)
