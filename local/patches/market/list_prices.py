"""AWS's list prices of two regions, dollars, as they were on `RECORDED`, and as entries of the price list."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import date
from typing import Any

RECORDED = date(2026, 11, 21)
# region: name of its location, prefix of its usage types
REGIONS = {"us-west-2": ("US West (Oregon)", "USW2"), "eu-west-1": ("EU (Ireland)", "EU")}
# Per hour of a family's `large` on Linux, in these regions; within a family prices are proportional to size.
LARGE_HOUR = {
    "t3": (0.0832, 0.0912),
    "t4g": (0.0672, 0.0736),
    "m5": (0.096, 0.107),
    "m6i": (0.096, 0.107),
    "m6in": (0.13923, 0.15561),
    "m7g": (0.0816, 0.091),
    "c6gn": (0.0864, 0.0976),
    "c7gn": (0.1248, 0.141),
    "c6in": (0.1134, 0.1281),
}
LARGES = {"micro": 1 / 8, "small": 1 / 4, "medium": 1 / 2, "large": 1, "xlarge": 2} | {
    f"{times}xlarge": 2 * times for times in (2, 4, 8, 12, 16, 24, 32)
}
EGRESS_GB = 0.02
PUBLIC_ADDRESS_HOUR = 0.005
DISK_GB_MONTH = {"us-west-2": 0.08, "eu-west-1": 0.088}

Product = dict[str, Any]


def instance_hour(instance_type: str, region: str) -> float | None:
    """Linux on demand; None for a family, size or region that was not recorded."""
    family, _, size = instance_type.partition(".")
    if family not in LARGE_HOUR or size not in LARGES or region not in REGIONS:
        return None
    return LARGE_HOUR[family][list(REGIONS).index(region)] * LARGES[size]


def products(service: str) -> Iterator[Product]:
    """Entries of the price list of AmazonEC2, AmazonVPC or AWSDataTransfer, also some that good filters leave out."""
    for region in REGIONS:
        match service:
            case "AmazonEC2":
                yield from _instances(region)
                for kind, usd in (("gp3", DISK_GB_MONTH[region]), ("gp2", DISK_GB_MONTH[region] * 1.25)):
                    more = {"volumeApiName": kind, "volumeType": "General Purpose"}
                    yield _product(service, region, "Storage", f"EBS:VolumeUsage.{kind}", more, "GB-Mo", usd)
            case "AmazonVPC":
                for use in ("InUse", "Idle"):
                    more = {"group": "VPCPublicIPv4Address"}
                    yield _product(service, region, None, f"PublicIPv4:{use}Address", more, "Hrs", PUBLIC_ADDRESS_HOUR)
            case "AWSDataTransfer":
                yield from _transfers(region)


def _instances(region: str) -> Iterator[Product]:
    for family in LARGE_HOUR:
        for size in LARGES:
            name = f"{family}.{size}"
            usd = instance_hour(name, region) or 0.0
            for system, status, use, price in (
                ("Linux", "Used", "BoxUsage", usd),
                ("Linux", "AllocatedCapacityReservation", "Reservation", 0.0),
                ("Linux", "UnusedCapacityReservation", "UnusedBox", usd),
                ("Windows", "Used", "BoxUsage", usd * 1.9),
            ):
                more = {
                    "instanceType": name,
                    "operatingSystem": system,
                    "tenancy": "Shared",
                    "preInstalledSw": "NA",
                    "capacitystatus": status,
                    "licenseModel": "No License required",
                }
                yield _product("AmazonEC2", region, "Compute Instance", f"{use}:{name}", more, "Hrs", price)


def _transfers(region: str) -> Iterator[Product]:
    for other in REGIONS:
        if other != region:
            ways = (("InterRegion Outbound", "Out", EGRESS_GB), ("InterRegion Inbound", "In", 0.0))
            for kind, way, usd in ways:
                more = {"fromRegionCode": region, "toRegionCode": other, "transferType": kind}
                usage = f"{REGIONS[other][1]}-AWS-{way}-Bytes"
                product = _product("AWSDataTransfer", region, "Data Transfer", usage, more, "GB", usd)
                product["product"]["attributes"]["usagetype"] = f"{REGIONS[region][1]}-{usage}"
                yield product


def _product(
    service: str, region: str, family: str | None, usage: str, more: dict[str, str], unit: str, usd: float
) -> Product:
    location, prefix = REGIONS[region]
    sku = hashlib.sha256(f"{service}{region}{usage}{more}".encode()).hexdigest()[:16].upper()
    attributes = {
        "servicecode": service,
        "regionCode": region,
        "location": location,
        "locationType": "AWS Region",
        "usagetype": f"{prefix}-{usage}",
        **more,
    }
    dimension = {
        "unit": unit,
        "beginRange": "0",
        "endRange": "Inf",
        "description": f"${usd:.10f} per {unit}",
        "appliesTo": [],
        "rateCode": f"{sku}.JRTCKXETXF.6YS6EN2CT7",
        "pricePerUnit": {"USD": f"{usd:.10f}"},
    }
    term = {
        "priceDimensions": {dimension["rateCode"]: dimension},
        "sku": sku,
        "effectiveDate": "2026-11-01T00:00:00Z",
        "offerTermCode": "JRTCKXETXF",
        "termAttributes": {},
    }
    return {
        "product": {**({"productFamily": family} if family else {}), "attributes": attributes, "sku": sku},
        "serviceCode": service,
        "terms": {"OnDemand": {f"{sku}.JRTCKXETXF": term}},
        "version": "20261121000000",
        "publicationDate": f"{RECORDED}T00:00:00Z",
    }
