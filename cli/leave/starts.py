"""Whatever starts transfers without a person: it would start some while the stacks go."""

from functools import partial

from cli.aws import Aws
from cli.executions import machine_arn
from cli.leave.tie import Tie, Ties, unless_gone
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_added_starts import DynamoAddedStarts
from lambdas.adapters.start_rules import StartRules
from lambdas.adapters.start_schedules import StartSchedules

_SO_THAT = "so that it starts nothing while the stacks go"


def start_ties(aws: Aws) -> Ties:
    """Schedules, starts by objects, and windows that still collect: first what is added, then what was deployed.

    Last what would launch nodes of the pool anew.
    """
    yield from unless_gone(_added_schedules, aws)
    yield from unless_gone(_tenants_schedules, aws)
    yield from unless_gone(_deployed_schedules, aws)
    yield from unless_gone(_added_objects, aws)
    yield from unless_gone(_rules, aws)
    yield from unless_gone(_windows, aws)
    yield from unless_gone(_pool, aws)


def _schedules(aws: Aws) -> StartSchedules:
    return StartSchedules(aws.client("scheduler"), aws.deployment, machine_arn(aws))


def _added_schedules(aws: Aws) -> Ties:
    yield from _of_group(aws, _schedules(aws))


def _tenants_schedules(aws: Aws) -> Ties:
    client, prefix = aws.client("scheduler"), f"{aws.deployment}-starts-"
    for page in client.get_paginator("list_schedule_groups").paginate(NamePrefix=prefix):
        for tenant in (str(one["Name"]).removeprefix(prefix) for one in page["ScheduleGroups"]):
            yield from _of_group(aws, StartSchedules(client, aws.deployment, machine_arn(aws), tenant))


def _of_group(aws: Aws, schedules: StartSchedules) -> Ties:
    for name in schedules.names():
        message = f"the schedule, which somebody added, is deleted with the group {schedules.group}"
        yield Tie("goes", aws.region, name, message, f"it is removed now, {_SO_THAT}", partial(schedules.remove, name))


def _deployed_schedules(aws: Aws) -> Ties:
    schedules = _schedules(aws)
    for name in schedules.enabled():
        message = f"the schedule of cpt.starts.schedules.{name} is deleted with the control stack"
        yield Tie(
            "goes", aws.region, name, message, f"it is disabled now, {_SO_THAT}", partial(schedules.disable, name)
        )


def _added_objects(aws: Aws) -> Ties:
    store = DynamoAddedStarts(Table(aws.client("dynamodb"), f"{aws.deployment}-arrivals"))
    for start in store.get().starts:
        message = f"the start by objects of s3://{start.bucket}/{start.prefix}, which somebody added, is deleted"
        remove = partial(_remove, store, start.name)
        yield Tie("goes", aws.region, start.name, message, f"it is removed now, {_SO_THAT}", remove)


def _remove(store: DynamoAddedStarts, name: str) -> None:
    while not store.put(store.get().without([name])):
        pass


def _rules(aws: Aws) -> Ties:
    rules = StartRules(aws.client("events"), aws.deployment, aws.region)
    for name, bus in rules.enabled():
        message = f"the rule on the bus {bus}, by which objects start transfers, is deleted with the control stack"
        yield Tie(
            "goes", aws.region, name, message, f"it is disabled now, {_SO_THAT}", partial(rules.disable, name, bus)
        )


def _windows(aws: Aws) -> Ties:
    client, group = aws.client("scheduler"), f"{aws.deployment}-windows"
    for page in client.get_paginator("list_schedules").paginate(GroupName=group):
        for name in (str(one["Name"]) for one in page["Schedules"]):
            message = "objects have been collected, of which a transfer is to start"
            delete = partial(client.delete_schedule, Name=name, GroupName=group)
            yield Tie("goes", aws.region, name, message, "its schedule is removed now, and no transfer starts", delete)


def _pool(aws: Aws) -> Ties:
    client, name = aws.client("events"), f"{aws.deployment}-keep-pool"
    for rule in ({"Name": name}, {"Name": f"{name}-on-change", "EventBusName": aws.deployment}):
        if client.describe_rule(**rule)["State"] != "DISABLED":
            message = "the rule, by which nodes of the pool are launched anew, is deleted with the stack of the pool"
            remedy = "it is disabled now, so that nodes that end stay ended"
            yield Tie("goes", aws.region, rule["Name"], message, remedy, partial(client.disable_rule, **rule))
