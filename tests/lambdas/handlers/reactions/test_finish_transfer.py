from typing import Any

import pytest

from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Outcome
from lambdas.core.seats.epochs import first_epoch
from lambdas.handlers.reactions.finish_transfer import finish_transfer
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.told import told


def prepared(token: bool = True) -> Cloud:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    if token:
        cloud.tokens.put("first", "token", 2)
    return cloud


def event(kind: str, **detail: Any) -> BusEvent:
    body = {"schemaVersion": 1, "type": kind, "transferId": "first", "epoch": first_epoch(2), **detail}
    return BusEvent.from_document({"detail-type": kind, "detail": body})


DELIVERED = event("Transfer Delivered", bytes=10, files=2, chunks=1, sentBytes=12)
OUTCOME = {"delivered": {"bytes": 10, "files": 2, "chunks": 1, "sentBytes": 12, "epoch": first_epoch(2)}}


def test_delivery_writes_the_outcome_and_releases_the_token() -> None:
    cloud = prepared()
    assert finish_transfer(told(cloud, DELIVERED), cloud.world) == {"released": True}
    record = cloud.transfers.get("first")
    assert record is not None
    assert (record.status, record.outcome) == ("DONE", Outcome.from_document(OUTCOME))
    assert cloud.executions.answers == [("success", ("token", OUTCOME))]


def test_chunks_that_were_repaired_are_in_the_outcome() -> None:
    cloud = prepared()
    repaired = event("Transfer Delivered", bytes=10, files=2, chunks=1, sentBytes=12, repairedChunks=1)
    finish_transfer(told(cloud, repaired), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.delivered is not None
    assert record.delivered.repaired_chunks == 1


def test_failure_fails_the_task_with_the_ends_own_error() -> None:
    cloud = prepared()
    failed = event("Transfer Failed", side="sender", seat="s0", error="ChunksFailed", cause="chunk 3")
    finish_transfer(told(cloud, failed), cloud.world)
    assert cloud.executions.answers == [("failure", ("token", "ChunksFailed", "sender: chunk 3"))]


def test_last_word_of_a_daemon_of_an_earlier_deployment_is_no_defect() -> None:
    """It knows of no seats; its transfer is ended by name, and what it noted lies elsewhere."""
    cloud = prepared()
    failed = event("Transfer Failed", side="receiver", error="DestinationError", cause="disk")
    assert finish_transfer(failed, cloud.world) == {"ignored": "the record of r0 has no outcome"}


def test_event_before_the_token_leaves_the_outcome_for_whoever_registers_it() -> None:
    cloud = prepared(token=False)
    assert finish_transfer(told(cloud, DELIVERED), cloud.world) == {"released": False}
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.outcome == Outcome.from_document(OUTCOME)


def test_event_of_an_earlier_epoch_is_ignored() -> None:
    cloud = prepared()
    cloud.tokens.put("first", "newer", 3)
    assert "ignored" in finish_transfer(told(cloud, DELIVERED), cloud.world)
    assert cloud.executions.answers == []


def test_second_event_repeats_the_first_outcome() -> None:
    cloud = prepared()
    finish_transfer(told(cloud, DELIVERED), cloud.world)
    late = event("Transfer Failed", side="receiver", seat="r0", error="Late", cause="x")
    finish_transfer(told(cloud, late), cloud.world)
    assert [kind for kind, _ in cloud.executions.answers] == ["success", "success"]


def test_late_event_of_an_earlier_execution_is_no_outcome_of_this_one() -> None:
    cloud = prepared(token=False)
    for _ in range(2):
        cloud.transfers.change(transfer(), transfer_life.COUNT_ATTEMPT)
    cloud.transfers.change(transfer(), transfer_life.close("FAILED"))
    cloud.transfers.resume(
        transfer(arn="arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second").model_copy(
            update={"run": 2}
        )
    )
    assert "ignored" in finish_transfer(told(cloud, DELIVERED), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.outcome is None


@pytest.mark.parametrize("kind", ["Transfer Delivered", "Transfer Failed"])
def test_event_whose_end_has_written_no_outcome_changes_nothing(kind: str) -> None:
    cloud = prepared()
    failed = event("Transfer Failed", side="receiver", seat="r0", error="DestinationError", cause="forged")
    assert "ignored" in finish_transfer(DELIVERED if kind == "Transfer Delivered" else failed, cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert (record.status, record.outcome, cloud.executions.answers) == ("ACTIVE", None, [])


def test_what_the_end_wrote_counts_and_not_what_the_event_says() -> None:
    cloud = prepared()
    told(cloud, DELIVERED)
    finish_transfer(event("Transfer Delivered", bytes=1, files=1, chunks=1, sentBytes=1), cloud.world)
    assert cloud.executions.answers == [("success", ("token", OUTCOME))]
