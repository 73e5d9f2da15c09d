"""The estimate of an accepted transfer: its figures gathered from what is known, its rows computed."""

from lambdas.adapters.world import World
from lambdas.core import figures
from lambdas.core.estimate import Estimate, estimate
from lambdas.core.figures import Profile
from lambdas.core.prices import PriceBook
from lambdas.core.transfer import AcceptedTransfer
from lambdas.operations.market import market_of


def estimate_for(transfer: AcceptedTransfer, size_bytes: int, world: World) -> Estimate:
    """Estimate of `size_bytes` between the ends of `transfer`; writes nothing.

    Raises BudgetTooSmall, DeadlineUnreachable or MissingPrice.
    """
    request = transfer.request
    relay_type = (request.relays.instance_types or list(world.env.instance_types))[0]
    prices = market_of(transfer, [relay_type], world).prices
    return estimate(
        size_bytes,
        figures.combine(
            _profile(world, transfer, transfer.source.instance_type, transfer.source.vcpus),
            _profile(world, transfer, transfer.destination.instance_type, transfer.destination.vcpus),
            _profile(world, transfer, relay_type, None),
            relay_hour_usd=_relay_hour(relay_type, transfer, world.env.inter_region_path == "internet", prices),
            egress_usd_per_gb=prices.egress_gb(transfer.source.region, transfer.destination.region).usd,
            limit_mbps=request.bandwidth_limit_mbps,
        ),
        requested=request.relays.pairs,
        pre_test=request.pre_test,
        objective=request.objective,
        most_pairs=world.env.max_pairs,
        # Both hops of a path are measured one after the other.
        pre_test_seconds=2 * world.env.pre_test_seconds,
        instance_type=relay_type,
    )


def _profile(world: World, transfer: AcceptedTransfer, instance_type: str, vcpus: int | None) -> Profile:
    limits = figures.published(
        instance_type,
        between_regions=transfer.between_regions,
        internet=world.env.inter_region_path == "internet",
        vcpus=vcpus,
    )
    profile = world.profiles.get(instance_type, transfer.region_pair)
    if profile is None:
        return limits
    outward, inside, spawn = (profile.known(metric) for metric in ("interRegion", "intraRegion", "spawn"))
    origins = [known.origin if known else limits.origin for known in (outward, inside, spawn)]
    return Profile(
        inter_region=outward.value if outward else limits.inter_region,
        intra_region=inside.value if inside else limits.intra_region,
        spawn_seconds=spawn.value if spawn else limits.spawn_seconds,
        origin=max(origins, key=["measured", "configured", "assumed"].index),
    )


def _relay_hour(instance_type: str, transfer: AcceptedTransfer, internet: bool, prices: PriceBook) -> float:
    """Mean of the two regions, as the dissertation prices a pair; with the public address where there is one."""
    regions = (transfer.source.region, transfer.destination.region)
    market = transfer.request.relays.market
    dollars = [prices.instance_hour(instance_type, region, market).usd for region in regions]
    if internet and transfer.between_regions:
        dollars += [prices.unit("public-address-hour", region).usd for region in regions]
    return sum(dollars) / len(regions)
