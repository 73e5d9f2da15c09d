"""A region's pool divided among the leases on its nodes."""

from collections.abc import Mapping

import pytest

from lambdas.core.pool.division import Divided, divided
from lambdas.core.pool.lease_share import LeaseShare, lease_key, node_of_key, share_of
from lambdas.core.pool.pool_node import Lease, PoolNode
from lambdas.core.pool.tenant import TenantTerms
from tests.lambdas.core.pool.leases import NODES, lease, node

Pairs = list[tuple[PoolNode, Lease]]


def settled(pairs: Pairs, terms: Mapping[str, TenantTerms] | None = None, rounds: int = 4) -> dict[str, float]:
    """Limits by transfer and node, once each node has followed what it was told."""
    shares: dict[str, LeaseShare] = {}
    for look in range(rounds):
        found = divided(pairs, shares, terms or {}, 10.0 + look)
        shares = found.shares
        _within(found, pairs, terms or {})
        pairs = [(on, _told(given, found)) for on, given in pairs]
    return {given.transfer_id: given.limit.mb_s for _, given in pairs if given.is_live}


def _told(given: Lease, found: Divided) -> Lease:
    limit = found.limits.get(lease_key(given))
    return given.model_copy(update={"limit": limit, "applied": limit.number}) if limit else given


def _within(found: Divided, pairs: Pairs, terms: Mapping[str, TenantTerms]) -> None:
    """What leases may still forward is no more than their node carries, but for what they began with."""
    for one in {on.node_id: on for on, _ in pairs}.values():
        held = sum(share.told.held for key, share in found.shares.items() if node_of_key(key) == one.node_id)
        began = sum(given.limit.mb_s for on, given in pairs if on.node_id == one.node_id)
        assert held <= max(one.capacity_mb_s, began) + 1e-6


def test_a_lone_lease_has_all_of_its_node() -> None:
    on = node()
    assert settled([(on, lease("a", on))]) == {"a": pytest.approx(100.0)}


def test_who_comes_gets_its_share_once_the_other_follows_less() -> None:
    on = node(leases=2)
    pairs = [(on, lease("a", on)), (on, lease("b", on, 0.0))]
    first = divided(pairs, {}, {}, 10.0)
    assert {key.split(" ")[1]: limit.mb_s for key, limit in first.limits.items()} == {"a": pytest.approx(50.0)}
    assert [key.split(" ")[1] for key in first.owed] == ["b"]
    assert settled(pairs) == {"a": pytest.approx(50.0), "b": pytest.approx(50.0)}


def test_tenants_share_by_weight_however_many_transfers_they_have() -> None:
    on = node(leases=3)
    terms = {"acme": TenantTerms(weight=1.0), "beta": TenantTerms(weight=3.0)}
    pairs = [
        (on, lease("acme-1", on, 34.0, tenant="acme")),
        (on, lease("acme-2", on, 33.0, tenant="acme", epoch=2)),
        (on, lease("beta-1", on, 33.0, tenant="beta", epoch=3)),
    ]
    assert settled(pairs, terms) == {
        "acme-1": pytest.approx(12.5, rel=0.02),
        "acme-2": pytest.approx(12.5, rel=0.02),
        "beta-1": pytest.approx(75.0, rel=0.02),
    }


def test_a_guarantee_is_met_and_a_limit_kept() -> None:
    on = node(leases=2)
    terms = {"acme": TenantTerms(guarantee_mb_s=80.0), "beta": TenantTerms(weight=100.0, limit_mb_s=15.0)}
    pairs = [(on, lease("acme-1", on, 50.0, tenant="acme")), (on, lease("beta-1", on, 50.0, tenant="beta", epoch=2))]
    found = settled(pairs, terms)
    assert found["acme-1"] >= 80.0
    assert found["beta-1"] <= 15.0 + 1e-6


def test_what_one_does_not_use_goes_to_the_other() -> None:
    on = node(leases=2)
    pairs = [(on, lease("a", on, 50.0, bytes=2 * 10_000_000 * 60)), (on, lease("b", on, 50.0, epoch=2))]
    shares = {lease_key(one): LeaseShare.of_new(one) for _, one in pairs}
    # 10 MB/s of 50 for a minute; the other one was held back by its limit.
    pairs[1] = (on, pairs[1][1].model_copy(update={"bytes": 2 * 50_000_000 * 60}))
    found = divided(pairs, shares, {}, 60.0)
    assert found.shares[lease_key(pairs[0][1])].told.limit.mb_s == pytest.approx(15.0)
    assert found.owed[lease_key(pairs[1][1])] == pytest.approx(85.0)


def test_a_transfer_on_two_nodes_leaves_the_one_that_it_shares() -> None:
    one, two = node(1, leases=2), node(2)
    pairs = [
        (one, lease("a", one, 50.0)),
        (two, lease("a", two, 100.0)),
        (one, lease("b", one, 50.0, epoch=2)),
    ]
    shares: dict[str, LeaseShare] = {}
    for look in range(4):
        found = divided(pairs, shares, {}, 10.0 + look)
        shares = found.shares
        pairs = [(on, _told(held, found)) for on, held in pairs]
    rates = {(held.transfer_id, on.node_id): held.limit.mb_s for on, held in pairs}
    assert rates["a", NODES[0]] + rates["a", NODES[1]] == pytest.approx(100.0, rel=0.05)
    assert rates["b", NODES[0]] == pytest.approx(100.0, rel=0.05)


def test_what_has_ended_counts_until_it_has_stopped() -> None:
    on = node(leases=1)
    ended = lease("a", on, 100.0, ended_at=5.0)
    pairs = [(on, ended), (on, lease("b", on, 0.0, epoch=2))]
    assert divided(pairs, {}, {}, 10.0).limits == {}
    stopped = [(on, ended.model_copy(update={"stopped_at": 11.0})), pairs[1]]
    (limit,) = divided(stopped, {}, {}, 12.0).limits.values()
    assert limit.mb_s == pytest.approx(100.0)


def test_an_earlier_lease_of_the_same_relay_is_another() -> None:
    on = node()
    one = lease("a", on)
    kept = {lease_key(one): LeaseShare.of_new(one).model_copy(update={"moved": 7})}
    assert share_of(one, kept).moved == 7
    assert share_of(one.model_copy(update={"epoch": 2}), kept).moved == 0


def test_without_leases_there_is_nothing_to_divide() -> None:
    assert divided([], {}, {}, 10.0) == Divided({}, {}, {})
