"""A plan that grows while its listing goes on.

What may be read is in the record before it is in `plan.json`, which the sender follows: a planner that goes on after
another one never writes an item again that a sender may have seen.
"""

from collections.abc import Iterator
from itertools import count

from lambdas.adapters.world import World
from lambdas.core.chunks import object_parts, plan
from lambdas.core.chunks.listing import LOT_BYTES, Announcement, OpenSurvey, lots
from lambdas.core.chunks.plan import ListedEntry, PlannedChunk
from lambdas.core.chunks.transfer_plan import PlanListing, TransferPlan
from lambdas.core.errors import FailTransfer, PlanGoesOn, TransferFenced
from lambdas.core.intake.survey import has_room
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Planned, TransferRecord
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.chunks.planning import Listing, Written
from lambdas.operations.fence import serving
from lambdas.operations.intake.surveying import announced, goes_on

# A function that begins nothing new after 13 of its 15 minutes has written what it has begun, whatever the table bears.
PLANNING_SECONDS = 780.0
LOOK_SECONDS = 0.25


def publish(world: World, transfer: AcceptedTransfer, found: TransferPlan) -> Planned:
    """Let the ends read the plan as it is now, and a later run take it up once it is whole; raises TransferFenced."""
    serving(world, transfer, TransferRecord)
    record = world.transfers.change(transfer, transfer_life.note(plan=found))
    if not isinstance(record, Planned):
        raise FailTransfer(f"the record of {transfer.transfer_id} has no resolved paths")
    world.objects.put(world.shared_key(transfer, "plan.json"), found.to_json().encode())
    return record


class Extension:
    """One planner's work on an open plan."""

    def __init__(self, world: World, transfer: AcceptedTransfer, survey: OpenSurvey, opened: TransferPlan) -> None:
        self._world, self._transfer, self._survey, self._plan = world, transfer, survey, opened
        self._until = world.clock.monotonic() + PLANNING_SECONDS
        self._listing = Listing(world)
        self._listed: Announcement = survey.listed
        self._written = Written(world, transfer, opened.first_range, opened.chunks)

    def run(self) -> TransferPlan:
        """The whole plan; raises PlanGoesOn when the time is up, and TransferFenced."""
        size = self._plan.chunk_size_bytes
        for lot in lots(self._parts(), size, object_parts.check_of(self._transfer, size)):
            self._write(lot)
            if self._written.count > self._plan.chunks:
                self._plan = self._so_far()
                publish(self._world, self._transfer, self._plan)
            self._check_time()
        self._write(plan.plan_directories(self._listing.backwards()))
        whole = {"last_phase_chunks": self._written.last_phase, "manifest_parts": self._written.parts}
        parts, digest = self._listed.parts, self._listed.listing_digest
        listing = PlanListing(parts=parts, digest=digest, planned_folder="listing/", planned_parts=parts)
        found = self._so_far(open=False, bytes=self._written.bytes, listing=listing.model_dump(), **whole)
        publish(self._world, self._transfer, found)
        return found

    def _write(self, chunks: Iterator[PlannedChunk] | list[PlannedChunk]) -> None:
        placed = plan.place(chunks, LOT_BYTES, self._written.count, len(self._written.parts))
        self._world.chunks.put_all(self._written.chunks(placed))

    def _so_far(self, **changed: object) -> TransferPlan:
        counts = {"chunks": self._written.count, "bytes": self._listed.bytes, "files": self._listed.files}
        return TransferPlan.model_validate(self._plan.model_dump() | counts | changed, by_name=True)

    def _parts(self) -> Iterator[Iterator[ListedEntry]]:
        """Each object once it is announced."""
        for number in count():
            while number >= self._listed.parts or self._stands_in_the_way():
                if self._listed.complete and not self._stands_in_the_way():
                    return
                self._look()
            name = f"listing/part-{number:05d}.ndjson"
            yield self._listing.part(self._world.shared_key(self._transfer, name))

    def _stands_in_the_way(self) -> bool:
        """Return whether Finish Survey is about to fail the transfer: then nothing more is planned."""
        return self._listed.problem_count > 0 or not has_room(self._listed, self._survey.destination)

    def _look(self) -> None:
        self._check_time()
        if not goes_on(self._world, self._transfer):
            raise TransferFenced(f"{self._transfer.transfer_id} has ended before its plan")
        self._world.clock.sleep(LOOK_SECONDS)
        self._listed = announced(self._transfer, self._world) or self._listed

    def _check_time(self) -> None:
        if self._world.clock.monotonic() >= self._until:
            raise PlanGoesOn(f"{self._written.count} chunks of {self._listed.entries} entries are planned so far")
