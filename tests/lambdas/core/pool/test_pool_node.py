import pytest
from pydantic import ValidationError

from lambdas.core.fleet.membership import RELAY_PORT
from lambdas.core.pool.pool_node import FIRST_PORT, PORTS, Lease, LeaseLimit, PoolNode, free_port
from tests.lambdas.core.pool.pool_nodes import pool_node

LEASE = Lease(
    transfer_id="ann-backup",
    node_id="n1",
    tenant="ann",
    port=4600,
    guarantee_mb_s=10.0,
    limit=LeaseLimit(number=1, mb_s=50.0, until=200.0),
    until=300.0,
    epoch=1,
    relay_id="source-1-0",
    given_at=100.0,
)


def test_documents_come_back_as_they_were() -> None:
    node = pool_node(state="SERVING", leases=2, epoch=7)
    assert PoolNode.from_document(node.to_document()) == node
    assert node.to_document()["capacityMBps"] == 100.0
    assert Lease.from_document(LEASE.to_document()) == LEASE
    assert LEASE.to_document()["limit"] == {"number": 1, "MBps": 50.0, "until": 200.0}


@pytest.mark.parametrize(("state", "leases"), [("FREE", 1), ("STARTING", 1), ("ENDED", 2), ("SERVING", 0)])
def test_a_state_that_the_leases_contradict_is_refused(state: str, leases: int) -> None:
    with pytest.raises(ValidationError, match=f"leases: {leases} of a node that is {state}"):
        pool_node(state=state, leases=leases)


@pytest.mark.parametrize("tenant", ["ann-b", "Ann", "", "a" * 33])
def test_a_tenants_name_has_no_hyphen(tenant: str) -> None:
    with pytest.raises(ValidationError, match="tenant"):
        Lease.from_document({**LEASE.to_document(), "tenant": tenant})


def test_a_node_that_hears_nothing_falls_back_to_the_guarantee_and_then_to_nothing() -> None:
    assert [LEASE.may_forward(at) for at in (199.9, 200.0, 299.9, 300.0)] == [50.0, 10.0, 10.0, 0.0]


def test_it_never_forwards_more_than_it_was_told() -> None:
    small = LEASE.model_copy(update={"limit": LeaseLimit(number=2, mb_s=5.0, until=200.0)})
    assert small.may_forward(250.0) == 5.0


def test_ports_begin_with_the_one_of_relays_and_none_is_given_twice() -> None:
    assert FIRST_PORT == RELAY_PORT
    assert free_port(frozenset()) == FIRST_PORT
    assert free_port(frozenset({FIRST_PORT, FIRST_PORT + 2})) == FIRST_PORT + 1
    assert free_port(frozenset(PORTS)) is None
