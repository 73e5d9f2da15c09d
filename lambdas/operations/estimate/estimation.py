"""The estimate of an accepted transfer: figures gathered from what is known, offers of relay types, rows computed."""

from collections.abc import Callable, Iterable, Mapping
from math import inf

from lambdas.adapters.world import World
from lambdas.core.ends.hdfs import HdfsEnd
from lambdas.core.estimate import distcp, end_limits, file_systems, object_store, offers, several
from lambdas.core.estimate.estimate import Estimate, estimate
from lambdas.core.estimate.figures import EndFigures, Figure, TimedLimit
from lambdas.core.estimate.fitting import fitted
from lambdas.core.estimate.lent import lent_pairs
from lambdas.core.estimate.mixed_offers import mixed_offers
from lambdas.core.estimate.offers import Side
from lambdas.core.estimate.packing import Packing
from lambdas.core.estimate.profile import Profile, hosts_of
from lambdas.core.estimate.type_choice import Offer
from lambdas.core.estimate.whole_time import TRANSFERS, whole_time
from lambdas.core.fleet import joined
from lambdas.core.fleet.launch_decision import NO_SPOT_ROLE
from lambdas.core.pool.region_price import PoolPrice
from lambdas.core.request import distcp_request
from lambdas.core.request.bandwidth import MBIT_PER_MB, Timetable, spans
from lambdas.core.restores.summary import Restores
from lambdas.core.spending import cross_zone
from lambdas.core.survey.survey import Survey
from lambdas.core.tariff.prices import PriceBook
from lambdas.core.tariff.relay_prices import relay_prices
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import Seat
from lambdas.operations.estimate import mounts, notes, pooling
from lambdas.operations.estimate.aim import Aim, of_moving
from lambdas.operations.estimate.other_paths import other_paths
from lambdas.operations.estimate.quotes import RegionMarket, market_of
from lambdas.operations.estimate.routing import ways_for
from lambdas.operations.fleet.providers import pool

Adjustment = Callable[[EndFigures, list[Offer]], tuple[EndFigures, list[Offer]]]


def estimate_for(
    transfer: AcceptedTransfer,
    size_bytes: int,
    world: World,
    survey: Survey | None = None,
    adjusted: Adjustment = lambda ends, found: (ends, found),
    *,
    is_moving: bool = False,
    files: int | None = None,
    waited_seconds: float | None = None,
    also: Iterable[int] = (),
    aim: Aim | None = None,
    restores: Restores | None = None,
    pool_price: PoolPrice | None = None,
) -> Estimate:
    """Estimate of `size_bytes` between the ends of `transfer`; writes nothing.

    `survey`: where the ends were looked at; `adjusted`: puts in what the transfer itself has shown; `is_moving`: its
    data is under way, and `size_bytes` is what is left; `files`: their number, where nothing was looked at;
    `waited_seconds`: those for which a survey that is over has waited for a person; `also`: numbers of pairs that have
    a row; `aim`: what is estimated, if not moving these bytes; `restores`: what is restored before; `pool_price`:
    where it is fixed, as the transfer has begun. Raises BudgetTooSmall, DeadlineUnreachable or NoSuitableType.
    """
    request, wish = transfer.request, transfer.request.bandwidth_limit_mbps
    aim = aim or of_moving(transfer, size_bytes)
    by_side = [request.relays.types_of(stage, world.env.instance_types) for stage in (0, 1)]
    types = list(dict.fromkeys(by_side[0] + by_side[1]))
    market = market_of(transfer, types, world)
    terms = offers.Terms(
        source=_side(transfer.source_region, transfer.at_source.availability_zone, market.source, world),
        destination=_side(
            transfer.destination_region, transfer.at_destination.availability_zone, market.destination, world
        ),
        # S3 of another region lies beyond the internet gateway, whatever joins the VPCs.
        internet=request.has_bucket or world.env.inter_region_path == "internet",
        prices=market.prices,
        market=market.market,
        now=world.clock.now(),
    )
    ends = [end.instance_type for end in (transfer.at_source, transfer.at_destination)]
    profiles = {kind: world.profiles.get(kind, transfer.region_pair) for kind in {*types, *ends}}
    machines = world.profiles.get(hosts_of(transfer), transfer.region_pair)
    limit = wish if isinstance(wish, int) else None
    have_several = len(transfer.senders) + len(transfer.receivers) > len(ends)
    of_ends = offers.end_figures(
        terms,
        (ends[0], ends[1]),
        machines,
        profiles,
        types,
        None if have_several else limit,
        [] if machines and machines.known("direct") else other_paths(transfer, types, world),
    )
    hosts = [_hosts(terms, side, seats) for side, seats in zip(terms.sides, _seats(transfer), strict=True)]
    if have_several:
        of_ends = offers.with_limit(several.together(of_ends, hosts[0], hosts[1], machines), limit)
    mounted = mounts.of_ends(transfer, survey, world)
    figures = _with_machines(
        of_ends,
        (terms.source.facts.get(ends[0]), terms.destination.facts.get(ends[1])),
        survey,
        machines,
        _elsewhere(transfer, mounted),
        readback=request.verify == "readback",
        checksum=not request.tells_content,
    )
    if have_several:
        figures = several.with_hosts(figures, hosts[0], hosts[1])
    if files and not survey:
        figures = end_limits.with_files(figures, files, size_bytes, machines)
    if survey:
        figures = file_systems.with_file_systems(figures, mounted, mounts.load_of(transfer, survey))
    if request.has_bucket:
        most_relays = 0 if aim.brings_nothing else world.most_pairs(transfer)
        figures = _with_bucket(figures, transfer, size_bytes, survey, files, machines, most_relays)
        figures = offers.with_limit(figures, limit)
    direct, relayed = cross_zone.figures(transfer)
    through = world.env.inter_region_path == "transit-gateway"
    listed = survey.source if survey else None
    figures = figures.model_copy(
        update={
            "cross_zone": direct,
            "relay_cross_zone": relayed,
            "pair_route": aim.pair_route,
            "pooled": pool.pairs(world, transfer) or None,
            "lent": lent_pairs(terms, transfer.existing, request.relays.existing_share),
            "timetable": _timed(wish, terms.now) or None,
            "gateway": gateway(transfer) if through else None,
            "entries": listed.files + listed.directories + listed.symlinks if listed else files,
            "restores": restores.figure(request.source.region) if restores else None,
            **_distcp(transfer, size_bytes, survey.to_send.files if survey else files, machines),
        }
    )
    is_begun = bool(survey or is_moving or waited_seconds is not None)
    # Time in which a person approves does not count.
    elapsed = terms.now - transfer.execution_started_at - (waited_seconds or 0.0) if is_begun else None
    unequal = terms.between_regions and request.relays.pairs == "auto" and aim.takes_ways
    offered = (
        _offers(terms, by_side, profiles, figures, unequal=unequal)
        if request.relays.by_side
        else [offers.offer(terms, kind, profiles[kind], request.machine_sides, figures) for kind in types]
    )
    if request.has_bucket:
        offered = [object_store.offered(one) for one in offered]
    pool_price = pool_price or pooling.price_now(transfer, figures, offered, _most_pairs(aim, transfer, world), world)
    figures, offered = adjusted(pooling.priced(transfer, figures, pool_price), offered)
    found = estimate(
        size_bytes,
        figures,
        offered,
        requested=aim.requested,
        pre_test=aim.pre_test,
        objective=aim.objective,
        most_pairs=0 if aim.brings_nothing else world.most_pairs(transfer),
        pre_test_seconds=world.pre_test_seconds(request),
        notes=notes.of_prices(transfer, types, market, terms.now),
        whole=whole_time(world.profiles.get(TRANSFERS, transfer.region_pair), elapsed),
        ways=lambda offer: ways_for(transfer, offer, figures, market, world) if aim.takes_ways else None,
        also=also,
    )
    count = survey.to_send.files if survey else files or 1
    told = [
        *found.notes,
        *notes.of_relays(found, transfer, market),
        *notes.of_buckets(transfer, size_bytes, count, restores),
        *distcp.note(found.rows, found.figures),
        *mounts.notes(transfer, survey, mounted),
    ]
    reason = aim.reason or found.reason
    if transfer.apart and size_bytes:
        reason += (
            f"; {joined.in_words(transfer.apart, world.env.inter_region_path)}, so no route of relays crosses there"
        )
    packing = _packing(found, survey)
    told += [packing.words] if packing else []
    # Relays of third regions have the types of the source's side.
    both = [
        ([transfer.source_region, *(one.region for one in transfer.transit)], by_side[0]),
        ([transfer.destination_region], by_side[1]),
    ]
    sides = [both[side] for side in request.machine_sides]
    prices = {
        (price.instance_type, price.region): price
        for regions, kinds in sides
        for price in relay_prices(market.prices, kinds, regions, market.market, public=terms.internet)
    }
    found = found.model_copy(
        update={
            "notes": told,
            "reason": reason,
            "packing": packing,
            "pool_price": pool_price,
            "relay_prices": list(prices.values()) or None,
            "weighted_types": market.weighted(sides) or None,
        }
    )
    found = aim.finished(found)
    if aim.brings_nothing:
        found = _without_relays(found, reason)
    if market.market != request.relays.market:
        found = found.model_copy(update={"reason": f"{found.reason}; relays are on demand: {NO_SPOT_ROLE}"})
    return fitted(found)


def _most_pairs(aim: Aim, transfer: AcceptedTransfer, world: World) -> int:
    most = world.most_pairs(transfer)
    return most if aim.requested == "auto" else min(aim.requested, most)


def estimate_again(
    transfer: AcceptedTransfer, before: Estimate, waited_seconds: float, world: World, aim: Aim | None = None
) -> Estimate:
    """The estimate of a transfer that has waited for a person: what the survey saw of its ends still holds."""

    def surveyed(ends: EndFigures, found: list[Offer]) -> tuple[EndFigures, list[Offer]]:
        seen = {name: one for name, one in before.figures.of_ends.items() if name not in ends.of_ends}
        known = {name: getattr(before.figures, name) for name in ("entries", "restores", "file_systems")}
        return ends.model_copy(update={**seen, **known, **distcp.kept(before.figures)}), found

    # The row that the person chose may be one that is of no use by now: it is judged as any other.
    also = [row.pairs for row in before.rows]
    found = estimate_for(
        transfer,
        before.bytes,
        world,
        adjusted=surveyed,
        waited_seconds=waited_seconds,
        also=also,
        aim=aim,
        pool_price=before.pool_price,
    )
    return found.model_copy(update={"packing": before.packing})


def _seats(transfer: AcceptedTransfer) -> tuple[list[Seat], list[Seat]]:
    return transfer.senders, transfer.receivers


def _hosts(terms: offers.Terms, side: Side, seats: Iterable[Seat]) -> several.End:
    kinds = [seat.machine.instance_type for seat in seats]
    return several.End([side.facts.get(kind) for kind in kinds], [terms.outward(side, kind).most for kind in kinds])


def gateway(transfer: AcceptedTransfer) -> Figure | None:
    """Per GB from one VPC to the other, whatever their regions: the VPC that sends pays."""
    source, destination = transfer.at_source, transfer.at_destination
    if (source.region, source.vpc_id) == (destination.region, destination.vpc_id):
        return None
    price = PriceBook().unit("transit-gateway-gb", source.region)
    return Figure(value=price.usd, origin="assumed", note="per GB through a transit gateway: embedded table")


def _offers(
    terms: offers.Terms,
    by_side: list[list[str]],
    profiles: Mapping[str, Profile | None],
    ends: EndFigures,
    *,
    unequal: bool,
) -> list[Offer]:
    source, destination = (
        [offers.offer(terms, kind, profiles[kind], [stage], ends) for kind in kinds]
        for stage, kinds in enumerate(by_side)
    )
    return mixed_offers(source, destination, unequal=unequal)


def _with_machines(
    ends: EndFigures,
    facts: end_limits.Facts,
    survey: Survey | None,
    machines: Profile | None,
    elsewhere: set[str],
    *,
    readback: bool,
    checksum: bool,
) -> EndFigures:
    """`ends` with their processors, and as far as they were looked at with their disks and the number of files.

    `elsewhere`: sides whose files are on no volume of EBS that the machine has, whose credits are the type's.
    """
    known = end_limits.with_processors(ends, facts, checksum=checksum)
    if survey is None:
        return known
    rates = survey.source.read_mb_s, survey.destination.write_mb_s
    volumes = (None if "source" in elsewhere else facts[0], None if "destination" in elsewhere else facts[1])
    known = end_limits.with_disks(known, *rates, volumes, readback=readback)
    return end_limits.with_files(known, survey.to_send.files, survey.to_send.bytes, machines)


def _elsewhere(transfer: AcceptedTransfer, mounted: Iterable[file_systems.Mounted]) -> set[str]:
    """Sides whose files are on a file system of AWS's, or on all data nodes of a cluster."""
    ends = (("source", transfer.request.source), ("destination", transfer.request.destination))
    return {end.side for end in mounted if end.served} | {side for side, end in ends if isinstance(end, HdfsEnd)}


def _without_relays(found: Estimate, reason: str) -> Estimate:
    """The estimate where none could be of use: what quotas leave does not matter."""
    candidates = [one.model_copy(update={"reason": reason}) for one in found.candidates]
    told = [note for note in found.notes if "quota of vCPUs" not in note]
    return found.model_copy(update={"candidates": candidates, "notes": told})


def _with_bucket(
    ends: EndFigures,
    transfer: AcceptedTransfer,
    size_bytes: int,
    survey: Survey | None,
    files: int | None,
    machines: Profile | None,
    most_relays: int,
) -> EndFigures:
    """`ends`, of which one is a bucket."""
    request, count = transfer.request, survey.to_send.files if survey else files or 1
    found = object_store.with_bucket(
        ends, request.source, request.destination, request.chunk_size_mib, size_bytes, count, most_relays
    )
    return object_store.with_objects(found, size_bytes, count, machines, is_read=request.source.kind == "bucket")


def _distcp(
    transfer: AcceptedTransfer, size_bytes: int, files: int | None, machines: Profile | None
) -> dict[str, Figure]:
    """DistCp's figures where it could copy the same files, and somebody has counted them."""
    request = transfer.request
    if not (files and size_bytes and distcp_request.copies_between(request.source, request.destination)):
        return {}
    workers = min(len(transfer.senders), len(transfer.receivers))
    return distcp.figures(request.distcp, files, size_bytes, workers, machines)


def _packing(found: Estimate, survey: Survey | None) -> Packing | None:
    """What of the chosen row packing may save; none where the survey has sampled nothing."""
    share = survey.source.packed_share if survey else None
    if share is None or not found.bytes:
        return None
    pairs = found.chosen_pairs
    return Packing.of(share, found.bytes, found.row(pairs).seconds, found.figures.gb_usd(pairs))


def _timed(wish: int | Timetable | None, now: float) -> list[TimedLimit]:
    """The limits of a timetable; a number holds the ends and the direct path down all the time."""
    return [
        TimedLimit(since=since, until=None if until == inf else until, rate=mbps / MBIT_PER_MB)
        for since, until, mbps in (spans(wish, now) if isinstance(wish, Timetable) else [])
        if mbps is not None
    ]


def _side(region: str, zone: str, market: RegionMarket, world: World) -> Side:
    deployed = frozenset(world.env.daemon_assets.get(region, {}))
    return Side(region, zone, market.facts, market.free_vcpus, deployed)
