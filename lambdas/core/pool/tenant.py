"""Tenants: whose transfers share a pool, and on which terms."""

from collections.abc import Iterable, Mapping
from math import fsum
from typing import Annotated, Any

from pydantic import Field

from lambdas.core.documents import Count, Document

# A weight of 1 000 beside one of 0.0001 is a ratio that no rate can show.
LEAST_WEIGHT, MOST_WEIGHT = 0.0001, 1000.0

# Without tenants everybody is this one.
OPERATOR = "operator"

MegabytesPerSecond = Annotated[float, Field(ge=0)]


class TenantTerms(Document):
    """What a deployment grants one tenant; MB/s are of all its transfers together, in one region's pool.

    `limit_mb_s`: None is no limit. `active`: so many of its transfers may run at once; None: any. `relays`: so many
    relays may they have at once; None: as many as the deployment allows each. `usd_per_month`: dollars that those which
    start in one month (UTC) may cost together; None: any amount.
    """

    weight: Annotated[float, Field(ge=LEAST_WEIGHT, le=MOST_WEIGHT)] = 1.0
    guarantee_mb_s: MegabytesPerSecond = Field(default=0.0, alias="guaranteeMBps")
    limit_mb_s: Annotated[float, Field(gt=0)] | None = Field(default=None, alias="limitMBps")
    active: Annotated[Count, Field(ge=1)] | None = Field(default=None, alias="activeTransfers")
    relays: Count | None = None
    usd_per_month: Annotated[float, Field(gt=0)] | None = None


# As the environment of functions has them (infra/lib/config-tenants.ts).
_LETTERS = {
    "w": "weight",
    "g": "guaranteeMBps",
    "l": "limitMBps",
    "t": "activeTransfers",
    "r": "relays",
    "d": "usdPerMonth",
}
_WHOLE = frozenset("tr")


def parse_tenants(texts: Iterable[str]) -> dict[str, TenantTerms]:
    """Tenants by name, from texts such as `acme w=2 t=4 d=500`; raises KeyError or ValueError for others."""
    return dict(map(_parsed, texts))


def _parsed(text: str) -> tuple[str, TenantTerms]:
    name, *words = text.split(" ")
    terms: dict[str, Any] = {}
    for letter, value in (word.split("=", 1) for word in words):
        terms[_LETTERS[letter]] = int(value) if letter in _WHOLE else float(value)
    return name, TenantTerms.from_document(terms)


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
