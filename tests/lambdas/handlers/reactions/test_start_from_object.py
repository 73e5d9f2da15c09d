import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lambdas.handlers.reactions.start_from_object import start_from_object
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import SOURCE_ID, WEST, request
from tests.lambdas.cloud import Cloud
from tests.lambdas.services import MACHINE
from tests.paths import CONTRACTS

KEY = "requests/nightly.json"
BUCKET = "cpt-control-000000000000-us-west-2"
ORIGIN = f"s3://{BUCKET}/{KEY}"


def put(cloud: Cloud, document: Any, key: str = KEY, sequencer: str = "1") -> dict[str, Any]:
    """An object is written, and its event handled."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    cloud.objects.objects[key] = body
    detail = {
        "version": "0",
        "bucket": {"name": BUCKET},
        "object": {"key": key, "size": len(body), "etag": "e", "sequencer": sequencer},
        "reason": "PutObject",
    }
    event = BusEvent.from_document({"detail-type": "Object Created", "source": "aws.s3", "detail": detail})
    return start_from_object(event, cloud.world)


def answer(cloud: Cloud, key: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cloud.objects.objects[key])
    Draft202012Validator(json.loads((CONTRACTS / "request-answer.schema.json").read_text())).validate(found)
    return found


def test_request_is_started_as_it_was_written_and_answered_beside_it() -> None:
    cloud = Cloud()
    put(cloud, request())
    [(name, started)] = cloud.executions.started.items()
    assert started == request()
    arn = f"{MACHINE.replace(':stateMachine:', ':execution:')}:{name}"
    assert answer(cloud, "requests/nightly.started.json") == {
        "schemaVersion": 1,
        "origin": ORIGIN,
        "transferId": name,
        "executionArn": arn,
    }


def test_name_of_the_request_is_the_transfers() -> None:
    cloud = Cloud()
    put(cloud, request(name="mine"))
    assert answer(cloud, "requests/nightly.started.json")["transferId"] == "mine"


def test_event_that_comes_twice_starts_once_and_a_new_version_again() -> None:
    cloud = Cloud()
    put(cloud, request())
    put(cloud, request())
    assert len(cloud.executions.started) == 1
    put(cloud, request(), sequencer="2")
    assert len(cloud.executions.started) == 2


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (b"{", "$: the object is not JSON"),
        (request(pears=3), "$.pears: is not a known key"),
        (b'"' + b"x" * 300_000 + b'"', "$: the object has 300002 bytes"),
    ],
)
def test_bad_document_is_answered_beside_it_and_by_event(document: Any, problem: str) -> None:
    cloud = Cloud()
    assert put(cloud, document)["origin"] == ORIGIN
    assert cloud.executions.started == {}
    refused = answer(cloud, "requests/nightly.error.json")
    assert refused["error"] == "InvalidRequest"
    assert refused["problems"][0].startswith(problem)
    [(kind, detail)] = cloud.events.put_events
    event = {"schemaVersion": 1, "type": kind, **detail}
    Draft202012Validator(json.loads((CONTRACTS / "event.schema.json").read_text())).validate(event)
    assert kind == "Request Refused"
    assert detail["cause"] == "\n".join(refused["problems"])


def test_machine_that_is_not_there_is_told_at_once() -> None:
    cloud = Cloud()
    del cloud.compute[WEST].machines[SOURCE_ID]
    put(cloud, request())
    assert answer(cloud, "requests/nightly.error.json")["problems"][0].startswith("$.source.instanceId")


@pytest.mark.parametrize("key", ["requests/nightly.error.json", "requests/nightly.started.json"])
def test_our_own_answers_are_left_alone(key: str) -> None:
    cloud = Cloud()
    assert put(cloud, request(), key) == {"ignored": key}
    assert list(cloud.objects.objects) == [key]


def test_data_in_another_bucket_starts_its_template_and_nothing_is_written_there() -> None:
    cloud = Cloud()
    template = request(source={**request()["source"], "paths": ["/mnt/exports/{key}"]})
    detail = {"bucket": {"name": "exports"}, "object": {"key": "daily/a b.csv", "sequencer": "1"}, "request": template}
    start_from_object(BusEvent.from_document({"detail-type": "Object Created", "detail": detail}), cloud.world)
    [(name, started)] = cloud.executions.started.items()
    assert name.startswith("daily-a-b-csv-")
    assert started["source"]["paths"] == ["/mnt/exports/daily/a b.csv"]
    assert cloud.objects.objects == {}


@pytest.mark.parametrize(("size", "count"), [(0, 0), (7, 1)])
def test_folder_that_a_person_makes_in_the_console_starts_nothing(size: int, count: int) -> None:
    cloud = Cloud()
    template = request(source={**request()["source"], "paths": ["/mnt/exports/{key}"]})
    detail = {
        "bucket": {"name": "exports"},
        "object": {"key": "daily/", "size": size, "sequencer": "1"},
        "request": template,
    }
    answered = start_from_object(
        BusEvent.from_document({"detail-type": "Object Created", "detail": detail}), cloud.world
    )
    assert len(cloud.executions.started) == count
    assert ("ignored" in answered) == (size == 0)
