"""What a user has: an account with two VMs, and the API."""

import json
import logging
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from cli.aws import Aws
from cli.figures import tell_figures
from cli.reporting import read_report
from cli.settings import configuration
from lambdas.core.transfer.partition import Partition, partition_of
from lambdas.core.transfer.record_format import machines_of
from local.cloud import LocalCloud

log = logging.getLogger(__name__)

HOME, OTHER = "us-west-2", "eu-west-1"
END_TYPE = "t3.small"
LOOK_SECONDS = 0.1
# It dies at once and is not started again, as one that has died too often.
KILL_RELAY = "systemctl stop --no-block 'cpt-relay-*'; systemctl kill --signal=KILL 'cpt-relay-*'"
SLOW_MBPS = 8
"""For a transfer that something is to happen to: at 1 MB/s most is left to move then, however busy the machine is.

Once it has been seen, the limit is lifted: nobody waits for the rest.
"""
LARGE = 100_000_000
"""Two minutes as slowly as it begins, five seconds on the direct path (20 MB/s)."""


@dataclass
class Run:
    """A finished execution."""

    arn: str
    status: str
    report: dict[str, Any]
    error: str | None
    cause: str | None


class Account:
    """What a user has: a source VM, a destination VM, and the AWS API."""

    def __init__(self, cloud: LocalCloud, work: Path, ends: tuple[str, str] = (END_TYPE, END_TYPE)) -> None:
        self.cloud, self.work = cloud, work
        self.aws = Aws(HOME, configuration()["name"], cloud.endpoint)
        caps = cloud.config.caps.model_dump(by_alias=True)
        if caps["interRegionMBps"]:
            spawn = cloud.config.boot_seconds + 2  # and the daemon's start
            types = [*ends, *configuration()["instanceTypes"]]
            tell_figures(self.aws, f"{HOME}>{OTHER}", types, caps, spawn)
        self.source = cloud.launch_vm(HOME, "source", ends[0])
        self.destination = cloud.launch_vm(OTHER, "destination", ends[1])
        self.machine = next(
            item["stateMachineArn"]
            for item in self.aws.client("stepfunctions").list_state_machines()["stateMachines"]
            if item["name"] == "cpt-transfer"
        )

    def forget(self) -> None:
        """Nothing is known of the machines, as before the first transfer of a deployment."""
        profiles = self.aws.resource("dynamodb").Table("cpt-profiles")
        for item in profiles.scan()["Items"]:
            profiles.delete_item(Key={name: item[name] for name in ("subject", "regionPair")})

    def request(self, source: Path | str, destination: Path | str, **more: Any) -> dict[str, Any]:
        """A request from the source VM to the destination VM; no pre-test unless asked."""
        return {
            "source": {"instanceId": self.source, "region": HOME, "paths": [str(source)]},
            "destination": {"instanceId": self.destination, "region": OTHER, "path": str(destination)},
            "preTest": False,
            **more,
        }

    def lend(self, region: str, instance_type: str = END_TYPE) -> str:
        """A machine that its owner lends to the deployment."""
        instance = self.cloud.launch_vm(region, "lent", instance_type)
        tags = [{"Key": "cpt:lent-to", "Value": self.aws.deployment}]
        self.cloud.client("ec2", region).create_tags(Resources=[instance], Tags=tags)
        return instance

    def start(self, request: Any, name: str) -> str:
        """Start an execution; returns its ARN."""
        client = self.aws.client("stepfunctions")
        return str(
            client.start_execution(stateMachineArn=self.machine, name=name, input=json.dumps(request))["executionArn"]
        )

    def wait(self, arn: str, seconds: float = 240) -> Run:
        """Wait for its end."""
        client = self.aws.client("stepfunctions")
        execution = self.cloud.wait_for(
            lambda: next((d for d in [client.describe_execution(executionArn=arn)] if d["status"] != "RUNNING"), None),
            seconds,
        )
        run = Run(
            arn, execution["status"], read_report(self.aws, execution), execution.get("error"), execution.get("cause")
        )
        if run.status != "SUCCEEDED":
            # pytest shows it with a test that fails, whatever the test compares.
            log.warning("%s: %s, %s: %s", arn, run.status, run.error, run.cause)
        return run

    def limit(self, transfer_id: str, bandwidth_limit_mbps: int | None) -> None:
        """Limit the rate of a transfer that runs, or with None no longer."""
        self.invoke("cpt-limit-transfer", {"transferId": transfer_id, "bandwidthLimitMbps": bandwidth_limit_mbps})

    def run(self, request: Any, name: str) -> Run:
        """Start and wait."""
        return self.wait(self.start(request, name))

    def start_slowly(self, request: dict[str, Any], name: str) -> str:
        """Start an execution that has most of `LARGE` left, until `lift_once_joined`, however busy the machine is."""
        return self.start({"chunkSizeMiB": 1, "bandwidthLimitMbps": SLOW_MBPS, **request}, name)

    def limit_once_moving(self, transfer_id: str, mbps: int) -> None:
        """Limit a transfer once it moves: in the request, the limit would change its estimate."""
        self.cloud.wait_for(lambda: self.record(transfer_id, "membership"), 60)
        self.limit(transfer_id, mbps)

    def lift_once_joined(self, name: str, pairs: int) -> None:
        """Lift the limit of a transfer as soon as that many pairs take part."""
        self.cloud.wait_for(lambda: sum("joinedAt" in node for node in self.nodes(name)) == 2 * pairs, 90)
        self.limit(name, None)

    def history(self, arn: str) -> list[str]:
        """Names of the states entered, in order."""
        return [
            event["stateEnteredEventDetails"]["name"]
            for event in self.events(arn)
            if "stateEnteredEventDetails" in event
        ]

    def events(self, arn: str) -> list[dict[str, Any]]:
        """The history of an execution, whole."""
        pages = self.aws.client("stepfunctions").get_paginator("get_execution_history").paginate(executionArn=arn)
        return [event for page in pages for event in page["events"]]

    def describe(self, arn: str) -> dict[str, Any]:
        """The execution as Step Functions tells it."""
        return dict(self.aws.client("stepfunctions").describe_execution(executionArn=arn))

    def record(self, transfer_id: str, record: str) -> dict[str, Any] | None:
        """One record of the transfers table: of the control plane's own, or of those that the ends share."""
        key = transfer_id if record == "transfer" else self.shared(transfer_id)
        table = self.aws.resource("dynamodb").Table("cpt-transfers")
        if not key:
            return None
        item = table.get_item(Key={"transferId": key, "record": record}, ConsistentRead=True).get("Item")
        return None if item is None else dict(item)

    def shared(self, transfer_id: str) -> Partition:
        """Key of what the ends of a transfer share; empty before it is accepted."""
        transfer = self.record(transfer_id, "transfer")
        if transfer is None:
            return Partition("")
        ends = machines_of(transfer)
        return partition_of(transfer["executionArn"], ends, transfer_id)

    def progress(self, transfer_id: str) -> dict[str, Any]:
        """The sender's last report."""
        record = self.record(transfer_id, "progress#s0")
        return dict(json.loads(record["document"])) if record else {"sequence": 0, "lanes": []}

    def first_byte_at(self, transfer_id: str) -> float:
        """When the sender sent its first payload byte, Unix time."""
        return float(self.progress(transfer_id)["firstByteAt"])

    def nodes(self, transfer_id: str) -> list[dict[str, Any]]:
        """Relays of the transfer."""
        table = self.aws.resource("dynamodb").Table("cpt-nodes")
        answer = table.query(
            KeyConditionExpression="transferId = :id",
            ExpressionAttributeValues={":id": transfer_id},
            ConsistentRead=True,
        )
        return [dict(item) for item in answer["Items"]]

    def chunks(self, transfer_id: str) -> list[dict[str, Any]]:
        """All chunk items of a transfer."""
        pages = self.aws.resource("dynamodb").meta.client.get_paginator("scan")
        items = (item for page in pages.paginate(TableName="cpt-chunks", ConsistentRead=True) for item in page["Items"])
        return [item for item in items if f"+{transfer_id}#" in str(item["rangeKey"]) and "chunk" in item]

    @property
    def bucket(self) -> str:
        """The control bucket."""
        account = self.aws.client("sts").get_caller_identity()["Account"]
        return f"cpt-control-{account}-{HOME}"

    def rules(self, transfer_id: str, region: str) -> list[dict[str, Any]]:
        """Security-group rules of the transfer."""
        answer = self.cloud.client("ec2", region).describe_security_group_rules(
            Filters=[{"Name": "tag:cpt:transfer", "Values": [transfer_id]}]
        )
        return list(answer["SecurityGroupRules"])

    def shell(self, instance_id: str, region: str, script: str) -> str:
        """Run a script on an instance by Run Command; returns its output."""
        ssm = self.cloud.client("ssm", region)
        command = ssm.send_command(
            InstanceIds=[instance_id], DocumentName="AWS-RunShellScript", Parameters={"commands": [script]}
        )["Command"]["CommandId"]

        def ended() -> dict[str, Any] | None:
            try:
                found: dict[str, Any] = ssm.get_command_invocation(CommandId=command, InstanceId=instance_id)
            except ssm.exceptions.InvocationDoesNotExist:
                return None
            return found if found["Status"] not in ("Pending", "InProgress") else None

        return str(self.cloud.wait_for(ended, 30)["StandardOutputContent"])

    def units(self, instance_id: str, region: str) -> str:
        """Units of CPT that are active on an instance."""
        return self.shell(instance_id, region, "systemctl list-units --no-legend 'cpt-*' || true").strip()

    def invoke(self, function: str, document: dict[str, Any] | None = None) -> None:
        """Invoke a Lambda by hand."""
        payload = json.dumps(document or {}).encode()
        answer = self.aws.client("lambda").invoke(FunctionName=function, Payload=payload)
        assert "FunctionError" not in answer, answer["Payload"].read()

    def look_at(self, transfer_id: str) -> None:
        """What the minute's schedule brings about for a transfer, by hand: returns when all has been looked at."""
        detail = {"schemaVersion": 1, "type": "Look Due", "transferId": transfer_id}
        self.invoke("cpt-reconcile", {"detail-type": "Look Due", "source": "cpt.control", "detail": detail})

    def configure(self, function: str, **variables: str) -> None:
        """Change a Lambda's environment."""
        client = self.aws.client("lambda")
        present = client.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
        client.update_function_configuration(FunctionName=function, Environment={"Variables": {**present, **variables}})

    def change_record(self, transfer_id: str, attribute: str, value: Any) -> None:
        """Set an attribute of record `transfer`, by its path, e.g. `decisions.0.at`: for what no request can bring
        about within a test.
        """
        parts = attribute.split(".")
        names = {f"#{part}": part for part in parts if not part.isdigit()}
        path = "".join(f"[{part}]" if part.isdigit() else f".#{part}" for part in parts).lstrip(".")
        self.aws.resource("dynamodb").Table("cpt-transfers").update_item(
            Key={"transferId": transfer_id, "record": "transfer"},
            UpdateExpression=f"SET {path} = :value",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues={":value": Decimal(str(value))},
        )

    def entered(self, arn: str, state: str, seconds: float = 60) -> None:
        """Wait until an execution has entered a state."""
        self.cloud.wait_for(lambda: state in self.history(arn), seconds)

    def left(self, transfer_id: str) -> dict[str, Any]:
        """Whatever of a transfer must not be left when it is over; empty when nothing is."""
        relays = [r for region in (HOME, OTHER) for r in self.launched(transfer_id, region)]
        prefixes = (f"transfers/{transfer_id}/", f"ends/{self.shared(transfer_id)}/")
        s3 = self.aws.client("s3")
        objects = [o for p in prefixes for o in s3.list_objects_v2(Bucket=self.bucket, Prefix=p).get("Contents", [])]
        kept = [
            f"{prefixes[0]}{name}" for name in ("report.", "files/", "skipped/", "logs/", "entries/")
        ]  # what is told
        if (self.record(transfer_id, "transfer") or {}).get("status") == "FAILED":
            again = ("plan.json", "manifest/", "listing/", "changed/")  # to go on with
            kept += [f"{prefixes[1]}{name}" for name in again]
        locks = (
            self.aws.resource("dynamodb")
            .Table("cpt-transfers")
            .get_item(Key={"transferId": f"lock#{self.destination}", "record": "paths"}, ConsistentRead=True)
        )
        found = {
            "relays": [r["InstanceId"] for r in relays if r["State"]["Name"] != "terminated"],
            "rules": self.rules(transfer_id, HOME) + self.rules(transfer_id, OTHER),
            "daemons": [
                unit
                for machine, region in ((self.source, HOME), (self.destination, OTHER))
                for unit in self.units(machine, region).splitlines()
                if unit.split(maxsplit=1)[0].removesuffix(".service").endswith(f"-{transfer_id}")
            ],
            "lock": transfer_id in locks.get("Item", {}).get("held", {}),
            "objects": [key for o in objects if not (key := o["Key"]).startswith(tuple(kept))],
            "active": "active" in (self.record(transfer_id, "transfer") or {}),
        }
        return {what: left for what, left in found.items() if left}

    def logs(self, transfer_id: str) -> dict[str, str]:
        """What was kept of the logs of a transfer's machines, by the machine's part in it."""
        s3, prefix = self.aws.client("s3"), f"transfers/{transfer_id}/logs/1/"
        keys = [o["Key"] for o in s3.list_objects_v2(Bucket=self.bucket, Prefix=prefix).get("Contents", [])]
        bodies = {key: s3.get_object(Bucket=self.bucket, Key=key)["Body"].read().decode() for key in keys}
        return {key.removeprefix(prefix).removesuffix(".log"): body for key, body in bodies.items()}

    def launched(self, transfer_id: str, region: str) -> list[dict[str, Any]]:
        """Every instance of the transfer in a region, terminated ones included."""
        answer = self.cloud.client("ec2", region).describe_instances(
            Filters=[{"Name": "tag:cpt:transfer", "Values": [transfer_id]}]
        )
        return [instance for reservation in answer["Reservations"] for instance in reservation["Instances"]]
