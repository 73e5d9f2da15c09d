"""Run Command really runs our documents on instances."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from local.config import Fault
from local.patches.ssm.workers import Workers
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import finished, noted

Shell = Callable[..., dict[str, Any]]


def send(cloud: LocalCloud, vm: str, **parameters: str) -> str:
    answer = cloud.client("ssm").send_command(
        InstanceIds=[vm], DocumentName="probe-document", Parameters={key: [value] for key, value in parameters.items()}
    )
    return str(answer["Command"]["CommandId"])


def test_parameters_arrive_as_variables_and_as_text(cloud: LocalCloud, vm: str) -> None:
    done = finished(cloud, send(cloud, vm, Name="a $b; c", Plain="{x}"), vm)
    assert (done["Status"], done["ResponseCode"]) == ("Success", 0)
    assert done["StandardOutputContent"] == "a $b; c\na $b; c {x}\n"


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"Name": "UPPER"}, "does not match the pattern"),
        ({}, "Name is required"),
        ({"Name": "a", "More": "b"}, "More is not defined"),
    ],
)
def test_bad_parameters_are_refused(cloud: LocalCloud, vm: str, parameters: dict[str, str], reason: str) -> None:
    with pytest.raises(ClientError, match=f"InvalidParameters.*{reason}"):
        send(cloud, vm, **parameters)


def test_unknown_document_is_refused(cloud: LocalCloud, vm: str) -> None:
    with pytest.raises(ClientError, match="InvalidDocument"):
        cloud.client("ssm").send_command(InstanceIds=[vm], DocumentName="absent")


def test_instance_of_another_region_is_not_known(cloud: LocalCloud, vm: str) -> None:
    with pytest.raises(ClientError, match="InvalidInstanceId"):
        cloud.client("ssm", OTHER).send_command(
            InstanceIds=[vm], DocumentName="AWS-RunShellScript", Parameters={"commands": ["true"]}
        )


def test_invocation_may_not_exist_right_after_sending(cloud: LocalCloud, vm: str) -> None:
    command = send(cloud, vm, Name="a")
    with pytest.raises(ClientError, match="InvocationDoesNotExist"):
        cloud.client("ssm").get_command_invocation(CommandId=command, InstanceId=vm)
    assert finished(cloud, command, vm)["Status"] == "Success"


def test_exit_code_and_standard_error_are_the_scripts(shell: Shell, vm: str) -> None:
    done = shell(vm, "echo trouble >&2; exit 3")
    assert (done["Status"], done["ResponseCode"], done["StandardErrorContent"]) == ("Failed", 3, "trouble\n")


def test_the_first_24000_characters_of_output_and_8000_of_errors_are_kept(shell: Shell, vm: str) -> None:
    done = shell(vm, "head -c 30000 /dev/zero | tr '\\0' x; head -c 9000 /dev/zero | tr '\\0' y >&2; echo end >&2")
    assert done["StandardOutputContent"] == "x" * 24_000
    assert done["StandardErrorContent"] == "y" * 8_000


def test_timeout_kills_the_whole_process_group(cloud: LocalCloud, shell: Shell, vm: str) -> None:
    done = finished(cloud, send(cloud, vm, Name="a", Seconds="1", Script="sleep 987 & sleep 987"), vm)
    assert (done["Status"], done["StatusDetails"]) == ("TimedOut", "Execution Timed Out")
    assert shell(vm, "pgrep -fx 'sleep 987' || echo none")["StandardOutputContent"] == "none\n"


def test_command_has_region_and_instance_but_no_keys(shell: Shell, vm: str) -> None:
    variables = dict(line.split("=", 1) for line in shell(vm, "env")["StandardOutputContent"].splitlines())
    assert (variables["AWS_SSM_REGION_NAME"], variables["AWS_SSM_INSTANCE_ID"]) == (HOME, vm)
    assert not {"AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_REGION"} & set(variables)


def sleeping(cloud: LocalCloud, instance: str, seconds: float, **options: Any) -> str:
    """Send a command that holds a worker so long; its id."""
    script = {"commands": [f"sleep {seconds}"]}
    answer = cloud.client("ssm").send_command(
        InstanceIds=[instance], DocumentName="AWS-RunShellScript", Parameters=script, **options
    )
    return str(answer["Command"]["CommandId"])


def statuses(cloud: LocalCloud, commands: list[str]) -> list[str]:
    """Their statuses, in order."""
    listed = cloud.client("ssm").list_command_invocations()["CommandInvocations"]
    found = {item["CommandId"]: item["StatusDetails"] for item in listed}
    return [found.get(command, "") for command in commands]


def test_an_agent_runs_five_commands_at_once_and_the_others_in_turn(cloud: LocalCloud) -> None:
    vm = cloud.launch_vm(HOME, "busy")
    commands = [sleeping(cloud, vm, 1.5) for _ in range(12)]
    five_run = [*["InProgress"] * 5, *["Pending"] * 7]
    cloud.wait_for(lambda: statuses(cloud, commands) == five_run, 5)
    assert finished(cloud, commands[-1], vm)["Status"] == "Success"
    assert statuses(cloud, commands) == ["Success"] * 12


def test_a_command_that_is_not_started_in_time_never_runs(cloud: LocalCloud) -> None:
    vm = cloud.launch_vm(HOME, "late")
    holding = [sleeping(cloud, vm, 4) for _ in range(5)]
    cloud.wait_for(lambda: statuses(cloud, holding) == ["InProgress"] * 5, 5)
    late = sleeping(cloud, vm, 0, TimeoutSeconds=30)
    done = finished(cloud, late, vm)
    assert (done["Status"], done["StatusDetails"]) == ("TimedOut", "Delivery Timed Out")
    assert (done["ResponseCode"], done["ExecutionStartDateTime"]) == (-1, "")
    assert statuses(cloud, holding) == ["InProgress"] * 5


def test_a_command_that_waits_can_be_cancelled(cloud: LocalCloud) -> None:
    vm = cloud.launch_vm(HOME, "cancelled")
    commands = [sleeping(cloud, vm, 1.5) for _ in range(6)]
    cloud.wait_for(lambda: statuses(cloud, commands) == [*["InProgress"] * 5, "Pending"], 5)
    for command in commands[4:]:
        cloud.client("ssm").cancel_command(CommandId=command)
    assert statuses(cloud, commands)[4:] == ["Cancelling", "Cancelled"]
    cloud.wait_for(lambda: statuses(cloud, commands) == [*["Success"] * 4, *["Cancelled"] * 2], 10)


@pytest.mark.parametrize(
    ("code", "said"),
    [("DeliveryTimedOut", ("TimedOut", "Delivery Timed Out")), ("Undeliverable", ("Failed", "Undeliverable"))],
)
def test_a_script_keeps_a_command_from_its_agent(cloud: LocalCloud, vm: str, code: str, said: tuple[str, str]) -> None:
    document = "AWS-RunShellScript"
    cloud.spoil(Fault(operation="SendCommand", region=HOME, document=document, code=code))
    done = finished(cloud, sleeping(cloud, vm, 0), vm)
    assert (done["Status"], done["StatusDetails"]) == said
    assert done["ExecutionStartDateTime"] == ""


def test_an_agent_that_is_busy_with_something_else_starts_no_command() -> None:
    workers = Workers(busy_seconds=0.3)
    assert workers.begin(0.05, lambda: False) == "late"
    assert workers.begin(5, lambda: False) == "begins"


def test_status_changes_are_events_on_the_forwarded_bus(cloud: LocalCloud, vm: str) -> None:
    command = send(cloud, vm, Name="a")
    finished(cloud, command, vm)
    cloud.wait_for(lambda: len(noted(cloud, **{"command-id": command})) == 2, 10)
    statuses = noted(cloud, **{"command-id": command})
    assert {event["detail"]["status"] for event in statuses} == {"InProgress", "Success"}
    assert {event["detail-type"] for event in statuses} == {"EC2 Command Invocation Status-change Notification"}


def test_invocations_are_listed(cloud: LocalCloud, vm: str) -> None:
    command = send(cloud, vm, Name="a")
    finished(cloud, command, vm)
    found = cloud.client("ssm").list_command_invocations(CommandId=command, Details=True)["CommandInvocations"]
    assert [(item["InstanceId"], item["Status"]) for item in found] == [(vm, "Success")]
    assert found[0]["CommandPlugins"][0]["Output"].startswith("a\n")


def test_documents_are_regional_and_can_be_made_by_hand(cloud: LocalCloud) -> None:
    ssm = cloud.client("ssm")
    step = {"action": "aws:runShellScript", "name": "a", "inputs": {"runCommand": []}}
    content = json.dumps({"schemaVersion": "2.2", "mainSteps": [step]})
    ssm.create_document(Name="by-hand", Content=content, DocumentType="Command")
    assert ssm.describe_document(Name="by-hand")["Document"]["SchemaVersion"] == "2.2"
    with pytest.raises(ClientError, match="InvalidDocument"):
        cloud.client("ssm", OTHER).describe_document(Name="by-hand")
    with pytest.raises(ClientError, match="InvalidDocumentContent"):
        ssm.create_document(Name="bad", Content="{", DocumentType="Command")
    ssm.delete_document(Name="by-hand")


def test_image_parameters_are_public_and_regional(cloud: LocalCloud) -> None:
    found = set()
    for region in (HOME, OTHER):
        for architecture in ("x86_64", "arm64"):
            name = f"/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-{architecture}"
            image = cloud.client("ssm", region).get_parameter(Name=name)["Parameter"]["Value"]
            described = cloud.client("ec2", region).describe_images(ImageIds=[image])["Images"][0]
            assert described["Architecture"] == architecture
            found.add(image)
    assert len(found) == 4


def test_units_are_detached_and_found_by_pattern(shell: Shell, vm: str) -> None:
    started = shell(
        vm, "systemd-run --unit=cpt-a-1 --collect --property=LimitNOFILE=9 --setenv=X=1 sh -c 'echo $X; exec sleep 654'"
    )
    assert started["Status"] == "Success"
    again = shell(vm, "systemd-run --unit=cpt-a-1 sleep 1")
    assert "already loaded" in again["StandardErrorContent"]
    assert (
        shell(vm, "systemctl is-active cpt-a-1; journalctl -u cpt-a-1 -n 5 --no-pager")["StandardOutputContent"]
        == "active\n1\n"
    )
    assert shell(vm, "systemctl stop 'cpt-*-1'; systemctl is-active cpt-a-1")["StandardOutputContent"] == "inactive\n"
    assert shell(vm, "pgrep -fx 'sleep 654' || echo none")["StandardOutputContent"] == "none\n"
