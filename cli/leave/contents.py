"""Data: what destroy stumbles over, what it takes along, and what it leaves."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from cli.aws import Aws
from cli.leave.stacks import Resource, Stack, of_kind
from cli.leave.tie import Tie, Ties, unless_gone

_DELETED_AT_ONCE = 1000


def content_ties(aws: Aws, stacks: Iterable[Stack]) -> Ties:
    """Buckets, tables, queues, logs and the bus."""
    stacks = list(stacks)
    data = _left_behind(aws, stacks)
    for bucket in of_kind([*stacks, data], "AWS::S3::Bucket"):
        yield from unless_gone(_bucket, aws, bucket)
    for table in of_kind([*stacks, data], "AWS::DynamoDB::Table"):
        yield from unless_gone(_table, aws, table)
    for queue in of_kind(stacks, "AWS::SQS::Queue"):
        yield from unless_gone(_queue, aws, queue)
    for bus in of_kind(stacks, "AWS::Events::EventBus"):
        yield from unless_gone(_bus, aws, bus, stacks)
    logs = [group for group in of_kind(stacks, "AWS::Logs::LogGroup") if group.kept]
    if logs:
        message = f"{len(logs)} log groups stay, as logsOnDestroy says"
        yield Tie("stays", logs[0].region, f"{logs[0].physical_id}, …", message)


def _left_behind(aws: Aws, stacks: list[Stack]) -> Stack:
    """Return what the control stack holds no longer if it was deleted: reports and measurements, by their names."""
    account = aws.client("sts").get_caller_identity()["Account"]
    names = {
        f"{aws.deployment}-control-{account}-{aws.region}": "AWS::S3::Bucket",
        f"{aws.deployment}-transfers": "AWS::DynamoDB::Table",
        f"{aws.deployment}-profiles": "AWS::DynamoDB::Table",
    }
    held = {resource.physical_id for stack in stacks for resource in stack.resources}
    left = (Resource(aws.region, kind, "", name, kept=True) for name, kind in names.items() if name not in held)
    return Stack(aws.region, "", {}, tuple(left))


def _bucket(aws: Aws, bucket: Resource) -> Ties:
    client, name = aws.client("s3", bucket.region), bucket.physical_id
    # Versions too: somebody may have switched versioning on.
    pages = client.get_paginator("list_object_versions").paginate(Bucket=name)
    count = sum(len(_versions(page)) for page in pages)
    if bucket.kept:
        yield Tie("stays", bucket.region, name, f"the bucket stays with {count} objects, unless you delete it")
    elif count:
        message = f"the bucket holds {count} objects: reports, manifests and lists of files"
        yield Tie(
            "holds", bucket.region, name, message, "all of them are deleted for good", partial(_empty, client, name)
        )


def _versions(page: dict[str, Any]) -> list[dict[str, str]]:
    found = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
    return [{"Key": item["Key"], "VersionId": item["VersionId"]} for item in found]


def _empty(client: Any, bucket: str) -> None:
    pages = client.get_paginator("list_object_versions").paginate(
        Bucket=bucket, PaginationConfig={"PageSize": _DELETED_AT_ONCE}
    )
    for page in pages:
        if objects := _versions(page):
            client.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})


def _table(aws: Aws, table: Resource) -> Ties:
    client, name = aws.client("dynamodb", table.region), table.physical_id
    description = client.describe_table(TableName=name)["Table"]
    if table.kept:
        yield Tie("stays", table.region, name, "the table stays, unless you delete it")
        return
    # ItemCount is up to six hours old.
    if client.scan(TableName=name, Limit=1)["Items"]:
        message = "the table is deleted with its items; AWS keeps a backup of its own for 35 days"
        yield Tie("goes", table.region, name, message)
    if description.get("DeletionProtectionEnabled"):
        undo = partial(client.update_table, TableName=name, DeletionProtectionEnabled=False)
        remedy = "the protection is switched off"
        yield Tie("holds", table.region, name, "the table is protected against deletion", remedy, undo)


def _queue(aws: Aws, queue: Resource) -> Ties:
    client = aws.client("sqs", queue.region)
    wanted = ["ApproximateNumberOfMessages"]
    answer = client.get_queue_attributes(QueueUrl=queue.physical_id, AttributeNames=wanted)
    if count := int(answer["Attributes"][wanted[0]]):
        name = queue.physical_id.rsplit("/", 1)[-1]
        yield Tie("goes", queue.region, name, f"the queue is deleted with {count} messages; cpt redrive handles them")


def _bus(aws: Aws, bus: Resource, stacks: list[Stack]) -> Ties:
    ours = {rule.physical_id.rsplit("|", 1)[-1] for rule in of_kind(stacks, "AWS::Events::Rule")}
    pages = aws.client("events", bus.region).get_paginator("list_rules").paginate(EventBusName=bus.physical_id)
    for name in (str(rule["Name"]) for page in pages for rule in page["Rules"]):
        if name not in ours:
            message = f"the rule {name} is on the bus"
            yield Tie("holds", bus.region, bus.physical_id, message, "remove its targets, then delete it")
