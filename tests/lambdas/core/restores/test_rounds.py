"""How long a wait is, and that all of them fit into an execution's history."""

import json
from pathlib import Path

import pytest

from lambdas.core.ends.archived import MOST_WAIT_HOURS
from lambdas.core.restores.rounds import (
    MOST_WAIT_SECONDS,
    ArchivedPosition,
    RestoreProgress,
    most_rounds,
    wait_seconds,
)

# Of a standard execution, https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
MOST_EVENTS = 25_000
# Entered, scheduled, started, succeeded, exited of the task; two of the choice; two of the wait.
EVENTS_OF_ROUND = 9


@pytest.mark.parametrize(
    ("waited", "left", "expected"),
    [
        (0, 1e6, 60),
        (1_200, 1e6, 60),
        (7_200, 1e6, 360),
        (86_400, 1e6, MOST_WAIT_SECONDS),
        (86_400, 30.5, 31),
        (9, 0, 1),
    ],
)
def test_a_wait_grows_and_ends_with_the_longest_wait(waited: float, left: float, expected: int) -> None:
    assert wait_seconds(waited, left) == expected


def test_the_longest_wait_takes_a_sixth_of_the_history() -> None:
    assert most_rounds() > MOST_WAIT_HOURS * 3_600 / MOST_WAIT_SECONDS
    assert most_rounds() * EVENTS_OF_ROUND < MOST_EVENTS / 6
    states = json.loads(Path("statemachine/transfer.asl.json").read_text())["States"]
    assert states["Restore Objects"]["Next"] == "Is Everything Restored?"
    assert states["Is Everything Restored?"]["Default"] == "Await Restores"
    assert states["Await Restores"]["Next"] == "Restore Objects"


def test_progress_is_over_once_every_segment_is_passed() -> None:
    position = ArchivedPosition(number=1, done=True, segments={"GLACIER": [2, 1], "DEEP_ARCHIVE": [1]})
    found = RestoreProgress.begin(position, 5.0)
    assert [one.name for one in found.segments] == ["DEEP_ARCHIVE-00000", "GLACIER-00000", "GLACIER-00001"]
    for at, segment in enumerate(found.segments):
        assert not found.is_over
        found = found.with_segment(at, asked=segment.objects, passed=segment.objects)
    assert found.is_asked
    assert found.is_over
