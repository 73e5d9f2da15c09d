"""`make bench-cost`: what the control plane is asked for, counted on the local cloud, and what that costs on AWS.

Four transfers that differ in one thing each tell what is asked once, per second, per chunk and per file.
"""

import sys
import tempfile
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

from bench.results import Result, publish
from lambdas.core.chunks.plan import LARGEST_AUTO_MIB, MAX_BUNDLE_ENTRIES, MIB
from lambdas.core.tariff import control_plane
from lambdas.core.tariff.control_plane import Calls, dollars
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import Account

SMALL_BYTES, LARGE_BYTES = 10_000_000, 400_000_000
MANY_FILES = 200_000
# 10 MB at 2 Mbit/s: 40 s.
SLOW_MBPS = 2
RATE_MB_S = 500.0
"""At which 1 TB and the million files are taken to move, MB/s: what is asked per second depends on it."""
SMALL_FILE_BYTES = 10 * 1024
MOST_BEYOND_USD = 0.01


@dataclass(frozen=True)
class Extent:
    """Of a transfer: what the number of calls depends on."""

    seconds: float
    chunks: float
    files: float


TERABYTE = Extent(1e6 / RATE_MB_S, ceil(1e12 / (LARGEST_AUTO_MIB * MIB)), 1)
MILLION_FILES = Extent(1e6 * SMALL_FILE_BYTES / 1e6 / RATE_MB_S, 1e6 / MAX_BUNDLE_ENTRIES, 1e6)


@dataclass(frozen=True)
class Rates:
    """Calls of one kind: once, and for each second, chunk and file."""

    once: float = 0.0
    second: float = 0.0
    chunk: float = 0.0
    file: float = 0.0

    @classmethod
    def of(cls, seen: dict[str, tuple[Extent, float]]) -> "Rates":
        """Of the counts of the transfers by name: each of the others has more of one thing than `base`."""
        base, least = seen["base"]
        found = cls()
        for name, thing in (("slow", "second"), ("chunks", "chunk"), ("files", "file")):
            extent, count = seen[name]
            more = count - least - (found.at(extent) - found.at(base))
            things = getattr(extent, f"{thing}s") - getattr(base, f"{thing}s")
            found = replace(found, **{thing: max(more / things, 0.0)})
        return replace(found, once=least - found.at(base))

    def at(self, extent: Extent) -> float:
        """Of a transfer of this extent."""
        return self.once + self.second * extent.seconds + self.chunk * extent.chunks + self.file * extent.files


def main() -> int:
    """Count, extrapolate, price; a bar holds the estimate's own counts against them."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        with LocalCloud(LocalConfig.model_validate({"port": 0}), work / "state") as cloud:
            seen = _seen(Account(cloud, work), work)
    kinds = {kind for _, counts in seen.values() for kind in counts}
    rates = {
        kind: Rates.of({name: (extent, counts.get(kind, 0.0)) for name, (extent, counts) in seen.items()})
        for kind in kinds
    }
    results = []
    for what, extent in (("1 TB in one file", TERABYTE), ("a million files of 10 KiB", MILLION_FILES)):
        counted = {kind: rate.at(extent) for kind, rate in rates.items()}
        cost = dollars(_calls(counted))
        assumed = dollars(control_plane.calls(int(extent.chunks), 0, extent.seconds, 0, int(extent.files)))
        said = ", ".join(f"{count:,.0f} {kind}" for kind, count in sorted(counted.items()))
        results.append(Result(f"{what}: control plane", cost, "$", note=said))
        results.append(Result(f"{what}: counted beyond the estimate", cost - assumed, "$", bar=MOST_BEYOND_USD))
    return publish("cost", results, "make bench-cost")


def _seen(account: Account, work: Path) -> dict[str, tuple[Extent, dict[str, float]]]:
    transfers: dict[str, tuple[int, int, dict[str, Any]]] = {
        "warm": (SMALL_BYTES, 1, {}),  # the daemon's installation is counted here, and left out
        "base": (SMALL_BYTES, 1, {}),
        "slow": (SMALL_BYTES, 1, {"bandwidthLimitMbps": SLOW_MBPS}),
        "chunks": (LARGE_BYTES, 1, {"chunkSizeMiB": 1}),
        "files": (MANY_FILES * 100, MANY_FILES, {}),
    }
    found = {}
    for name, (size, files, more) in transfers.items():
        source = work / f"set-{name}"
        source.mkdir()
        for number in range(files):
            (source / str(number)).write_bytes(bytes(size // files))
        before = account.cloud.calls()
        run = account.run(account.request(source, work / f"out-{name}", relays={"pairs": 0}, **more), name)
        if run.status != "SUCCEEDED":
            raise SystemExit(f"bench-cost: {name}: {run.error}: {run.cause}")
        after = account.cloud.calls()
        counts = {kind: count - before.get(kind, 0.0) for kind, count in after.items()}
        counts["transitions"] = float(len(account.history(run.arn)))
        extent = Extent(run.report["seconds"]["transfer"], run.report["chunks"], run.report["files"])
        found[name] = (extent, counts)
    return found


def _calls(counted: dict[str, float]) -> Calls:
    return Calls(
        transitions=round(counted["transitions"]),
        requests=round(counted["lambdaRequests"]),
        lambda_gb_seconds=counted["lambdaGBSeconds"],
        writes=round(counted["tableWrites"]),
        reads=round(counted["tableReads"]),
        events=round(counted["events"]),
        puts=round(counted["objectPuts"]),
        gets=round(counted["objectGets"]),
    )


if __name__ == "__main__":
    sys.exit(main())
