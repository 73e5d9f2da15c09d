"""The models read every good golden example and write it back unchanged; what they write fits the contract."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from lambdas.core.chunks.chunk import Chunk
from lambdas.core.chunks.events import (
    ChunkFailed,
    CredentialsWanted,
    EndLost,
    EndSilent,
    ExecutionOver,
    LookDue,
    PlanDue,
    PoolLeased,
    RateFell,
    RelayLost,
    RelaySlow,
    RelayWarned,
    TransferDelivered,
    TransferFailed,
    TransferUnpaused,
    WindowDue,
)
from lambdas.core.chunks.listing import Announcement
from lambdas.core.chunks.progress import Progress
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.documents import Document
from lambdas.core.ends.key_list import KeyEntry
from lambdas.core.estimate.approval import Approval, ApprovalDecision
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.model_table import Comparison
from lambdas.core.estimate.profile_entry import ProfileEntry
from lambdas.core.fleet.membership import Membership
from lambdas.core.fleet.relay_node import Node
from lambdas.core.intake.starts import RequestRefused, RequestStarted
from lambdas.core.pool.month_report import PoolMonth
from lambdas.core.report.report import Report
from lambdas.core.request.deletion import Deletion, ExtrasSurvey, RemainingEntry
from lambdas.core.survey.survey import ComparisonSurvey, DestinationSurvey, Mark, Marked, SourceSurvey
from lambdas.core.transfer.failure import Failure
from lambdas.core.waves.waves import Waves
from tests.lambdas import builders
from tests.paths import CONTRACTS

MODELS: dict[str, list[type[Document]]] = {
    "approval": [Approval],
    "approval-decision": [ApprovalDecision],
    "chunk": [Chunk],
    "comparison": [Comparison],
    "deletion": [Deletion],
    "estimate": [Estimate],
    "key-entry": [KeyEntry],
    "profile-entry": [ProfileEntry],
    "membership": [Membership],
    "node": [Node],
    "pool-month": [PoolMonth],
    "progress": [Progress],
    "remaining-entry": [RemainingEntry],
    "report": [Report],
    "request-answer": [RequestStarted, RequestRefused],
    "survey": [SourceSurvey, DestinationSurvey, ComparisonSurvey, ExtrasSurvey, Mark, Marked],
    "transfer-plan": [TransferPlan],
    "waves": [Waves],
    "announcement": [Announcement],
    "event": [
        ChunkFailed,
        EndLost,
        EndSilent,
        ExecutionOver,
        LookDue,
        PoolLeased,
        WindowDue,
        PlanDue,
        RateFell,
        CredentialsWanted,
        RelayLost,
        RelaySlow,
        RelayWarned,
        TransferDelivered,
        TransferFailed,
        TransferUnpaused,
    ],
}
# Nothing of it is needed but that it came.
UNREAD = ("digests",)
# Written by the control plane, never read by it.
OWN_EVENTS = (
    "Transfer Started",
    "Transfer Finished",
    "Approval Required",
    "Relay Replaced",
    "Relays Decided",
    "Transfer Degraded",
    "Request Refused",
    "Waves Ended",
)


def read(contract: str, document: Any) -> Document | None:
    for model in MODELS[contract]:
        try:
            return model.from_document(document)
        except ValidationError:
            continue
    return None


def examples(kind: str) -> list[Path]:
    return sorted(path for name in MODELS for path in CONTRACTS.glob(f"examples/{kind}/{name}/*.json"))


@pytest.mark.parametrize("path", examples("good"), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_good_example_is_read_and_written_back(path: Path) -> None:
    document = json.loads(path.read_text())
    if document.get("type") in OWN_EVENTS or document.get("side") in UNREAD:
        return
    found = read(path.parent.name, document)
    assert found is not None
    assert found.to_document() == document


@pytest.mark.parametrize("path", examples("bad"), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_bad_example_is_refused(path: Path) -> None:
    assert read(path.parent.name, json.loads(path.read_text())) is None


@pytest.mark.parametrize(
    ("contract", "document"),
    [
        ("chunk", builders.chunk(3, not_before=1.5, reason="stream-lost")),
        ("estimate", builders.estimate(2)),
        ("node", builders.node(measured_inter_region=19.5)),
        ("transfer-plan", builders.plan()),
        ("announcement", builders.announcement()),
        ("progress", builders.progress()),
        ("survey", builders.survey().source),
        ("survey", builders.survey().destination),
    ],
)
def test_what_we_write_fits_the_contract(contract: str, document: Document) -> None:
    schema = json.loads((CONTRACTS / f"{contract}.schema.json").read_text())
    Draft202012Validator(schema).validate(document.to_document())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ({}, None),
        ({"Error": "A", "Cause": "plain"}, ("A", "plain")),
        ({"Error": "A", "Cause": '{"errorMessage": "inner", "errorType": "A"}'}, ("A", "inner")),
        ({"error": {"Error": "A", "Cause": "x"}}, ("A", "x")),
        ({"error": "A"}, ("A", "")),
        ({"Error": "A", "Cause": "[1]"}, ("A", "[1]")),
    ],
)
def test_failure_is_read_in_each_form(value: Any, expected: tuple[str, str] | None) -> None:
    found = Failure.from_any(value)
    assert (found and (found.error, found.cause)) == expected
