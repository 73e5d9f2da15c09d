"""The machines of both ends of a request: those that it names, and workers found in the clusters that it names."""

from collections.abc import Sequence

from lambdas.adapters.records import Instance
from lambdas.adapters.world import World
from lambdas.core.ends import clusters
from lambdas.core.ends.hdfs import HdfsEnd
from lambdas.core.errors import InvalidRequest
from lambdas.core.places.machines import EndMachine
from lambdas.core.request.cluster_workers import named_elsewhere, shares, with_cluster
from lambdas.core.request.machine_rules import MOST_TOGETHER
from lambdas.core.request.request import TransferRequest
from lambdas.core.seats.consent import how_to_tag

# Of a cluster, where some cannot serve: as many more may be looked at as ever serve.
MOST_LOOKED_AT = 2 * MOST_TOGETHER


def with_workers(request: TransferRequest, world: World) -> TransferRequest:
    """The request with workers of the clusters that it names, as if it named them; raises InvalidRequest.

    Of the instances that EMR says run, those serve that could be named: they run, answer SSM, and have their owner's
    consent where that is required.
    """
    ends = {"source": request.source, "destination": request.destination}
    named = {side: cluster for side, end in ends.items() if (cluster := with_cluster(end))}
    if not named:
        return request
    elsewhere, able, problems = named_elsewhere(request), dict[str, list[str]](), list[str]()
    for side, end in named.items():
        cluster_id = str(end.cluster_id)
        found = world.at(end.place).clusters.find(cluster_id)
        why = clusters.problem(cluster_id, end.region, found)
        if why is None and found is not None:
            able[side], why = _able(end, clusters.in_order(found.instances, elsewhere), world)
        if why is not None:
            problems.append(f"$.{side}.clusterId: {why}")
    if problems:
        raise InvalidRequest(problems)
    there = {side: len(able[side]) if side in able else len(end.machine_ids) for side, end in ends.items()}
    counts = dict(zip(ends, shares(request, (there["source"], there["destination"])), strict=True))
    found_workers = {
        side: end.model_copy(update={"workers": able[side][: counts[side]]}) for side, end in named.items()
    }
    return request.model_copy(update=found_workers)


def _able(end: HdfsEnd, instance_ids: Sequence[str], world: World) -> tuple[list[str], str | None]:
    """Those of a cluster that can serve, in their order, and what is wrong where there are none."""
    if not instance_ids:
        return [], f"'{end.cluster_id}': the request names all of its instances for something else; leave one out there"
    services, looked_at = world.at(end.place), instance_ids[:MOST_LOOKED_AT]
    found = {one.instance_id: one for one in services.compute.describe(looked_at)}
    online = services.commands.online(looked_at)
    problems = {one: _problem(end.region, one, found.get(one), world, is_online=one in online) for one in looked_at}
    able = [one for one in looked_at if problems[one] is None]
    if able:
        return able, None
    first = looked_at[0]
    return [], (
        f"'{end.cluster_id}': none of {len(looked_at)} of its {len(instance_ids)} running core and task instances can "
        f"serve; '{first}' {problems[first]}"
    )


def machines_of(request: TransferRequest, world: World) -> tuple[list[EndMachine], list[EndMachine]]:
    """The machines on which daemons work for both ends, in their order; raises InvalidRequest."""
    problems: list[str] = []
    ends: list[list[EndMachine]] = []
    for side, end in (("source", request.source), ("destination", request.destination)):
        machines = []
        for at, instance_id in enumerate(end.machine_ids):
            services = world.at(end.place)
            found = next(iter(services.compute.describe([instance_id])), None)
            is_online = found is not None and bool(services.commands.online([instance_id]))
            problem = _problem(end.region, instance_id, found, world, is_online=is_online)
            if problem is not None or found is None:
                problems.append(f"$.{side}.{end.field_of(at)}: '{instance_id}' {problem}")
            else:
                machines.append(found.machine(end.region))
        ends.append(machines)
    if problems:
        raise InvalidRequest(problems)
    # The seat of a bucket works on the machine at the other end.
    return ends[0] or ends[1], ends[1] or ends[0]


def in_other_vpcs(
    request: TransferRequest, sources: Sequence[EndMachine], destinations: Sequence[EndMachine]
) -> list[str]:
    """What is wrong with machines of one end that are in several VPCs: relays and rules are beside one of them."""
    return [
        f"$.{side}.{end.field_of(at)}: '{machine.instance_id}' is in {machine.vpc_id}, and '{first.instance_id}' in "
        f"{first.vpc_id}; name machines of one VPC"
        for side, end, (first, *others) in (
            ("source", request.source, sources),
            ("destination", request.destination, destinations),
        )
        for at, machine in enumerate(others, 1)
        if machine.vpc_id != first.vpc_id
    ]


def _problem(region: str, instance_id: str, found: Instance | None, world: World, *, is_online: bool) -> str | None:
    """What keeps a machine from being one of an end; None where nothing does."""
    if found is None or found.gone:
        return f"is not in {region}; name an instance of that region, or correct the region"
    if found.state != "running":
        return f"is {found.state}; start it first"
    if not is_online:
        return "does not answer SSM; install the SSM agent and attach the control stack's managed policy to its role"
    if world.env.require_consent and found.end_of != world.env.deployment:
        tag = how_to_tag([instance_id], region, world.env.deployment)
        return f"is not tagged as an end of this deployment: whoever owns it runs {tag}"
    return None
