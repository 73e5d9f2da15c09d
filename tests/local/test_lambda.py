"""Functions run as the real runtime runs them."""

import json
import uuid
from contextlib import nullcontext
from pathlib import Path

import pytest

from local.assets import AssetError, Code, check_function
from local.cloud import LocalCloud
from local.config import Fault
from local.facts import fact
from tests.local.assembly import HOME
from tests.local.conftest import invoke, noted


def test_function_runs_under_its_own_role(cloud: LocalCloud) -> None:
    _, answer = invoke(cloud, action="identity")
    assert ":assumed-role/probe-function/" in answer["arn"]


def test_function_sees_its_asset_and_the_runtime_and_nothing_else(cloud: LocalCloud) -> None:
    _, answer = invoke(cloud, action="identity")
    assert not [path for path in answer["paths"] if "site-packages" in path]
    assert answer["environment"]["AWS_ENDPOINT_URL"] == cloud.endpoint
    assert "HOME" not in answer["environment"]
    error, answer = invoke(cloud, action="import", module="pydantic")
    assert (error, answer["errorType"]) == ("Unhandled", "ModuleNotFoundError")


def test_error_type_is_the_class_of_the_exception_and_the_process_stays_warm(cloud: LocalCloud) -> None:
    before = invoke(cloud, action="identity")[1]
    error, answer = invoke(cloud, action="raise", message='no "capacity"')
    assert (error, answer["errorType"], answer["errorMessage"]) == ("Unhandled", "NoCapacity", 'no "capacity"')
    assert answer["stackTrace"]
    after = invoke(cloud, action="identity")[1]
    assert (after["pid"], after["calls"]) == (before["pid"], before["calls"] + 2)


def test_timeout_ends_the_process(cloud: LocalCloud) -> None:
    before = invoke(cloud, action="identity")[1]
    assert 0 < before["remaining"] <= 2000
    error, answer = invoke(cloud, action="sleep", seconds=20)
    assert (error, answer["errorType"]) == ("Unhandled", "Sandbox.Timedout")
    assert "Task timed out after 2.00 seconds" in answer["errorMessage"]
    assert invoke(cloud, action="identity")[1]["pid"] != before["pid"]


def test_result_above_six_megabytes_is_refused(cloud: LocalCloud) -> None:
    error, answer = invoke(cloud, action="large", bytes=fact("lambda-response-bytes"))
    assert (error, answer["errorType"]) == ("Unhandled", "Function.ResponseSizeTooLarge")


def test_policy_of_the_role_is_enforced(cloud: LocalCloud) -> None:
    error, answer = invoke(cloud, action="forbidden")
    assert (error, answer["errorType"]) == ("Unhandled", "ClientError")
    assert "AccessDenied" in answer["errorMessage"]


def test_asynchronous_failure_is_retried_twice_then_goes_to_the_dead_letters(cloud: LocalCloud) -> None:
    before = invoke(cloud, action="identity")[1]["calls"]
    message = {"action": "raise", "message": "asynchronous"}
    cloud.client("lambda").invoke(FunctionName="probe", InvocationType="Event", Payload=json.dumps(message))
    sqs = cloud.client("sqs")
    url = cloud.outputs["probe-control"]["DeadUrl"]
    dead = cloud.wait_for(lambda: sqs.receive_message(QueueUrl=url).get("Messages"), 10)
    assert "asynchronous" in dead[0]["Body"]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=dead[0]["ReceiptHandle"])
    assert invoke(cloud, action="identity")[1]["calls"] == before + 4


def test_log_is_kept_in_a_file_and_in_cloudwatch(cloud: LocalCloud) -> None:
    invoke(cloud, action="none")
    assert "a line of log" in (cloud.state.logs / "lambda/probe.log").read_text()
    events = cloud.client("logs").filter_log_events(logGroupName="/aws/lambda/probe", filterPattern="line")["events"]
    assert events


def test_all_that_an_invocation_has_said_is_in_its_log_when_it_has_answered(cloud: LocalCloud) -> None:
    logs = cloud.client("logs")
    for mark in "ABCDEFGHIJ":
        invoke(cloud, action="say", mark=mark, lines=500)
        found = logs.filter_log_events(logGroupName="/aws/lambda/probe", limit=10_000)["events"]
        assert sum(event["message"].startswith(f"{mark} ") for event in found) == 500


def test_no_log_group_is_made_under_a_role_that_may_not_make_one(cloud: LocalCloud) -> None:
    """An invocation that ends after its stack is gone leaves no log group."""
    cloud.client("lambda").invoke(FunctionName="probe-unlogged", Payload=json.dumps({"action": "none"}))
    assert not cloud.client("logs").describe_log_groups(logGroupNamePrefix="/aws/lambda/probe-unlogged")["logGroups"]


@pytest.mark.parametrize(
    ("machine", "properties", "reason"),
    [
        (183, {}, "n.cpython-313-x.so is built for arm64, the function is declared x86_64"),
        (62, {"Architectures": ["arm64"]}, "n.cpython-313-x.so is built for x86_64, the function is declared arm64"),
        (62, {"Runtime": "python3.10"}, "runtime python3.10 is none that the code is written for"),
        (62, {"Runtime": "python3.12"}, r"n.cpython-313-x.so loads in another Python, .* declared python3.12"),
        (62, {"Environment": {"Variables": {"A": "x" * 4096}}}, "environment of 4097 bytes; Lambda takes 4096"),
    ],
)
def test_asset_that_lambda_would_refuse_is_refused(
    tmp_path: Path, machine: int, properties: dict[str, object], reason: str
) -> None:
    (tmp_path / "n.cpython-313-x.so").write_bytes(b"\x7fELF" + bytes(14) + machine.to_bytes(2, "little"))
    (tmp_path / "n.cpython-313-x.so").chmod(0o644)
    with pytest.raises(AssetError, match=reason):
        check_function("probe", {"Runtime": "python3.13", **properties}, Code.read(tmp_path))


@pytest.mark.parametrize(
    ("tags", "refused"),
    [
        ("py2-none-any py3-none-any", False),
        ("cp313-cp313-manylinux_2_17_x86_64", False),
        ("cp313-cp313-manylinux_2_34_x86_64", False),
        ("cp313-cp313-manylinux_2_35_x86_64", True),
        ("cp39-abi3-manylinux2014_x86_64", False),
        ("cp314-abi3-manylinux2014_x86_64", True),
        ("cp311-cp311-manylinux2014_x86_64", True),
        ("cp313-cp313t-manylinux2014_x86_64", True),
        ("cp313-cp313-manylinux2014_aarch64", True),
        ("cp313-cp313-musllinux_1_2_x86_64", True),
        ("py2-none-any", True),
    ],
)
def test_wheel_that_does_not_load_in_the_declared_runtime_is_refused(tmp_path: Path, tags: str, refused: bool) -> None:
    (tmp_path / "some-1.dist-info").mkdir()
    (tmp_path / "some-1.dist-info").chmod(0o755)
    wheel = tmp_path / "some-1.dist-info/WHEEL"
    wheel.write_text("".join(f"Tag: {tag}\n" for tag in tags.split()))
    wheel.chmod(0o644)
    with pytest.raises(AssetError, match=r"some-1.dist-info is built for") if refused else nullcontext():
        check_function("probe", {"Runtime": "python3.13"}, Code.read(tmp_path))


@pytest.mark.parametrize(
    ("folder", "file", "hidden"), [(0o755, 0o600, "600 of folder/f.py"), (0o700, 0o644, "700 of folder")]
)
def test_asset_that_the_functions_user_could_not_read_is_refused(
    tmp_path: Path, folder: int, file: int, hidden: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/f.py").write_text("")
    (tmp_path / "folder/f.py").chmod(file)
    (tmp_path / "folder").chmod(folder)
    with pytest.raises(AssetError, match=f"mode {hidden} hides it"):
        check_function("probe", {"Runtime": "python3.13"}, Code.read(tmp_path))


def test_asset_above_250_megabytes_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(250 * 1024 * 1024 + 1)
    (tmp_path / "large").chmod(0o644)
    with pytest.raises(AssetError, match="262144001 bytes unzipped"):
        check_function("probe", {"Runtime": "python3.13"}, Code.read(tmp_path))


def test_counted_invocation_does_its_work_and_its_caller_hears_of_an_error(cloud: LocalCloud) -> None:
    mark = str(uuid.uuid4())
    fault = {"operation": "Invoke", "region": HOME, "function": "probe", "code": "Sandbox.Timedout"}
    cloud.spoil(Fault.model_validate(fault))
    error, answer = invoke(cloud, action="note", detail={"mark": mark})
    assert (error, answer["errorType"]) == ("Unhandled", "Sandbox.Timedout")
    assert len(noted(cloud, mark=mark)) == 1
    assert invoke(cloud, action="none")[0] is None


def test_counted_invocation_takes_place_twice(cloud: LocalCloud) -> None:
    mark = str(uuid.uuid4())
    fault = {"operation": "Invoke", "region": HOME, "function": "probe", "code": "Twice"}
    cloud.spoil(Fault.model_validate(fault))
    assert invoke(cloud, action="note", detail={"mark": mark})[0] is None
    cloud.wait_for(lambda: len(noted(cloud, mark=mark)) == 2, 10)
