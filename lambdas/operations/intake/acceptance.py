"""The checks of a request before anything is done for it; they change nothing."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.ends import allowed_buckets
from lambdas.core.ends.bucket import BucketEnd, DestinationBucket, SourceBucket
from lambdas.core.errors import InvalidRequest
from lambdas.core.fleet import joined
from lambdas.core.fleet.joined import Border
from lambdas.core.fleet.topology import pair_of
from lambdas.core.places.machines import EndMachine, ExistingRelay, TransitRegion
from lambdas.core.places.place import Place
from lambdas.core.request.request import Limits, Objective, TransferRequest, parse_request
from lambdas.core.seats.credentials import MIRRORING, READING, RESTORING, WRITING, BucketPlace, too_long
from lambdas.core.transfer.seat import Seat, seats_of
from lambdas.operations.fleet.providers.lent import look_at
from lambdas.operations.intake.end_machines import in_other_vpcs, machines_of, with_workers


@dataclass(frozen=True)
class Accepted:
    """A request with the deployment's defaults filled in, its seats, and the machines and regions for its relays."""

    request: TransferRequest
    senders: list[Seat]
    receivers: list[Seat]
    existing: list[ExistingRelay]
    transit: list[TransitRegion]
    apart: list[Border]


def accept(raw: object, world: World) -> Accepted:
    """Return what was asked for, if it can work; raises InvalidRequest."""
    env = world.env
    request = parse_request(raw, Limits(env.regions, env.max_pairs, env.instance_types, env.max_cost_usd))
    if problems := list(_not_allowed(request, world)):
        raise InvalidRequest(problems)
    if request.copied_ends is not None:
        # S3 copies by itself: no machine, relay or region has to be ready.
        filled_in = request.model_copy(update={"objective": _objective(request, world), **_owned(request, world)})
        return Accepted(filled_in, [], [], [], [], [])
    request = with_workers(request, world)
    sources, destinations = machines_of(request, world)
    source, destination = sources[0], destinations[0]
    existing, problems = look_at(request, pair_of(source, destination), world)
    problems += in_other_vpcs(request, sources, destinations)
    transit, unusable = _transit(request, world)
    apart, unjoined = _apart(request, source, destination, transit, world) if transit else ([], [])
    problems += [*unusable, *unjoined, *_not_in_the_pool(request, (source.region, destination.region), world)]
    if problems:
        raise InvalidRequest(problems)
    chosen: dict[str, Any] = {"instance_types": request.relays.instance_types or list(env.instance_types)}
    relays = request.relays.model_copy(update=chosen)
    changes = {"relays": relays, "objective": _objective(request, world), **_owned(request, world)}
    filled_in = request.model_copy(update=changes)
    senders, receivers = seats_of("sender", sources), seats_of("receiver", destinations)
    return Accepted(filled_in, senders, receivers, existing, transit, apart)


def _objective(request: TransferRequest, world: World) -> Objective:
    """What the request asks for, else the deployment."""
    asked = request.objective
    value = asked.value_of_time_usd_per_hour
    return asked.model_copy(
        update={
            "max_cost_usd": asked.max_cost_usd or world.env.max_cost_usd,
            "value_of_time_usd_per_hour": world.env.value_of_time_usd_per_hour if value is None else value,
        }
    )


def _not_allowed(request: TransferRequest, world: World) -> Iterator[str]:
    """What the deployment's settings say against the buckets of a request."""
    for side, end, uses in _used(request):
        entries = world.env.buckets
        why = allowed_buckets.refusal(entries, end.bucket, end.prefix, end.region, uses)
        if why is not None:
            yield f"$.{side}.bucket: '{end.bucket}': {why}"
            continue
        keys = allowed_buckets.keys_of(entries, end.bucket, end.prefix)
        yield from _not_as_the_settings_say(side, end, allowed_buckets.owner_of(entries, end.bucket, end.prefix), keys)
        place, tags = BucketPlace(end.bucket, end.prefix, end.region), "write" in uses and request.gives_tags
        if long := too_long(place, uses, keys, tags=tags):
            yield f"$.{side}.prefix: {long}"


def _used(request: TransferRequest) -> Iterator[tuple[str, BucketEnd, tuple[allowed_buckets.Use, ...]]]:
    """The buckets at its ends, and what it does there."""
    writing = MIRRORING if request.delete else WRITING
    source = request.source
    reading = RESTORING if isinstance(source, SourceBucket) and source.restoring else READING
    for side, end, uses in (("source", source, reading), ("destination", request.destination, writing)):
        if isinstance(end, BucketEnd):
            yield side, end, uses


def _not_as_the_settings_say(side: str, end: BucketEnd, owner: str | None, keys: Sequence[str]) -> Iterator[str]:
    """An owner or a key that is not the one of the settings."""
    asked = end.expected_bucket_owner
    if asked and owner and asked != owner:
        yield (
            f"$.{side}.expectedBucketOwner: '{asked}': the deployment's setting `buckets` says that account {owner} "
            f"owns '{end.bucket}'; write that, or leave it out"
        )
    key = end.kms_key_id if isinstance(end, DestinationBucket) else None
    if key is not None and key not in keys:
        known = f"name one of {', '.join(keys)}, or add it" if keys else "add it"
        yield (
            f"$.{side}.kmsKeyId: '{key}': the role of buckets may not use this key below '{end.where}'; {known} as "
            "kmsKey in the deployment's setting `buckets` (docs/deploy.md)"
        )


def _owned(request: TransferRequest, world: World) -> dict[str, Any]:
    """The ends that are buckets, with the owner that the settings name."""
    owned: dict[str, Any] = {}
    for side, end, _ in _used(request):
        owner = allowed_buckets.owner_of(world.env.buckets, end.bucket, end.prefix)
        if owner is not None:
            owned[side] = end.model_copy(update={"expected_bucket_owner": owner})
    return owned


def _not_in_the_pool(request: TransferRequest, regions: Sequence[str], world: World) -> list[str]:
    """Why a request for relays of the pool alone gets none, or one that waits for its price waits for nothing.

    The first would move on the direct path unsaid, the second start at its latest time.
    """
    known = ", ".join(sorted(world.env.pool_regions)) or "no region"
    missing = [region for region in dict.fromkeys(regions) if region not in world.env.pool_regions]
    relays = request.relays
    if relays.most_usd_per_gb is not None and len(missing) == len(set(regions)):
        where = " and ".join(missing)
        return [
            f"$.relays.maxUsdPerGB: {relays.most_usd_per_gb}: there is no pool in {where}; {known} has one: leave it "
            "out, and startBy with it"
        ]
    if relays.pool != "only":
        return []
    return [
        f"$.relays.pool: 'only': there is no pool in {region}; {known} has one: write 'prefer', or leave it out"
        for region in missing
    ]


def _transit(request: TransferRequest, world: World) -> tuple[list[TransitRegion], list[str]]:
    """The third regions that relays may be in, and what is wrong with those that were named."""
    name, found, problems = f"{world.env.deployment}-relay", [], []
    for i, region in enumerate(request.relays.third_regions(world.env.regions, request.end_regions)):
        vpc_id = world.at(Place(region)).groups.vpc_of(name)
        if vpc_id is not None:
            found.append(TransitRegion(region=region, vpc_id=vpc_id))
        elif request.relays.through != "auto":
            problems.append(
                f"$.relays.through[{i}]: '{region}' has no security group '{name}'; deploy the stack "
                f"{world.env.deployment}-region-{region}, or leave the region out"
            )
    return found, problems


def _apart(
    request: TransferRequest,
    source: EndMachine,
    destination: EndMachine,
    transit: Sequence[TransitRegion],
    world: World,
) -> tuple[list[Border], list[str]]:
    """The borders that routes cannot cross by private addresses, and what is wrong with regions that were named."""
    if world.env.inter_region_path == "internet" or source.region == destination.region:
        return [], []
    places: Sequence[EndMachine | TransitRegion] = (source, *transit, destination)
    with ThreadPoolExecutor(len(places)) as pool:
        asked = {one.region: pool.submit(world.at(one.place).subnets.of_vpc, one.vpc_id) for one in places}
    ends, third = (source.region, destination.region), [one.region for one in transit]
    found = joined.apart({region: answer.result() for region, answer in asked.items()}, ends)
    problems = []
    for i, region in enumerate(request.relays.through if request.relays.through != "auto" else []):
        if region in third and not joined.is_between(region, ends, third, found):
            lacking = [border for border in found if region in border and set(ends) & set(border)]
            problems.append(
                f"$.relays.through[{i}]: no way through '{region}' can be used, as "
                f"{joined.in_words(lacking, world.env.inter_region_path)}; join their VPCs, or leave the region out"
            )
    return found, problems
