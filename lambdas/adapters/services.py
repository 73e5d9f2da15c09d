"""What AWS does at one place: machines, clusters, commands, networks, prices and limits of a region."""

from dataclasses import dataclass

from lambdas.adapters import clients, market, ports
from lambdas.adapters.ec2 import Ec2Compute
from lambdas.adapters.emr import EmrClusters
from lambdas.adapters.environment import Environment
from lambdas.adapters.file_systems import AwsFileSystems
from lambdas.adapters.instance_types import Ec2InstanceTypes
from lambdas.adapters.quotas import ServiceQuotas
from lambdas.adapters.security_groups import Ec2SecurityGroups
from lambdas.adapters.spot import Ec2SpotMarket
from lambdas.adapters.ssm import SsmCommands
from lambdas.adapters.subnets import Ec2Subnets


@dataclass(frozen=True)
class Services:
    """Adapters of one place.

    `brief_commands` are for what can be done without: each call is made once, and given up after 4 s.
    """

    compute: ports.Compute
    commands: ports.Commands
    brief_commands: ports.Commands
    groups: ports.SecurityGroups
    subnets: ports.Subnets
    spot_market: market.SpotMarket
    instance_types: market.InstanceTypes
    quotas: market.Quotas
    file_systems: market.FileSystems
    clusters: ports.Clusters


def services(region: str, env: Environment, *, hurried: bool = False) -> Services:
    """Those of a region in the deployment's account; clients are made when first used."""
    ec2 = clients.ec2(region)
    return Services(
        compute=Ec2Compute(clients.ec2(region, hurried=hurried), env.deployment, clients.ec2_launching(region)),
        commands=SsmCommands(clients.ssm(region, hurried=hurried), env.deployment),
        brief_commands=SsmCommands(clients.ssm_briefly(region), env.deployment),
        groups=Ec2SecurityGroups(ec2, env.deployment),
        subnets=Ec2Subnets(ec2, env.deployment, env.subnet_ids.get(region, ())),
        spot_market=Ec2SpotMarket(ec2, clients.iam(env.home_region)),
        instance_types=Ec2InstanceTypes(ec2),
        quotas=ServiceQuotas(clients.service_quotas(region)),
        file_systems=AwsFileSystems(clients.efs(region), clients.fsx(region)),
        clusters=EmrClusters(clients.emr(region)),
    )
