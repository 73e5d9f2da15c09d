"""What is kept of a lease between two divisions."""

from lambdas.core.pool.lease_share import LeaseShare, lease_key, node_of_key
from tests.lambdas.core.pool.leases import lease, node


def test_a_new_lease_may_forward_what_it_was_given_with() -> None:
    found = LeaseShare.of_new(lease("a", node(), 25.0))
    assert (found.told.held, found.told.limit.number, found.demand_mb_s) == (25.0, 1, None)
    assert LeaseShare.from_document(found.to_document()) == found


def test_a_key_names_its_node() -> None:
    one = lease("a", node())
    assert node_of_key(lease_key(one)) == one.node_id
