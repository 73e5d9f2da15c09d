"""Plan Chunks: pack and cut the listing into chunks; write their items and manifests. Run twice, it writes the same.

Where nothing is to be moved but measured, there are no chunks, and no path either: the sender only runs the probes.
"""

import json
from collections.abc import Iterator

from lambdas.adapters.world import World
from lambdas.core import plan
from lambdas.core.chunk import RANGE_SIZE, Chunk, item_key, range_key
from lambdas.core.documents import Handover
from lambdas.core.errors import FailTransfer
from lambdas.core.estimate import Estimate
from lambdas.core.plan import ListingEntry, ManifestPart, PlacedChunk
from lambdas.core.transfer import AcceptedTransfer, Membership, Survey, TransferPath, TransferPlan
from lambdas.runtime.handler import task_state

MANIFEST_PART_BYTES = 4 << 20


class PlanInput(Handover):
    """Input of the state."""

    transfer: AcceptedTransfer
    survey: Survey
    estimate: Estimate


def plan_chunks(event: PlanInput, world: World) -> TransferPlan:
    """The plan, also in S3 and in the transfer's record."""
    transfer_id, source, measures = event.transfer.transfer_id, event.survey.source, event.transfer.request.measures
    figures = event.estimate.figures
    lanes = plan.lanes_per_path(max(figures.direct.value, figures.pair.value), source.bytes, source.files)
    paths = 1 + event.estimate.chosen_pairs
    part_bytes = plan.chunk_size(source.bytes, lanes * paths, event.transfer.request.chunk_size_mib)
    entries = _entries(world, [] if measures else [part.key for part in source.parts])
    writer = _Writer(world, transfer_id)
    world.chunks.put_all(writer.chunks(plan.place(plan.plan_chunks(entries, part_bytes), MANIFEST_PART_BYTES)))
    result = TransferPlan(
        transfer_id=transfer_id,
        chunk_size_bytes=part_bytes,
        chunks=writer.count,
        range_size=RANGE_SIZE,
        last_phase_chunks=writer.last_phase,
        bytes=writer.bytes,
        files=0 if measures else source.files,
        manifest_parts=writer.parts,
        lanes_per_path=lanes,
    )
    world.objects.put(world.key(transfer_id, "plan.json"), result.to_json().encode())
    world.transfers.note(transfer_id, plan=result.to_document())
    world.agents.write_membership(
        transfer_id, Membership(version=1, paths=[] if measures else [_direct(world, transfer_id, lanes)])
    )
    return result


def _entries(world: World, keys: list[str]) -> Iterator[ListingEntry]:
    for key in keys:
        for line in world.objects.lines(key):
            if line.strip():
                yield json.loads(line)


def _direct(world: World, transfer_id: str, lanes: int) -> TransferPath:
    record = world.transfers.get(transfer_id)
    if record is None or record.paths is None:
        raise FailTransfer(f"the record of {transfer_id} has no resolved paths")
    return TransferPath(path_id="direct", generation=0, hops=[], receiver=record.paths.receiver_address, lanes=lanes)


class _Writer:
    """Turns placed chunks into items, counts them, and writes manifest parts as they fill."""

    def __init__(self, world: World, transfer_id: str) -> None:
        self._world, self._transfer_id = world, transfer_id
        self.count = self.bytes = self.last_phase = 0
        self.parts: list[str] = []

    def chunks(self, placed: Iterator[PlacedChunk | ManifestPart]) -> Iterator[Chunk]:
        for item in placed:
            if isinstance(item, ManifestPart):
                self.parts.append(self._key(item.number))
                self._world.objects.put(self.parts[-1], item.body)
            else:
                self.count += 1
                self.bytes += item.bytes
                self.last_phase += item.phase
                yield self._chunk(item)

    def _key(self, part: int) -> str:
        return self._world.key(self._transfer_id, f"manifest/part-{part:05d}.ndjson")

    def _chunk(self, item: PlacedChunk) -> Chunk:
        return Chunk(
            range_key=range_key(self._transfer_id, item.chunk // RANGE_SIZE),
            item_key=item_key(item.chunk),
            chunk=item.chunk,
            state="PENDING",
            attempt=1,
            phase=item.phase,
            manifest_key=self._key(item.part),
            manifest_start=item.start,
            manifest_end=item.end,
            bytes=item.bytes,
            files=item.files,
        )


handler = task_state("Plan Chunks", PlanInput, plan_chunks)
