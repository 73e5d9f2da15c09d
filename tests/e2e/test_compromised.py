"""One end machine, relay or function is in an attacker's hands: what its credentials do to another transfer.

The credentials are those that the machine's metadata service hands out, and the policies are enforced.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lambdas.core.chunks.chunk import item_key, range_key
from lambdas.core.transfer.partition import Partition
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.attacker import Attacker, denied, item, written
from tests.e2e.files import make_files, tree

SIZE = 160_000_000
VICTIM = "victim"
FORGED: dict[str, dict[str, Any]] = {
    "Transfer Failed": {"side": "receiver", "seat": "r0", "epoch": 1, "error": "DestinationError", "cause": "forged"},
    "Transfer Delivered": {"epoch": 1, "bytes": 1, "files": 1, "chunks": 1, "sentBytes": 1},
    "Chunk Failed": {"chunk": 0, "attempt": 1, "pathId": "direct", "reason": "source-changed", "message": "forged"},
    "Relay Lost": {"pathId": "pair-1", "nodeId": "source-1-0", "message": "forged"},
}


def event(kind: str, source: str = "cpt.agent", **detail: Any) -> dict[str, str]:
    body = {"schemaVersion": 1, "type": kind, "transferId": VICTIM, **detail}
    return {"EventBusName": "cpt", "Source": source, "DetailType": kind, "Detail": json.dumps(body)}


@dataclass
class Scene:
    """A transfer under way, and an end of the same deployment that has no part in it."""

    account: Account
    shared: Partition
    attacker: Attacker
    other_arn: str
    execution: str
    work: Path


@pytest.fixture(scope="module")
def scene(account: Account, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """The transfer `victim` moves, and events of it are forged at once."""
    work = tmp_path_factory.mktemp("victim")
    source = make_files(work / "set", large_bytes=SIZE)
    machine = account.cloud.launch_vm(HOME, "attacker", "t3.small")
    attacker = Attacker.on(account, machine)
    # 16 s at 10 MB/s: the events are handled while it moves.
    request = account.request(source, work / "out", relays={"pairs": 0}, bandwidthLimitMbps=80)
    arn = account.start(request, VICTIM)
    account.cloud.wait_for(lambda: account.record(VICTIM, "progress#r0"), 60)
    entries = [event(kind, **detail) for kind, detail in FORGED.items()]
    assert attacker.client("events").put_events(Entries=entries)["FailedEntryCount"] == 0
    owner = account.aws.client("sts").get_caller_identity()["Account"]
    other = f"arn:aws:ec2:{HOME}:{owner}:instance/{machine}"
    return Scene(account, account.shared(VICTIM), attacker, other, arn, work)


def chunk_key(shared: Partition, sort: str) -> dict[str, Any]:
    return {"rangeKey": {"S": range_key(shared, 0)}, "itemKey": {"S": sort}}


RECORDS = ("membership", "fence", "key#s0", "key#r0", "progress#s0", "outcome#s0", "probe#pair-1")


@pytest.mark.parametrize("record", RECORDS)
def test_end_neither_reads_nor_writes_records_of_another_transfer(scene: Scene, record: str) -> None:
    dynamodb = scene.attacker.client("dynamodb")
    denied(dynamodb.get_item, **item(scene.shared, record))
    denied(dynamodb.update_item, **written(scene.shared, record, "document"))
    denied(dynamodb.delete_item, **item(scene.shared, record))


def test_end_reads_no_record_of_the_control_plane(scene: Scene) -> None:
    dynamodb = scene.attacker.client("dynamodb")
    denied(dynamodb.get_item, **item(VICTIM, "transfer"))
    denied(dynamodb.update_item, **written(VICTIM, "transfer", "document"))
    denied(dynamodb.update_item, **written(f"lock#{scene.account.destination}", "paths", "document"))
    denied(dynamodb.scan, TableName="cpt-transfers")
    denied(dynamodb.query, **_partition("cpt-transfers", "transferId", scene.shared))


def test_end_touches_no_chunk_nor_lease_of_another_transfer(scene: Scene) -> None:
    dynamodb = scene.attacker.client("dynamodb")
    table, key = "cpt-chunks", chunk_key(scene.shared, item_key(0))
    denied(dynamodb.query, **_partition(table, "rangeKey", range_key(scene.shared, 0)))
    denied(dynamodb.batch_get_item, RequestItems={table: {"Keys": [key]}})
    mixed = {
        "rangeKey": {"S": range_key(Partition(f"{scene.other_arn}+{scene.other_arn}+own"), 0)},
        "itemKey": key["itemKey"],
    }
    denied(dynamodb.batch_get_item, RequestItems={table: {"Keys": [mixed, key]}})
    for sort in (item_key(0), "lease"):
        change = {key: value for key, value in written("x", "x", "owner").items() if key != "Key"}
        denied(dynamodb.update_item, **{**change, "TableName": table, "Key": chunk_key(scene.shared, sort)})
    denied(dynamodb.scan, TableName=table)


def _partition(table: str, key: str, value: str) -> dict[str, Any]:
    condition = {"KeyConditionExpression": "#k = :v", "ExpressionAttributeNames": {"#k": key}}
    return {"TableName": table, **condition, "ExpressionAttributeValues": {":v": {"S": value}}}


NAMES = ("plan.json", "listing/part-00000.ndjson", "manifest/0/part-00000.ndjson", "digests/r0/part-00000.ndjson")


@pytest.mark.parametrize("name", NAMES)
def test_end_reaches_no_object_of_another_transfer(scene: Scene, name: str) -> None:
    s3, bucket = scene.attacker.client("s3"), scene.account.bucket
    for key in (f"ends/{scene.shared}/{name}", f"transfers/{VICTIM}/{name}"):
        denied(s3.get_object, Bucket=bucket, Key=key)
        denied(s3.put_object, Bucket=bucket, Key=key, Body=b"{}")


def test_end_adds_no_object_beside_those_of_another_transfer(scene: Scene) -> None:
    s3, bucket = scene.attacker.client("s3"), scene.account.bucket
    for name in (f"digests/r0/+{scene.other_arn}+", f"listing/:0:instance/i-{'0' * 17}+{scene.other_arn}+x"):
        denied(s3.put_object, Bucket=bucket, Key=f"ends/{scene.shared}/{name}", Body=b"{}")
    denied(s3.list_objects_v2, Bucket=bucket, Prefix=f"ends/{scene.shared}/")


def test_end_reaches_objects_of_its_own_transfers_of_many_machines_and_of_no_others(scene: Scene) -> None:
    """Its name counts among the machines alone, not in the name of an object."""
    s3, bucket = scene.attacker.client("s3"), scene.account.bucket
    first, *_ = scene.shared.split("+")
    others = "+".join(f"{first[:-17]}{number:017x}" for number in range(3))
    for name in ("plan.json", f"+{scene.other_arn}+", f"a=/+{scene.other_arn}+/b", f"{scene.other_arn}+x=/y"):
        denied(s3.get_object, Bucket=bucket, Key=f"ends/many/{others}+{VICTIM}=/{name}")
        denied(s3.put_object, Bucket=bucket, Key=f"ends/many/{others}+{VICTIM}=/{name}", Body=b"{}")
    for machines in (f"{scene.other_arn}+{others}", f"{others}+{scene.other_arn}"):
        key = f"ends/many/{machines}+own=/plan.json"
        s3.put_object(Bucket=bucket, Key=key, Body=b"{}")
        assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == b"{}"
    denied(s3.list_objects_v2, Bucket=bucket, Prefix="ends/many/")


def test_forged_events_of_another_transfer_change_nothing(scene: Scene) -> None:
    """They were put while it moved: it neither ends by them nor fails, and arrives whole and verified."""
    run = scene.account.wait(scene.execution)
    assert (run.status, run.cause, run.report["verified"]) == ("SUCCEEDED", None, True)
    assert run.report["bytes"] > SIZE
    assert tree(scene.work / "out" / "set") == tree(scene.work / "set")


def test_end_speaks_for_nobody_but_ends(scene: Scene) -> None:
    events = scene.attacker.client("events")
    lost = FORGED["Relay Lost"]
    denied(events.put_events, Entries=[event("Relay Lost", source="cpt.control", **lost)])
    denied(events.put_events, Entries=[event("Relay Slow", nodeId="source-1-0", message="forged")])
    mixed = [event("Relay Lost", **lost), event("Transfer Finished", source="cpt.control")]
    denied(events.put_events, Entries=mixed)


def test_end_writes_neither_membership_nor_fence_of_its_own_transfer(scene: Scene) -> None:
    dynamodb = scene.attacker.client("dynamodb")
    source, destination, _ = scene.shared.split("+")
    for own in (f"{scene.other_arn}+{destination}+own", f"{source}+{scene.other_arn}+own"):
        dynamodb.update_item(**written(own, "progress#s0", "document"))
        assert dynamodb.get_item(**item(own, "progress#s0"))["Item"]["document"] == {"S": "x"}
        denied(dynamodb.update_item, **written(own, "membership", "membership"))
        denied(dynamodb.update_item, **written(own, "fence", "fenced"))


def test_relay_reaches_nothing_of_any_transfer(scene: Scene) -> None:
    account = scene.account
    relay = Attacker.on(account, _relay(account))
    whoami = relay.client("sts").get_caller_identity()["Arn"]
    assert f"assumed-role/cpt-relay-{HOME}/" in whoami
    dynamodb, s3 = relay.client("dynamodb"), relay.client("s3")
    denied(dynamodb.get_item, **item(scene.shared, "membership"))
    denied(dynamodb.update_item, **written(scene.shared, "key#s0", "routePublicKey"))
    denied(dynamodb.query, **_partition("cpt-chunks", "rangeKey", range_key(scene.shared, 0)))
    denied(s3.get_object, Bucket=account.bucket, Key=f"ends/{scene.shared}/plan.json")
    denied(s3.put_object, Bucket=account.bucket, Key=f"ends/{scene.shared}/plan.json", Body=b"{}")
    denied(relay.client("events").put_events, Entries=[event("Transfer Failed", **FORGED["Transfer Failed"])])
    denied(relay.client("ssm").send_command, InstanceIds=[account.source], DocumentName="cpt-stop")


def _relay(account: Account) -> str:
    """A machine with the relays' profile, beside the source."""
    ec2, ssm = account.cloud.client("ec2", HOME), account.cloud.client("ssm", HOME)
    end = ec2.describe_instances(InstanceIds=[account.source])["Reservations"][0]["Instances"][0]
    groups = [group["GroupId"] for group in end["SecurityGroups"]]
    network = {"DeviceIndex": 0, "AssociatePublicIpAddress": True, "SubnetId": end["SubnetId"], "Groups": groups}
    launched = ec2.run_instances(
        ImageId=end["ImageId"],
        InstanceType="t3.small",
        MinCount=1,
        MaxCount=1,
        NetworkInterfaces=[network],
        IamInstanceProfile={"Name": f"cpt-relay-{HOME}"},
    )
    machine = str(launched["Instances"][0]["InstanceId"])
    filters = [{"Key": "InstanceIds", "Values": [machine]}]
    account.cloud.wait_for(lambda: ssm.describe_instance_information(Filters=filters)["InstanceInformationList"], 60)
    return machine


FOREIGN = {"DaemonUri": ["s3://foreign/program"], "DaemonSha256": ["0" * 64]}


@pytest.mark.parametrize("document", ["cpt-scan", "cpt-delete", "cpt-probe", "cpt-send", "cpt-receive", "cpt-relay"])
def test_no_caller_of_a_document_names_the_program_that_it_runs(account: Account, document: str) -> None:
    for region, machine in ((HOME, account.source), (OTHER, account.destination)):
        given = {"TransferId": ["any"], "Command": ["e30"], **FOREIGN}
        with pytest.raises(ClientError, match="InvalidParameters"):
            account.cloud.client("ssm", region).send_command(
                InstanceIds=[machine], DocumentName=document, Parameters=given
            )


def functions_that_command() -> list[str]:
    """Roles of functions with SendCommand, from the recorded grants."""
    recorded = Path(__file__).parents[1] / "privileges" / "recorded.tsv"
    rows = (line.split("\t") for line in recorded.read_text().splitlines())
    return sorted({row[0] for row in rows if any("SendCommand" in field for field in row)})


def _session_of(account: Account, function: str) -> dict[str, str]:
    """Keys of a session of a function's role, which lets the test in for that."""
    role = account.aws.client("lambda").get_function_configuration(FunctionName=function)["Role"]
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    iam = account.aws.client("iam")
    iam.update_assume_role_policy(RoleName=role.rsplit("/", 1)[-1], PolicyDocument=document)
    keys = account.aws.client("sts").assume_role(RoleArn=role, RoleSessionName="taken")["Credentials"]
    return {**keys, "Token": keys["SessionToken"]}


@pytest.mark.parametrize("role", functions_that_command())
def test_function_runs_no_document_but_ours(account: Account, role: str) -> None:
    ssm = Attacker(account, _session_of(account, role)).client("ssm")
    shell = {"InstanceIds": [account.source], "DocumentName": "AWS-RunShellScript", "Parameters": {"commands": ["id"]}}
    denied(ssm.send_command, **shell)
    denied(ssm.create_document, Name="cpt-scan", Content="{}", DocumentType="Command")
    denied(ssm.update_document, Name="cpt-scan", Content="{}", DocumentVersion="$LATEST")
