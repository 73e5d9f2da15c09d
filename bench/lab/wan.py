"""Two regions on the scale 1:30 in time: a machine's caps are the real ones, sizes and T_v a thirtieth."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.data_plane.bench import Bench
from bench.data_plane.cases.caps import Setting, capped
from bench.data_plane.network import Node
from bench.data_plane.ours import PORT, TIMEOUT, Route, Transfer, is_ready
from bench.data_plane.process import until
from bench.hdfs.buffers import settings
from lambdas.core.chunks.plan import chunk_size, lanes_to_plan_for

SCALE = 30
BUFFER_BYTES = 256 << 10
"""Of each connection: at sizes of a thirtieth, the kernel's own would hold a good part of a file."""

Ends = tuple[Node, Node]
Pairs = Sequence[tuple[Node, ...]]


@contextmanager
def regions(inter: float, intra: float, pairs: int) -> Iterator[tuple[Ends, Pairs]]:
    """Both ends and pairs of relays, all of one type: MB/s between the regions and inside."""
    with capped(Setting("lab", (inter, intra), intra, [(inter, intra)] * pairs)) as net:
        for node in net.nodes.values():
            for setting in settings(BUFFER_BYTES):
                node.sysctl(*setting.split("=", 1))
        yield (net["sender"], net["receiver"]), [(net[f"near{n}"], net[f"far{n}"]) for n in range(pairs)]


def as_cpt(
    bench: Bench,
    source: Path,
    ends: Ends,
    pairs: Pairs,
    after: float,
    each: Callable[[float], None] | None = None,
    *,
    direct: bool = True,
) -> float:
    """Seconds as CPT moves data: straight from the start on, and by the pairs from `after` seconds on.

    Chunks are a thirtieth of what the planner would make of a file thirty times as large.
    """
    size = (source / "large").stat().st_size
    fair = chunk_size(size * SCALE, lanes_to_plan_for(1, 1 + len(pairs), between_regions=True), None) / SCALE
    transfer = Transfer(bench, source, lanes=1, chunk_kib=1 << (int(fair) >> 10).bit_length() - 1, unsynced=True)
    route = Route(*ends, direct=False)
    control = transfer.plan(1 + len(pairs))
    with ExitStack() as stack:
        receiver = stack.enter_context(transfer.receiver(control, bench.folder("arrived"), route))
        relays = stack.enter_context(transfer.relays(control, Route(*ends, pairs)))
        _membership(control, ends, pairs[:0], direct=direct)
        sender = stack.enter_context(transfer.sender(control, route))
        for name in relays:
            until(partial(is_ready, control / f"{name}.ready"), f"{name}'s ready file", [sender, *relays.values()])

        def join() -> None:
            age = time.monotonic() - sender.started
            if each:
                each(age)
            if not joined and age >= after:
                _membership(control, ends, pairs, direct=direct)
                joined.append(True)

        joined: list[bool] = []
        last = sender.started + sender.wait(TIMEOUT, join).seconds
        last = max(last, receiver.started + receiver.wait(TIMEOUT).seconds)
    transfer.check_arrived()
    return last - sender.started


def _membership(control: Path, ends: Ends, pairs: Pairs, *, direct: bool) -> None:
    def path(name: str, hops: Sequence[Node]) -> dict[str, Any]:
        return {
            "pathId": name,
            "generation": 0,
            "hops": [{"nodeId": node.address, "address": f"{node.address}:{PORT}"} for node in hops],
            "receiver": f"{ends[1].address}:{PORT}",
            "lanes": 1,
        }

    paths = [path("direct", ())] if direct else []
    paths += [path(f"pair-{number}", pair) for number, pair in enumerate(pairs)]
    fresh = control / "records" / "membership.fresh"
    fresh.write_text(json.dumps({"schemaVersion": 1, "version": len(pairs) + 1, "paths": paths, "probes": []}))
    fresh.rename(fresh.with_suffix(".json"))
