"""Third regions whose relays are known by private addresses: whether routes join them with the two ends."""

from collections.abc import Sequence

from cli.aws import Aws
from cli.doctor.finding import Finding, Findings, failed, looked, ok, warning
from cli.doctor.machine import Machine
from lambdas.adapters.environment import Environment, RegionPath
from lambdas.adapters.security_groups import Ec2SecurityGroups
from lambdas.adapters.subnets import Ec2Subnets
from lambdas.core.fleet import joined
from lambdas.core.fleet.joined import Border
from lambdas.core.fleet.launch_plan import Subnet


class ThirdRegions:
    """Those of a request, between two machines that run; `named`: the request names them, and means no others."""

    def __init__(
        self, aws: Aws, environment: Environment, ends: tuple[Machine, Machine], third: Sequence[str], *, named: bool
    ) -> None:
        self._aws, self._environment = aws, environment
        self._ends, self._third, self._named = ends, third, named

    def looked_at(self) -> Findings:
        """Look at the routes between all of them and the ends."""
        if self._third and self._environment.inter_region_path != "internet":
            yield from looked("path", "third regions", self._joined)

    def _joined(self) -> Findings:
        first, last = self._ends
        source, destination = first.region, last.region
        vpcs = {source: first.vpc_id, **self._vpcs(), destination: last.vpc_id}
        places = {region: self._subnets(region, vpc_id) for region, vpc_id in vpcs.items()}
        lacking, path = joined.apart(places, (source, destination)), self._environment.inter_region_path
        for region in self._third:
            if region in vpcs:
                yield judge_joined(region, (source, destination), list(vpcs), lacking, path, named=self._named)

    def _vpcs(self) -> dict[str, str]:
        """The enrolled VPC of each region that has one; another finding tells of a stack that is missing."""
        deployment, found = self._environment.deployment, dict[str, str]()
        for region in self._third:
            groups = Ec2SecurityGroups(self._aws.client("ec2", region), deployment)
            if vpc_id := groups.vpc_of(f"{deployment}-relay"):
                found[region] = vpc_id
        return found

    def _subnets(self, region: str, vpc_id: str) -> list[Subnet]:
        enrolled = self._environment.subnet_ids.get(region, ())
        client = self._aws.client("ec2", region)
        return Ec2Subnets(client, self._environment.deployment, enrolled).of_vpc(vpc_id)


def judge_joined(
    region: str,
    ends: tuple[str, str],
    there: Sequence[str],
    lacking: Sequence[Border],
    path: RegionPath,
    *,
    named: bool,
) -> Finding:
    """A region that is named must be on some way; any other one is left out of routes."""
    mine = [border for border in lacking if region in border]
    if not mine:
        return ok("path", region, "private routes join it with all regions that routes may lead through")
    third = [one for one in there if one not in ends]
    usable = joined.is_between(region, ends, third, lacking)
    remedy = "join the two VPCs and route the other's addresses in the tables of both regions' enrolled subnets"
    if named and not usable:
        remedy += f"; or leave {region} out of relays.through"
        return failed("path", region, f"no way leads through it: {joined.in_words(mine, path)}", remedy)
    what = "routes are planned without these borders" if usable else "no route is planned through it"
    return warning("path", region, f"{joined.in_words(mine, path)}: {what}", remedy)
