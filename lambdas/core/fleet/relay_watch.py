"""Judgement of whether relays carry what they should, by what each path delivered between two looks.

MB/s, and seconds by the sender's clock alone: no two clocks are compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Literal

from pydantic import Field

from lambdas.core.chunks.progress import Progress
from lambdas.core.documents import Count, Document
from lambdas.core.fleet.layout import is_direct
from lambdas.core.fleet.membership import DIRECT, Membership
from lambdas.core.fleet.relay_node import Node
from lambdas.core.request.bandwidth import Mbps

# A relay is slow that carries less than this share of what it was tested for, all this time; shorter is a hiccup.
SLOW_SHARE = 0.5
SLOW_SECONDS = 30.0
# The sender reports every two seconds, so looks that are 30 s apart may see reports of 28 s.
REPORT_SECONDS = 2.0
# Long enough for a window behind a look that was left out, short enough to stay small in the transfer's record.
KEPT_SECONDS = 120.0
# Ends that carry this share of what they can are the limit: no other relay would make them faster.
FULL = 0.9
# Less than this share of what the last decision about relays went by: a burst has ended, or there is other traffic.
FALLEN = 0.7
BYTES_PER_MB = 1e6


class PathLook(Document):
    """Bytes that the live lanes of one path had delivered."""

    path_id: str
    generation: Count
    lanes: Count
    bytes: Count


class Look(Document):
    """All paths of the membership, and its limit, at one report of the sender; `at` in its Unix time, seconds."""

    epoch: Count
    at: float
    paths: list[PathLook]
    bandwidth_limit_mbps: Mbps | None = None


class Watch(Document):
    """The last looks, and the best rate so far, MB/s, of each relay and of the direct path."""

    looks: list[Look] = Field(default_factory=list)
    best: dict[str, float] = Field(default_factory=dict)


@dataclass(frozen=True)
class Carried:
    """MB/s of one path or relay in a window.

    `rate`: what was delivered. `most`: as if each lane had one more chunk all but delivered.
    `begun`: whether it had delivered anything before the window.
    """

    rate: float
    most: float
    begun: bool

    def __add__(self, other: "Carried") -> "Carried":
        return Carried(self.rate + other.rate, self.most + other.most, self.begun and other.begun)


@dataclass(frozen=True)
class Suspicion:
    """A relay that does not carry what it should; MB/s."""

    node_id: str
    verdict: Literal["slow", "silent"]
    rate: float
    expected: float


def look(progress: Progress, membership: Membership) -> Look:
    """Return what the sender's report says about the paths of the membership."""
    paths = []
    for path in membership.paths:
        lanes = [lane for lane in progress.lanes if lane.path_id == path.path_id]
        delivered = sum(lane.bytes for lane in lanes)
        paths.append(
            PathLook(path_id=path.path_id, generation=path.generation, lanes=len(lanes), bytes=delivered),
        )
    return Look(epoch=progress.epoch, at=progress.at, paths=paths, bandwidth_limit_mbps=membership.lowest_limit_mbps)


def seen(watch: Watch, new: Look, through: dict[str, list[str]], chunk_bytes: int) -> Watch:
    """With one look more; the same watch where the sender has not reported since.

    Looks at an earlier sender, or under another limit, tell nothing about this one and are dropped.

    `through`: ids of the paths by relay, as in `paths_through`.
    """
    if watch.looks and new.epoch == watch.looks[-1].epoch and new.at <= watch.looks[-1].at:
        return watch
    kept = [old for old in watch.looks if _comparable(old, new) and new.at - old.at <= KEPT_SECONDS]
    longer = Watch(looks=[*kept, new], best=watch.best)
    carried = by_relay(window(longer, chunk_bytes), through)
    names = {DIRECT, *through}
    best = {name: rate for name, rate in watch.best.items() if name in names}
    best |= {name: max(best.get(name, 0.0), found.rate) for name, found in carried.items()}
    return Watch(looks=longer.looks, best=best)


def _comparable(old: Look, new: Look) -> bool:
    return (old.epoch, old.bandwidth_limit_mbps) == (new.epoch, new.bandwidth_limit_mbps)


def paths_through(membership: Membership) -> dict[str, list[str]]:
    """Ids of the paths that lead through each relay, by its node id."""
    found: dict[str, list[str]] = {}
    for path in membership.paths:
        for hop in path.hops:
            found.setdefault(hop.node_id, []).append(path.path_id)
    return found


def window(watch: Watch, chunk_bytes: int) -> dict[str, Carried]:
    """Return what each path carried in the last `SLOW_SECONDS` or slightly more; paths that changed are left out."""
    if not watch.looks:
        return {}
    last = watch.looks[-1]
    before = [old for old in watch.looks if last.at - old.at >= SLOW_SECONDS - REPORT_SECONDS]
    if not before:
        return {}
    seconds = last.at - before[-1].at
    earlier = {path.path_id: path for path in before[-1].paths}
    found = {}
    for path in last.paths:
        was = earlier.get(path.path_id)
        if was is None or was.generation != path.generation or path.bytes < was.bytes:
            continue
        delivered = (path.bytes - was.bytes) / BYTES_PER_MB
        in_flight = path.lanes * chunk_bytes / BYTES_PER_MB
        found[path.path_id] = Carried(delivered / seconds, (delivered + in_flight) / seconds, was.bytes > 0)
    return found


def by_relay(carried: dict[str, Carried], through: dict[str, list[str]]) -> dict[str, Carried]:
    """The sums over the paths of each relay all of whose paths are known; and the direct path by its name."""
    found = {}
    for node_id, paths in through.items():
        if all(path in carried for path in paths):
            found[node_id] = sum((carried[path] for path in paths[1:]), carried[paths[0]])
    if direct := [carried[path_id] for path_id in sorted(carried) if is_direct(path_id)]:
        found[DIRECT] = sum(direct[1:], direct[0])
    return found


def steady(watch: Watch, now: "Circumstances") -> dict[str, Carried]:
    """Return what each path carried in a whole window; nothing while paths come and go, or the last chunks are on their
    way: a lane that has nothing more to send looks like a slow one.
    """
    carried = window(watch, now.chunk_bytes)
    paths = watch.looks[-1].paths if watch.looks else []
    if len(carried) < len(paths) or now.remaining <= sum(path.lanes for path in paths) * now.chunk_bytes:
        return {}
    return carried


def fallen(watch: Watch, before: float, now: "Circumstances") -> float | None:
    """The sum of all paths, MB/s, where a whole window carried less than `FALLEN` of `before`; else None.

    None, too, while nothing `steady` is known.
    """
    carried = steady(watch, now)
    most = sum(path.most for path in carried.values())
    return sum(path.rate for path in carried.values()) if carried and most < FALLEN * before else None


@dataclass(frozen=True)
class Circumstances:
    """The facts that a judgement depends on beside the looks.

    `ends`: MB/s that the two ends, or the request, allow in all; `remaining`: bytes; `chunk_bytes`: of a whole chunk.
    """

    ends: float
    remaining: int
    chunk_bytes: int


def judge(watch: Watch, relays: Iterable[Node], through: dict[str, list[str]], now: Circumstances) -> list[Suspicion]:
    """The joined relays that are slow or silent; none while nothing waits to be sent, or nothing moves at all.

    A slow path of two relays that serve nobody else makes both suspects: its rate does not tell which it is.
    """
    carried = window(watch, now.chunk_bytes)
    lanes = sum(path.lanes for path in watch.looks[-1].paths) if watch.looks else 0
    total = sum(path.rate for path in carried.values())
    if total <= 0 or now.remaining <= lanes * now.chunk_bytes:
        return []
    judged = by_relay(carried, through)
    nodes = {node.node_id: node for node in relays if node.node_id in judged}
    expected = {node_id: _expected(watch, node, nodes, judged) for node_id, node in nodes.items()}
    full = total >= FULL * now.ends
    found = []
    for node_id, node in nodes.items():
        mine, wanted = judged[node_id], expected[node_id]
        if mine.rate <= 0 and (mine.most <= 0 or mine.most < SLOW_SHARE * wanted):
            found.append(Suspicion(node_id, "silent", 0.0, wanted))
            continue
        others = _share_of_others(watch, node, nodes, judged, expected)
        if mine.begun and not full and others is not None and mine.most < SLOW_SHARE * others * wanted:
            found.append(Suspicion(node_id, "slow", mine.rate, wanted))
    return found


def _expected(watch: Watch, node: Node, nodes: dict[str, Node], judged: dict[str, Carried]) -> float:
    """Return what it was tested for; else its own best, or the median of its like where that is more."""
    if node.tested:
        return node.tested
    # Whoever works with a machine that lends a share carries no more than that.
    lent = {other.slot for other in nodes.values() if not other.is_ours}
    like = [
        judged[other.node_id].rate
        for other in _peers(node, nodes)
        if other.instance_type == node.instance_type and (other.slot in lent) == (node.slot in lent)
    ]
    return max(watch.best.get(node.node_id, 0.0), median(like) if like else 0.0)


def _share_of_others(
    watch: Watch, node: Node, nodes: dict[str, Node], judged: dict[str, Carried], expected: dict[str, float]
) -> float | None:
    """Return the share of their expected rates that other relays carry, at most 1; the direct path's where it is alone.

    None where there is nothing to compare with: then a slow relay looks like slow ends.
    """
    shares = [_share(judged[other.node_id].rate, expected[other.node_id]) for other in _peers(node, nodes)]
    if not shares and DIRECT in judged:
        shares = [_share(judged[DIRECT].rate, watch.best.get(DIRECT, 0.0))]
    return median(shares) if shares else None


def _share(rate: float, expected: float) -> float:
    return min(rate / expected, 1.0) if expected > 0 else 1.0


def _peers(node: Node, nodes: dict[str, Node]) -> list[Node]:
    return [other for other in nodes.values() if other.stage == node.stage and other.node_id != node.node_id]
