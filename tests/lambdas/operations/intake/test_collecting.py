"""Objects are collected in windows: each is moved, by one execution, whatever comes twice, late, or is killed."""

from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_arrivals import DynamoArrivals
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.arrivals import MOST_ATTEMPTS
from lambdas.operations.intake import collecting
from tests.lambdas.clock import FakeClock
from tests.lambdas.collecting import START, Stage

EXAMPLES = {"memory": 400, "dynamodb": 5, "dynamodb-local": 30}


@pytest.fixture(autouse=True)
def accepting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a request may say is held in `test_acceptance`."""
    monkeypatch.setattr(collecting, "accept", lambda request, world: request)


def stage_of(tables: dict[str, Table], name: str = "exports") -> Stage:
    arrivals = DynamoArrivals(tables["arrivals"], FakeClock()) if tables else None
    return Stage(arrivals, START.model_copy(update={"name": name}))


@pytest.fixture
def stage(tables: dict[str, Table]) -> Stage:
    return stage_of(tables)


def test_what_comes_within_a_window_is_one_execution_with_its_list(stage: Stage) -> None:
    for number in range(40):
        assert stage.comes(f"daily/{number:02}", f"{number:04X}1", size=number, etag="e", version_id="v") == "collected"
    assert len(stage.cloud.schedules.due) == 1
    stage.passes(59)
    assert stage.cloud.executions.started == {}
    stage.passes(2)
    [(name, request)] = stage.cloud.executions.started.items()
    key = request["source"]["keys"]["manifest"]
    assert name.startswith("exports-1-")
    assert request == {
        "whenBusy": "wait",
        **START.request,
        "source": {**START.request["source"], "keys": {"manifest": key}},
    }
    assert len(stage.cloud.objects.objects[key].splitlines()) == 40
    stage.all_moved_once()
    stage.rests()
    assert len(stage.cloud.executions.started) == 1


def test_an_event_that_comes_twice_or_late_starts_nothing_twice(stage: Stage) -> None:
    assert stage.comes("daily/a", "0A") == "collected"
    assert stage.comes("daily/a", "0A") == "known"
    assert stage.comes("daily/a", "09F") == "known"
    # S3 compares as if the shorter one went on with zeros.
    assert stage.comes("daily/a", "0A00") == "known"
    stage.rests()
    assert stage.comes("daily/a", "0A") == "known"
    assert stage.cloud.schedules.due == {}
    stage.rests()
    assert stage.moved == [("daily/a", "0A")]
    assert stage.comes("daily/a", "0A01") == "collected"
    stage.rests()
    assert len(stage.lists) == 2
    stage.all_moved_once()


def test_of_a_key_that_is_written_again_in_its_window_the_last_write_is_moved(stage: Stage) -> None:
    stage.comes("daily/a", "2", version_id="new")
    stage.comes("daily/a", "1", version_id="old")
    stage.comes("daily/b", "1", version_id="old")
    stage.comes("daily/b", "2", version_id="new")
    stage.rests()
    assert sorted(stage.moved) == [("daily/a", "2"), ("daily/b", "2")]


def test_notes_that_a_receiver_keeps_beside_its_data_start_nothing(stage: Stage) -> None:
    assert stage.comes("daily/.cpt-partial-nightly/r0/note") == "ours"
    stage.rests()
    assert stage.arrivals.window("exports") is None


def test_more_than_a_list_bears_is_several_executions_one_after_the_other(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "MOST_LISTED", 10)
    for number in range(25):
        stage.comes(f"daily/{number}")
    stage.passes(61)
    # Without waiting for another window's time.
    assert sorted(len(found) for found in stage.lists.values()) == [5, 10, 10]
    stage.all_moved_once()
    stage.rests()


def test_what_comes_while_a_window_is_closed_opens_the_next_one(stage: Stage, kind: str) -> None:
    for step in range(0, 40, 1 if kind == "memory" else 7):
        stage.comes(f"daily/{step}-before")
        window = stage.arrivals.window("exports")
        assert window is not None
        stage.happening(step, lambda step=step: stage.comes(f"daily/{step}-meanwhile"))  # type: ignore[misc]
        stage.closes(window.number)
        stage.rests()
        stage.all_moved_once()
    assert any("meanwhile" in key for key, _ in stage.moved)


def test_a_window_that_cannot_start_is_tried_each_minute_and_then_named(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def refuse(request: Any, _world: Any) -> None:
        tries.append(request)
        raise InvalidRequest(["$.destination.instanceId: 'i-0bbbbbbbbbbbbbbb2' is stopped; start it first"])

    monkeypatch.setattr(collecting, "accept", refuse)
    stage.comes("daily/a")
    stage.passes(61)
    assert (len(tries), [kind for kind, _ in stage.cloud.events.put_events]) == (1, [])
    stage.rests()
    assert len(tries) == MOST_ATTEMPTS
    assert stage.cloud.executions.started == {}
    [(_, told)] = [event for event in stage.cloud.events.put_events if event[0] == "Request Refused"]
    assert (told["origin"], told["error"]) == ("objects/exports/1", "InvalidRequest")
    assert told["cause"].startswith("$.destination.instanceId")
    key = tries[0]["source"]["keys"]["manifest"]
    assert f"1 keys were not moved after {MOST_ATTEMPTS} attempts; their list: s3://" in told["cause"]
    assert key in told["cause"]
    # The next window has a chance of its own.
    monkeypatch.setattr(collecting, "accept", lambda request, world: request)
    stage.comes("daily/b")
    stage.rests()
    assert stage.moved == [("daily/b", "1")]


def test_a_start_that_works_again_moves_what_has_waited(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([OSError("Step Functions is away"), InvalidRequest("$: not now"), None])

    def sometimes(_request: Any, _world: Any) -> None:
        if error := next(answers):
            raise error

    monkeypatch.setattr(collecting, "accept", sometimes)
    stage.comes("daily/a")
    with pytest.raises(OSError, match="away"):
        stage.passes(61)
    stage.comes("daily/b")
    stage.passes(91)
    stage.passes(91)
    assert stage.moved == [("daily/a", "1")]
    monkeypatch.setattr(collecting, "accept", lambda request, world: request)
    stage.rests()
    stage.all_moved_once()


def test_a_schedule_that_was_not_made_in_time_is_an_event(stage: Stage) -> None:
    # Killed between the window and its schedule.
    for step in range(20):
        stage.killing(step)
        stage.comes("daily/a", f"{step + 1:02X}1")
        stage.steps.at.clear()
        window = stage.arrivals.window("exports")
        if window is not None and window.state == "OPEN" and not window.scheduled:
            break
    assert window is not None
    assert stage.cloud.schedules.due == {}
    stage.cloud.clock.time = window.due_at
    stage.comes("daily/b")
    assert stage.cloud.events.put_events == [("Window Due", {"start": "exports", "number": 1})]
    stage.rests()
    stage.all_moved_once()


def test_a_template_that_a_deployment_has_changed_is_that_of_the_window_that_is_open(stage: Stage) -> None:
    stage.comes("daily/a")
    stage.start = START.model_copy(update={"request": {**START.request, "label": "new"}, "window_seconds": 30})
    stage.comes("daily/b")
    stage.rests()
    [request] = stage.cloud.executions.started.values()
    assert request["label"] == "new"


# What happens: a write of one of three keys, or time; killed at a step, or another function between two.
MOMENT = st.tuples(
    st.sampled_from(["a", "b", "c", "time", "close"]),
    st.integers(1, 4),
    st.one_of(st.none(), st.integers(0, 30)),
    st.booleans(),
)


def test_nothing_is_lost_or_moved_twice_whatever_is_killed_between_two_steps(
    kind: str, tables: dict[str, Table]
) -> None:
    fresh = count()

    @settings(max_examples=EXAMPLES[kind], deadline=None, suppress_health_check=list(HealthCheck))
    @given(moments=st.lists(MOMENT, max_size=14))
    @example(moments=[("a", 1, 3, True), ("time", 61, None, False)])
    def holds(moments: list[tuple[str, int, int | None, bool]]) -> None:
        stage = stage_of(tables, f"s{next(fresh)}")
        shown_again: list[tuple[str, str]] = []
        for what, number, step, kills in moments:
            window = stage.arrivals.window(stage.start.name)
            if step is not None and kills:
                stage.killing(step)
            elif step is not None:
                stage.happening(step, lambda number=number: stage.comes("b", str(number)))  # type: ignore[misc]
            if what == "time":
                stage.passes(number * 31)
            elif what == "close":
                stage.closes(window.number if window else 1)
            else:
                if stage.comes(what, str(number)) is None:
                    shown_again.append((what, str(number)))
            stage.steps.at.clear()
        for key, sequencer in shown_again:
            stage.comes(key, sequencer)
        stage.rests()
        stage.all_moved_once()

    holds()
