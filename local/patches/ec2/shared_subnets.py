"""Subnets that another account shares by Resource Access Manager.

AWS: a shared subnet has the ARN of the account that owns its VPC, and RunInstances is authorised on that ARN. Its
owner's tags are not seen by those who use it.
Emulator: every subnet is the caller's own.
"""

from __future__ import annotations

from local.patches.upstream import ec2


def share(account: str, region: str, subnet_id: str, owner: str) -> bool:
    """Make `owner` the account whose subnet this is; False where there is no such subnet."""
    subnet = ec2._subnets._data.get((account, region, subnet_id))
    if subnet is None:
        return False
    subnet["OwnerId"] = owner
    ec2._tags._data.pop((account, region, subnet_id), None)
    return True


def owner_of(account: str, region: str, subnet_id: str) -> str:
    """Account in the subnet's ARN."""
    subnet = ec2._subnets._data.get((account, region, subnet_id))
    return str(subnet["OwnerId"]) if subnet else account
