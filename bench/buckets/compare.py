"""One dataset, one way, one server: ours beside the peers, in turn, and what arrived compared with what was sent."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from bench.buckets import crt, rclone
from bench.buckets.crt import Crt
from bench.buckets.data import DATASETS, Dataset, write
from bench.buckets.ours import Ours
from bench.buckets.rclone import Rclone
from bench.buckets.servers import KeepsNothing, Server
from bench.buckets.used import Used
from bench.data_plane import files
from bench.data_plane.bench import Bench, median, say
from bench.data_plane.process import BenchError
from bench.results import Result

WALL_BAR, CPU_BAR = 1.03, 1.0
OURS = "cpt"
BEFORE = "cpt before"
WAYS = ("up", "down")


class Client(Protocol):
    """Whoever moves a tree into a bucket, and out of one."""

    def up(self, source: Path) -> Used: ...  # noqa: D102
    def down(self, target: Path) -> Used: ...  # noqa: D102


@dataclass(frozen=True)
class Comparison:
    """A dataset that lies ready, and the server."""

    bench: Bench
    server: Server
    dataset: Dataset
    source: Path
    sizes: Mapping[str, int]
    way: str
    before: Path | None = None
    """An earlier build of ours, which is measured beside it."""

    def move(self, client: Client) -> Used:
        """Move it once, and compare."""
        arrived = self.bench.folder("arrived")
        if self.way == "up":
            self.server.put(self.source, {})
            used = client.up(self.source)
            self.server.check(self.source, self.sizes)
        else:
            used = client.down(arrived)
            if files.digests(arrived) != files.digests(self.source):
                raise BenchError("what arrived is not what was in the bucket")
        shutil.rmtree(arrived)
        return used

    def clients(self, peers: tuple[str, ...]) -> dict[str, Client]:
        """Ours, and each peer at its fastest setting."""
        found: dict[str, Client] = {OURS: Ours(self.bench, self.server, self.sizes)}
        if self.before is not None:
            found[BEFORE] = Ours(replace(self.bench, daemon=self.before), self.server, self.sizes)
        for peer in peers:
            candidates = self._candidates(peer)
            if len(candidates) == 1:
                found |= {f"{peer} {name}": client for name, client in candidates.items()}
                continue
            trials = {name: partial(self._seconds, client) for name, client in candidates.items()}
            name = self.bench.fastest(trials)
            found[f"{peer} {name}"] = candidates[name]
        return found

    def _seconds(self, client: Client) -> float:
        return self.move(client).seconds

    def _candidates(self, peer: str) -> dict[str, Client]:
        small = self.dataset.is_small
        if peer == "rclone":
            settings = rclone.SETTINGS[self.way, small]
            return {" ".join(each): Rclone(self.bench, self.server, each) for each in settings}
        return {" ".join(each): Crt(self.bench, self.server, self.sizes, each) for each in crt.SETTINGS[small]}


PEERS = ("rclone", "awscrt")


def run(
    bench: Bench, name: str, server: Server, ways: tuple[str, ...], peers: tuple[str, ...], before: Path | None = None
) -> list[Result]:
    """Each way: our wall time over the best peer's, and our CPU time over the least of theirs."""
    dataset = DATASETS[name]
    sizes = dataset.sizes(bench.quick)
    source = bench.folder("source")
    write(source, sizes)
    results: list[Result] = []
    for way in ways:
        server.put(source, sizes if way == "down" else {})
        comparison = Comparison(bench, server, dataset, source, sizes, way, before)
        clients = comparison.clients(peers)
        sides: Mapping[str, Callable[[], Used]] = {
            who: partial(comparison.move, client) for who, client in clients.items()
        }
        found = bench.alternate(sides)
        asked = _requests(comparison, clients[OURS])
        results += judge(f"{name}, {way}, {server.name}", found, sum(sizes.values()) / 1e9, asked)
    server.put(source, {})
    return results


def _requests(comparison: Comparison, ours: Client) -> str:
    """What ours asks for in one transfer, where the server counts it."""
    server = comparison.server
    if not isinstance(server, KeepsNothing):
        return ""
    server.put(comparison.source, comparison.sizes if comparison.way == "down" else {})
    comparison.move(ours)
    return server.requests()


def judge(case: str, found: Mapping[str, list[Used]], gigabytes: float, asked: str) -> list[Result]:
    """The two ratios, with what each side took."""
    wall = {who: median([used.seconds for used in each]) for who, each in found.items()}
    cpu = {who: median([used.cpu_seconds for used in each]) / gigabytes for who, each in found.items()}
    for who in found:
        say(f"  {case}: {who}: {wall[who]:.2f} s, {cpu[who]:.2f} CPU s/GB")
    peers = [who for who in found if who not in (OURS, BEFORE)]
    note = f"{wall[OURS]:.2f} s, {cpu[OURS]:.2f} CPU s/GB" + (f"; {asked}" if asked else "")
    if BEFORE in found:
        note += f"; an earlier build: {wall[BEFORE]:.2f} s, {cpu[BEFORE]:.2f} CPU s/GB"
    if not peers:
        return [Result(f"{case}: seconds", wall[OURS], "s", note=note)]
    fastest, least = min(peers, key=wall.__getitem__), min(peers, key=cpu.__getitem__)
    best, cheapest = f"{fastest}: {wall[fastest]:.2f} s", f"{least}: {cpu[least]:.2f} CPU s/GB"
    return [
        Result(f"{case}: seconds / best", wall[OURS] / wall[fastest], "×", WALL_BAR, note=f"{note}; {best}"),
        Result(f"{case}: CPU / least", cpu[OURS] / cpu[least], "×", CPU_BAR, note=cheapest),
    ]
