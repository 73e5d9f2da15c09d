"""Equation 5.1 beside measured staged copies. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from bench.hdfs.staged_job import WORKERS, Rates
from bench.hdfs.staged_run import Measured
from lambdas.core.models.distcp import Clusters, Stages, launched_if_faster
from lambdas.core.models.models import Ends, Pair


@dataclass(frozen=True)
class Forecast:
    """Export, transfer and import of one copy, with either middle of the model."""

    store_and_forward: Stages
    zero_wait: Stages


def clusters(rates: Rates, first: Measured | None = None) -> Clusters:
    """The two clusters of the laboratory; v_x and v_m are what `first` has shown, or no limit."""
    stages = first.stages if first else None
    size = first.data_bytes / 1e6 if first else 0.0
    return Clusters(
        Ends(rates.inter_mb_s, rates.intra_mb_s, rates.intra_mb_s),
        (Pair(rates.inter_mb_s, rates.intra_mb_s),) * WORKERS,
        size / stages.export_seconds if stages else inf,
        size / stages.import_seconds if stages else inf,
    )


def launched(rates: Rates, size_bytes: int, pairs: int) -> int:
    """Step A of Figure 5.2: `pairs` where the forecast with them is shorter, else none (6.2.2)."""
    known, pair = clusters(rates), Pair(rates.inter_mb_s, rates.intra_mb_s, rates.boot_seconds)
    asked = (pair,) * pairs
    return len(launched_if_faster(asked, lambda some: known.staged(size_bytes / 1e6, some, "zero-wait").seconds))


def forecasts(found: Mapping[int, Measured], rates: Rates, pairs: Mapping[int, int]) -> dict[int, Forecast]:
    """Equation 5.1 for each copy, by v_x and v_m of the first, of which only the transfer is predicted.

    `pairs`: how many were launched for each.
    """
    known = clusters(rates, next(iter(found.values())))
    pair = Pair(rates.inter_mb_s, rates.intra_mb_s, rates.boot_seconds)
    return {
        files: Forecast(known.staged(size, relays), known.staged(size, relays, "zero-wait"))
        for files, one in found.items()
        for size, relays in [(one.data_bytes / 1e6, (pair,) * pairs[files])]
    }
