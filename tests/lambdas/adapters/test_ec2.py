"""EC2 adapters against moto."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from lambdas.adapters.ec2 import Ec2Compute
from lambdas.adapters.records import LaunchError, LaunchRequest
from lambdas.adapters.security_groups import Ec2SecurityGroups
from lambdas.core.errors import MissingPermission, TooManyRules
from lambdas.core.fleet.launch_decision import LaunchDecision, decide_launch


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    # To make a thousand of Amazon's images takes more than a second, for each test.
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    with mock_aws():
        client = boto3.client("ec2", region_name="us-west-2")
        image = client.register_image(Name="relay")["ImageId"]
        client.create_launch_template(LaunchTemplateName="cpt-relay", LaunchTemplateData={"ImageId": image})
        yield client


@pytest.fixture
def network(ec2: Any) -> tuple[str, str, str]:
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/20")["Subnet"]["SubnetId"]
    group = ec2.create_security_group(GroupName="cpt-relay", Description="x", VpcId=vpc)["GroupId"]
    return vpc, subnet, group


def order(network: tuple[str, str, str], count: int = 2, template: str = "t3.small", **changes: Any) -> LaunchRequest:
    values: dict[str, Any] = {
        "transfer_id": "first",
        "role": "source",
        "instance_type": template,
        "count": count,
        "subnet_id": network[1],
        "group_id": network[2],
        "public_address": True,
        "spot": False,
        "client_token": "t" * 64,
    }
    return LaunchRequest(**{**values, **changes})


def test_relays_are_launched_found_by_their_tag_and_terminated(ec2: Any, network: tuple[str, str, str]) -> None:
    compute = Ec2Compute(ec2, "cpt", ec2)
    launched = compute.launch(order(network))
    assert len(launched) >= 1
    ids = [instance.instance_id for instance in launched]
    found = compute.of_transfer("first")
    assert sorted(i.instance_id for i in found) == ids
    assert (found[0].vpc_id, found[0].subnet_id, found[0].instance_type) == (network[0], network[1], "t3.small")
    assert compute.of_transfer("second") == []
    assert [(i.instance_id, i.transfer_id) for i in compute.of_deployment()] == [(id_, "first") for id_ in ids]
    assert Ec2Compute(ec2, "other", ec2).of_deployment() == []
    assert Ec2Compute(ec2, "other", ec2).of_transfer("first") == []
    compute.terminate(ids)
    assert compute.of_transfer("first") == []
    assert all(instance.gone for instance in compute.describe(ids))


def test_unknown_ids_are_left_out_and_terminating_them_is_fine(ec2: Any, network: tuple[str, str, str]) -> None:
    compute = Ec2Compute(ec2, "cpt", ec2)
    (known, *_) = compute.launch(order(network, 1))
    unknown = "i-0123456789abcdef0"
    assert [i.instance_id for i in compute.describe([unknown, known.instance_id])] == [known.instance_id]
    compute.terminate([unknown, known.instance_id])
    assert compute.of_transfer("first") == []
    assert compute.describe([]) == []


def test_refused_launch_carries_ec2s_code(ec2: Any, network: tuple[str, str, str]) -> None:
    with pytest.raises(LaunchError) as error:
        Ec2Compute(ec2, "cpt", ec2).launch(order(network, subnet_id="subnet-00000000000000000"))
    assert error.value.code == "InvalidSubnetID.NotFound"


def test_launch_without_an_answer_is_tried_again_later(ec2: Any, network: tuple[str, str, str]) -> None:
    once = Config(retries={"total_max_attempts": 1})
    nobody = boto3.client("ec2", region_name="us-west-2", endpoint_url="http://127.0.0.1:9", config=once)
    with pytest.raises(LaunchError) as error:
        Ec2Compute(ec2, "cpt", nobody).launch(order(network))
    assert decide_launch(error.value.code) is LaunchDecision.RETRY_LATER


def test_launch_asks_for_what_the_borders_say(ec2: Any, network: tuple[str, str, str]) -> None:
    arguments = Ec2Compute(ec2, "cpt", ec2)._run_arguments(order(network, 3, spot=True))
    assert (arguments["MinCount"], arguments["MaxCount"], arguments["InstanceType"]) == (1, 3, "t3.small")
    assert arguments["LaunchTemplate"] == {"LaunchTemplateName": "cpt-relay", "Version": "$Latest"}
    (interface,) = arguments["NetworkInterfaces"]
    assert interface["AssociatePublicIpAddress"] is True
    assert arguments["InstanceMarketOptions"]["MarketType"] == "spot"
    tags = {tag["Key"]: tag["Value"] for tag in arguments["TagSpecifications"][0]["Tags"]}
    assert (tags["cpt:transfer"], tags["cpt:role"], tags["cpt:deployment"]) == ("first", "source", "cpt")


def test_relays_and_their_disks_carry_the_tags_of_the_request(ec2: Any, network: tuple[str, str, str]) -> None:
    arguments = Ec2Compute(ec2, "cpt", ec2)._run_arguments(order(network, tags={"team": "storage"}))
    for kind in arguments["TagSpecifications"]:
        keys = [tag["Key"] for tag in kind["Tags"]]
        assert "team" in keys
        assert len(keys) == len(set(keys)), "EC2 refuses a key that is given twice"


def test_arm_relays_are_launched_from_the_template_with_an_arm_image(ec2: Any, network: tuple[str, str, str]) -> None:
    arguments = Ec2Compute(ec2, "cpt", ec2)._run_arguments(order(network, template="c7gn.large"))
    assert arguments["LaunchTemplate"] == {"LaunchTemplateName": "cpt-relay-arm64", "Version": "$Latest"}


def test_group_that_is_full_says_which_quota_to_raise(ec2: Any, network: tuple[str, str, str]) -> None:
    groups = Ec2SecurityGroups(ec2, "cpt")
    for number in range(60):
        groups.admit(network[2], f"54.0.1.{number}", 4600, "first")
    with pytest.raises(TooManyRules, match=r"60 rules by default.*'Inbound or outbound rules per security group'"):
        groups.admit(network[2], "54.0.0.1", 4600, "first")
    groups.revoke(groups.rules())


def test_rules_are_admitted_once_listed_and_revoked(ec2: Any, network: tuple[str, str, str]) -> None:
    groups = Ec2SecurityGroups(ec2, "cpt")
    vpc, _, group = network
    assert groups.find("cpt-relay", vpc) == group
    assert groups.find("cpt-endpoint", vpc) is None
    groups.admit(group, "54.0.0.1", 4600, "first")
    groups.admit(group, "54.0.0.1", 4600, "second")
    groups.admit(group, "54.0.0.1", 4601, "second")
    groups.admit(group, "54.0.0.2", 4600, "second")
    found = {(rule.address, rule.port, rule.transfer_id) for rule in groups.rules()}
    assert found == {("54.0.0.1", 4600, "first"), ("54.0.0.1", 4601, "second"), ("54.0.0.2", 4600, "second")}
    groups.revoke(groups.rules()[:1])
    assert len(groups.rules()) == 2
    groups.revoke(groups.rules())
    groups.revoke([])
    assert groups.rules() == []


class Strict:
    """EC2 that refuses a call for all rules if one of them is unknown, as AWS does and moto does not."""

    def __init__(self, ec2: Any) -> None:
        self._ec2 = ec2

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ec2, name)

    def revoke_security_group_ingress(self, *, GroupId: str, SecurityGroupRuleIds: list[str]) -> None:  # noqa: N803
        rules = self._ec2.describe_security_group_rules()["SecurityGroupRules"]
        if not {rule["SecurityGroupRuleId"] for rule in rules}.issuperset(SecurityGroupRuleIds):
            raise refusal("InvalidSecurityGroupRuleId.NotFound")
        self._ec2.revoke_security_group_ingress(GroupId=GroupId, SecurityGroupRuleIds=SecurityGroupRuleIds)


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "RevokeSecurityGroupIngress")


def test_rules_that_another_teardown_has_revoked_are_no_error(ec2: Any, network: tuple[str, str, str]) -> None:
    groups = Ec2SecurityGroups(Strict(ec2), "cpt")  # type: ignore[arg-type]
    for number in range(3):
        groups.admit(network[2], f"54.0.0.{number}", 4600, "first")
    listed = groups.rules()
    Ec2SecurityGroups(ec2, "cpt").revoke(listed[:1])
    groups.revoke(listed)
    assert groups.rules() == []
    groups.revoke(listed)


def test_a_rule_that_may_not_be_revoked_names_the_permission(
    ec2: Any, network: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = Ec2SecurityGroups(ec2, "cpt")
    groups.admit(network[2], "54.0.0.1", 4600, "first")
    listed = groups.rules()
    monkeypatch.setattr(ec2, "revoke_security_group_ingress", Mock(side_effect=refusal("UnauthorizedOperation")))
    with pytest.raises(MissingPermission, match="ec2:RevokeSecurityGroupIngress"):
        groups.revoke(listed)


@pytest.mark.parametrize("favours", [True, False])
def test_a_launch_gives_the_network_what_disks_may_move_where_it_is_asked_to(
    ec2: Any,
    network: tuple[str, str, str],
    favours: bool,
) -> None:
    sent: list[dict[str, Any]] = []
    ec2.meta.events.register("provide-client-params.ec2.RunInstances", lambda params, **_: sent.append(params))
    Ec2Compute(ec2, "cpt", ec2).launch(order(network, 1, favours_network=favours))
    wanted = {"BandwidthWeighting": "vpc-1"} if favours else None
    assert [one.get("NetworkPerformanceOptions") for one in sent] == [wanted]
