"""Rules, targets, dead letters and schedules."""

import json
import re
import uuid

import pytest

from local.cloud import LocalCloud
from local.config import Fault
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import noted

ROLE = "arn:aws:iam::000000000000:role"


def put(cloud: LocalCloud, source: str, detail: dict[str, str], region: str = HOME) -> dict[str, object]:
    entry = {"Source": source, "DetailType": "Probe", "Detail": json.dumps(detail), "EventBusName": "probe"}
    return dict(cloud.client("events", region).put_events(Entries=[entry])["Entries"][0])


def test_event_on_the_bus_reaches_the_function(cloud: LocalCloud) -> None:
    mark = str(uuid.uuid4())
    put(cloud, "probe", {"mark": mark})
    found = cloud.wait_for(lambda: noted(cloud, mark=mark), 10)
    assert (found[0]["source"], found[0]["detail-type"]) == ("probe", "Probe")


def test_disabled_rule_delivers_nothing_until_it_is_enabled(cloud: LocalCloud) -> None:
    events = cloud.client("events")
    lost, kept = str(uuid.uuid4()), str(uuid.uuid4())
    events.disable_rule(Name="probe-rule", EventBusName="probe")
    put(cloud, "probe", {"mark": lost})
    events.enable_rule(Name="probe-rule", EventBusName="probe")
    put(cloud, "probe", {"mark": kept})
    cloud.wait_for(lambda: noted(cloud, mark=kept), 10)
    assert not noted(cloud, mark=lost)


def test_event_that_cannot_be_handed_over_goes_to_the_targets_dead_letters(cloud: LocalCloud) -> None:
    mark = str(uuid.uuid4())
    put(cloud, "probe.lost", {"mark": mark})
    sqs = cloud.client("sqs")
    url = cloud.outputs["probe-control"]["DeadUrl"]
    dead = cloud.wait_for(lambda: sqs.receive_message(QueueUrl=url).get("Messages"), 10)
    assert json.loads(dead[0]["Body"])["detail"] == {"mark": mark}
    sqs.delete_message(QueueUrl=url, ReceiptHandle=dead[0]["ReceiptHandle"])


def test_bus_exists_in_its_region_only_and_services_sources_are_reserved(cloud: LocalCloud) -> None:
    buses = cloud.client("events", OTHER).list_event_buses()["EventBuses"]
    assert [bus["Name"] for bus in buses] == ["default"]
    assert put(cloud, "aws.ec2", {})["ErrorCode"] == "NotAuthorizedForSourceException"


def test_schedule_fires_every_interval_while_it_is_enabled(cloud: LocalCloud) -> None:
    events = cloud.client("events")
    mark = str(uuid.uuid4())
    event = json.dumps({"action": "note", "detail": {"mark": mark}})
    target = {"Arn": cloud.outputs["probe-control"]["FunctionArn"], "Id": "function", "Input": event}
    events.put_rule(Name="every", ScheduleExpression="rate(1 minute)")
    events.put_targets(Rule="every", Targets=[target])
    cloud.wait_for(lambda: len(noted(cloud, mark=mark)) >= 2, 10)
    events.disable_rule(Name="every")
    events.remove_targets(Rule="every", Ids=["function"])
    events.delete_rule(Name="every")


def test_schedule_of_eventbridge_scheduler_hands_over_when_it_was_due(cloud: LocalCloud) -> None:
    scheduler = cloud.client("scheduler")
    mark = str(uuid.uuid4())
    event = {"action": "note", "detail": {"mark": mark, "due": "<aws.scheduler.scheduled-time>"}}
    target = {
        "Arn": cloud.outputs["probe-control"]["FunctionArn"],
        "RoleArn": f"{ROLE}/probe-scheduler",
        "Input": json.dumps(event),
    }
    window = {"Mode": "OFF"}
    scheduler.create_schedule(
        Name="soon", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow=window, Target=target
    )
    found = cloud.wait_for(lambda: noted(cloud, mark=mark), 15)
    scheduler.delete_schedule(Name="soon")
    assert re.fullmatch(r"[0-9-]{10}T[0-9:]{8}Z", found[0]["detail"]["due"])


@pytest.mark.parametrize(("code", "times"), [("Lost", 0), ("Doubled", 2), ("Late", 1)])
def test_counted_event_is_lost_doubled_or_late(cloud: LocalCloud, code: str, times: int) -> None:
    spoilt, next_one = str(uuid.uuid4()), str(uuid.uuid4())
    fault = {"operation": "DeliverEvent", "region": HOME, "detailType": "Probe", "code": code, "lateSeconds": 1}
    cloud.spoil(Fault.model_validate(fault))
    put(cloud, "probe", {"mark": spoilt})
    put(cloud, "probe", {"mark": next_one})
    cloud.wait_for(lambda: noted(cloud, mark=next_one), 10)
    cloud.wait_for(lambda: len(noted(cloud, mark=spoilt)) == times, 10)


def test_counted_entry_is_refused_by_a_call_that_succeeds(cloud: LocalCloud) -> None:
    fault = {"operation": "PutEvents", "region": HOME, "detailType": "Probe", "code": "ThrottlingException"}
    cloud.spoil(Fault.model_validate(fault))
    first, second = ({"mark": str(uuid.uuid4())} for _ in range(2))
    entries = [
        {"Source": "probe", "DetailType": "Probe", "Detail": json.dumps(detail), "EventBusName": "probe"}
        for detail in (first, second)
    ]
    answer = cloud.client("events").put_events(Entries=entries)
    assert (answer["FailedEntryCount"], answer["Entries"][0]["ErrorCode"]) == (1, "ThrottlingException")
    cloud.wait_for(lambda: noted(cloud, **second), 10)
    assert not noted(cloud, **first)


def test_schedule_whose_role_may_not_invoke_leaves_dead_letters(cloud: LocalCloud) -> None:
    scheduler, sqs = cloud.client("scheduler"), cloud.client("sqs")
    url = sqs.create_queue(QueueName="unscheduled")["QueueUrl"]
    dead = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    trust = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = cloud.client("iam").create_role(RoleName="may-nothing", AssumeRolePolicyDocument=document)["Role"]
    target = {
        "Arn": cloud.outputs["probe-control"]["FunctionArn"],
        "RoleArn": role["Arn"],
        "DeadLetterConfig": {"Arn": dead},
    }
    window = {"Mode": "OFF"}
    scheduler.create_schedule(
        Name="denied", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow=window, Target=target
    )
    cloud.wait_for(lambda: sqs.receive_message(QueueUrl=url).get("Messages"), 15)
    scheduler.delete_schedule(Name="denied")
