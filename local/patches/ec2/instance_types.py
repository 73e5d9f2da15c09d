"""DescribeInstanceTypes and DescribeInstanceTypeOfferings.

AWS: each type has its vCPUs, architecture, and baseline and peak bandwidth of its network cards and disks, by which
transfers are estimated; a region offers some types, in some of its zones.
Emulator: says 8 vCPU, x86 and no bandwidth figures for most types, accepts any name, and knows no offerings. Answered
here from what moto's authors recorded of AWS.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib.resources import files
from typing import Any

from local.patches.ec2.wire import Params, Response, document, filters_of, matches, members, pages, parameter, refuse
from local.patches.upstream import ec2, region_name

WEIGHTINGS = ("default", "vpc-1", "ebs-1")
LOCATION_TYPES = ("region", "availability-zone", "availability-zone-id")


def install() -> None:
    """Take over both actions."""
    ec2._ACTION_MAP["DescribeInstanceTypes"] = _describe
    ec2._ACTION_MAP["DescribeInstanceTypeOfferings"] = _offerings


@cache
def instance_types() -> dict[str, dict[str, Any]]:
    """DescribeInstanceTypes' entries by name, of all regions."""
    return dict(_recorded("instance_types"))


def offerings(location_type: str, region: str) -> list[dict[str, str]]:
    """DescribeInstanceTypeOfferings' entries; none for a region that was not recorded."""
    return _offerings_of(location_type, region)


def cores_and_threads(instance_type: str) -> tuple[int, int]:
    """Default CPU options; one core for a type that does not exist, which the emulator launches all the same."""
    entry = instance_types().get(instance_type)
    processors = entry["VCpuInfo"] if entry else {}
    return processors.get("DefaultCores", 1), processors.get("DefaultThreadsPerCore", 1)


def vcpus_of(instance_type: str) -> int:
    """Return what the type counts against a quota."""
    cores, threads = cores_and_threads(instance_type)
    return cores * threads


def weightings(instance_type: str) -> list[str]:
    """How bandwidth may be shared between the network and the disks of a type; empty: there is no choice."""
    found: list[str] = instance_types().get(instance_type, {}).get("NetworkInfo", {}).get("BandwidthWeightings", [])
    return found


@cache
def _offerings_of(location_type: str, region: str) -> list[dict[str, str]]:
    try:
        found: list[dict[str, str]] = _recorded(f"instance_type_offerings/{location_type}/{region}")
    except FileNotFoundError:
        return []
    return found


def _recorded(name: str) -> Any:
    # Not through moto.ec2: importing it reads all of its recordings.
    return json.loads(gzip.decompress((files("moto") / "ec2" / "resources" / f"{name}.json.gz").read_bytes()))


def _describe(params: Params) -> Response:
    here = {offer["InstanceType"] for offer in offerings("region", region_name())}
    wanted, filters = members(params, "InstanceType"), filters_of(params)
    if unknown := [name for name in wanted if name not in here]:
        return refuse(
            "InvalidInstanceType", f"The following supplied instance types do not exist: [{', '.join(unknown)}]"
        )
    if other := set(filters) - {"instance-type"}:
        return refuse("InvalidParameterValue", f"The filter '{min(other)}' is invalid")
    chosen = [name for name in wanted or sorted(here) if name in instance_types() and _passes(filters, name)]
    entries, token = pages(params, chosen, 100)
    entry = {"InstanceTypes": [instance_types()[name] for name in entries]}
    return document("DescribeInstanceTypes", entry | token)


def _offerings(params: Params) -> Response:
    location_type, filters = parameter(params, "LocationType", "region"), filters_of(params)
    if location_type not in LOCATION_TYPES:
        return refuse("InvalidParameterValue", f"The location type '{location_type}' is invalid")
    if other := set(filters) - {"instance-type", "location"}:
        return refuse("InvalidParameterValue", f"The filter '{min(other)}' is invalid")
    chosen = [
        {**offer, "LocationType": location_type}
        for offer in offerings(location_type, region_name())
        if _passes(filters, offer["InstanceType"], offer["Location"])
    ]
    entries, token = pages(params, chosen, 1000)
    return document("DescribeInstanceTypeOfferings", {"InstanceTypeOfferings": entries, **token})


def _passes(filters: dict[str, list[str]], instance_type: str, location: str = "") -> bool:
    values = {"instance-type": instance_type, "location": location}
    return all(any(matches(pattern, values[name]) for pattern in patterns) for name, patterns in filters.items())
