"""The checks of a request before anything is done for it; they change nothing."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lambdas.adapters.records import Instance
from lambdas.adapters.world import World
from lambdas.core.errors import InvalidRequest
from lambdas.core.fleet import joined
from lambdas.core.fleet.joined import Border
from lambdas.core.fleet.topology import pair_of
from lambdas.core.places.machines import EndMachine, ExistingRelay, TransitRegion
from lambdas.core.places.place import Place
from lambdas.core.request.request import Limits, TransferRequest, parse_request
from lambdas.core.seats.consent import how_to_tag
from lambdas.core.transfer.seat import Seat, seats_of
from lambdas.operations.fleet.providers.lent import look_at


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
    source, destination = _ends(request, world)
    existing, problems = look_at(request, pair_of(source, destination), world)
    transit, unusable = _transit(request, world)
    apart, unjoined = _apart(request, source, destination, transit, world) if transit else ([], [])
    problems += [*unusable, *unjoined]
    if problems:
        raise InvalidRequest(problems)
    relays = request.relays.model_copy(
        update={"instance_types": request.relays.instance_types or list(env.instance_types)}
    )
    asked = request.objective
    value = asked.value_of_time_usd_per_hour
    objective = asked.model_copy(
        update={
            "max_cost_usd": asked.max_cost_usd or env.max_cost_usd,
            "value_of_time_usd_per_hour": env.value_of_time_usd_per_hour if value is None else value,
        }
    )
    filled_in = request.model_copy(update={"relays": relays, "objective": objective})
    senders, receivers = seats_of("sender", [source]), seats_of("receiver", [destination])
    return Accepted(filled_in, senders, receivers, existing, transit, apart)


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


def _ends(request: TransferRequest, world: World) -> tuple[EndMachine, EndMachine]:
    problems: list[str] = []
    ends = []
    for side, end in (("source", request.source), ("destination", request.destination)):
        found = world.at(end.place).compute.describe([end.instance_id])
        problem = _problem(end.region, end.instance_id, found, world)
        if problem:
            problems.append(f"$.{side}.instanceId: '{end.instance_id}' {problem}")
        else:
            ends.append(found[0].machine(end.region))
    if problems:
        raise InvalidRequest(problems)
    return ends[0], ends[1]


def _problem(region: str, instance_id: str, found: list[Instance], world: World) -> str | None:
    if not found or found[0].gone:
        return f"is not in {region}; name an instance of that region, or correct the region"
    if found[0].state != "running":
        return f"is {found[0].state}; start it first"
    if not world.at(Place(region)).commands.online([instance_id]):
        return "does not answer SSM; install the SSM agent and attach the control stack's managed policy to its role"
    if world.env.require_consent and found[0].end_of != world.env.deployment:
        tag = how_to_tag([instance_id], region, world.env.deployment)
        return f"is not tagged as an end of this deployment: whoever owns it runs {tag}"
    return None
