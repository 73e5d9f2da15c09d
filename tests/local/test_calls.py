"""What AWS would charge for is counted at the emulator's door."""

import json
from concurrent.futures import ThreadPoolExecutor

from local.cloud import LocalCloud
from tests.local.conftest import invoke


def grown(cloud: LocalCloud, before: dict[str, float], what: str) -> float:
    return cloud.calls().get(what, 0) - before.get(what, 0)


def test_table_requests_count_by_item_and_twice_in_a_transaction(cloud: LocalCloud) -> None:
    table = "probe-events"
    dynamodb = cloud.client("dynamodb")
    key = {name["AttributeName"] for name in dynamodb.describe_table(TableName=table)["Table"]["KeySchema"]}
    items = [{name: {"S": f"calls-{number}"} for name in key} for number in range(3)]
    before = cloud.calls()
    dynamodb.put_item(TableName=table, Item=items[0])
    dynamodb.batch_write_item(RequestItems={table: [{"PutRequest": {"Item": item}} for item in items]})
    dynamodb.transact_write_items(TransactItems=[{"Delete": {"TableName": table, "Key": item}} for item in items])
    assert grown(cloud, before, "tableWrites") >= 1 + 3 + 6
    before = cloud.calls()
    dynamodb.get_item(TableName=table, Key=items[0])
    dynamodb.batch_get_item(RequestItems={table: {"Keys": items}})
    assert grown(cloud, before, "tableReads") >= 1 + 3


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
