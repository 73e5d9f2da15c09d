"""Whether the buckets of starts by objects tell EventBridge what is written: their owners set that, and nobody else.

Also whether starts that were added and those of the settings start each other: a deployment does not know of the first.
"""

import json
from collections.abc import Iterator
from functools import partial
from itertools import product

from cli.aws import Aws
from cli.doctor.answers import answer_of
from cli.doctor.finding import Finding, Findings, failed, looked, ok
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_added_starts import DynamoAddedStarts
from lambdas.adapters.start_rules import StartRules
from lambdas.core.intake.added_starts import circle

CONFIGURATION = "EventBridgeConfiguration"


def starts(aws: Aws) -> Findings:
    """The bucket of each rule that starts transfers."""
    rules: list[tuple[str, str, str]] = []

    def found() -> Iterator[Finding]:
        rules.extend(_rules(aws))
        if not rules:
            yield ok("starts", aws.region, "no start listens to a bucket")

    yield from looked("starts", aws.region, found)
    for name, bucket, region in rules:
        yield from looked("starts", name, partial(_told, aws, name, bucket, region))
    yield from looked("starts", aws.region, partial(_circles, aws))


def _circles(aws: Aws) -> Iterator[Finding]:
    store = DynamoAddedStarts(Table(aws.client("dynamodb"), f"{aws.deployment}-arrivals"))
    added = answer_of(store.get, "ResourceNotFoundException")
    if added is None or not added.starts:
        return
    deployed = StartRules(aws.client("events"), aws.deployment, aws.region).all()
    known = [*(start.listening for start in added.starts), *(start.listening for start in deployed)]
    for one in added.starts:
        if problem := circle([one.listening, *(other for other in known if other != one.listening)]):
            remedy = f"cpt starts remove {one.name}, or change what the others write"
            yield failed("starts", one.name, f"the added start leads back to itself: {problem}", remedy)


def _rules(aws: Aws) -> Iterator[tuple[str, str, str]]:
    """Name, bucket and region of each start; those of other regions listen on the deployment's bus."""
    prefix, added = f"{aws.deployment}-objects-", f"{aws.deployment}-added-"
    for beginning, bus in product((prefix, added), ("default", aws.deployment)):
        pages = aws.client("events").get_paginator("list_rules").paginate(NamePrefix=beginning, EventBusName=bus)
        for rule in (rule for page in pages for rule in page["Rules"]):
            pattern = json.loads(rule.get("EventPattern", "{}"))
            # Another deployment's rules may have names that begin like ours, and are for something else.
            if "bucket" not in pattern.get("detail", {}):
                continue
            region, bucket = pattern.get("region", [aws.region])[0], pattern["detail"]["bucket"]["name"][0]
            # The rule of a bucket for which people add starts is named by a digest.
            yield (bucket if beginning == added else rule["Name"].removeprefix(prefix)), bucket, region


def _told(aws: Aws, start: str, bucket: str, region: str) -> Iterator[Finding]:
    call = aws.client("s3", region).get_bucket_notification_configuration
    found = answer_of(call, "NoSuchBucket", Bucket=bucket)
    yield judge(start, bucket, region, found if found is None else CONFIGURATION in found)


def judge(start: str, bucket: str, region: str, told: bool | None) -> Finding:
    """`told`: whether EventBridge hears of the bucket's objects; None where there is no such bucket."""
    if told is None:
        remedy = f"make the bucket in {region}, or correct cpt.starts.objects.{start}.bucket and deploy"
        return failed("starts", start, f"there is no bucket {bucket}", remedy)
    if told:
        return ok("starts", start, f"EventBridge hears of objects in {bucket}, in {region}")
    remedy = (
        f"whoever owns it turns it on in S3's console (properties, Amazon EventBridge), or adds {CONFIGURATION} to "
        f"what aws s3api get-bucket-notification-configuration --region {region} --bucket {bucket} prints, and puts "
        "that: a put replaces all notifications that there are"
    )
    return failed("starts", start, f"bucket {bucket} does not tell EventBridge of its objects: nothing starts", remedy)
