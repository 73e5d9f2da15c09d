"""Several machines of an end: each is looked at, and all must see one directory."""

from functools import partial
from typing import Any

import pytest

from lambdas.adapters.records import CommandResult
from lambdas.core.errors import DaemonVersionSkew, DestinationTooSmall, SurveyProblem
from lambdas.core.intake.destination_lock import Holding
from lambdas.core.intake.one_directory import NOT_THERE
from lambdas.core.seats.commands import Command
from lambdas.core.survey.survey import Survey
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.survey_ends import SurveyInput, survey_ends
from tests.lambdas.buckets import from_bucket_to_many, from_many_to_bucket
from tests.lambdas.builders import WEST, survey
from tests.lambdas.core.intake.test_one_directory import EFS, OURS, THEIRS, TUNNEL, first, there
from tests.lambdas.hdfs import FAR, NEAR, between_clusters, place_in, way_in
from tests.lambdas.machines import failed, printed
from tests.lambdas.many import many, with_machines

HEAD = {"schemaVersion": 1, "daemonVersion": "0.1.0"}


class Machines:
    """Machines of both ends; `apart`: those that see a directory of their own. `stale`: looks that show what went."""

    def __init__(
        self, senders: int = 2, receivers: int = 2, transfer: AcceptedTransfer | None = None, **asked: Any
    ) -> None:
        paths = {"region": WEST, "paths": ["/mnt/set"]}
        self.transfer = transfer or many(senders, receivers, source=paths, **asked)
        self.cloud = with_machines(self.transfer)
        self.cloud.transfers.create(self.transfer)
        self.apart: set[str] = set()
        self.marks: dict[str, str] = {}
        self.asked: list[tuple[str, Command]] = []
        self.stale = 0
        self.system, self.writable, self.inode = EFS, True, "99:7"
        self.changes: dict[str, dict[str, Any]] = {}
        for seat in (*self.transfer.senders, *self.transfer.receivers):
            machine = seat.machine
            scripts = self.cloud.commands[machine.region].scripts
            scripts["scan", machine.instance_id] = partial(self.scan, seat.seat_id)

    def scan(self, seat_id: str, command: Command | None) -> CommandResult:
        assert command is not None
        self.asked.append((seat_id, command))
        good, side = survey(), command["side"]
        if side == "mark":
            if seat_id == "s0" and not self.writable:
                return failed("Read-only file system")
            if command["present"]:
                self.marks[command["name"]] = seat_id
            else:
                self.marks.pop(command["name"], None)
            return printed({**HEAD, "side": "mark", "present": command["present"]})
        if side == "marked":
            seen = seat_id not in self.apart and bool(self.marks)
            if not self.marks and self.stale:
                self.stale, seen = self.stale - 1, True
            return printed({**HEAD, "side": "marked", "seen": seen})
        changes = self.changes.get(seat_id, {})
        if side == "destination":
            return printed({**good.destination.to_document(), **changes})
        listed = seat_id in ("s0", "r0")  # of a machine that does both it is the receiver's name
        places = first(self.system) if listed else there(self.system, self.inode)
        told = {"kernel": OURS if listed else THEIRS, "places": [place.to_document() for place in places]}
        return printed({**good.source.to_document(), **told, **changes})

    def survey(self) -> Survey:
        found = survey_ends(SurveyInput(transfer=self.transfer), self.cloud.world)
        assert self.marks == {}, "no mark stays"
        assert isinstance(found, Survey)
        return found

    def sides(self, seat_id: str) -> list[str]:
        return [command["side"] for at, command in self.asked if at == seat_id]


def test_one_machine_lists_and_every_other_one_is_looked_at() -> None:
    machines = Machines(2, 3)
    machines.survey()
    assert machines.sides("s0") == ["source"]
    assert machines.sides("r0") == ["destination", "mark", "mark"]
    for seat_id in ("r1", "r2"):
        assert machines.sides(seat_id) == ["destination", "marked", "marked"]
    ((_, look),) = [(at, command) for at, command in machines.asked if at == "s1"]
    assert look["end"]["paths"] == [f"/mnt/set/{NOT_THERE}"]
    assert look["control"]["prefix"].endswith("/beside/s1/")
    marked = next(command for at, command in machines.asked if at == "r1" and command["side"] == "marked")
    assert marked["directories"] == ["/restore"]


def test_of_machines_that_read_a_bucket_one_lists_it_and_nobody_proves_that_all_see_it() -> None:
    machines = Machines(transfer=from_bucket_to_many())
    machines.survey()
    assert machines.sides("r0") == ["source", "destination", "mark", "mark"]
    assert machines.sides("r1") == ["destination", "marked", "marked"]


def test_of_machines_that_write_a_bucket_each_says_whether_it_may_and_nobody_proves_that_all_see_it() -> None:
    machines = Machines(transfer=from_many_to_bucket())
    machines.survey()
    assert sorted(machines.sides("r0")) == sorted(machines.sides("r1")) == ["destination", "source"]
    ((_, look),) = [(at, one) for at, one in machines.asked if (at, one["side"]) == ("r1", "destination")]
    assert look["end"]["kind"] == "bucket"


def test_a_machine_of_the_destination_that_sees_another_directory_is_named() -> None:
    machines = Machines()
    machines.apart.add("r1")
    other = machines.transfer.seat("r1").machine.instance_id
    with pytest.raises(SurveyProblem, match=rf"\$.destination.instanceIds\[1\]: {other} does not see a file"):
        machines.survey()
    assert machines.marks == {}


def test_a_mark_that_a_client_shows_for_a_while_after_it_went_is_waited_for() -> None:
    machines = Machines()
    machines.stale = 3
    machines.survey()
    machines.stale = 10**6
    with pytest.raises(SurveyProblem, match="still sees a file that was removed"):
        machines.survey()


def test_a_machine_of_the_source_on_which_the_path_is_another_one_is_named_with_what_was_seen() -> None:
    machines = Machines()
    machines.inode = "99:8"
    other = machines.transfer.seat("s1").machine.instance_id
    with pytest.raises(SurveyProblem) as error:
        machines.survey()
    for words in ("$.source.instanceIds[1]", f"'/mnt/set' on {other}", "nfs4 at /mnt", "99:8", "52:7", "leave the"):
        assert words in str(error.value)


def test_where_file_systems_do_not_prove_it_a_mark_in_the_source_does() -> None:
    machines = Machines(3, 1)
    machines.system = TUNNEL
    machines.survey()
    assert machines.sides("s0") == ["source", *["mark"] * 4]
    assert machines.sides("s1") == ["source", "marked"]
    machines.apart.add("s2")
    with pytest.raises(SurveyProblem, match=r"\$.source.instanceIds\[2\].* cannot be proven to be what it is"):
        machines.survey()


def test_where_nothing_may_be_written_to_a_source_in_doubt_it_is_refused() -> None:
    machines = Machines(2, 1)
    machines.system, machines.writable = TUNNEL, False
    with pytest.raises(SurveyProblem, match="cannot be proven"):
        machines.survey()


def test_a_dry_run_writes_no_mark() -> None:
    machines = Machines(dryRun=True)
    machines.system = TUNNEL
    machines.survey()
    assert not [command for _, command in machines.asked if command["side"] == "mark"]


@pytest.mark.parametrize(
    ("seat_id", "changes", "error", "words"),
    [
        (
            "r1",
            {"problems": [{"path": "/restore", "reason": "Permission denied"}], "problemCount": 1},
            SurveyProblem,
            "'/restore' on i-0bbbbbbbbbbbbbbc1",
        ),
        ("s1", {"daemonVersion": "0.2.0"}, DaemonVersionSkew, "0.2.0 on i-0aaaaaaaaaaaaaac1"),
        ("r1", {"daemonVersion": "0.2.0"}, DaemonVersionSkew, "0.2.0 on i-0bbbbbbbbbbbbbbc1"),
        ("r0", {"freeBytes": 1}, DestinationTooSmall, "1 bytes free"),
    ],
)
def test_what_stands_in_the_way_at_one_of_the_machines_is_named(
    seat_id: str, changes: dict[str, Any], error: type[Exception], words: str
) -> None:
    machines = Machines()
    machines.changes[seat_id] = changes
    with pytest.raises(error, match=words):
        machines.survey()


def test_each_machine_of_the_destination_is_locked_by_the_directory_that_it_sees() -> None:
    machines = Machines()
    machines.changes["r1"] = {"ways": [{"directories": ["9:2", "9:3"], "names": ["restore"]}]}
    machines.survey()
    other = machines.transfer.seat("r1").machine.instance_id
    held = machines.cloud.locks.acquire(other, "/restore", "first")
    assert isinstance(held, Holding)
    assert held.ways[0].directories == ("9:2", "9:3")


class Workers(Machines):
    """Workers of a cluster at each end. `cluster`: by what name the others of the source know it."""

    def __init__(self, senders: int = 2, receivers: int = 2) -> None:
        super().__init__(transfer=between_clusters(senders, receivers))
        self.cluster = NEAR

    def scan(self, seat_id: str, command: Command | None) -> CommandResult:
        if command and command["side"] == "source" and seat_id != "s0":
            place = place_in(self.cluster, "16385 16391", "/warehouse/sales", missing=NOT_THERE)
            self.changes[seat_id] = {"places": [place.to_document()]}
        elif command and command["side"] == "source":
            self.changes[seat_id] = {"places": [place_in(NEAR, "16385 16391", "/warehouse/sales").to_document()]}
        elif command and command["side"] == "destination":
            self.changes[seat_id] = {"ways": [way_in(FAR, "16385", "/", missing="backup").to_document()]}
        return super().scan(seat_id, command)


def test_workers_of_one_cluster_see_one_source_without_a_mark_and_prove_their_destination_by_one() -> None:
    workers = Workers(2, 2)
    workers.survey()
    assert (workers.sides("s0"), workers.sides("s1")) == (["source"], ["source"])
    assert (workers.sides("r0"), workers.sides("r1")) == (
        ["destination", "mark", "mark"],
        ["destination", *["marked"] * 2],
    )
    look = next(command for at, command in workers.asked if at == "r1" and command["side"] == "marked")
    assert look["end"] == {"kind": "hdfs", "user": "etl", "paths": ["/backup"]}
    assert look["directories"] == ["/"]


def test_workers_that_know_a_cluster_by_two_names_prove_their_source_by_a_mark() -> None:
    workers = Workers(2, 1)
    workers.cluster = FAR
    workers.survey()
    assert (workers.sides("s0"), workers.sides("s1")) == (["source", "mark", "mark"], ["source", "marked"])
    workers.apart.add("s1")
    with pytest.raises(
        SurveyProblem, match=r"\$.source.workers\[1\]: .*; name workers of one cluster in \$.source.work"
    ):
        workers.survey()


def test_a_worker_of_another_cluster_at_the_destination_is_named() -> None:
    workers = Workers(1, 2)
    workers.apart.add("r1")
    with pytest.raises(SurveyProblem) as refused:
        workers.survey()
    assert "both see another directory at 'hdfs:/backup'; name workers of one cluster in $.destination.workers" in str(
        refused.value
    )
