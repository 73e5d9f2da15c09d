import json
from collections.abc import Callable

import pytest

from lambdas.core.chunks.chunk import Chunk
from lambdas.core.chunks.listing import announcement_name
from lambdas.core.chunks.plan import MIB
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.errors import PlanGoesOn, TransferFenced
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome, TransferRecord
from lambdas.handlers.states.extend_plan import ExtendInput, extend_plan
from lambdas.handlers.states.open_plan import OpenInput, open_plan
from tests.lambdas.builders import ENDS, SHARED, announcement, open_survey, paths, transfer
from tests.lambdas.cloud import Cloud

SIZE = 3 * MIB


class Listing:
    """A scan that goes on: a directory with a file of three chunks in each object."""

    def __init__(self) -> None:
        self.cloud, self.transfer = Cloud(), transfer(chunkSizeMiB=1)
        self.cloud.transfers.create(self.transfer)
        self.cloud.transfers.change(transfer(), transfer_life.note(paths=paths()))
        self.parts = 0
        self.write()
        self.survey = open_survey(announcement(1, size=SIZE, files=1))
        open_plan(OpenInput(transfer=self.transfer, survey=self.survey), self.cloud.world)

    def write(self, *, complete: bool = False, problems: int = 0) -> None:
        n = self.parts
        lines = [
            {"path": f"{n}", "kind": "directory", "size": 0},
            {"path": f"{n}/large", "kind": "file", "size": SIZE},
        ]
        text = "\n".join(json.dumps({"source": "/s", "mode": 420, "mtimeNs": 1, "inode": 1, **line}) for line in lines)
        self.cloud.objects.put(f"{ENDS}listing/part-{n:05d}.ndjson", text.encode())
        self.parts += 1
        so_far = announcement(
            self.parts, size=self.parts * SIZE, files=self.parts, complete=complete, problem_count=problems
        )
        self.cloud.objects.put(f"{ENDS}{announcement_name(self.transfer)}", so_far.to_json().encode())

    def later(self, action: Callable[[], object]) -> None:
        self.cloud.clock.at(1.0, action)

    def extend(self) -> TransferPlan:
        return extend_plan(ExtendInput(transfer=self.transfer, survey=self.survey), self.cloud.world)

    def so_far(self) -> TransferPlan:
        return TransferPlan.model_validate_json(self.cloud.objects.objects[f"{ENDS}plan.json"])

    def record(self) -> TransferRecord:
        record = self.cloud.transfers.get("first")
        assert record is not None
        return record

    def deliver_all(self) -> None:
        for chunk in self.cloud.chunks.read(SHARED, self.so_far()):
            self.cloud.chunks.put_all([chunk.model_copy(update={"state": "DELIVERED"})])

    def states(self, plan: TransferPlan) -> list[str]:
        return [chunk.state for chunk in self.cloud.chunks.read(SHARED, plan)]


def lines_of(listing: Listing, chunk: Chunk) -> list[str]:
    text = listing.cloud.objects.objects[ENDS + chunk.manifest_key][chunk.manifest_start : chunk.manifest_end]
    return [json.loads(line)["path"] for line in text.splitlines()]


def test_a_later_run_may_take_the_plan_up_once_it_is_whole() -> None:
    listing = Listing()
    taken_up: list[object] = []

    def look_and_write() -> None:
        taken_up.append(listing.record().unfulfilled)
        listing.write(complete=True)

    listing.later(look_and_write)
    found = listing.extend()
    assert taken_up == [None]
    assert listing.record().unfulfilled == found
    assert found.listing is not None
    assert (found.listing.planned_folder, found.listing.planned_parts) == ("listing/", found.listing.parts)


def test_what_is_listed_may_be_read_before_the_next_object_is_there() -> None:
    listing = Listing()
    seen: list[TransferPlan] = []

    def look_and_write() -> None:
        seen.append(listing.so_far())
        listing.write(complete=True)

    listing.later(look_and_write)
    found = listing.extend()
    assert (seen[0].open, seen[0].chunks, seen[0].last_phase_chunks) == (True, 3, 0)
    assert (found.open, found.chunks, found.last_phase_chunks) == (False, 7, 1)
    assert (found.bytes, found.files) == (2 * SIZE, 2)
    items = list(listing.cloud.chunks.read(SHARED, found))
    assert lines_of(listing, items[-1]) == ["1", "0"]
    assert [lines_of(listing, item) for item in items[:-1]] == [["0/large"]] * 3 + [["1/large"]] * 3
    record = listing.cloud.transfers.get("first")
    assert record is not None
    assert record.plan == listing.so_far() == found


def test_a_planner_that_goes_on_leaves_alone_what_may_have_been_read() -> None:
    listing = Listing()
    with pytest.raises(PlanGoesOn, match="3 chunks of 1 entries"):
        listing.extend()
    listing.deliver_all()
    listing.write(complete=True)
    found = listing.extend()
    assert listing.states(found) == ["DELIVERED"] * 3 + ["PENDING"] * 4
    assert len(found.manifest_parts) == 3


def test_a_planner_that_comes_again_after_the_last_chunk_gives_the_same_plan() -> None:
    listing = Listing()
    listing.write(complete=True)
    found = listing.extend()
    listing.deliver_all()
    assert listing.extend() == found
    assert set(listing.states(found)) == {"DELIVERED"}


def test_the_record_knows_of_chunks_before_a_sender_can() -> None:
    listing = Listing()
    put = listing.cloud.objects.put

    def fails(key: str, body: bytes) -> None:
        if key.endswith("plan.json"):
            raise ConnectionError("the planner dies here")
        put(key, body)

    listing.cloud.objects.put = fails  # type: ignore[method-assign]
    with pytest.raises(ConnectionError):
        listing.extend()
    record = listing.cloud.transfers.get("first")
    assert record is not None
    assert record.plan is not None
    assert (record.plan.chunks, listing.so_far().chunks) == (3, 0)


@pytest.mark.parametrize("what", ["problem", "room"])
def test_what_stands_in_the_way_keeps_the_plan_open_until_the_survey_has_said_so(what: str) -> None:
    listing = Listing()
    if what == "room":
        destination = listing.survey.destination.model_copy(update={"free_bytes": 2 * SIZE - 1})
        listing.survey = listing.survey.model_copy(update={"destination": destination})
    listing.later(lambda: listing.write(complete=True, problems=int(what == "problem")))
    listing.cloud.clock.at(5.0, lambda: listing.cloud.transfers.change(transfer(), transfer_life.FENCE))
    with pytest.raises(TransferFenced, match="before its plan"):
        listing.extend()
    assert (listing.so_far().open, listing.so_far().chunks) == (True, 3)


def test_a_transfer_whose_ends_have_failed_is_planned_no_further() -> None:
    listing = Listing()
    listing.later(lambda: listing.cloud.transfers.change(transfer(), transfer_life.finish(Outcome(error="EndSilent"))))
    with pytest.raises(TransferFenced):
        listing.extend()
