"""One handler's work on one source, in a process that has no more memory than its Lambda; prints what it took."""

import json
import resource
import sys
import time
from dataclasses import replace
from typing import Any

from bench.scale.services import Bucket, ChunkTable
from bench.scale.synthetic import PREFIX, TRANSFER, Source, delivered
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_chunks import DynamoChunkStore
from lambdas.adapters.s3 import S3Objects
from lambdas.adapters.world import World
from lambdas.core.chunks.pace import WRITES_PER_SECOND
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.record import transfer_life
from lambdas.handlers.states.plan_chunks import PlanInput, plan_chunks
from lambdas.handlers.states.verify_transfer import VerifyInput, verify_transfer
from lambdas.operations.report import reporting
from tests.lambdas import builders
from tests.lambdas.cloud import Cloud

MIB = 1 << 20
RATE_MB_S = 1000.0


class PassingClock:
    """A wait takes no time, but counts as passed."""

    def __init__(self) -> None:
        self.waited = 0.0

    def now(self) -> float:
        """See Clock."""
        return time.time() + self.waited

    def monotonic(self) -> float:
        """See Clock."""
        return time.monotonic() + self.waited

    def sleep(self, seconds: float) -> None:
        """See Clock."""
        self.waited += seconds


def plan(source: Source) -> dict[str, Any]:
    """Plan Chunks."""
    table = ChunkTable(_nothing, 0)
    bucket = Bucket(lambda key: source.listing(_part(key)))
    world = _world(table, bucket, PassingClock())
    survey = builders.survey(source.parts, size=source.payload, files=source.files)
    event = PlanInput(transfer=builders.transfer(TRANSFER), survey=survey, estimate=builders.estimate(4))
    found = plan_chunks(event, world)
    _agree(table.written, found.chunks)
    return {
        "chunks": found.chunks,
        "pacedSeconds": found.chunks / WRITES_PER_SECOND,
        "payload": len(event.survey.to_json()) + len(found.to_json()),
        "objectBytes": bucket.largest,
    }


def verify(source: Source) -> dict[str, Any]:
    """Verify Transfer, of as many chunks as the plan has and with the digests of both ends."""
    plan = _plan(source)
    table = ChunkTable(lambda chunk: delivered(chunk, source.entries, plan.chunk_size_bytes, RATE_MB_S), plan.chunks)
    folders = ("listing", *(f"digests/{plan.plan_id}/{seat_id}" for seat_id in ("r0", "s0")))
    keys = [f"{PREFIX}{folder}/part-{n:05d}.ndjson" for folder in folders for n in range(source.parts)]

    def read(key: str) -> bytes:
        return source.digests(_part(key)) if "/digests/" in key else source.listing(_part(key))

    world = _world(table, Bucket(read, keys), PassingClock())
    found = verify_transfer(VerifyInput(transfer=builders.transfer(TRANSFER), plan=plan), world)
    _agree(found["files"], source.files)
    return {"chunks": plan.chunks}


def report(source: Source) -> dict[str, Any]:
    """Write Report."""
    plan = _plan(source)
    table = ChunkTable(lambda chunk: delivered(chunk, source.entries, plan.chunk_size_bytes, RATE_MB_S), plan.chunks)
    bucket = Bucket(lambda _: b"")
    world = _world(table, bucket, PassingClock())
    world.transfers.create(builders.transfer(TRANSFER))
    world.transfers.change(
        builders.transfer(TRANSFER), transfer_life.note(plan=plan, estimate=builders.estimate(4), teardown={})
    )
    (record,) = world.transfers.active()
    found = reporting.write(world, record, None, verified=True)
    if found is None:
        raise SystemExit("bench-scale: no report")
    _agree(found.chunks, plan.chunks)
    return {"chunks": plan.chunks, "payload": len(json.dumps(found.for_output())), "objectBytes": bucket.largest}


def _part(key: str) -> int:
    """Of `…/part-00042.ndjson`."""
    return int(key.rpartition("-")[2].removesuffix(".ndjson"))


def _nothing(chunk: int) -> str:
    raise LookupError(f"nobody should read chunk {chunk}")


def _agree(found: int, wanted: int) -> None:
    if found != wanted:
        raise SystemExit(f"bench-scale: {found} in place of {wanted}")


def _plan(source: Source) -> TransferPlan:
    """About what Plan Chunks makes of it, with automatic chunks of 64 MiB."""
    size = 64 * MIB
    each = -(-source.file_bytes // size)
    chunks = source.files * each if each > 1 else -(-source.files // min(2000, size // source.file_bytes))
    return builders.plan(TRANSFER, chunks, source.payload, source.files).model_copy(update={"chunk_size_bytes": size})


def _world(table: ChunkTable, bucket: Bucket, clock: PassingClock) -> World:
    cloud = Cloud()
    cloud.transfers.create(builders.transfer(TRANSFER))
    cloud.transfers.change(builders.transfer(TRANSFER), transfer_life.note(paths=builders.paths()))
    chunks = DynamoChunkStore(Table(table.client(), "cpt-chunks"), clock)
    return replace(cloud.world, chunks=chunks, objects=S3Objects(bucket.client(), "control"), clock=clock)


WORK = {"plan": plan, "verify": verify, "report": report}


def main() -> None:
    """`work.py NAME MEMORY_MIB SOURCE`: the source as the JSON of its fields."""
    name, memory, source = sys.argv[1], int(sys.argv[2]), Source(**json.loads(sys.argv[3]))
    resource.setrlimit(resource.RLIMIT_DATA, (memory * MIB, memory * MIB))
    found = WORK[name](source)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**found, "processorSeconds": time.process_time(), "peakMiB": peak}))


if __name__ == "__main__":
    main()
