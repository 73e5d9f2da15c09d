"""Rules, targets, dead letters and schedules."""

import json
import re
import uuid

from local.cloud import LocalCloud
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import noted


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
        "RoleArn": "arn:aws:iam::000000000000:role/scheduler",
        "Input": json.dumps(event),
    }
    window = {"Mode": "OFF"}
    scheduler.create_schedule(
        Name="soon", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow=window, Target=target
    )
    found = cloud.wait_for(lambda: noted(cloud, mark=mark), 15)
    scheduler.delete_schedule(Name="soon")
    assert re.fullmatch(r"[0-9-]{10}T[0-9:]{8}Z", found[0]["detail"]["due"])
