"""DescribeSpotPriceHistory.

AWS: a spot price per type and zone that changes with demand; the history from a start time on also holds the price in
effect at that time.
Emulator: has no such action. Here each price changes once an hour, within 30 to 50 % of the list price, the same way
in every run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from local.patches.ec2.instance_types import offerings
from local.patches.ec2.wire import Params, Response, document, members, pages, parameter, refuse
from local.patches.market.list_prices import instance_hour
from local.patches.upstream import ec2, region_name

LINUX = "Linux/UNIX"
HOUR = 3600
KEPT = 90 * 24 * HOUR


def install() -> None:
    """Add the action."""
    ec2._ACTION_MAP["DescribeSpotPriceHistory"] = _describe


def _describe(params: Params) -> Response:
    if any(name.startswith("Filter.") for name in params):
        return refuse("InvalidParameterValue", "filters are not supported; give InstanceType and AvailabilityZone")
    now = datetime.now(UTC).timestamp()
    end = _time(params, "EndTime", now)
    start = max(_time(params, "StartTime", 0), now - KEPT)
    types, zone = members(params, "InstanceType"), parameter(params, "AvailabilityZone")
    products = members(params, "ProductDescription")
    offers = [
        (offer["InstanceType"], offer["Location"])
        for offer in offerings("availability-zone", region_name())
        if (not types or offer["InstanceType"] in types) and zone in ("", offer["Location"])
    ]
    found = [] if products and LINUX not in products else [e for offer in offers for e in _history(*offer, start, end)]
    entries, token = pages(params, found, 1000)
    return document("DescribeSpotPriceHistory", {"SpotPriceHistory": entries, **token})


def _history(instance_type: str, zone: str, start: float, end: float) -> Iterator[dict[str, Any]]:
    """Newest first, down to the price in effect at `start`; nothing for a type without a list price."""
    full = instance_hour(instance_type, region_name())
    if full is None:
        return
    for hour in range(int(end // HOUR), int(start // HOUR) - 1, -1):
        seed = hashlib.sha256(f"{instance_type}{zone}{hour}".encode()).digest()
        yield {
            "AvailabilityZone": zone,
            "InstanceType": instance_type,
            "ProductDescription": LINUX,
            "SpotPrice": f"{full * (0.3 + 0.2 * seed[0] / 255):.6f}",
            "Timestamp": datetime.fromtimestamp(hour * HOUR, UTC).isoformat().replace("+00:00", "Z"),
        }


def _time(params: Params, name: str, default: float) -> float:
    text = parameter(params, name)
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() if text else default
