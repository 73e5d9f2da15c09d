"""What AWS would charge for is counted."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from local.cloud import LocalCloud
from tests.local.conftest import invoke


def grown(cloud: LocalCloud, before: dict[str, float], what: str) -> float:
    return cloud.calls().get(what, 0) - before.get(what, 0)


def of_size(key: str, size: int) -> dict[str, dict[str, str]]:
    """An item of so many bytes: names of attributes count too."""
    return {"transferId": {"S": key}, "nodeId": {"S": "n"}, "x": {"S": "x" * (size - len(f"transferId{key}nodeIdnx"))}}


def test_items_count_by_their_size_and_again_in_an_index(cloud: LocalCloud) -> None:
    dynamodb = cloud.client("dynamodb")
    key = {"AttributeName": "transferId", "AttributeType": "S"}, {"AttributeName": "nodeId", "AttributeType": "S"}
    dynamodb.create_table(
        TableName="units",
        AttributeDefinitions=[*key, {"AttributeName": "at", "AttributeType": "S"}],
        KeySchema=[
            {"AttributeName": "transferId", "KeyType": "HASH"},
            {"AttributeName": "nodeId", "KeyType": "RANGE"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-at",
                "KeySchema": [{"AttributeName": "at", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    table = {"TableName": "units"}

    def writes(put: Callable[[], Any]) -> float:
        before = cloud.calls()
        put()
        return grown(cloud, before, "tableWrites")

    big, small = of_size("big", 2049), of_size("small", 1024)
    assert writes(lambda: dynamodb.put_item(**table, Item=small)) == 1
    assert writes(lambda: dynamodb.put_item(**table, Item=big)) == 3
    found = {"Key": {name: big[name] for name in ("transferId", "nodeId")}}
    value = {"UpdateExpression": "SET y = :y", "ExpressionAttributeValues": {":y": {"S": "y"}}}
    assert writes(lambda: dynamodb.update_item(**table, **found, **value)) == 3
    indexed = {"UpdateExpression": "SET #a = :y", "ExpressionAttributeValues": {":y": {"S": "y"}}}
    assert writes(lambda: dynamodb.update_item(**table, **found, **indexed, ExpressionAttributeNames={"#a": "at"})) == 6

    def refused() -> None:
        with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException):
            dynamodb.update_item(**table, **found, **value, ConditionExpression="attribute_not_exists(x)")

    assert writes(refused) == 3
    batch = [{"PutRequest": {"Item": of_size(f"b{number}", size)}} for number, size in enumerate((100, 1500))]
    assert writes(lambda: dynamodb.batch_write_item(RequestItems={"units": batch})) == 1 + 2
    item = {**table, "Key": {name: small[name] for name in ("transferId", "nodeId")}}
    assert writes(lambda: dynamodb.transact_write_items(TransactItems=[{"Delete": item}])) == 2

    before = cloud.calls()
    dynamodb.put_item(**table, Item=of_size("read", 8193))
    read = {"transferId": {"S": "read"}, "nodeId": {"S": "n"}}
    dynamodb.get_item(**table, Key=read)
    dynamodb.get_item(**table, Key=read, ConsistentRead=True)
    dynamodb.batch_get_item(RequestItems={"units": {"Keys": [read], "ConsistentRead": True}})
    dynamodb.query(
        **table,
        KeyConditionExpression="transferId = :t",
        ExpressionAttributeValues={":t": {"S": "read"}},
        ConsistentRead=True,
    )
    assert grown(cloud, before, "tableReads") == 1.5 + 3 + 3 + 3


def test_objects_and_events_count(cloud: LocalCloud) -> None:
    s3, before = cloud.client("s3"), cloud.calls()
    s3.create_bucket(Bucket="calls", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_object(Bucket="calls", Key="a", Body=b"x")
    s3.get_object(Bucket="calls", Key="a")
    s3.delete_object(Bucket="calls", Key="a")
    assert grown(cloud, before, "objectPuts") >= 2
    assert grown(cloud, before, "objectGets") >= 1
    entry = {"Source": "calls", "DetailType": "Nothing", "Detail": json.dumps({})}
    cloud.client("events").put_events(Entries=[entry, entry])
    assert grown(cloud, before, "events") >= 2


def test_functions_count_with_the_memory_that_they_hold(cloud: LocalCloud) -> None:
    before = cloud.calls()
    invoke(cloud, action="identity")
    assert grown(cloud, before, "lambdaRequests") >= 1
    assert grown(cloud, before, "lambdaGBSeconds") > 0


def test_requests_that_are_held_are_served_after_their_release_and_others_at_once(cloud: LocalCloud) -> None:
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="holds", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    with ThreadPoolExecutor(1) as pool:
        with cloud.holding(r"^PUT /holds/held"):
            held = pool.submit(s3.put_object, Bucket="holds", Key="held", Body=b"x")
            s3.put_object(Bucket="holds", Key="other", Body=b"x")
            names = [item["Key"] for item in s3.list_objects_v2(Bucket="holds")["Contents"]]
            assert (names, held.done()) == (["other"], False)
        held.result(60)
    assert s3.get_object(Bucket="holds", Key="held")["Body"].read() == b"x"


def test_a_function_is_not_billed_for_what_others_take_of_its_core(cloud: LocalCloud) -> None:
    core = min(os.sched_getaffinity(0))
    busy = f"import os\nos.sched_setaffinity(0, {{{core}}})\nprint(flush=True)\nwhile True: pass"
    invoke(cloud, action="identity")
    with ExitStack() as others:
        for _ in range(2):
            other = others.enter_context(subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE))
            others.callback(other.kill)
            assert other.stdout
            other.stdout.readline()
        before, began = cloud.calls(), time.monotonic()
        # The function may run for 2 s: beside all other tests it has a tenth of the core, or less.
        assert invoke(cloud, action="compute", seconds=0.1, core=core)[0] is None
        took = time.monotonic() - began
    memory_gb = 128 / 1024
    # It has a third of the core at most.
    assert 0.1 <= grown(cloud, before, "lambdaGBSeconds") / memory_gb < 0.75 * took
