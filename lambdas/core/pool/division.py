"""A region's pool divided: tenants first, then their transfers, then each transfer's share over its nodes; MB/s."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum, inf

from lambdas.core.pool.demand import counted
from lambdas.core.pool.lease_share import LeaseShare, lease_key, share_of
from lambdas.core.pool.pool_node import Lease, LeaseLimit, PoolNode
from lambdas.core.pool.refresh import Wanted, refreshed
from lambdas.core.pool.shares import Claim, divide_among_tenants
from lambdas.core.pool.spread import carried, spread
from lambdas.core.pool.tenant import TenantTerms


@dataclass(frozen=True)
class Divided:
    """`limits`: to be told now, by `lease_key`. `owed`: who is to have more once others follow less, MB/s.

    `shares`: to keep until the next division.
    """

    limits: dict[str, LeaseLimit]
    owed: dict[str, float]
    shares: dict[str, LeaseShare]


def divided(
    leases: Iterable[tuple[PoolNode, Lease]],
    before: dict[str, LeaseShare],
    terms: Mapping[str, TenantTerms],
    now: float,
) -> Divided:
    """Divide what nodes carry among their leases, those included that have ended and may still run.

    `before`: of the last division. A tenant without terms has the usual ones.
    """
    every = {lease_key(lease): (node, lease) for node, lease in leases if lease.is_live or lease.holds_port}
    shares = {
        key: counted(share_of(lease, before), lease, node.capacity_mb_s, now) for key, (node, lease) in every.items()
    }
    live = {key: pair for key, pair in every.items() if pair[1].is_live}
    rates = _rates(live, shares, terms)
    bounds = {f"node {node.node_id}": node.capacity_mb_s for node, _ in every.values()}
    bounds |= {f"tenant {name}": one.limit_mb_s for name, one in terms.items() if one.limit_mb_s is not None}
    told = refreshed(
        {key: share.told for key, share in shares.items()},
        {key: lease.applied or 0 for key, (_, lease) in every.items()},
        _wanted(live, rates, terms),
        bounds,
        now,
        {key: _bounds(node, lease, terms) for key, (node, lease) in every.items() if key not in live},
    )
    kept = {key: shares[key].model_copy(update={"told": one}) for key, one in told.state.items()}
    return Divided({key: limit for key, limit in told.now.items() if key in live}, told.after, kept)


Live = Mapping[str, tuple[PoolNode, Lease]]


def _rates(live: Live, shares: Mapping[str, LeaseShare], terms: Mapping[str, TenantTerms]) -> dict[str, float]:
    """The rate of each lease."""
    capacities = {node.node_id: node.capacity_mb_s for node, _ in live.values()}
    nodes_of: dict[str, tuple[str, ...]] = {}
    tenant_of: dict[str, str] = {}
    weights: dict[str, float] = {}
    demands: dict[str, list[float]] = {}
    for key, (node, lease) in live.items():
        name, demand = lease.transfer_id, shares[key].demand_mb_s
        nodes_of[name] = (*nodes_of.get(name, ()), node.node_id)
        tenant_of[name], weights[name] = lease.tenant, lease.weight
        demands.setdefault(name, []).append(inf if demand is None else demand)
    most = {name: carried(nodes, capacities) for name, nodes in nodes_of.items()}
    claims: dict[str, dict[str, Claim]] = {}
    for name, tenant in tenant_of.items():
        demand = min(fsum(demands[name]), most[name])
        claims.setdefault(tenant, {})[name] = Claim(demand=demand, weight=weights[name])
    tenants = {name: _claim(terms.get(name, TenantTerms())) for name in claims}
    by_tenant = divide_among_tenants(tenants, claims, fsum(capacities.values()))
    given = {name: share for own in by_tenant.values() for name, share in own.items()}
    # What nobody asks for may be used all the same, but for a tenant's limit.
    tops = {name: given[name] if tenants[tenant_of[name]].limit < inf else most[name] for name in given}
    rates = spread(given, tops, nodes_of, capacities)
    return {key: rates[lease.transfer_id, node.node_id] for key, (node, lease) in live.items()}


def _claim(terms: TenantTerms) -> Claim:
    limit = inf if terms.limit_mb_s is None else terms.limit_mb_s
    return Claim(weight=terms.weight, guarantee=terms.guarantee_mb_s, limit=limit)


def _bounds(node: PoolNode, lease: Lease, terms: Mapping[str, TenantTerms]) -> tuple[str, ...]:
    own = terms.get(lease.tenant)
    limited = own is not None and own.limit_mb_s is not None
    return (f"node {node.node_id}", *([f"tenant {lease.tenant}"] if limited else []))


def _wanted(live: Live, rates: Mapping[str, float], terms: Mapping[str, TenantTerms]) -> dict[str, Wanted]:
    """With each lease's part of its tenant's guarantee, which no tenant has more of than it uses."""
    of_tenant: dict[str, float] = {}
    for key, (_, lease) in live.items():
        of_tenant[lease.tenant] = of_tenant.get(lease.tenant, 0.0) + rates[key]
    found = {}
    for key, (node, lease) in live.items():
        total = of_tenant[lease.tenant]
        granted = min(terms.get(lease.tenant, TenantTerms()).guarantee_mb_s, total)
        guarantee = granted * rates[key] / total if total > 0 else 0.0
        found[key] = Wanted(rates[key], _bounds(node, lease, terms), guarantee)
    return found
