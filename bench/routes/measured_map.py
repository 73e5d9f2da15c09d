"""The measured map of `measured/README.md`."""

import csv
from collections.abc import Iterator
from pathlib import Path

from lambdas.core.routes.network_map import Link, NetworkMap

FOLDER = Path(__file__).parent / "measured"
CLOUDS = ("aws", "azure", "gcp")


def measured_map(gain: float = 1.0) -> NetworkMap:
    """Every measured link; egress counts as 0 where no price is listed (`priced` says where one is)."""
    prices = dict(_cells("egress-usd-per-gb"))
    return NetworkMap.of(
        Link(*pair, rate=rate, gain=gain, usd_per_gb=prices.get(pair, 0.0)) for pair, rate in _cells("rates-mb-s")
    )


def priced() -> set[tuple[str, str]]:
    """The links that have a listed price."""
    return {pair for pair, _ in _cells("egress-usd-per-gb")}


def within(network: NetworkMap, cloud: str) -> NetworkMap:
    """The links between regions of one cloud."""
    return network.among(region for region in network.regions if region.startswith(f"{cloud}:"))


def _cells(name: str) -> Iterator[tuple[tuple[str, str], float]]:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            origin = row.pop("from")
            for destination, value in row.items():
                if value:
                    yield (origin, destination), float(value)
