"""Instances: launched as on AWS, real behind the API."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from tests.local.assembly import HOME, OTHER
from tests.local.conftest import noted

Shell = Callable[..., dict[str, Any]]


def launch(cloud: LocalCloud, region: str = HOME, **options: Any) -> dict[str, Any]:
    request = {
        "LaunchTemplate": {"LaunchTemplateName": "probe-relay", "Version": "$Latest"},
        "InstanceType": "t3.small",
        "MinCount": 1,
        "MaxCount": 1,
        **options,
    }
    return dict(cloud.client("ec2", region).run_instances(**request)["Instances"][0])


def describe(cloud: LocalCloud, instance_id: str, region: str = HOME) -> dict[str, Any]:
    ec2 = cloud.client("ec2", region)
    found = ec2.describe_instances(Filters=[{"Name": "instance-id", "Values": [instance_id]}])["Reservations"]
    return dict(found[0]["Instances"][0])


def state(cloud: LocalCloud, instance_id: str, region: str = HOME) -> str:
    return str(describe(cloud, instance_id, region)["State"]["Name"])


def online(cloud: LocalCloud, instance_id: str, region: str = HOME) -> None:
    ssm = cloud.client("ssm", region)
    filters = [{"Key": "InstanceIds", "Values": [instance_id]}]
    cloud.wait_for(lambda: ssm.describe_instance_information(Filters=filters)["InstanceInformationList"], 10)


def end(cloud: LocalCloud, instance_id: str, region: str = HOME) -> None:
    cloud.client("ec2", region).terminate_instances(InstanceIds=[instance_id])
    cloud.wait_for(lambda: state(cloud, instance_id, region) == "terminated", 10)


def test_life_of_an_instance_is_told_by_events_on_the_forwarded_bus(cloud: LocalCloud) -> None:
    instance = launch(cloud, OTHER)
    instance_id = instance["InstanceId"]
    assert instance["State"]["Name"] == "pending"
    assert "PublicIpAddress" not in instance
    cloud.wait_for(lambda: state(cloud, instance_id, OTHER) == "running", 10)
    assert describe(cloud, instance_id, OTHER)["PublicIpAddress"].startswith("127.111.")
    online(cloud, instance_id, OTHER)
    end(cloud, instance_id, OTHER)
    cloud.wait_for(lambda: len(noted(cloud, **{"instance-id": instance_id})) == 4, 10)
    told = noted(cloud, **{"instance-id": instance_id})
    states = {event["detail"]["state"] for event in told}
    assert states == {"pending", "running", "shutting-down", "terminated"}
    assert {event["region"] for event in told} == {OTHER}


def test_template_gives_image_profile_and_tags_the_request_gives_the_network(cloud: LocalCloud) -> None:
    outputs = cloud.outputs["probe-home"]
    instance = launch(
        cloud,
        NetworkInterfaces=[{"DeviceIndex": 0, "SubnetId": outputs["SubnetId"], "Groups": [outputs["GroupId"]]}],
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "own", "Value": "a"}]}],
    )
    assert instance["SubnetId"] == outputs["SubnetId"]
    assert instance["SecurityGroups"] == [{"GroupId": outputs["GroupId"], "GroupName": "cpt-endpoint"}]
    assert instance["Placement"]["AvailabilityZone"] == "us-west-2b"
    assert instance["IamInstanceProfile"]["Arn"].endswith("instance-profile/probe-relay-us-west-2")
    assert {tag["Key"] for tag in instance["Tags"]} == {"from-template", "own"}
    assert instance["MetadataOptions"]["HttpTokens"] == "required"
    end(cloud, instance["InstanceId"])


def test_same_client_token_is_the_same_launch(cloud: LocalCloud) -> None:
    first, second = (launch(cloud, ClientToken="token-1") for _ in range(2))
    assert first["InstanceId"] == second["InstanceId"]
    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        launch(cloud, ClientToken="token-1", InstanceType="c6in.large")
    end(cloud, first["InstanceId"])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"LaunchTemplate": {"LaunchTemplateName": "absent"}}, "InvalidLaunchTemplateName.NotFoundException"),
        ({"SubnetId": "subnet-00000000000000000"}, "InvalidSubnetID.NotFound"),
        ({"SecurityGroupIds": ["sg-00000000000000000"]}, "InvalidGroup.NotFound"),
        ({"ImageId": "ami-00000000000000000"}, "InvalidAMIID.NotFound"),
        ({"IamInstanceProfile": {"Name": "absent"}}, "InvalidParameterValue"),
    ],
)
def test_launch_with_what_does_not_exist_is_refused(cloud: LocalCloud, options: dict[str, Any], code: str) -> None:
    with pytest.raises(ClientError, match=code):
        launch(cloud, **options)


def test_dry_run_says_that_it_would_succeed_and_launches_nothing(cloud: LocalCloud, vm: str) -> None:
    ec2 = cloud.client("ec2")
    before = len(ec2.describe_instances()["Reservations"])
    with pytest.raises(ClientError, match="DryRunOperation"):
        launch(cloud, DryRun=True)
    with pytest.raises(ClientError, match="DryRunOperation"):
        ec2.terminate_instances(InstanceIds=[vm], DryRun=True)
    with pytest.raises(ClientError, match=r"InvalidSubnetID\.NotFound"):
        launch(cloud, DryRun=True, SubnetId="subnet-0123456789abcdef0")
    assert len(ec2.describe_instances()["Reservations"]) == before
    assert state(cloud, vm) == "running"


def test_new_instance_may_not_be_found_once(cloud: LocalCloud, vm: str) -> None:
    instance_id = launch(cloud)["InstanceId"]
    ec2 = cloud.client("ec2")
    with pytest.raises(ClientError, match=r"InvalidInstanceID\.NotFound"):
        ec2.describe_instances(InstanceIds=[instance_id])
    assert ec2.describe_instances(InstanceIds=[instance_id])["Reservations"]
    end(cloud, instance_id)


def test_filters_select_and_unknown_ones_are_refused(cloud: LocalCloud, vm: str) -> None:
    instance_id = launch(cloud, InstanceMarketOptions={"MarketType": "spot"})["InstanceId"]
    ec2 = cloud.client("ec2")

    def ids(*filters: tuple[str, str]) -> set[str]:
        pages = ec2.get_paginator("describe_instances").paginate(
            Filters=[{"Name": name, "Values": [value]} for name, value in filters]
        )
        return {item["InstanceId"] for page in pages for group in page["Reservations"] for item in group["Instances"]}

    assert ids(("tag:from-template", "yes"), ("instance-id", instance_id)) == {instance_id}
    assert instance_id in ids(("instance-lifecycle", "spot"))
    assert vm not in ids(("tag-key", "from-template"))
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        ids(("no-such-filter", "a"))
    end(cloud, instance_id)
    assert instance_id not in ids(("instance-state-name", "running"))


def test_instance_types_have_network_figures(cloud: LocalCloud) -> None:
    ec2 = cloud.client("ec2")
    found = ec2.describe_instance_types(InstanceTypes=["c7gn.xlarge", "t3.small"])["InstanceTypes"]
    types = {item["InstanceType"]: item for item in found}
    card = types["c7gn.xlarge"]["NetworkInfo"]["NetworkCards"][0]
    assert (card["BaselineBandwidthInGbps"], card["PeakBandwidthInGbps"]) == (12.5, 40.0)
    assert types["c7gn.xlarge"]["ProcessorInfo"]["SupportedArchitectures"] == ["arm64"]
    assert types["t3.small"]["VCpuInfo"]["DefaultVCpus"] == 2
    with pytest.raises(ClientError, match="InvalidInstanceType"):
        ec2.describe_instance_types(InstanceTypes=["z9.huge"])


def test_bandwidth_is_weighted_for_types_that_take_it_and_refused_for_others(cloud: LocalCloud) -> None:
    def weighted(kind: str, weighting: str) -> str:
        wish = {"BandwidthWeighting": weighting}
        instance_id = launch(cloud, InstanceType=kind, NetworkPerformanceOptions=wish)["InstanceId"]
        found = str(describe(cloud, instance_id)["NetworkPerformanceOptions"]["BandwidthWeighting"])
        end(cloud, instance_id)
        return found

    types = cloud.client("ec2").describe_instance_types(InstanceTypes=["m8i.large"])["InstanceTypes"]
    assert types[0]["NetworkInfo"]["BandwidthWeightings"] == ["default", "ebs-1", "vpc-1"]
    assert weighted("m8i.large", "vpc-1") == "vpc-1"
    with pytest.raises(ClientError, match="does not support the bandwidth weighting 'vpc-1'"):
        weighted("t3.small", "vpc-1")
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        weighted("m8i.large", "vpc-2")


def test_regions_are_separate(cloud: LocalCloud, vm: str) -> None:
    with pytest.raises(ClientError, match=r"InvalidInstanceID\.NotFound"):
        cloud.client("ec2", OTHER).describe_instances(InstanceIds=[vm])


def test_metadata_service_wants_a_token_and_knows_the_instance(cloud: LocalCloud, shell: Shell, vm: str) -> None:
    script = """
url="$AWS_EC2_METADATA_SERVICE_ENDPOINT/latest"
curl -s -o /dev/null -w '%{http_code}\\n' "$url/meta-data/instance-id"
token=$(curl -s -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$url/api/token")
for path in instance-id local-ipv4 public-ipv4 placement/region placement/availability-zone; do
  curl -s -H "X-aws-ec2-metadata-token: $token" "$url/meta-data/$path"; echo
done
aws sts get-caller-identity --region us-west-2 --query Arn --output text
"""
    lines = shell(vm, script)["StandardOutputContent"].splitlines()
    known = describe(cloud, vm)
    zone = known["Placement"]["AvailabilityZone"]
    assert lines[:-1] == ["401", vm, known["PrivateIpAddress"], known["PublicIpAddress"], HOME, zone]
    assert lines[-1].endswith(f":assumed-role/local-vm/{vm}")


def test_caps_go_by_type_and_counted_launches(cloud: LocalCloud, shell: Shell) -> None:
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "role", "Value": "relay"}]}]
    caps = []
    for kind in ("t3.small", "c7gn.large"):
        instance_id = launch(cloud, InstanceType=kind, TagSpecifications=tags)["InstanceId"]
        online(cloud, instance_id)
        limits = shell(instance_id, 'cat "$CPT_RATE_LIMITS"')["StandardOutputContent"]
        caps.append([entry["megabytesPerSecond"] for entry in json.loads(limits)])
        end(cloud, instance_id)
    assert caps == [[160, 160, 20], [40, 40, 10]]


def test_user_data_runs_at_boot_and_shutdown_terminates(cloud: LocalCloud, shell: Shell) -> None:
    instance_id = launch(cloud)["InstanceId"]
    online(cloud, instance_id)
    # The agent is online before user data has run to its end.
    booted = 'until [ -s "$HOME/booted" ]; do sleep 0.05; done'
    done = shell(instance_id, f"{booted}; systemctl is-active local-shutdown && shutdown now")
    assert done["StandardOutputContent"] == "active\n", done
    cloud.wait_for(lambda: state(cloud, instance_id) == "terminated", 10)


def test_last_shutdown_counts_and_its_minutes_take_as_long_as_configured(cloud: LocalCloud, shell: Shell) -> None:
    instance_id = launch(cloud)["InstanceId"]
    online(cloud, instance_id)
    shell(instance_id, "shutdown -P --no-wall +1; shutdown -P --no-wall +600; shutdown -P --no-wall +2")
    cloud.wait_for(lambda: state(cloud, instance_id) == "terminated", 20)


def test_termination_ends_every_process_and_keeps_the_logs(cloud: LocalCloud, shell: Shell) -> None:
    instance_id = launch(cloud)["InstanceId"]
    online(cloud, instance_id)
    shell(instance_id, "systemd-run --unit=cpt-left sh -c 'echo here; trap \"\" TERM; sleep 543 & sleep 543'")
    end(cloud, instance_id)
    assert not any(b"sleep\x00543" in command_line(entry) for entry in Path("/proc").glob("[0-9]*"))
    assert not (cloud.state.instances / instance_id).exists()
    assert (cloud.state.logs / "instances" / instance_id / "cpt-left.log").read_text() == "here\n"


def test_stopped_instance_keeps_its_disk_and_comes_back_at_another_address(cloud: LocalCloud, shell: Shell) -> None:
    instance_id = launch(cloud, UserData="#!/bin/sh\necho boot >>$CPT_HOME/boots\n")["InstanceId"]
    ec2 = cloud.client("ec2", HOME)
    online(cloud, instance_id)
    # The agent is online before user data has run to its end.
    done = shell(
        instance_id, 'until [ -s "$CPT_HOME/boots" ]; do sleep 0.05; done; systemd-run --unit=cpt-left sleep 544'
    )
    assert done["Status"] == "Success", done["StandardErrorContent"]
    before = addresses(cloud, instance_id)
    ec2.stop_instances(InstanceIds=[instance_id])
    with pytest.raises(ClientError, match="IncorrectInstanceState"):
        ec2.start_instances(InstanceIds=[instance_id])
    cloud.wait_for(lambda: state(cloud, instance_id) == "stopped", 20)
    assert not any(b"sleep\x00544" in command_line(entry) for entry in Path("/proc").glob("[0-9]*"))
    ec2.start_instances(InstanceIds=[instance_id])
    online(cloud, instance_id)
    after = addresses(cloud, instance_id)
    assert (after[0], after[1] != before[1]) == (before[0], True)
    done = shell(instance_id, 'cat "$CPT_HOME/boots"; systemctl list-units')
    assert (done["StandardOutputContent"], done["StandardErrorContent"]) == ("boot\n", "")
    end(cloud, instance_id)


def addresses(cloud: LocalCloud, instance_id: str) -> tuple[str, str]:
    instance = describe(cloud, instance_id)
    return instance["PrivateIpAddress"], instance["PublicIpAddress"]


def command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_spot_interruption_warns_before_it_terminates(cloud: LocalCloud) -> None:
    instance_id = launch(cloud, InstanceMarketOptions={"MarketType": "spot"})["InstanceId"]
    online(cloud, instance_id)
    cloud.interrupt(instance_id)
    cloud.wait_for(lambda: state(cloud, instance_id) == "terminated", 10)
    warning = cloud.wait_for(lambda: noted(cloud, **{"instance-id": instance_id, "instance-action": "terminate"}), 10)
    assert warning[0]["detail-type"] == "EC2 Spot Instance Interruption Warning"


def test_calls_to_other_regions_take_longer(cloud: LocalCloud, vm: str) -> None:
    def seconds(region: str) -> float:
        client = cloud.client("ec2", region)
        taken = []
        for _ in range(8):
            began = time.monotonic()
            client.describe_vpcs()
            taken.append(time.monotonic() - began)
        return min(taken)  # a busy machine makes some of them late, and none early

    assert seconds(OTHER) > seconds(HOME) + 0.02


def test_rules_are_tagged_found_and_counted_once(cloud: LocalCloud) -> None:
    ec2 = cloud.client("ec2")
    group = cloud.outputs["probe-home"]["GroupId"]
    permission = {"IpProtocol": "tcp", "FromPort": 4600, "ToPort": 4600, "IpRanges": [{"CidrIp": "127.10.0.9/32"}]}
    tags = [{"ResourceType": "security-group-rule", "Tags": [{"Key": "cpt:transfer", "Value": "t1"}]}]
    for authorize in (ec2.authorize_security_group_ingress, ec2.authorize_security_group_egress):
        authorize(GroupId=group, IpPermissions=[permission], TagSpecifications=tags)
        with pytest.raises(ClientError, match=r"InvalidPermission\.Duplicate"):
            authorize(GroupId=group, IpPermissions=[permission])
    filters = [{"Name": "tag:cpt:transfer", "Values": ["t1"]}]
    rules = ec2.describe_security_group_rules(Filters=filters)["SecurityGroupRules"]
    assert {(rule["IsEgress"], rule["CidrIpv4"]) for rule in rules} == {
        (False, "127.10.0.9/32"),
        (True, "127.10.0.9/32"),
    }
    for revoke, egress in (
        (ec2.revoke_security_group_ingress, False),
        (ec2.revoke_security_group_egress, True),
    ):
        ids = [rule["SecurityGroupRuleId"] for rule in rules if rule["IsEgress"] == egress]
        revoke(GroupId=group, SecurityGroupRuleIds=ids)
        with pytest.raises(ClientError, match=r"InvalidPermission\.NotFound"):
            revoke(GroupId=group, IpPermissions=[permission])
    assert not ec2.describe_security_group_rules(Filters=filters)["SecurityGroupRules"]


def test_rule_as_a_resource_of_its_own_is_in_the_group(cloud: LocalCloud) -> None:
    group = cloud.outputs["probe-home"]["GroupId"]
    found = cloud.client("ec2").describe_security_groups(GroupIds=[group])["SecurityGroups"][0]
    assert [item["IpRanges"][0]["CidrIp"] for item in found["IpPermissions"] if item["FromPort"] == 22] == [
        "192.0.2.1/32"
    ]
