"""The number of relays that the quotas of vCPUs let a transfer have."""

from collections.abc import Iterable
from functools import partial

from cli.aws import Aws
from cli.doctor.finding import Finding, Findings, looked, ok, warning
from lambdas.adapters.ec2 import Ec2Compute
from lambdas.adapters.environment import Environment
from lambdas.adapters.instance_types import Ec2InstanceTypes
from lambdas.adapters.quotas import ServiceQuotas
from lambdas.core.tariff.prices import Market
from lambdas.core.tariff.quotas import QUOTA_CODES, Running, free_vcpus, is_standard


def quotas(
    aws: Aws, environment: Environment, wanted: dict[str, int], instance_types: Iterable[str], market: Market
) -> Findings:
    """`wanted`: relays by region, of the first of `instance_types`, which is the preferred one."""
    preferred = next(iter(instance_types))
    for region, count in wanted.items():
        yield from looked("quota", region, partial(_quota, aws, environment, region, count, preferred, market))


def _quota(
    aws: Aws, environment: Environment, region: str, wanted: int, instance_type: str, market: Market
) -> Findings:
    if wanted == 0:
        yield ok("quota", region, "no relays are wanted")
        return
    ec2 = aws.client("ec2", region)
    facts = Ec2InstanceTypes(ec2).facts([instance_type]).get(instance_type)
    if facts is None:
        remedy = "allow a type that the region has: instanceTypes in cdk.json, or relays.instanceTypes in the request"
        yield warning("quota", region, f"{instance_type} is not to be had here, or nothing is known of it", remedy)
        return
    running = Ec2Compute(ec2, environment.deployment, ec2).running()
    limit = ServiceQuotas(aws.client("service-quotas", region)).vcpus(market)
    counted = [Running(one.instance_type, one.vcpus, one.spot) for one in running]
    free = free_vcpus(limit, counted, market) if is_standard(instance_type) else None
    yield judge(region, wanted, instance_type, facts.vcpus, free, market)


def judge(region: str, wanted: int, instance_type: str, vcpus: int, free: int | None, market: Market) -> Finding:
    """`vcpus` of one relay; `free`: what is left of the quota, None where that is not known."""
    code = QUOTA_CODES[market]
    if free is None:
        what = f"what is left of the {market} quota of vCPUs for {instance_type} is not known"
        return warning(
            "quota", region, what, f"look at Service Quotas, Amazon EC2, {code}; launches say what is missing"
        )
    what = f"{free} vCPUs are left of the {market} quota; {wanted} relays of {instance_type} take {wanted * vcpus}"
    if wanted * vcpus <= free:
        return ok("quota", region, what)
    remedy = (
        f"aws service-quotas request-service-quota-increase --region {region} --service-code ec2 --quota-code {code} "
        "--desired-value N; transfers go on with fewer relays"
    )
    return warning("quota", region, f"{what}: {free // vcpus} can be had", remedy)
