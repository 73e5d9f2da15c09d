"""What the benchmark reads off an execution's history."""

from datetime import UTC, datetime, timedelta
from typing import Any

from bench.first_byte import Start, Step, rows, steps

STARTED = datetime(2026, 11, 24, tzinfo=UTC)


def event(kind: str, name: str, seconds: float) -> dict[str, Any]:
    way = "Entered" if kind.endswith("Entered") else "Exited"
    return {"type": kind, "timestamp": STARTED + timedelta(seconds=seconds), f"state{way}EventDetails": {"name": name}}


def test_tasks_until_the_first_byte_count_from_their_first_beginning_to_their_last_end() -> None:
    history = [
        event("ParallelStateEntered", "Look at Ends", 1),
        event("TaskStateEntered", "Warm Function", 1),
        event("TaskStateEntered", "Warm Function", 1.5),
        event("TaskStateExited", "Warm Function", 2),
        event("TaskStateExited", "Warm Function", 3),
        event("TaskStateEntered", "Start Transfer", 3),
        event("TaskStateExited", "Start Transfer", 9),
        event("TaskStateEntered", "Verify Transfer", 9),
        event("TaskStateExited", "Verify Transfer", 10),
    ]
    assert steps(history, STARTED, until=5) == {"Warm Function": Step(1, 2), "Start Transfer": Step(3, 6)}


def test_rows_are_medians_in_the_order_in_which_steps_begin() -> None:
    starts = [Start(seconds, {"b": Step(2, seconds), "a": Step(1, 1)}) for seconds in (5.0, 9.0, 6.0)]
    starts[0].steps["once"] = Step(0, 1)
    assert [(row.case, row.measured) for row in rows("now", starts)] == [
        ("now: start-execution to first byte", 6),
        ("now: a", 1),
        ("now: b", 6),
    ]
