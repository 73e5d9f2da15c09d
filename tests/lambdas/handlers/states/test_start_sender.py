from typing import Any

import pytest

from lambdas.core.errors import EndNotStarted
from lambdas.handlers.states.start_sender import start_sender
from lambdas.handlers.states.start_transfer import StartInput
from tests.lambdas.builders import IRELAND, SHARED, WEST, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin
from tests.lambdas.machines import failed

MEASURES: dict[str, Any] = {"profile": "measure", "objective": {"maxCostUsd": 1}}


def prepared() -> Cloud:
    cloud = Cloud()
    begin(cloud, transfer(**MEASURES))
    return cloud


def event() -> StartInput:
    return StartInput(transfer=transfer(**MEASURES), task_token="token-a")


def test_where_nothing_is_moved_but_measured_the_destination_is_left_alone() -> None:
    cloud = prepared()
    assert start_sender(event(), cloud.world) == {"start": 1, "started": True}
    assert [document for document, _, _ in cloud.commands[WEST].sent] == ["send"]
    assert cloud.commands[IRELAND].sent == []
    stored = cloud.tokens.get("first")
    assert stored is not None
    assert (stored.token, stored.start) == ("token-a", 1)


def test_no_lease_of_the_budget_holds_the_probes() -> None:
    cloud = prepared()
    start_sender(event(), cloud.world)
    membership = cloud.agents.membership(SHARED)
    assert membership is None or membership.budget_lease is None


def test_sender_that_does_not_start_ends_what_relays_would_wait_for() -> None:
    cloud = prepared()
    cloud.commands[WEST].scripts["send"] = lambda _: failed("no daemon")
    with pytest.raises(EndNotStarted, match="no daemon"):
        start_sender(event(), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.outcome is not None
    assert record.outcome.error == "EndNotStarted"


def test_second_start_counts_what_the_first_has_cost() -> None:
    cloud = prepared()
    start_sender(event(), cloud.world)
    cloud.clock.sleep(600)
    again = StartInput(transfer=transfer(**MEASURES), task_token="token-b")
    assert start_sender(again, cloud.world)["start"] == 2
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.spent is not None
    assert record.spent.total > 0
