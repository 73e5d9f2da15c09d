"""A unit: what one function copies, with many requests in flight, behind what it has copied before."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from json import dumps
from math import ceil
from typing import Any

from lambdas.adapters.copy_ports import Buckets
from lambdas.adapters.world import World
from lambdas.core.copies.listed import Task
from lambdas.core.copies.outcome import Result
from lambdas.core.copies.parts import MIB
from lambdas.core.copies.units import COPY_SECONDS
from lambdas.core.errors import TransferFenced
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.notebook import Notebook
from lambdas.operations.copies.one_object import Copier, Stopped, UploadNotes
from lambdas.operations.copies.opening import copying_as
from lambdas.operations.copies.progress import UnitProgress

OBJECTS_AT_ONCE, PARTS_AT_ONCE = 32, 32
# What a killed function has done since is done again.
SEGMENT_SECONDS, SEGMENT_RESULTS = 20.0, 5_000


# Counts that no result has: each function of the unit adds its own.
_OF_EACH = ("request ", "functionSeconds")


class Unit:
    """One unit of a round."""

    def __init__(self, world: World, transfer: AcceptedTransfer, buckets: Buckets, number: int, unit: int) -> None:
        self._world, self._transfer, self._buckets = world, transfer, buckets
        self._number, self._unit = number, unit
        self._notebook = Notebook(world, transfer)
        self._progress = UnitProgress(world, transfer, unit)
        self._began, self._began_at = world.clock.monotonic(), world.clock.now()
        self._deadline = self._began + COPY_SECONDS
        self._results: list[Result] = []
        self._segment, self._flushed = 0, world.clock.monotonic()
        self._counts = Counter[str]()

    def run(self) -> bool:
        """Copy what is left of it; whether that is all. Raises TransferFenced."""
        if self._progress.fenced:
            raise TransferFenced(f"{self._transfer.transfer_id} is being torn down, or goes on in another execution")
        known = self._notebook.results(self._number, self._unit)
        self._segment = self._notebook.segments(self._number, self._unit)
        for result in known:
            self._count(result)
        earlier = self._notebook.sum(self._number, self._unit)
        self._counts.update({name: earlier[name] for name in earlier if name.startswith(_OF_EACH)})
        self._began_at = earlier.get("beganAt", self._began_at)
        done = {result.key for result in known}
        tasks = [task for task in self._notebook.tasks(self._number, self._unit) if task.source.key not in done]
        with ThreadPoolExecutor(OBJECTS_AT_ONCE) as objects, ThreadPoolExecutor(PARTS_AT_ONCE) as parts:
            request = self._transfer.request
            copier = Copier(
                buckets=self._buckets,
                notes=UploadNotes(self._world, self._notebook.upload_key),
                parts_pool=parts,
                overwrite=request.overwrite,
                part_bytes=request.chunk_size_mib and request.chunk_size_mib * MIB,
                session=copying_as(self._world, self._transfer),
                now=self._world.clock.now,
                stopped=self._stopped,
                written=_told(self._transfer.copied_ends[1].written),
            )
            try:
                whole = self._copy(copier, objects, iter(tasks))
            finally:
                self._flush()
                self._sum_up()
        return whole

    def _copy(self, copier: Copier, pool: ThreadPoolExecutor, waiting: Iterator[Task]) -> bool:
        """Copy object after object, so many at once; whether all are done."""
        running = {pool.submit(copier.copy, task) for task in islice(waiting, OBJECTS_AT_ONCE)}
        whole = True
        try:
            while running:
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                whole &= self._take(ended)
                if self._stopped():
                    whole = whole and next(waiting, None) is None
                    continue
                running |= {pool.submit(copier.copy, task) for task in islice(waiting, len(ended))}
        except BaseException:
            # Those that are under way come to their end all the same: they are not copied again.
            for one in running:
                one.cancel()
            ended, _ = wait(running)
            self._results += [result for one in ended if (result := _result(one)) is not None]
            raise
        return whole

    def _take(self, ended: set[Future[Result]]) -> bool:
        """Note what has ended; False where something was stopped midway. Raises what one has failed of, after that."""
        whole, broken = True, list[BaseException]()
        for one in ended:
            try:
                result = one.result()
            except Stopped:
                whole = False
                continue
            except Exception as error:  # noqa: BLE001  raised once the others are noted
                broken.append(error)
                continue
            self._results.append(result)
            self._count(result)
        if broken:
            raise broken[0]
        self._progress.tell(self._counts)
        due = self._world.clock.monotonic() - self._flushed >= SEGMENT_SECONDS
        if due or len(self._results) >= SEGMENT_RESULTS:
            self._flush()
        return whole

    def _stopped(self) -> bool:
        return self._progress.fenced or self._world.clock.monotonic() >= self._deadline

    def _count(self, result: Result) -> None:
        if result.there is None:
            self._counts["left"] += 1
            return
        self._counts["copied"] += 1
        self._counts["copiedBytes"] += result.size
        self._counts[f"proof {result.proof}"] += 1

    def _flush(self) -> None:
        """Keep what has become of objects: the next function goes on behind that."""
        self._flushed = self._world.clock.monotonic()
        if not self._results:
            return
        self._notebook.put_results(self._number, self._unit, self._segment, self._results)
        self._segment += 1
        self._results = []

    def _sum_up(self) -> None:
        """Keep what the results add up to, and what they took of S3."""
        for kind, count in self._buckets.requests().items():
            self._counts[f"request {kind}"] += count
        self._counts["functionSeconds"] += ceil(self._world.clock.monotonic() - self._began)
        self._progress.tell(self._counts, over=True)
        times = {"beganAt": self._began_at, "endedAt": self._world.clock.now()} if self._counts["copied"] else {}
        self._notebook.put_sum(self._number, self._unit, {**self._counts, **times})


def _result(ended: Future[Result]) -> Result | None:
    """What has become of an object; None where its function has not come to that."""
    if ended.cancelled() or ended.exception() is not None:
        return None
    return ended.result()


def _told(written: dict[str, Any]) -> str:
    """How copies are kept, as notes of uploads have it."""
    return dumps(written, sort_keys=True) if written else ""
