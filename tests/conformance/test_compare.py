"""A recording that says anything else than the emulator is noticed; shown on recordings that were tampered with."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.compare import differences

RECORDED = json.loads((Path(__file__).parent / "recorded/local.json").read_text())


def call(recording: dict[str, Any], operation: str, member: str = "", *, failed: bool = False) -> dict[str, Any]:
    (found,) = (
        one
        for one in recording["calls"]
        if one["operation"] == operation and ("error" in one) == failed and (not member or member in one["request"])
    )
    return found  # type: ignore[no-any-return] # the very call, to be changed


def member_more(recording: dict[str, Any]) -> None:
    call(recording, "ssm.SendCommand")["response"]["Command"]["MaxErrors"] = "<text:1>"


def other_type(recording: dict[str, Any]) -> None:
    call(recording, "ssm.SendCommand")["response"]["Command"]["TargetCount"] = "<text:1>"


def other_value(recording: dict[str, Any]) -> None:
    call(recording, "stepfunctions.DescribeExecution")["response"]["status"] = "TIMED_OUT"


def other_error(recording: dict[str, Any]) -> None:
    call(recording, "s3.GetObject", failed=True)["error"] = "AccessDenied"


def deep_value(recording: dict[str, Any]) -> None:
    reservations = call(recording, "ec2.DescribeInstances", "InstanceIds")["response"]["Reservations"]
    reservations[0]["Instances"][0]["Hypervisor"] = "nitro"


def another_call(recording: dict[str, Any]) -> None:
    recording["calls"].append({"operation": "ec2.DescribeHosts", "request": {}, "response": {}})


TAMPERED = [
    (member_more, "ssm.SendCommand(DocumentName, InstanceIds, Parameters): Command.MaxErrors is missing"),
    (other_type, "Command.TargetCount is a int, not a str"),
    (other_value, "stepfunctions.DescribeExecution(executionArn): status is SUCCEEDED, not TIMED_OUT"),
    (other_error, "s3.GetObject(Bucket, Key): error AccessDenied is missing"),
    (deep_value, "Reservations[].Instances[].Hypervisor is xen, not nitro"),
    (another_call, "ec2.DescribeHosts(): not called"),
]


def test_a_recording_agrees_with_itself() -> None:
    assert differences(RECORDED, RECORDED) == []


@pytest.mark.parametrize(("change", "said"), TAMPERED)
def test_each_kind_of_difference_is_found(change: Callable[[dict[str, Any]], None], said: str) -> None:
    tampered = copy.deepcopy(RECORDED)
    change(tampered)
    (found,) = differences(tampered, RECORDED)
    assert said in found


def test_a_difference_that_is_accepted_is_not_told_again() -> None:
    tampered = copy.deepcopy(RECORDED)
    other_value(tampered)
    (found,) = differences(tampered, RECORDED)
    tampered["accepted"][found] = "an execution that nobody waits for"
    assert differences(tampered, RECORDED) == []


def test_every_recording_says_where_it_is_from() -> None:
    for file in (Path(__file__).parent / "recorded").glob("*.json"):
        recording = json.loads(file.read_text())
        assert recording["cloud"] in ("local", "aws"), file
        assert (recording["schemaVersion"], bool(recording["calls"])) == (1, True), file
