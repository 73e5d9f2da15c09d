"""`cpt doctor`: look at an account, and with a request at its machines; changes nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.aws import Aws, home
from cli.console import say
from cli.doctor.buckets import buckets
from cli.doctor.clock import clock
from cli.doctor.clusters import Clusters
from cli.doctor.deployment import Deployment
from cli.doctor.finding import Finding, Findings, Status, failed, looked, ok
from cli.doctor.functions import functions
from cli.doctor.machine import End, Side
from cli.doctor.network import Network
from cli.doctor.path import Paths
from cli.doctor.quota import quotas
from cli.doctor.region import Region
from cli.doctor.schedules import schedules
from cli.doctor.starts import starts
from cli.doctor.third_regions import ThirdRegions
from cli.exit_codes import ExitCode
from cli.options import AsJson, Local
from cli.request_file import read_request
from lambdas.adapters.environment import Environment
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.errors import InvalidRequest
from lambdas.core.request.relays_request import Sides
from lambdas.core.request.request import Limits, TransferRequest, parse_request

_MARKS: dict[Status, str] = {"ok": "✓", "warning": "!", "failed": "✗", "unknown": "?"}


def doctor(
    request: Annotated[
        Path | None,
        typer.Argument(help="A transfer request, whose machines are looked at too.", exists=True, dir_okay=False),
    ] = None,
    *,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """See whether transfers can work: deployment, images, quotas; with a request also machines and the way between."""
    document = None if request is None else read_request(request)
    worst = ExitCode.SUCCEEDED
    for finding in findings(home(local=local), document):
        say(json.dumps(finding.to_document()) if as_json else "\n".join(_lines(finding)))
        if finding.status == "failed":
            worst = ExitCode.UNFIT
    raise typer.Exit(worst)


def findings(aws: Aws, document: dict[str, Any] | None) -> Findings:
    """Yield findings as they are made."""
    yield from looked("clock", "this machine", lambda: clock(aws))
    deployment = Deployment(aws)
    yield from deployment.found()
    environment = deployment.environment
    if environment is None:
        return
    for region, daemons in environment.daemon_assets.items():
        yield from Region(aws, region, daemons).looked_at()
        yield from Network(aws, region, environment.subnet_ids.get(region, ())).looked_at()
    yield from functions(aws)
    yield from starts(aws)
    yield from buckets(aws, environment.buckets)
    yield from schedules(aws)
    if document is None:
        wanted = dict.fromkeys(environment.regions, environment.max_pairs)
        yield from quotas(aws, environment, wanted, environment.instance_types, "on-demand")
        return
    limits = Limits(environment.regions, environment.max_pairs, environment.instance_types, environment.max_cost_usd)
    try:
        accepted = parse_request(document, limits)
    except InvalidRequest as error:
        for problem in error.problems:
            yield failed("request", "the request", problem, "change the request; docs/use.md has its fields")
        return
    yield ok("request", "the request", "its fields are right")
    clusters = Clusters(aws, accepted)
    yield from clusters.looked_at()
    yield from _of_request(aws, environment, clusters.request)


def _of_request(aws: Aws, environment: Environment, request: TransferRequest) -> Findings:
    consent = environment.require_consent
    sources, destinations = (
        [
            End(aws, side, *machine, field=end.field_of(at), require_consent=consent)
            for at, machine in enumerate(end.machines)
        ]
        for side, end in _sides(request)
    )
    for end in (*sources, *destinations):
        yield from end.looked_at()
    source, destination = (side[0].machine if side else None for side in (sources, destinations))
    if source and destination:  # to a bucket no path leads from machine to machine
        ends = source, destination
        yield from Paths(aws, environment, *ends).looked_at()
        through = request.relays.third_regions(environment.regions, request.end_regions)
        named = request.relays.through != "auto"
        yield from ThirdRegions(aws, environment, ends, through, named=named).looked_at()
    wanted = _relays(environment, request)
    for stage, region in enumerate(wanted):
        types = request.relays.types_of(stage, environment.instance_types)
        yield from quotas(aws, environment, {region: wanted[region]}, types, request.relays.market)
    # A route has as many relays in a third region as at its ends, at most.
    most, types = max(wanted.values(), default=0), request.relays.types_of(0, environment.instance_types)
    third = dict.fromkeys(request.relays.third_regions(environment.regions, request.end_regions), most)
    yield from quotas(aws, environment, third, types, request.relays.market)


def _sides(request: TransferRequest) -> tuple[tuple[Side, SourceEnd], tuple[Side, DestinationEnd]]:
    return ("source", request.source), ("destination", request.destination)


def _relays(environment: Environment, request: TransferRequest) -> dict[str, int]:
    """Relays at most, by region; a pre-test launches twice as many. Beside a bucket, or in its region, none stands."""
    pairs = request.relays.pairs
    sides = (pairs.source, pairs.destination) if isinstance(pairs, Sides) else (pairs, pairs)
    counts = [environment.max_pairs if side == "auto" else side for side in sides]
    if request.testing is True:
        counts = [2 * count for count in counts]
    found: dict[str, int] = {}
    for side in [] if request.has_bucket and len(request.end_regions) == 1 else request.machine_sides:
        region = (request.source.region, request.destination.region)[side]
        found[region] = found.get(region, 0) + counts[side]
    return found


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{_MARKS[finding.status]} {finding.check:<10} {finding.about}: {finding.message}"
    if finding.remedy:
        yield f"  {'':<10} → {finding.remedy}"
