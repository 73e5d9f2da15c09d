"""How many vCPUs the account may still start in a region."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from lambdas.core.tariff.prices import Market

# Service Quotas' codes of "Running On-Demand Standard instances" and "All Standard Spot Instance Requests", vCPUs.
QUOTA_CODES: dict[Market, str] = {"on-demand": "L-1216C47A", "spot": "L-34B43A08"}
# A, C, D, H, I, M, R, T and Z are standard; im4gn and is4gen are of I. All other families have quotas of their own.
_STANDARD = re.compile(r"([acdhimrtz]|im|is)\d")


class Running(NamedTuple):
    """An instance that is pending or running; `vcpus` is None where EC2 does not say."""

    instance_type: str
    vcpus: int | None
    spot: bool


def is_standard(instance_type: str) -> bool:
    """Whether the type counts against the quota of standard instances."""
    return _STANDARD.match(instance_type) is not None


def free_vcpus(limit: float | None, instances: Iterable[Running], market: Market) -> int | None:
    """vCPUs left of the quota `limit`, never below 0; None when the quota or an instance's size is not known."""
    if limit is None:
        return None
    counted = [one for one in instances if one.spot == (market == "spot") and is_standard(one.instance_type)]
    used = 0
    for one in counted:
        if one.vcpus is None:
            return None
        used += one.vcpus
    return max(int(limit) - used, 0)
