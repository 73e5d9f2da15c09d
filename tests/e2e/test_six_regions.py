"""A deployment of six regions: all of them are like the two of all other tests, and none of them has to be the home."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.files import make_files, tree
from tests.queues import open_queue

# S3 takes no location constraint for us-east-1.
REGIONS = [HOME, OTHER, "us-east-1", "eu-central-1", "ap-northeast-1", "sa-east-1"]
FAR, FARTHER = REGIONS[-2:]


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    work = tmp_path_factory.mktemp("six")
    caps = {"interRegionMBps": 20.0, "intraRegionMBps": 160.0}
    config = LocalConfig.model_validate({"port": 0, "bootSeconds": 1.0, "caps": caps})
    with LocalCloud(config, work / "state", synthesized(work / "cdk.out", REGIONS)) as cloud:
        assert cloud.config.regions == REGIONS
        yield Account(cloud, work)


@only_full
def test_data_moves_between_two_regions_that_are_not_the_home(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    ends = {
        side: {"instanceId": account.cloud.launch_vm(region, side), "region": region}
        for side, region in (("source", FAR), ("destination", FARTHER))
    }
    request = {
        "source": {**ends["source"], "paths": [str(source)]},
        "destination": {**ends["destination"], "path": str(tmp_path / "out")},
        "preTest": False,
        "relays": {"pairs": 1},
    }
    arn = account.start_slowly(request, "far")
    account.lift_once_joined("far", 1)
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    for region in REGIONS:
        relays = account.launched("far", region)
        assert len(relays) == (region in (FAR, FARTHER))
        assert all(relay["State"]["Name"] == "terminated" for relay in relays)
        assert account.rules("far", region) == []


@only_full
def test_every_regions_instance_events_arrive_at_the_home(account: Account) -> None:
    cloud = account.cloud
    sqs, events = cloud.client("sqs"), cloud.client("events")
    queue, arn = open_queue(sqs, "seen", "events.amazonaws.com")
    pattern = {"source": ["aws.ec2"], "detail": {"state": ["terminated"]}}
    events.put_rule(Name="seen", EventBusName="cpt", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="seen", EventBusName="cpt", Targets=[{"Id": "seen", "Arn": arn}])
    ended = {region: cloud.launch_vm(region, "ends") for region in REGIONS}
    for region, instance in ended.items():
        cloud.client("ec2", region).terminate_instances(InstanceIds=[instance])
    seen: dict[str, str] = {}

    def all_seen() -> bool:
        for message in sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", []):
            event = json.loads(message["Body"])
            seen[event["region"]] = event["detail"]["instance-id"]
        return seen == ended

    cloud.wait_for(all_seen, 20)
