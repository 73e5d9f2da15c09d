"""Tenants: whose transfers share a pool, and on which terms."""

from collections.abc import Mapping
from math import fsum
from typing import Annotated

from pydantic import Field

from lambdas.core.documents import Count, Document

# Executions are named TENANT-…, and rights are granted by that prefix: a hyphen would let `ab` read what is `ab-c`'s.
TENANT = r"^[a-z0-9]{1,32}$"
# A weight of 1 000 beside one of 0.0001 is a ratio that no rate can show.
LEAST_WEIGHT, MOST_WEIGHT = 0.0001, 1000.0

TenantName = Annotated[str, Field(pattern=TENANT)]
MegabytesPerSecond = Annotated[float, Field(ge=0)]


class TenantTerms(Document):
    """What a deployment grants one tenant; MB/s are of all its transfers together, in one region's pool.

    `limit_mb_s`: None is no limit. `active`: so many of its transfers may have relays of the pool at once; None: any.
    """

    weight: Annotated[float, Field(ge=LEAST_WEIGHT, le=MOST_WEIGHT)] = 1.0
    guarantee_mb_s: MegabytesPerSecond = Field(default=0.0, alias="guaranteeMBps")
    limit_mb_s: Annotated[float, Field(gt=0)] | None = Field(default=None, alias="limitMBps")
    active: Annotated[Count, Field(ge=1)] | None = None


def guarantee_problems(terms: Mapping[str, TenantTerms], standing_mb_s: float, region: str) -> list[str]:
    """Why these guarantees cannot all be kept, a line each; none where they can.

    `standing_mb_s`: what the least number of nodes carries. Nodes that have yet to be launched may not come, so they
    back no guarantee.
    """
    found = [
        f"tenants.{name}.guaranteeMBps: {one.guarantee_mb_s:g} is above the tenant's limitMBps, {one.limit_mb_s:g}; "
        f"write {one.limit_mb_s:g} or less, or a higher limit"
        for name, one in sorted(terms.items())
        if one.limit_mb_s is not None and one.guarantee_mb_s > one.limit_mb_s
    ]
    granted = fsum(one.guarantee_mb_s for one in terms.values())
    if granted > standing_mb_s:
        names = ", ".join(f"{name} {one.guarantee_mb_s:g}" for name, one in sorted(terms.items()) if one.guarantee_mb_s)
        found.append(
            f"tenants: guarantees of {granted:g} MB/s ({names}) in {region}, where the pool's least number of nodes "
            f"carries {standing_mb_s:g} MB/s; lower them by {granted - standing_mb_s:g} MB/s, or raise the pool's min"
        )
    return found
