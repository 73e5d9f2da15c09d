from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lambdas.adapters import clients, environment
from lambdas.adapters.world import World
from lambdas.core.documents import Document, Handover
from lambdas.core.errors import Throttled, WriteConflict
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.failure import Failure
from lambdas.runtime import idempotency
from tests.lambdas.builders import transfer
from tests.lambdas.cloud import ENVIRONMENT, Cloud
from tests.lambdas.runtime.test_handler import Context


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(idempotency, "environment", lambda: ENVIRONMENT)
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-west-2")
        client.create_table(
            TableName="cpt-idempotency",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        idempotency.register(Context())  # type: ignore[arg-type]
        idempotency._persistence.cache_clear()
        clients._client.cache_clear()
        environment.environment.cache_clear()
        yield client
    idempotency._persistence.cache_clear()
    clients._client.cache_clear()


def test_same_key_gets_the_first_answer() -> None:
    calls: list[int] = []

    def effect() -> dict[str, Any]:
        calls.append(1)
        return {"call": len(calls)}

    assert idempotency.once("spawn", {"transferId": "a"}, effect) == {"call": 1}
    assert idempotency.once("spawn", {"transferId": "a"}, effect) == {"call": 1}
    assert idempotency.once("spawn", {"transferId": "b"}, effect) == {"call": 2}
    assert idempotency.once("start", {"transferId": "a"}, effect) == {"call": 3}


class Event(Handover):
    transfer: AcceptedTransfer


def test_state_is_done_once_in_an_execution_and_again_in_the_next() -> None:
    calls: list[str] = []

    def state(event: Event, _: World) -> Document | dict[str, Any]:
        calls.append(event.transfer.execution_arn)
        return Failure(error="E", cause=str(len(calls)))

    run = idempotency.once_in_execution("spawn-relays", state)
    world = Cloud().world
    first, second = Event(transfer=transfer()), Event(transfer=transfer(arn=f"{transfer().execution_arn}-attempt2"))
    assert run(first, world) == {"error": "E", "cause": "1"}
    assert run(first, world) == {"error": "E", "cause": "1"}
    assert run(second, world) == {"error": "E", "cause": "2"}


def test_failed_effect_may_be_tried_again() -> None:
    def fails() -> dict[str, Any]:
        raise Throttled("slow down")

    with pytest.raises(Throttled):
        idempotency.once("spawn", {"transferId": "a"}, fails)
    assert idempotency.once("spawn", {"transferId": "a"}, lambda: {"ok": True}) == {"ok": True}


def test_invocation_in_progress_is_a_conflict_that_the_state_machine_retries() -> None:
    def inner() -> dict[str, Any]:
        return idempotency.once("spawn", {"transferId": "a"}, lambda: {"inner": True})

    with pytest.raises(WriteConflict, match="another invocation"):
        idempotency.once("spawn", {"transferId": "a"}, inner)
