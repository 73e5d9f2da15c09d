"""Figures 6.8 and 6.9, measured: relays that are launched beside both clusters, by type and by number.

Money is that of the dissertation: what is launched, for as long as it ran, at the price of an hour of m4.large or of
t2.micro.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.figures.published import M4_LARGE_HOUR, T2_MICRO_HOUR
from bench.hdfs import arithmetic
from bench.hdfs.network import SMALL, SMALL_SHARE, WORKER, WORKERS, Rates
from bench.hdfs.site import MIB, Copy, Site
from bench.results import Result, say
from lambdas.core.models.zero_wait import Serving, zero_wait

LEAST_GAIN = 0.9
CHUNK_MIB = 4
"""Four blocks. A sender asks the table a few times for every four chunks: with chunks of a block, which in a real
cluster have 128 MiB, that is five times a second at these rates, more than a local cloud on two busy cores answers.
"""
LIKE_WORKERS, TOO_SMALL = "relays like workers", "relays too small for Hadoop"
TYPES = {LIKE_WORKERS: (WORKER, 1.0, M4_LARGE_HOUR), TOO_SMALL: (SMALL, SMALL_SHARE, T2_MICRO_HOUR)}
"""Type of the local cloud, rate over a worker's, and the dissertation's dollars for an hour."""


@dataclass(frozen=True)
class Point:
    """One transfer. `model_seconds`: zero wait with the seconds at which its pairs really joined."""

    files: int
    pairs: int
    kind: str
    seconds: float
    data_seconds: float
    model_seconds: float
    usd: float


def measure(site: Site, rates: Rates, file_mib: int, wanted: Sequence[tuple[int, int, str]]) -> list[Point]:
    """A transfer for each of `wanted`: files, pairs, and the kind of relays. Raises BenchError."""
    paths = site.files(file_mib, max(files for files, _, _ in wanted))
    found = []
    for files, pairs, kind in wanted:
        instance_type, share, hour_usd = TYPES[kind]
        relays = {"pairs": pairs, **({"instanceTypes": [instance_type]} if pairs else {})}
        copy = site.ours(paths[:files], f"with-{pairs}", relays=relays, chunkSizeMiB=CHUNK_MIB)
        found.append(_point(site, rates, copy, files, file_mib * MIB / 1e6, pairs, kind, share, hour_usd))
        say(f"  {files} files, {pairs} pairs, {kind}: {found[-1]}")
    return found


def gains(points: Sequence[Point]) -> list[Result]:
    """By how much pairs shorten the data's time, over what the model says they do."""
    alone = {point.files: point for point in points if point.pairs == 0}
    rows = []
    for point in points:
        if point.pairs and point.files in alone:
            base = alone[point.files]
            share = arithmetic.share_of_gain(
                base.data_seconds, point.data_seconds, base.model_seconds, point.model_seconds
            )
            note = f"{base.data_seconds:.1f} s alone, {point.data_seconds:.1f} s; model {base.model_seconds:.1f} s, "
            note += f"{point.model_seconds:.1f} s"
            name = f"6.9: {point.files} files, {point.pairs} pairs, of the model's gain"
            rows.append(Result(name, share, "of the gain", LEAST_GAIN, "higher", note))
    return rows


def fewest(points: Sequence[Point], at_most: Mapping[int, float]) -> dict[int, int | None]:
    """Figure 6.9: by files, the smallest measured number of pairs whose whole time is at most so many seconds."""
    found: dict[int, int | None] = {}
    for files, seconds in at_most.items():
        enough = [point.pairs for point in points if point.files == files and point.seconds <= seconds]
        found[files] = min(enough, default=None)
    return found


def money(points: Sequence[Point]) -> list[Result]:
    """Figure 6.8: time and dollars of both kinds of relays, by files."""
    by_kind = {(point.files, point.kind): point for point in points if point.pairs}
    rows = []
    for files in sorted({files for files, _ in by_kind}):
        wide, small = by_kind.get((files, LIKE_WORKERS)), by_kind.get((files, TOO_SMALL))
        if wide and small:
            note = f"{small.data_seconds:.1f} s for ${small.usd:.5f}, {wide.data_seconds:.1f} s for ${wide.usd:.5f}"
            ratio = small.data_seconds / wide.data_seconds
            rows.append(Result(f"6.8: {files} files, small relays over large ones, time", ratio, "x", 1.05, note=note))
            saved = 100 * (1 - small.usd / wide.usd)
            rows.append(Result(f"6.8: {files} files, saved by small relays", saved, "%", 75, "higher"))
    return rows


def documents(points: Sequence[Point]) -> list[dict[str, Any]]:
    """What is kept."""
    return [asdict(point) for point in points]


def _point(
    site: Site,
    rates: Rates,
    copy: Copy,
    files: int,
    file_mb: float,
    pairs: int,
    kind: str,
    share: float,
    hour_usd: float,
) -> Point:
    report = copy.report or {}
    data_seconds = float(report["seconds"]["transfer"])
    first = site.account.first_byte_at(report["transferId"])
    carried = arithmetic.DATA_OF_PACKETS * rates.worker_mb_s
    joins: dict[int, float] = {}
    for node in report["nodes"]:
        if "joinedAt" in node:
            joins[node["slot"]] = max(joins.get(node["slot"], 0.0), node["joinedAt"] - first)
    paths = [Serving(carried) for _ in range(WORKERS)] + [
        Serving(carried * share, max(0.0, at)) for at in joins.values()
    ]
    inside = rates.inside_mb_s * WORKERS
    model = zero_wait(files * file_mb, paths, inside, inside)
    return Point(files, pairs, kind, copy.seconds, data_seconds, model, 2 * pairs * data_seconds / 3600 * hour_usd)
