"""Listing a bucket whose keys are made as they are asked for, each page after 100 ms: many listers beside one."""

import json

from bench.buckets.servers import KEYS
from bench.data_plane.bench import Bench
from bench.data_plane.process import running
from bench.results import Result

SHAPES = ("even", "skewed", "groups")
LISTERS, PAGE_MS = 20, 100
BAR = 10.0
TIMEOUT = 3600.0


def run(bench: Bench, keys: int) -> list[Result]:
    """How many times as fast many are as one."""
    results = []
    for shape in SHAPES:
        one, many = (_list(bench, shape, keys, listers) for listers in (1, LISTERS))
        note = (
            f"{keys:,} keys in {many['seconds']:.1f} s and {many['requests']} requests, one in {one['seconds']:.1f} s "
            f"and {one['requests']}; {many['memoryMib']:.0f} MiB at most"
        )
        bar = BAR if shape != "groups" else None
        ratio = one["seconds"] / many["seconds"]
        results.append(Result(f"listing, {shape} keys: one lister / {LISTERS}", ratio, "×", bar, "higher", note))
    return results


def _list(bench: Bench, shape: str, keys: int, listers: int) -> dict[str, float]:
    log = bench.work / "list.log"
    argv = [str(bench.daemon), "list-bucket", shape, str(keys), str(listers), str(PAGE_MS)]
    with running(argv, log, env=KEYS) as listing:
        listing.wait(TIMEOUT)
    told: dict[str, float] = json.loads(log.read_text().splitlines()[-1])
    return told
