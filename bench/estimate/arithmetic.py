"""What follows from estimates, runs and prices. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import Any

LEAST_BILLED_SECONDS = 60


def relative_error(estimated: float, measured: float) -> float:
    """Of an estimate against what was measured, which is not 0; positive: too much was estimated."""
    return (estimated - measured) / measured


def percentile(values: Iterable[float], share: float) -> float:
    """The least of `values` that `share` of them, 0 to 1, do not exceed; raises ValueError for none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("values: none; a percentile needs at least one")
    return ordered[max(ceil(share * len(ordered)), 1) - 1]


@dataclass(frozen=True)
class Tariff:
    """Dollars: of a relay's hour by region, with address and disk; of a GB that leaves; of each call by its name.

    `further_gb`: of a GB that leaves a third region.
    """

    relay_hour: Mapping[str, float]
    leaving_gb: float
    call: Mapping[str, float]
    further_gb: Mapping[str, float] = field(default_factory=dict)


def bill(report: Mapping[str, Any], calls: Mapping[str, float], tariff: Tariff, lent: Collection[str] = ()) -> float:
    """Dollars for what a report says ran and moved, and for the calls that were counted meanwhile.

    Each relay by the second, a minute at least; `lent` machines cost nothing.
    """
    relays = 0.0
    for node in report["nodes"]:
        if node["instanceId"] in lent:
            continue
        seconds = max(ceil(node["endedAt"] - node["requestedAt"]), LEAST_BILLED_SECONDS)
        relays += seconds * tariff.relay_hour[node["region"]] / 3600
    moved: int = report["bytes"]
    per_gb = tariff.leaving_gb
    for way in report.get("routes", []):
        per_gb += way["share"] * sum(tariff.further_gb[region] for region in way["regions"][1:-1])
    return relays + moved / 1e9 * per_gb + sum(count * tariff.call[name] for name, count in calls.items())


def regret(chosen: int, seconds: Mapping[int, Sequence[float]]) -> float:
    """How much longer the chosen number of pairs takes than the best one, as a share; medians of the runs count."""
    medians = {pairs: median(runs) for pairs, runs in seconds.items()}
    return medians[chosen] / min(medians.values()) - 1
