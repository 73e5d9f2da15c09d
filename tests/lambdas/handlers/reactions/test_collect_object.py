"""From S3's event in a queue to an execution: both functions, by what their rule and their schedule hand over."""

import json
from typing import Any

import pytest

from lambdas.core.intake.added_starts import ObjectStart
from lambdas.handlers.reactions.close_window import close_window
from lambdas.handlers.reactions.collect_object import collect_object
from lambdas.handlers.reactions.watch_transfers import watch_transfers
from lambdas.operations.intake import collecting
from lambdas.runtime.handler import BusEvent
from tests.lambdas.cloud import Cloud
from tests.lambdas.collecting import REQUEST


@pytest.fixture(autouse=True)
def accepting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "accept", lambda request, world: request)


def comes(cloud: Cloud, key: str, size: int = 7) -> dict[str, Any]:
    stored = {"key": key, "size": size, "etag": "abc", "version-id": "v1", "sequencer": "0055AED6DCD90281E5"}
    start = {"name": "exports", "windowSeconds": 60, "request": REQUEST}
    detail = {"bucket": {"name": "exports"}, "object": stored, "start": start}
    return collect_object(BusEvent.from_document({"detail-type": "Object Created", "detail": detail}), cloud.world)


def comes_by_bucket(cloud: Cloud, key: str, sequencer: str = "0A") -> dict[str, Any]:
    """As the rule of a bucket hands it over, for which people add starts."""
    detail = {"bucket": {"name": "exports"}, "object": {"key": key, "size": 7, "sequencer": sequencer}}
    return collect_object(BusEvent.from_document({"detail-type": "Object Created", "detail": detail}), cloud.world)


def with_starts(*names: str) -> Cloud:
    cloud = Cloud()
    for name in names:
        start = ObjectStart(name=name, bucket="exports", prefix="daily/", request=REQUEST)
        assert cloud.added_starts.put(cloud.added_starts.get().with_(start))
    return cloud


def due(cloud: Cloud, detail: dict[str, Any]) -> dict[str, Any]:
    return close_window(BusEvent.from_document({"detail-type": "Window Due", "detail": detail}), cloud.world)


def test_what_an_event_says_of_an_object_is_its_line_of_the_list() -> None:
    cloud = Cloud()
    assert comes(cloud, "daily/a b/ü") == {"exports": "collected: daily/a b/ü"}
    [(at, detail)] = cloud.schedules.due.values()
    assert at == cloud.clock.now() + 60
    assert due(cloud, detail)["state"] == "IDLE"
    [request] = cloud.executions.started.values()
    line = cloud.objects.objects[request["source"]["keys"]["manifest"]]
    assert json.loads(line) == {
        "key": "daily/a b/ü",
        "versionId": "v1",
        "size": 7,
        "etag": "abc",
        "sequencer": "0055AED6DCD90281E5",
    }


def test_a_folder_that_a_person_makes_in_the_console_is_not_collected() -> None:
    cloud = Cloud()
    assert comes(cloud, "daily/", 0) == {"exports": "ignored: daily/"}
    assert cloud.schedules.due == {}


def test_a_window_that_nobody_closes_is_told_by_the_reconcilers_minute() -> None:
    cloud = Cloud()
    comes(cloud, "daily/a")
    cloud.schedules.due.clear()
    minute = BusEvent.from_document({"detail-type": "Scheduled Event"})
    assert watch_transfers(minute, cloud.world)["windows"] == []
    cloud.clock.time += 151
    assert watch_transfers(minute, cloud.world)["windows"] == ["exports"]
    [(kind, detail)] = cloud.events.put_events
    assert (kind, detail) == ("Window Due", {"start": "exports", "number": 1})
    # As the bus hands it over.
    due(cloud, {"schemaVersion": 1, "type": kind, **detail})
    assert len(cloud.executions.started) == 1
    # Twice, or late, it does nothing more.
    assert due(cloud, detail)["state"] == "IDLE"
    assert len(cloud.executions.started) == 1


def test_what_people_have_added_collects_what_it_listens_to_and_nothing_else() -> None:
    cloud = with_starts("daily")
    assert comes_by_bucket(cloud, "weekly/a") == {}
    assert comes_by_bucket(cloud, "daily/a") == {"added_daily": "collected: daily/a"}
    assert comes_by_bucket(cloud, "daily/a") == {"added_daily": "known: daily/a"}
    [(_, detail)] = cloud.schedules.due.values()
    assert detail == {"start": "added_daily", "number": 1}
    assert due(cloud, detail)["state"] == "IDLE"
    [(name, request)] = cloud.executions.started.items()
    assert name.startswith("added_daily-1-")
    assert request["destination"] == REQUEST["destination"]


def test_one_of_the_settings_and_an_added_one_of_the_same_name_are_two() -> None:
    cloud = with_starts("exports")
    comes(cloud, "daily/a")
    comes_by_bucket(cloud, "daily/a")
    assert sorted(cloud.schedules.due) == ["added_exports-1", "exports-1"]
    for _, detail in list(cloud.schedules.due.values()):
        due(cloud, detail)
    assert len(cloud.executions.started) == 2


def test_a_start_that_is_removed_starts_nothing_any_more_and_says_what_was_not_moved() -> None:
    cloud = with_starts("daily", "other")
    assert len(comes_by_bucket(cloud, "daily/a")) == 2
    assert cloud.added_starts.put(cloud.added_starts.get().without(["daily"]))
    assert list(comes_by_bucket(cloud, "daily/b")) == ["added_other"]
    for _, detail in list(cloud.schedules.due.values()):
        assert due(cloud, detail)["state"] == "IDLE"
    assert [name.partition("-")[0] for name in cloud.executions.started] == ["added_other"]
    [(kind, told)] = cloud.events.put_events
    assert (kind, told["origin"], told["error"]) == ("Request Refused", "objects/added_daily/1", "InvalidRequest")
    assert told["cause"].startswith("its start was removed before a transfer of them began\n1 keys were not moved; ")
    # Added anew it begins anew.
    start = ObjectStart(name="daily", bucket="exports", prefix="daily/", request=REQUEST)
    assert cloud.added_starts.put(cloud.added_starts.get().with_(start))
    assert comes_by_bucket(cloud, "daily/a", "0B")["added_daily"] == "collected: daily/a"
