"""Where inodes alone say that both ends see one directory, a mark in the destination decides, and goes away again."""

from typing import Any

import pytest

from lambdas.adapters.records import CommandResult
from lambdas.core.errors import CommandFailed, SurveyProblem
from lambdas.core.seats.commands import Command
from lambdas.core.survey.whereabouts import DirectoryWay, Whereabouts
from lambdas.operations.intake.apart import check_apart
from tests.lambdas.builders import IRELAND, WEST, survey, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.intake.test_overlap import OURS, THEIRS, way
from tests.lambdas.hdfs import FAR, NEAR, hdfs_destination, hdfs_source, way_in
from tests.lambdas.machines import failed, printed

HEAD = {"schemaVersion": 1, "daemonVersion": "0.1.0"}


class Machines:
    """Two machines, and whether they see one directory."""

    def __init__(self, *, is_one: bool, looks: bool = True) -> None:
        self.cloud, self.is_one, self.looks = Cloud(), is_one, looks
        self.marks: set[str] = set()
        self.asked: list[Command] = []
        self.cloud.commands[WEST].scripts["scan"] = self.at_source
        self.cloud.commands[IRELAND].scripts["scan"] = self.at_destination

    def at_destination(self, command: Command | None) -> CommandResult:
        assert command is not None
        self.asked.append(command)
        (self.marks.add if command["present"] else self.marks.discard)(command["name"])
        return printed({**HEAD, "side": "mark", "present": command["present"]})

    def at_source(self, command: Command | None) -> CommandResult:
        assert command is not None
        self.asked.append(command)
        if not self.looks:
            return failed("Input/output error")
        return printed({**HEAD, "side": "marked", "seen": self.is_one and command["name"] in self.marks})

    def check(self, own: DirectoryWay, other: DirectoryWay, **asked: Any) -> None:
        destination = survey().destination.model_copy(update={"ways": [other], "kernel": THEIRS})
        self.cloud.transfers.create(transfer(**asked))
        try:
            check_apart(
                transfer(**asked), OURS, [Whereabouts(path="/x%20y", ways=[own])], destination, self.cloud.world
            )
        finally:
            assert self.marks == set(), "no mark stays"


ALIKE = (way("/x y", 52, "2 10"), way("/m/backup", 77, "3 10"))


def test_one_directory_is_refused_before_anything_else_is_done() -> None:
    machines = Machines(is_one=True)
    with pytest.raises(SurveyProblem, match=r"lies in the source's '/x y' of i-0a.*both machines see one directory"):
        machines.check(*ALIKE)
    assert [command["side"] for command in machines.asked] == ["mark", "marked", "mark"]
    assert machines.asked[1]["directories"] == ["/x%20y"]


def test_two_directories_of_one_inode_are_apart() -> None:
    Machines(is_one=False).check(*ALIKE)


def test_a_look_that_fails_says_nothing_and_leaves_no_mark() -> None:
    with pytest.raises(CommandFailed, match="Input/output error"):
        Machines(is_one=False, looks=False).check(*ALIKE)


def test_a_dry_run_makes_no_mark_and_refuses_what_is_as_old_too() -> None:
    machines = Machines(is_one=True)
    machines.check(*ALIKE, dryRun=True)
    with pytest.raises(SurveyProblem):
        machines.check(way("/x y", 52, "2 10", born=5), way("/m", 77, "3 10", born=5), dryRun=True)
    assert machines.asked == []


def test_ends_that_are_apart_are_asked_nothing() -> None:
    machines = Machines(is_one=True)
    machines.check(way("/x y", 52, "2 10"), way("/m", 77, "3 11"))
    assert machines.asked == []


@pytest.mark.parametrize("there", [NEAR, FAR])
def test_two_workers_of_one_cluster_meet_whatever_they_call_it_and_two_clusters_do_not(there: str) -> None:
    source, destination = hdfs_source(paths=["/x y"]), hdfs_destination(path="/x y/new")
    own, other = way_in(NEAR, "16385 16390", "/x y"), way_in(there, "16385 16390", "/x y", missing="new")
    machines = Machines(is_one=True)
    words = r"'hdfs:/x y/new' by i-0b\w+ lies in the source's '/x y' of i-0a.*both machines see one directory"
    with pytest.raises(SurveyProblem, match=words):
        machines.check(own, other, source=source, destination=destination)
    assert [command["end"]["kind"] for command in machines.asked] == ["hdfs"] * 3
    Machines(is_one=False).check(own, other, source=source, destination=destination)
