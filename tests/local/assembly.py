"""A small cloud assembly, written by hand, for the probes: what `cdk synth` writes, with one function."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from local.endpoints import IMAGE

HOME, OTHER = "us-west-2", "eu-west-1"
ASSET = "probe-code"
SOURCES = ["probe", "aws.ec2", "aws.ssm"]
CODE = """
import json, os, sys, time

import boto3


class NoCapacity(Exception):
    pass


calls = 0


def read_batch(event, context):
    # Notes each message with its batch; answers as a message says, or that those failed that say so.
    records = event["Records"]
    failures, answer = [], None
    for record in records:
        told = json.loads(record["body"])
        detail = {**told["detail"], "batch": len(records), "receives": record["attributes"]["ApproximateReceiveCount"]}
        key = f"{context.aws_request_id} {record['messageId']}"
        note = {"id": {"S": key}, "event": {"S": json.dumps({**told, "detail": detail})}}
        boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item=note)
        if detail.get("fails"):
            failures.append({"itemIdentifier": record["messageId"]})
        answer = detail.get("answer", answer)
        if detail.get("raises"):
            raise NoCapacity("a batch")
    return {"batchItemFailures": failures} if answer is None else answer


def handler(event, context):
    global calls
    calls += 1
    if "Records" in event:
        return read_batch(event, context)
    action = event.get("action") or event.get("detail", {}).get("action", "note")
    if action == "raise":
        raise NoCapacity(event["message"])
    if action == "sleep":
        time.sleep(event["seconds"])
    if action == "compute":
        os.sched_setaffinity(0, {event["core"]})
        until = time.process_time() + event["seconds"]
        while time.process_time() < until:
            pass
    if action == "large":
        return "x" * event["bytes"]
    if action == "say":
        for number in range(event["lines"]):
            print(event["mark"], number)
    if action == "identity":
        return {
            "arn": boto3.client("sts").get_caller_identity()["Arn"],
            "paths": sys.path,
            "python": f"python{sys.version_info.major}.{sys.version_info.minor}",
            "environment": dict(os.environ),
            "pid": os.getpid(),
            "calls": calls,
            "remaining": context.get_remaining_time_in_millis(),
        }
    if action == "invoked":
        return context.invoked_function_arn
    if action == "import":
        __import__(event["module"])
    if action == "forbidden":
        boto3.client("dynamodb").scan(TableName="probe-secret")
    if action == "note":
        boto3.client("dynamodb").put_item(
            TableName=os.environ["TABLE"],
            Item={"id": {"S": context.aws_request_id}, "event": {"S": json.dumps(event)}},
        )
    if action == "token":
        boto3.client("dynamodb").put_item(
            TableName=os.environ["TABLE"], Item={"id": {"S": event["name"]}, "token": {"S": event["token"]}}
        )
        time.sleep(event.get("seconds", 0))
    print("a line of log")
    return {"echo": event, "calls": calls}
"""


def write(target: Path, more: Sequence[str] = ()) -> Path:
    """Write the assembly into `target`; `more`: regions with a stack each, beside those of all tests."""
    code = target / f"asset.{ASSET}"
    code.mkdir(parents=True)
    (code / "probe.py").write_text(CODE)
    (code / "probe.py").chmod(0o644)  # as functions' own user must be able to read it, whatever the umask
    stacks = {"probe-control": (HOME, control()), "probe-other": (OTHER, region()), "probe-home": (HOME, region())}
    stacks |= {f"probe-{where}": (where, region()) for where in more}
    artifacts = {}
    for name, (where, template) in stacks.items():
        (target / f"{name}.template.json").write_text(json.dumps(template))
        destination = {"bucketName": f"cdk-hnb659fds-assets-${{AWS::AccountId}}-{where}", "objectKey": f"{ASSET}.zip"}
        asset = {"source": {"path": code.name, "packaging": "zip"}, "destinations": {"here": destination}}
        (target / f"{name}.assets.json").write_text(json.dumps({"files": {ASSET: asset}}))
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "environment": f"aws://unknown-account/{where}",
            "properties": {"templateFile": f"{name}.template.json"},
            "dependencies": [] if name == "probe-control" else ["probe-control"],
        }
    (target / "manifest.json").write_text(json.dumps({"version": "38.0.0", "artifacts": artifacts}))
    return target


def control() -> dict[str, Any]:
    """Functions (one without a log group), tables, bus with a rule and dead letters, schedule, state machine."""
    return {
        "Resources": {
            "Table": table("probe-events"),
            "Secret": table("probe-secret"),
            "Dead": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "probe-dead"}},
            "Role": role("lambda.amazonaws.com", "probe-function", [
                {"Effect": "Allow", "Action": ["dynamodb:PutItem"], "Resource": {"Fn::GetAtt": ["Table", "Arn"]}},
                {
                    "Effect": "Allow",
                    "Action": ["sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
                    "Resource": "*",
                },
                {
                    "Effect": "Allow",
                    "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
                    "Resource": {"Fn::GetAtt": ["Log", "Arn"]},
                },
            ]),
            "Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/aws/lambda/probe"}},
            "Function": function("probe"),
            "Unlogged": function("probe-unlogged"),
            "Invoked": {
                "Type": "AWS::Lambda::Permission",
                "Properties": {
                    "FunctionName": {"Ref": "Function"},
                    "Action": "lambda:InvokeFunction",
                    "Principal": "events.amazonaws.com",
                },
            },
            "Unread": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "probe-unread"}},
            "Queue": {
                "Type": "AWS::SQS::Queue",
                "Properties": {
                    "QueueName": "probe-queue",
                    "VisibilityTimeout": 60,
                    "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["Unread", "Arn"]}, "maxReceiveCount": 3},
                },
            },
            "Sent": {
                "Type": "AWS::SQS::QueuePolicy",
                "Properties": {
                    "Queues": [{"Ref": "Queue"}],
                    "PolicyDocument": {
                        "Version": "2012-10-17",
                        "Statement": [
                            {
                                "Effect": "Deny",
                                "Principal": {"AWS": "*"},
                                "Action": "sqs:*",
                                "Resource": {"Fn::GetAtt": ["Queue", "Arn"]},
                                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                            },
                            {
                                "Effect": "Allow",
                                "Principal": {"Service": "events.amazonaws.com"},
                                "Action": "sqs:SendMessage",
                                "Resource": {"Fn::GetAtt": ["Queue", "Arn"]},
                                "Condition": {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": ["Queued", "Arn"]}}},
                            }
                        ],
                    },
                },
            },
            "Queued": rule({"EventBusName": {"Ref": "Bus"}, "EventPattern": {"source": ["probe.queued"]}}, [
                {"Arn": {"Fn::GetAtt": ["Queue", "Arn"]}, "Id": "queue"},
            ], "probe-queued"),
            "Mapping": {
                "Type": "AWS::Lambda::EventSourceMapping",
                "Properties": {
                    "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]},
                    "FunctionName": {"Ref": "Function"},
                    "BatchSize": 10,
                    "FunctionResponseTypes": ["ReportBatchItemFailures"],
                    "ScalingConfig": {"MaximumConcurrency": 2},
                },
            },
            "Bus": {"Type": "AWS::Events::EventBus", "Properties": {"Name": "probe"}},
            "Rule": rule({"EventBusName": {"Ref": "Bus"}, "EventPattern": {"source": SOURCES}}, [
                {"Arn": {"Fn::GetAtt": ["Function", "Arn"]}, "Id": "function"},
            ], "probe-rule"),
            "Lost": rule({"EventBusName": {"Ref": "Bus"}, "EventPattern": {"source": ["probe.lost"]}}, [
                {
                    "Arn": {"Fn::Sub": "arn:aws:lambda:us-west-2:${AWS::AccountId}:function:absent"},
                    "Id": "absent",
                    "DeadLetterConfig": {"Arn": {"Fn::GetAtt": ["Dead", "Arn"]}},
                },
            ], "probe-lost"),
            "States": rule({"EventPattern": {"source": ["aws.states"]}}, [
                {"Arn": {"Fn::GetAtt": ["Function", "Arn"]}, "Id": "function"},
            ], "probe-states"),
            "SchedulerRole": role("scheduler.amazonaws.com", "probe-scheduler", [
                {"Effect": "Allow", "Action": ["lambda:InvokeFunction"], "Resource": "*"},
            ]),
            "MachineRole": role("states.amazonaws.com", "probe-machine", [
                {"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": {"Fn::GetAtt": ["Function", "Arn"]}},
            ]),
        },
        "Outputs": {
            "FunctionArn": {"Value": {"Fn::GetAtt": ["Function", "Arn"]}},
            "MachineRoleArn": {"Value": {"Fn::GetAtt": ["MachineRole", "Arn"]}},
            "DeadUrl": {"Value": {"Ref": "Dead"}},
            "UnreadUrl": {"Value": {"Ref": "Unread"}},
        },
    }  # fmt: skip


def region() -> dict[str, Any]:
    """Document, launch template, network with a rule as a resource of its own, forwarding to the home region's bus."""
    tags = [{"Key": "from-template", "Value": "yes"}]
    return {
        "Resources": {
            "Document": {"Type": "AWS::SSM::Document", "Properties": {"Name": "probe-document", "Content": DOCUMENT}},
            "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.10.0.0/16"}},
            "Subnet": {
                "Type": "AWS::EC2::Subnet",
                "Properties": {
                    "VpcId": {"Ref": "Vpc"},
                    "CidrBlock": "10.10.0.0/20",
                    "AvailabilityZone": {"Fn::Select": [1, {"Fn::GetAZs": ""}]},
                },
            },
            "Group": {
                "Type": "AWS::EC2::SecurityGroup",
                "Properties": {"GroupName": "cpt-endpoint", "GroupDescription": "ends", "VpcId": {"Ref": "Vpc"}},
            },
            "Ingress": {
                "Type": "AWS::EC2::SecurityGroupIngress",
                "Properties": {"GroupId": {"Ref": "Group"}, "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22,
                               "CidrIp": "192.0.2.1/32"},
            },
            "Role": role("ec2.amazonaws.com", {"Fn::Sub": "probe-relay-${AWS::Region}"}, []),
            "Profile": {
                "Type": "AWS::IAM::InstanceProfile",
                "Properties": {
                    "InstanceProfileName": {"Fn::Sub": "probe-relay-${AWS::Region}"},
                    "Roles": [{"Ref": "Role"}],
                },
            },
            "Template": {
                "Type": "AWS::EC2::LaunchTemplate",
                "Properties": {
                    "LaunchTemplateName": "probe-relay",
                    "LaunchTemplateData": {
                        "ImageId": IMAGE,
                        "IamInstanceProfile": {"Arn": {"Fn::GetAtt": ["Profile", "Arn"]}},
                        "TagSpecifications": [{"ResourceType": "instance", "Tags": tags}],
                        "UserData": {"Fn::Base64": USER_DATA},
                    },
                },
            },
            "ForwardRole": role("events.amazonaws.com", {"Fn::Sub": "probe-forward-${AWS::Region}"}, [
                {"Effect": "Allow", "Action": ["events:PutEvents"], "Resource": "arn:aws:events:*:*:event-bus/probe"},
            ]),
            "Forward": rule({"EventPattern": {"source": ["aws.ec2", "aws.ssm"]}}, [
                {
                    "Arn": {"Fn::Sub": "arn:aws:events:us-west-2:${AWS::AccountId}:event-bus/probe"},
                    "Id": "bus",
                    "RoleArn": {"Fn::GetAtt": ["ForwardRole", "Arn"]},
                },
            ], "probe-forward"),
        },
        "Outputs": {
            "GroupId": {"Value": {"Ref": "Group"}},
            "SubnetId": {"Value": {"Ref": "Subnet"}},
        },
    }  # fmt: skip


USER_DATA = '#!/bin/bash\nshutdown -P +720\ndate >"$HOME/booted"\n'

DOCUMENT = {
    "schemaVersion": "2.2",
    "parameters": {
        "Name": {"type": "String", "allowedPattern": "^[a-z $;]+$", "interpolationType": "ENV_VAR"},
        "Plain": {"type": "String", "default": "plain"},
        "Seconds": {"type": "String", "default": "10"},
        "Script": {"type": "String", "default": "true"},
    },
    "mainSteps": [
        {
            "action": "aws:runShellScript",
            "name": "run",
            "inputs": {
                "timeoutSeconds": "{{ Seconds }}",
                "runCommand": ['echo "$SSM_Name"', 'echo "{{ Name }} {{ Plain }}"', "{{ Script }}"],
            },
        }
    ],
}


def function(name: str) -> dict[str, Any]:
    """A function that runs `CODE`."""
    return {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "FunctionName": name,
            "Handler": "probe.handler",
            "Runtime": "python3.13",
            "Architectures": ["x86_64"],
            "Timeout": 2,
            "Role": {"Fn::GetAtt": ["Role", "Arn"]},
            "Code": {
                "S3Bucket": {"Fn::Sub": "cdk-hnb659fds-assets-${AWS::AccountId}-us-west-2"},
                "S3Key": f"{ASSET}.zip",
            },
            "Environment": {"Variables": {"TABLE": {"Ref": "Table"}}},
            "DeadLetterConfig": {"TargetArn": {"Fn::GetAtt": ["Dead", "Arn"]}},
        },
    }


def table(name: str) -> dict[str, Any]:
    """A table with the key `id`."""
    return {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        },
    }


def role(service: str, name: Any, statements: list[dict[str, Any]]) -> dict[str, Any]:
    """A role for a service with one inline policy."""
    trust = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    policies = [
        {"PolicyName": "probe", "PolicyDocument": {"Version": "2012-10-17", "Statement": statements}}
    ] if statements else []  # fmt: skip
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "RoleName": name,
            "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trust]},
            "Policies": policies,
        },
    }


def rule(properties: dict[str, Any], targets: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """A rule with targets."""
    return {"Type": "AWS::Events::Rule", "Properties": {"Name": name, "Targets": targets, **properties}}
