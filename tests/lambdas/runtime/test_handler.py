"""What is around a handler: parsing, the times of its state, errors that keep their names."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from botocore.exceptions import ClientError
from pydantic import ValidationError

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.errors import InvalidRequest, RecordOfOtherVersion, SurveyProblem, Throttled
from lambdas.core.estimate.approval import ApprovalDecision
from lambdas.core.metrics import UNITS
from lambdas.core.record import transfer_life
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.runtime import handler as module
from lambdas.runtime.handler import BusEvent, event_rule, task_state, user_call
from tests.lambdas.builders import transfer
from tests.lambdas.cloud import Cloud


class Input(Handover):
    transfer: AcceptedTransfer


class Context:
    function_name = "cpt-test"
    memory_limit_in_mb = 128
    invoked_function_arn = "arn:aws:lambda:us-west-2:000000000000:function:cpt-test"
    aws_request_id = "1"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Cloud:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    monkeypatch.setattr(module, "world", lambda **_: cloud.world)
    return cloud


def call(run: Any, event: Any) -> Any:
    return run(event, Context())


EVENT = {"transfer": transfer().to_document(), "aKeyOfALaterVersion": 1}


def test_times_of_the_state_are_noted(cloud: Cloud) -> None:
    def work(_event: Input, world: World) -> dict[str, Any]:
        world.clock.sleep(2.5)
        return {"done": True}

    assert call(task_state("Survey Ends", Input, work), EVENT) == {"done": True}
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.stages == {"Survey Ends": {"enteredAt": 1000.0, "leftAt": 1002.5}}


def test_running_state_is_visible_before_it_has_left(cloud: Cloud) -> None:
    seen: list[Any] = []

    def work(_event: Input, world: World) -> None:
        seen.append(world.transfers.get("first"))

    call(task_state("Survey Ends", Input, work), EVENT)
    assert seen[0].stages == {"Survey Ends": {"enteredAt": 1000.0}}


def test_error_keeps_its_name_and_the_state_has_left(cloud: Cloud) -> None:
    def work(_event: Input, _world: World) -> None:
        raise SurveyProblem("no such path")

    with pytest.raises(SurveyProblem):
        call(task_state("Survey Ends", Input, work), EVENT)
    record = cloud.transfers.get("first")
    assert record is not None
    assert "leftAt" in record.stages["Survey Ends"]


def test_state_that_accepts_a_transfer_notes_its_times_with_the_result(cloud: Cloud) -> None:
    class Raw(Handover):
        request: Any

    found = call(task_state("Validate Request", Raw, lambda _event, _world: transfer()), {"request": 1})
    assert found == transfer().to_document()
    record = cloud.transfers.get("first")
    assert record is not None
    assert "Validate Request" in record.stages


def test_input_of_the_wrong_form_is_refused(cloud: Cloud) -> None:
    with pytest.raises(ValidationError):
        call(task_state("Survey Ends", Input, lambda _event, _world: None), {"transfer": {}})


def test_event_gives_its_type_and_detail(cloud: Cloud) -> None:
    def react(event: BusEvent, _world: World) -> dict[str, Any]:
        return {event.detail_type: event.detail}

    event = {"version": "0", "source": "cpt.agent", "detail-type": "Relay Lost", "detail": {"transferId": "first"}}
    assert call(event_rule(react), event) == {"Relay Lost": {"transferId": "first"}}


def test_event_is_read_with_all_that_its_bus_puts_around_it(cloud: Cloud) -> None:
    around = {"version": "0", "id": "1f0c", "account": "000000000000", "region": "us-west-2", "resources": []}
    event = {**around, "detail-type": "Heard", "source": "aws.ec2", "time": "2026-11-28T09:14:04Z", "detail": {"a": 1}}

    def tell(heard: BusEvent, _world: World) -> dict[str, Any]:
        return {"source": heard.source, "old": heard.is_older_than(1_795_857_247.0), "detail": heard.detail}

    assert call(event_rule(tell), event) == {"source": "aws.ec2", "old": True, "detail": {"a": 1}}


@pytest.mark.parametrize(
    "code",
    [
        "ThrottlingException",
        "Throttling",
        "RequestLimitExceeded",
        "ProvisionedThroughputExceededException",
        "TooManyRequestsException",
        "SlowDown",
        "RateExceeded",
    ],
)
def test_request_to_slow_down_gets_the_name_that_is_retried(cloud: Cloud, code: str) -> None:
    def work(_event: Input, _world: World) -> None:
        raise ClientError({"Error": {"Code": code, "Message": "slow down"}}, "DescribeInstances")

    with pytest.raises(Throttled, match="slow down"):
        call(task_state("Survey Ends", Input, work), EVENT)


def test_other_refusals_of_aws_keep_their_name(cloud: Cloud) -> None:
    def work(_event: Input, _world: World) -> None:
        raise ClientError({"Error": {"Code": "ValidationException", "Message": "no"}}, "DescribeInstances")

    with pytest.raises(ClientError):
        call(task_state("Survey Ends", Input, work), EVENT)


@pytest.mark.parametrize(
    ("error", "counted"),
    [
        (KeyError("a defect"), "Defects"),
        (ClientError({"Error": {"Code": "SlowDown", "Message": "slow down"}}, "PutObject"), "Throttles"),
        (SurveyProblem("no such path"), None),
    ],
)
def test_what_nobody_foresaw_is_counted_apart_from_what_errors_decide(
    cloud: Cloud, capsys: pytest.CaptureFixture[str], error: Exception, counted: str | None
) -> None:
    def work(_event: Input, _world: World) -> None:
        raise error

    with pytest.raises((KeyError, Throttled, SurveyProblem)):
        call(task_state("Survey Ends", Input, work), EVENT)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    apart = {name for line in lines if line.get("service") == "control-plane" for name in line if name in UNITS}
    assert apart == ({counted} if counted else set())


def test_log_names_transfer_and_chunk_and_no_metric_does(
    cloud: Cloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = StringIO()
    monkeypatch.setattr(module.logger.registered_handler, "stream", log)
    detail = {"transferId": "first", "chunk": 7}
    call(event_rule(lambda _event, _world: {"decision": "known"}), {"detail-type": "Chunk Failed", "detail": detail})
    line = json.loads(log.getvalue())
    assert (line["transfer_id"], line["chunk"]) == ("first", 7)
    directives = [
        directive
        for line in capsys.readouterr().out.splitlines()
        for directive in json.loads(line)["_aws"]["CloudWatchMetrics"]
    ]
    assert {name for directive in directives for names in directive["Dimensions"] for name in names} <= {
        "service",
        "function_name",
    }


def lines_of(monkeypatch: pytest.MonkeyPatch, work: Callable[[], Any]) -> list[dict[str, Any]]:
    log = StringIO()
    monkeypatch.setattr(module.logger.registered_handler, "stream", log)
    work()
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_log_tells_two_runs_of_one_name_apart(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    run = transfer().execution_arn.rsplit(":", 1)[-1]

    def read(event: BusEvent, world: World) -> dict[str, Any]:
        world.transfers.get("first")
        module.logger.info("looked")
        return {"decision": "known"}

    event = {"detail-type": "Chunk Failed", "detail": {"transferId": "first"}}
    lines = lines_of(monkeypatch, lambda: call(event_rule(read), event))
    assert [(line["transfer_id"], line["run"]) for line in lines] == [("first", run)] * 2

    def stage(_event: Input, _world: World) -> None:
        module.logger.info("staged")

    [line] = lines_of(monkeypatch, lambda: call(task_state("Survey Ends", Input, stage), EVENT))
    assert (line["transfer_id"], line["run"]) == ("first", run)


def test_watch_over_all_transfers_has_a_line_for_each(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    def watch(_event: BusEvent, world: World) -> dict[str, Any]:
        return {id_: world.transfers.get(id_) is not None for id_ in ("first", "second")}

    lines = lines_of(monkeypatch, lambda: call(event_rule(watch, each=True), {"detail": {}}))
    run = transfer().execution_arn.rsplit(":", 1)[-1]
    assert [(line["transfer_id"], line.get("run"), line["result"]) for line in lines] == [
        ("first", run, True),
        ("second", None, False),
    ]


def test_wrong_input_of_a_person_is_told_by_field_and_remedy(cloud: Cloud) -> None:
    def decide(_event: ApprovalDecision, _world: World) -> dict[str, Any]:
        return {"decided": True}

    handler = user_call(ApprovalDecision, decide)
    assert call(handler, {"transferId": "first", "decision": "approve"}) == {"decided": True}
    with pytest.raises(InvalidRequest) as error:
        call(handler, {"transferId": "first", "decison": "approve"})
    assert error.value.problems == [
        "$.decision: is missing; it is required",
        "$.decison: is not a known key; remove it or correct its spelling",
    ]


@pytest.mark.parametrize(("stage", "again"), [("Survey Ends", ["first"]), ("Write Report", [])])
def test_state_that_ends_after_the_transfer_was_closed_has_it_taken_down_again(
    cloud: Cloud, stage: str, again: list[str]
) -> None:
    def work(_event: Input, world: World) -> dict[str, Any]:
        world.transfers.change(transfer(), transfer_life.close("FAILED"))
        return {}

    call(task_state(stage, Input, work), EVENT)
    assert [record.transfer.transfer_id for record in cloud.transfers.active()] == again


@pytest.mark.parametrize("said", [{}, {"formatVersion": 1}, {"formatVersion": 99}])
def test_state_of_an_execution_of_another_format_is_refused_before_anything_is_parsed(
    cloud: Cloud, said: dict[str, Any]
) -> None:
    done: list[Any] = []
    old = transfer().to_document() | {"request": "?"}
    del old["formatVersion"]
    with pytest.raises(RecordOfOtherVersion, match="'first' has records of format"):
        call(task_state("Survey Ends", Input, lambda event, _: done.append(event)), {"transfer": old | said})
    assert done == []


def test_teardown_takes_down_what_another_format_left(cloud: Cloud) -> None:
    done: list[Any] = []
    call(
        task_state("Tear Down", Input, lambda event, _: done.append(event.transfer.format_version)),
        {"transfer": {**transfer().to_document(), "formatVersion": 1}},
    )
    assert done == [1]
