"""What follows from estimates, runs and prices. Pure."""

from collections.abc import Iterable, Mapping, Sequence
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


def bill(report: Mapping[str, Any], hour_usd: Mapping[str, float], egress_usd_per_gb: float) -> float:
    """Dollars for what a report says ran and moved: each relay by the second, a minute at least, and the traffic out.

    `hour_usd`: of one relay by region, with its public address and its disk.
    """
    relays = 0.0
    for node in report["nodes"]:
        seconds = max(ceil(node["endedAt"] - node["requestedAt"]), LEAST_BILLED_SECONDS)
        relays += seconds * hour_usd[node["region"]] / 3600
    moved: int = report["bytes"]
    return relays + moved / 1e9 * egress_usd_per_gb


def regret(chosen: int, seconds: Mapping[int, Sequence[float]]) -> float:
    """How much longer the chosen number of pairs takes than the best one, as a share; medians of the runs count."""
    medians = {pairs: median(runs) for pairs, runs in seconds.items()}
    return medians[chosen] / min(medians.values()) - 1
