"""Permissions are asked per resource, with the condition keys that our policies use."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud import LocalCloud
from local.deploy import BOOTSTRAP_KEY
from tests.local.assembly import HOME
from tests.local.conftest import ANY, OWNED, TAGGED, Acting

NAMES = {"#s": "seen", "#f": "fenced"}


@pytest.mark.parametrize(
    ("context", "allowed"),
    [
        (None, False),
        ("arn:aws:s3:::{bucket}/other", False),
        ("arn:aws:s3:::{bucket}/mine", True),
        ("arn:aws:s3:::{bucket}*", True),
    ],
)
def test_an_object_under_a_customers_key_needs_the_key_for_that_object(
    cloud: LocalCloud, acting: Acting, context: str | None, allowed: bool
) -> None:
    account = cloud.config.account
    bucket, key = f"cdk-hnb659fds-assets-{account}-{HOME}", BOOTSTRAP_KEY.format(HOME, account)
    cloud.client("s3").put_object(Bucket=bucket, Key="mine", Body=b"x")
    statements: list[dict[str, Any]] = [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]
    if context is not None:
        only = {
            "kms:ViaService": f"s3.{HOME}.amazonaws.com",
            "kms:EncryptionContext:aws:s3:arn": context.format(bucket=bucket),
        }
        condition = {"StringLike": only}
        statements.append({"Effect": "Allow", "Action": "kms:Decrypt", "Resource": key, "Condition": condition})
    s3 = acting(statements, "s3")
    if allowed:
        assert s3.get_object(Bucket=bucket, Key="mine")["Body"].read() == b"x"
    else:
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.get_object(Bucket=bucket, Key="mine")


def test_rules_need_group_and_tagged_rule(cloud: LocalCloud, acting: Acting) -> None:
    group = cloud.outputs["probe-home"]["GroupId"]
    action = "ec2:AuthorizeSecurityGroupIngress"
    rule = {"Effect": "Allow", "Action": action, "Resource": f"{ANY}:security-group-rule/*", "Condition": TAGGED}
    tag = {**rule, "Action": "ec2:CreateTags"}
    on_group = {"Effect": "Allow", "Action": action, "Resource": f"{ANY}:security-group/*", "Condition": OWNED}
    request = {
        "GroupId": group,
        "IpPermissions": [{"IpProtocol": "tcp", "FromPort": 9, "ToPort": 9, "IpRanges": [{"CidrIp": "192.0.2.9/32"}]}],
        "TagSpecifications": [{"ResourceType": "security-group-rule", "Tags": [{"Key": "owner", "Value": "cpt"}]}],
    }
    ec2 = acting([on_group, rule, tag], "ec2")
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        ec2.authorize_security_group_ingress(**request)
    cloud.client("ec2").create_tags(Resources=[group], Tags=[{"Key": "owner", "Value": "cpt"}])
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        acting([on_group, rule], "ec2").authorize_security_group_ingress(**request)
    made = ec2.authorize_security_group_ingress(**request)["SecurityGroupRules"]
    gone = {"GroupId": group, "SecurityGroupRuleIds": [rule["SecurityGroupRuleId"] for rule in made]}
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        ec2.revoke_security_group_ingress(**gone)
    revoke = {**on_group, "Action": "ec2:RevokeSecurityGroupIngress"}
    acting([revoke], "ec2").revoke_security_group_ingress(**gone)  # the rule is no resource of this action


def test_a_quota_is_a_resource(acting: Acting) -> None:
    asked = {"ServiceCode": "ec2", "QuotaCode": "L-1216C47A"}
    allowed = {"Effect": "Allow", "Action": "servicequotas:GetServiceQuota"}
    own, other = ({**allowed, "Resource": f"arn:aws:servicequotas:*:*:ec2/{code}"} for code in ("L-1216C47A", "L-1"))
    acting([own], "service-quotas").get_service_quota(**asked)
    with pytest.raises(ClientError, match="AccessDenied"):
        acting([other], "service-quotas").get_service_quota(**asked)


def test_commands_need_document_and_instance(acting: Acting, vm: str) -> None:
    document = "arn:aws:ssm:us-west-2:*:document/probe-document"
    on_document: dict[str, Any] = {"Effect": "Allow", "Action": "ssm:SendCommand", "Resource": document}
    on_instances: dict[str, Any] = {"Effect": "Allow", "Action": "ssm:SendCommand", "Resource": f"{ANY}:instance/*"}
    owned = {**on_instances, "Condition": {"StringEquals": {"ssm:resourceTag/Name": "probe"}}}
    foreign = {**on_instances, "Condition": {"StringEquals": {"ssm:resourceTag/Name": "other"}}}
    request = {"InstanceIds": [vm], "DocumentName": "probe-document", "Parameters": {"Name": ["a"]}}
    assert acting([on_document, owned], "ssm").send_command(**request)["Command"]["CommandId"]
    for statements in ([on_document], [on_instances], [on_document, foreign]):
        refused = f"document/{request['DocumentName']}" if on_document not in statements else f"instance/{vm}"
        with pytest.raises(ClientError, match=f"AccessDenied.* on resource: arn:aws:[^ ]*:{refused} because"):
            acting(statements, "ssm").send_command(**request)


def test_items_are_written_within_the_attributes_and_partitions_that_are_granted(acting: Acting) -> None:
    within = {
        "ForAllValues:StringEquals": {"dynamodb:Attributes": ["id", "note", "seen"]},
        "ForAllValues:StringNotLike": {"dynamodb:LeadingKeys": ["lock#*"]},
    }
    actions = ["dynamodb:PutItem", "dynamodb:UpdateItem"]
    dynamodb = acting([{"Effect": "Allow", "Action": actions, "Resource": "*", "Condition": within}], "dynamodb")

    def put(key: str, *names: str) -> None:
        item = {"id": {"S": key}, **{name: {"S": "x"} for name in names}}
        dynamodb.put_item(TableName="probe-events", Item=item)

    def update(key: str, expression: str, condition: str = "attribute_not_exists(note) OR note <> :v") -> None:
        dynamodb.update_item(
            TableName="probe-events",
            Key={"id": {"S": key}},
            UpdateExpression=expression,
            ConditionExpression=condition,
            ExpressionAttributeNames={name: known for name, known in NAMES.items() if name in expression},
            ExpressionAttributeValues={":v": {"S": "a"}},
        )

    put("granted", "note")
    update("granted", "SET #s = :v, note = :v")
    for write, *arguments in (
        (put, "granted", "fenced"),
        (put, "lock#granted"),
        (update, "granted", "SET #s = :v, #f = :v"),
        (update, "granted", "SET #s = :v REMOVE fenced"),
        (update, "granted", "SET #s = :v", "attribute_exists(fenced) OR note = :v"),
        (update, "lock#granted", "SET #s = :v"),
    ):
        with pytest.raises(ClientError, match="AccessDenied"):
            write(*arguments)


def test_policy_variable_stands_for_the_instance_that_asks(cloud: LocalCloud, acting: Acting, vm: str) -> None:
    """Whoever is no instance has no such key: a statement with the variable matches nothing."""
    own = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["${ec2:SourceInstanceARN}+*"]}}
    statement = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*", "Condition": own}
    with pytest.raises(ClientError, match="AccessDenied"):
        acting([statement], "dynamodb").get_item(TableName="probe-events", Key={"id": {"S": f"{vm}+a"}})
    named = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["${aws:PrincipalAccount}+*"]}}
    dynamodb = acting([{**statement, "Condition": named}], "dynamodb")
    account = cloud.client("sts").get_caller_identity()["Account"]
    dynamodb.get_item(TableName="probe-events", Key={"id": {"S": f"{account}+a"}})
    with pytest.raises(ClientError, match="AccessDenied"):
        dynamodb.get_item(TableName="probe-events", Key={"id": {"S": f"other+{account}+a"}})


def test_a_character_that_patterns_use_stands_for_itself_where_a_policy_says_so(
    cloud: LocalCloud, acting: Acting
) -> None:
    owner, bucket = cloud.client("s3"), "starred-keys"
    owner.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": HOME})
    for key in ("a*b/c?d", "axxb/cxd", "a*b/cxd"):
        owner.put_object(Bucket=bucket, Key=key, Body=b"x")
    arn = f"arn:aws:s3:::{bucket}"
    listing = {"Condition": {"StringLike": {"s3:prefix": "a${*}b/*"}}, "Action": "s3:ListBucket", "Resource": arn}
    exact = {"Condition": {"StringEquals": {"s3:prefix": "${$}${*}"}}, "Action": "s3:ListBucket", "Resource": arn}
    reading = {"Action": "s3:GetObject", "Resource": f"{arn}/a${{*}}b/c${{?}}d"}
    s3 = acting([{"Effect": "Allow", **one} for one in (listing, exact, reading)], "s3")
    assert s3.get_object(Bucket=bucket, Key="a*b/c?d")["Body"].read() == b"x"
    assert s3.list_objects_v2(Bucket=bucket, Prefix="a*b/")["KeyCount"] == 2
    assert s3.list_objects_v2(Bucket=bucket, Prefix="$*")["KeyCount"] == 0
    for key in ("axxb/cxd", "a*b/cxd"):
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.get_object(Bucket=bucket, Key=key)
    for prefix in ("axxb/", "$x"):
        with pytest.raises(ClientError, match="AccessDenied"):
            s3.list_objects_v2(Bucket=bucket, Prefix=prefix)


def test_every_call_has_the_partitions_that_it_names(acting: Acting) -> None:
    mine = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["mine*"]}, "Null": {"dynamodb:LeadingKeys": "false"}}
    dynamodb = acting([{"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*", "Condition": mine}], "dynamodb")
    table = "probe-events"

    def query(key: str) -> None:
        values = {":v": {"S": key}}
        dynamodb.query(TableName=table, KeyConditionExpression="id = :v", ExpressionAttributeValues=values)

    def batch(*keys: str) -> None:
        dynamodb.batch_get_item(RequestItems={table: {"Keys": [{"id": {"S": key}} for key in keys]}})

    def write(*keys: str) -> None:
        puts = [{"PutRequest": {"Item": {"id": {"S": key}}}} for key in keys]
        dynamodb.batch_write_item(RequestItems={table: puts})

    query("mine")
    batch("mine", "mine-too")
    write("mine")
    for call, *keys in ((query, "other"), (batch, "mine", "other"), (write, "other", "mine")):
        with pytest.raises(ClientError, match="AccessDenied"):
            call(*keys)
    with pytest.raises(ClientError, match="AccessDenied"):
        dynamodb.scan(TableName=table)


def test_events_are_granted_by_source_and_detail_type(acting: Acting) -> None:
    told = {"ForAllValues:StringEquals": {"events:source": "probe", "events:detail-type": ["Heard"]}}
    events = acting([{"Effect": "Allow", "Action": "events:PutEvents", "Resource": "*", "Condition": told}], "events")
    heard = {"Source": "probe", "DetailType": "Heard", "Detail": "{}"}
    assert events.put_events(Entries=[heard])["FailedEntryCount"] == 0
    for other in ({**heard, "Source": "other"}, {**heard, "DetailType": "Other"}):
        with pytest.raises(ClientError, match="AccessDenied"):
            events.put_events(Entries=[heard, other])


def test_a_rule_is_granted_by_its_name_and_that_of_its_bus(cloud: LocalCloud, acting: Acting) -> None:
    own = cloud.client("events")
    own.create_event_bus(Name="its-bus")
    for bus in ("default", "its-bus"):
        own.put_rule(Name="granted-rule", EventBusName=bus, EventPattern='{"source": ["probe"]}')
        queue = f"arn:aws:sqs:us-west-2:{cloud.config.account}:nowhere"
        own.put_targets(Rule="granted-rule", EventBusName=bus, Targets=[{"Id": "one", "Arn": queue}])
    rules = f"arn:aws:events:us-west-2:{cloud.config.account}:rule/"
    for granted, refused in (("default", "its-bus"), ("its-bus", "default")):
        arn = f"{rules}{'' if granted == 'default' else 'its-bus/'}granted-*"
        actions = ["events:ListTargetsByRule", "events:DisableRule"]
        events = acting([{"Effect": "Allow", "Action": actions, "Resource": arn}], "events")
        assert events.list_targets_by_rule(Rule="granted-rule", EventBusName=granted)["Targets"][0]["Id"] == "one"
        events.disable_rule(Name="granted-rule", EventBusName=granted)
        for call, name in ((events.list_targets_by_rule, "Rule"), (events.disable_rule, "Name")):
            with pytest.raises(ClientError, match="AccessDenied"):
                call(**{name: "granted-rule", "EventBusName": refused})
            with pytest.raises(ClientError, match="AccessDenied"):
                call(**{name: "other", "EventBusName": granted})


def test_each_grant_that_allows_a_call_is_recorded(acting: Acting, vm: str, grants_file: Path) -> None:
    document = "arn:aws:ssm:us-west-2:*:document/probe-document"
    condition = {"StringEquals": {"ssm:resourceTag/Name": "probe"}}
    allowed: list[dict[str, Any]] = [
        {"Effect": "Allow", "Action": "ssm:SendCommand", "Resource": [document, "arn:aws:ssm:*:*:document/other"]},
        {"Effect": "Allow", "Action": "ssm:SendCommand", "Resource": f"{ANY}:instance/*", "Condition": condition},
        {"Effect": "Allow", "Action": "ssm:SendCommand", "Resource": "arn:aws:ec2:eu-west-1:*:instance/*"},
    ]
    ssm = acting(allowed, "ssm")
    grants_file.touch()
    known = len(grants_file.read_text().splitlines())
    for _ in range(2):
        ssm.send_command(InstanceIds=[vm], DocumentName="probe-document", Parameters={"Name": ["a"]})
    used = [json.loads(line) for line in grants_file.read_text().splitlines()[known:]]
    assert [(line["action"], line["resource"], line["condition"]) for line in used] == [
        ("ssm:SendCommand", document, {}),
        ("ssm:SendCommand", f"{ANY}:instance/*", condition),
    ]


def test_a_principal_is_simulated_by_its_whole_arn(cloud: LocalCloud) -> None:
    iam = cloud.client("iam")
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    arn = iam.create_role(Path="/team/", RoleName="with-path", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    granted = {"Effect": "Allow", "Action": "ec2:RunInstances", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [granted]})
    iam.put_role_policy(RoleName="with-path", PolicyName="own", PolicyDocument=policy)
    actions = ["ec2:RunInstances", "ssm:SendCommand"]
    found = iam.simulate_principal_policy(PolicySourceArn=arn, ActionNames=actions)["EvaluationResults"]
    assert [one["EvalDecision"] for one in found] == ["allowed", "implicitDeny"]
    with pytest.raises(iam.exceptions.NoSuchEntityException):
        iam.simulate_principal_policy(PolicySourceArn=arn.replace("/team", ""), ActionNames=actions)


def test_endpoint_counts_as_tls_for_bucket_policies(cloud: LocalCloud) -> None:
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="tls-only", CreateBucketConfiguration={"LocationConstraint": HOME})
    deny = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": ["arn:aws:s3:::tls-only", "arn:aws:s3:::tls-only/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    s3.put_bucket_policy(Bucket="tls-only", Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))
    s3.put_object(Bucket="tls-only", Key="a", Body=b"a")
    assert s3.get_object(Bucket="tls-only", Key="a")["Body"].read() == b"a"
