"""One strategy that moves real bytes: sender, receiver, and the relays of the scheme that it follows at the moment."""

import json
from contextlib import ExitStack
from functools import partial
from math import lcm
from pathlib import Path
from typing import Any

from bench.data_plane.bench import Bench
from bench.data_plane.network import received
from bench.data_plane.ours import PORT, Route, Transfer, is_ready
from bench.data_plane.process import Program, until
from bench.routes.emulated.regions import Place, Regions
from lambdas.core.routes.route_plan import Scheme

LANES = 1
# Rates and minutes are scaled to a hundredth together; so is a chunk, of which each lane holds some.
CHUNK_KIB = 128
# Paths through a route whose stages differ: each relay works with several of the next stage, at most so many.
MOST_NEIGHBOURS = 3
SOURCE, DESTINATION = 0, -1


class Runner:
    """It moves `source` through the relays of a scheme, and the scheme may change.

    A relay that a change leaves without a path keeps its daemon, as the chunks in its lanes still arrive. The next
    relay that its region needs is this one.
    """

    def __init__(self, stack: ExitStack, bench: Bench, regions: Regions, source: Path, ends: tuple[str, str]) -> None:
        self._stack, self._bench, self._regions = stack, bench, regions
        self._transfer = Transfer(bench, source, lanes=LANES, chunk_kib=CHUNK_KIB, unsynced=True)
        self._control = self._transfer.plan(1)
        self._records = self._control / "records"
        self._version = 0
        self._places: list[Place] = []
        self._crews: dict[tuple[tuple[str, ...], int], list[Place]] = {}
        self._relays: dict[str, Program] = {}
        self._route = Route(regions.end(ends[SOURCE]), regions.end(ends[DESTINATION]), direct=False)
        self._write([])
        arrived = bench.folder("arrived")
        self._receiver = stack.enter_context(self._transfer.receiver(self._control, arrived, self._route))
        self._sender = stack.enter_context(self._transfer.sender(self._control, self._route))
        until((self._records / "key-s0.json").exists, "the sender's key", [self._sender])
        self._before = received(self._receiver.pid)

    @property
    def arrived(self) -> int:
        """Bytes that have come in at the receiver, headers included."""
        return received(self._receiver.pid) - self._before

    @property
    def cpu_seconds(self) -> float:
        """Of all of its processes so far."""
        programs = [self._receiver, self._sender, *self._relays.values()]
        return sum(program.cpu_seconds() for program in programs)

    def prepare(self, scheme: Scheme) -> None:
        """Start the relays that the scheme needs and that are not there yet."""
        for region, count in scheme.relays_by_region().items():
            for _ in range(count - sum(place.region == region for place in self._places)):
                place = self._regions.place(region)
                name = f"relay-{len(self._places)}"
                argv = ["relay", "--listen", place.address, "--ready", str(self._control / f"{name}.ready")]
                self._relays[name] = self._stack.enter_context(
                    self._transfer.daemon(name, argv, self._control, place.node)
                )
                self._places.append(place)

    def follow(self, scheme: Scheme) -> None:
        """Send through the relays of a scheme from now on. Raises BenchError if one of them is not ready in time."""
        for name in self._relays:
            until(partial(is_ready, self._control / f"{name}.ready"), f"{name}'s ready file", [self._relays[name]])
        self._assign(scheme)
        paths: list[list[Place]] = []
        for plan in scheme.routes:
            paths += crossings([self._crews[plan.regions, stage] for stage, count in enumerate(plan.relays) if count])
        self._write(paths)

    def check(self) -> float:
        """MB that had to be sent again. Raises BenchError if something ended."""
        for program in (self._sender, self._receiver, *self._relays.values()):
            program.check()
        progress = self._records / "progress-s0.json"
        failed = json.loads(progress.read_text())["failedChunks"] if progress.exists() else 0
        return float(failed) * CHUNK_KIB * 1024 / 1e6

    def _assign(self, scheme: Scheme) -> None:
        """Give each stage its relays; those that it had stay, so that the lanes through them do."""
        wanted = {
            (plan.regions, stage): count for plan in scheme.routes for stage, count in enumerate(plan.relays) if count
        }
        self._crews = {stage: self._crews.get(stage, [])[:count] for stage, count in wanted.items()}
        taken = {place for crew in self._crews.values() for place in crew}
        free = [place for place in self._places if place not in taken]
        for (regions, stage), count in wanted.items():
            crew = self._crews[regions, stage]
            fitting = [place for place in free if place.region == regions[stage]][: count - len(crew)]
            crew += fitting
            free = [place for place in free if place not in fitting]

    def _write(self, paths: list[list[Place]]) -> None:
        self._version += 1
        document: dict[str, Any] = {
            "schemaVersion": 1,
            "version": self._version,
            "paths": [self._path(places) for places in paths],
            "probes": [],
        }
        fresh = self._records / "membership.fresh"
        self._records.mkdir(exist_ok=True)
        fresh.write_text(json.dumps(document))
        fresh.rename(self._records / "membership.json")

    def _path(self, places: list[Place]) -> dict[str, Any]:
        """The same relays are the same path, so its lanes stay."""
        numbers = [self._places.index(place) for place in places]
        return {
            "pathId": "-".join(["path", *map(str, numbers)]),
            "generation": 0,
            "hops": [{"nodeId": f"relay-{n}", "address": p.address} for n, p in zip(numbers, places, strict=True)],
            "receiver": f"{self._route.receiver.address}:{PORT}",
            "lanes": LANES,
        }


def crossings(stages: list[list[Place]]) -> list[list[Place]]:
    """Paths through a route: every relay of every stage is on one, and stages of different sizes are well mixed."""
    sizes = [len(stage) for stage in stages]
    count = min(lcm(*sizes), MOST_NEIGHBOURS * max(sizes))
    return [[stage[number % len(stage)] for stage in stages] for number in range(count)]
