"""Credentials of a bucket's seat: what its process may do with them, and what nobody else gets.

The policies are enforced. The machine's own credentials are those of its metadata service, as its daemon has them.
"""

import json
import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

import boto3
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_agents import DynamoAgentRecords
from lambdas.adapters.dynamodb_transfers import DynamoTransferStore
from lambdas.core.record import transfer_life
from lambdas.core.seats.credentials import sealing_info
from lambdas.core.seats.epochs import first_epoch
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.seats.sealing import SUITE
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.attacker import Attacker, denied, item, written
from tests.lambdas.builders import transfer
from tests.paths import ROOT

LABORATORY = ROOT / "relay-ami" / "relay" / "target" / "release" / "cpt-laboratory"
OURS, THEIRS = "ours/", "theirs/"
ALLOWED = [
    {"bucket": "team-data", "prefix": OURS, "region": HOME, "read": True, "write": True},
    {"bucket": "team-mirror", "region": HOME, "write": True, "delete": True},
]
KEYS = ("ours/2026/kept", "ours/2025/older", "ours-too/other", "theirs/other")


@dataclass
class Seat:
    """A process on a machine that works for a bucket's seat of a transfer that runs."""

    account: Account
    transfer: AcceptedTransfer
    machine: Attacker
    seat_id: str
    key: X25519PrivateKey = field(default_factory=X25519PrivateKey.generate)

    @property
    def process(self) -> str:
        return self.key.public_key().public_bytes_raw()[:8].hex()

    @property
    def holder(self) -> str:
        return f"{self.seat_id}-{self.process}"

    def publish(self, start: int | None = 1) -> None:
        public = urlsafe_b64encode(self.key.public_key().public_bytes_raw()).rstrip(b"=").decode()
        names, values = {"#k": "sealingPublicKey"}, {":k": {"S": public}}
        change = "SET #k = :k"
        if start is not None:
            change, names["#e"] = f"{change}, #e = :e", "epoch"
            values[":e"] = {"N": str(first_epoch(start))}
        self.machine.client("dynamodb").update_item(
            **item(self.transfer.partition, f"sealing#{self.holder}"),
            UpdateExpression=change,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
        )

    def ask(self, machine: Attacker | None = None) -> None:
        """Put the event, as the daemon does."""
        detail = {"transferId": self.transfer.transfer_id, "seat": self.seat_id, "process": self.process}
        entry = {
            "EventBusName": "cpt",
            "Source": "cpt.agent",
            "DetailType": "Credentials Wanted",
            "Detail": json.dumps({"schemaVersion": 1, "type": "Credentials Wanted", **detail}),
        }
        answer = (machine or self.machine).client("events").put_events(Entries=[entry])
        assert answer["FailedEntryCount"] == 0

    def answered(self) -> dict[str, Any]:
        """What the function says when it is invoked with the event by hand: then nobody has to wait for nothing."""
        detail = {"transferId": self.transfer.transfer_id, "seat": self.seat_id, "process": self.process}
        event = {
            "detail-type": "Credentials Wanted",
            "source": "cpt.agent",
            "detail": {"schemaVersion": 1, "type": "Credentials Wanted", **detail},
        }
        answer = self.account.aws.client("lambda").invoke(
            FunctionName="cpt-issue-credentials", Payload=json.dumps(event).encode()
        )
        found: dict[str, Any] = json.loads(answer["Payload"].read())
        return found

    def read(self) -> dict[str, Any]:
        """The record that the function writes, read by the machine itself; empty before it does."""
        found: dict[str, Any] = self.machine.client("dynamodb").get_item(
            **item(self.transfer.partition, f"credentials#{self.holder}")
        )
        return dict(found.get("Item", {}))

    def opened(self, sealed: str) -> dict[str, Any]:
        box = urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        info = sealing_info(self.transfer.partition, self.holder)
        found: dict[str, Any] = json.loads(SUITE.decrypt(box, self.key, info))
        return found

    def session(self, start: int | None = 1) -> dict[str, Any]:
        """The keys, as the daemon gets them."""
        self.publish(start)
        self.ask()
        return self.opened(self.account.cloud.wait_for(self.read, 30)["sealed"]["S"])

    def s3(self) -> Any:
        """A client of S3 with them."""
        keys = self.session()
        session = boto3.Session(keys["accessKeyId"], keys["secretAccessKey"], keys["sessionToken"], HOME)
        return session.client("s3", endpoint_url=self.account.cloud.endpoint)


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    work = tmp_path_factory.mktemp("account")
    templates = synthesized(work / "assembly", (HOME, OTHER), buckets=ALLOWED)
    with LocalCloud(LocalConfig.model_validate({"port": 0, "bootSeconds": 1.0}), work / "state", templates) as cloud:
        account = Account(cloud, work)
        s3 = cloud.client("s3")
        for bucket in ("team-data", "team-mirror", "team-secret"):
            s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": HOME})
            for key in KEYS:
                s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
        yield account


@pytest.fixture(scope="module")
def execution(account: Account) -> str:
    """An execution that runs for as long as the tests do: whoever looks at transfers finds that of these alive."""
    arn = account.start(account.request("/etc", "/tmp/nowhere", approval="required"), "waits")
    account.entered(arn, "Await Approval")
    return arn


@pytest.fixture(scope="module")
def machine(account: Account) -> Attacker:
    """The machine at the transfers' other end, where their buckets' seats work."""
    return Attacker.on(account, account.source)


@pytest.fixture(scope="module")
def stranger(account: Account) -> Attacker:
    """A machine of the same deployment that has no part in them."""
    return Attacker.on(account, account.cloud.launch_vm(HOME, "stranger", "t3.small"))


def begin(account: Account, execution: str, machine: Attacker, name: str, seat_id: str = "r0", **changes: Any) -> Seat:
    """A transfer of the account with a bucket at the end of a seat; both seats work on one machine."""
    bucket = {"kind": "bucket", "bucket": "team-data", "prefix": "ours/2026/", "region": HOME}
    there = {"instanceId": account.source, "region": HOME}
    source = {**there, "paths": ["/data"]} if seat_id == "r0" else bucket
    destination = bucket if seat_id == "r0" else {**there, "path": "/restore"}
    accepted = transfer(name, execution, **{"source": source, "destination": destination, **changes})
    at = accepted.senders[0].machine.model_copy(update={"instance_id": account.source, "region": HOME})
    seats = {
        "senders": [accepted.senders[0].model_copy(update={"machine": at})],
        "receivers": [accepted.receivers[0].model_copy(update={"machine": at})],
    }
    accepted = accepted.model_copy(update=seats)
    assert DynamoTransferStore(Table(account.cloud.client("dynamodb"), "cpt-transfers")).create(accepted)
    return Seat(account, accepted, machine, seat_id)


def listed(s3: Any, bucket: str, prefix: str | None) -> list[str]:
    said = {} if prefix is None else {"Prefix": prefix}
    return [one["Key"] for one in s3.list_objects_v2(Bucket=bucket, **said).get("Contents", [])]


def test_a_destination_reaches_its_prefix_and_nothing_beside_it(
    account: Account, execution: str, machine: Attacker
) -> None:
    s3 = begin(account, execution, machine, "writes").s3()
    data = "team-data"
    s3.put_object(Bucket=data, Key="ours/2026/new", Body=b"new")
    assert s3.get_object(Bucket=data, Key="ours/2026/kept")["Body"].read() == b"ours/2026/kept"
    assert listed(s3, data, "ours/2026/") == ["ours/2026/kept", "ours/2026/new"]
    upload = s3.create_multipart_upload(Bucket=data, Key="ours/2026/large")["UploadId"]
    part = {"Bucket": data, "Key": "ours/2026/large", "UploadId": upload}
    s3.upload_part(**part, PartNumber=1, Body=b"part")
    assert len(s3.list_parts(**part)["Parts"]) == 1
    s3.abort_multipart_upload(**part)
    for bucket, key in (
        *((data, key) for key in ("ours/2025/older", "ours-too/other", "theirs/other", "ours/2026", "ours/2026x/a")),
        *((other, "ours/2026/kept") for other in ("team-mirror", "team-secret", account.bucket)),
    ):
        denied(s3.get_object, Bucket=bucket, Key=key)
        denied(s3.put_object, Bucket=bucket, Key=key, Body=b"x")
        denied(s3.create_multipart_upload, Bucket=bucket, Key=key)
    for bucket, prefix in (
        *((data, prefix) for prefix in (None, "", "ours", OURS, "ours/2026", "ours/2025/", THEIRS)),
        ("team-mirror", "ours/2026/"),
        ("team-secret", "ours/2026/"),
    ):
        said = {} if prefix is None else {"Prefix": prefix}
        denied(s3.list_objects_v2, Bucket=bucket, **said)
    copy = {"Bucket": data, "Key": "ours/2026/stolen", "CopySource": "team-data/theirs/other"}
    denied(s3.copy_object, **copy)


def test_a_destination_removes_its_own_notes_and_a_mirror_what_its_source_has_not(
    account: Account, execution: str, machine: Attacker
) -> None:
    s3 = begin(account, execution, machine, "noting").s3()
    own = "ours/2026/.cpt-partial-noting/r0/upload"
    s3.put_object(Bucket="team-data", Key=own, Body=b"note")
    s3.delete_object(Bucket="team-data", Key=own)
    for key in ("ours/2026/kept", "ours/2026/.cpt-partial-other/r0/upload", "ours/.cpt-partial-noting/r0/upload"):
        denied(s3.delete_object, Bucket="team-data", Key=key)
    mirror = {"kind": "bucket", "bucket": "team-mirror", "prefix": "ours/2026/", "region": HOME}
    said: dict[str, Any] = {"destination": mirror, "delete": True, "confirmDelete": "without-dry-run"}
    s3 = begin(account, execution, machine, "mirrors", **said).s3()
    s3.delete_object(Bucket="team-mirror", Key="ours/2026/kept")
    denied(s3.delete_object, Bucket="team-mirror", Key="ours/2025/older")
    denied(s3.delete_object, Bucket="team-data", Key="ours/2026/kept")


def test_a_source_reads_and_does_no_more(account: Account, execution: str, machine: Attacker) -> None:
    s3 = begin(account, execution, machine, "reads", "s0").s3()
    assert s3.get_object(Bucket="team-data", Key="ours/2026/kept")["Body"].read() == b"ours/2026/kept"
    assert "ours/2026/kept" in listed(s3, "team-data", "ours/2026/")
    for call, more in ((s3.put_object, {"Body": b"x"}), (s3.delete_object, {}), (s3.create_multipart_upload, {})):
        denied(call, Bucket="team-data", Key="ours/2026/kept", **more)
    denied(s3.get_object, Bucket="team-data", Key="theirs/other")


def test_characters_of_policies_in_a_prefix_open_no_other_one(
    account: Account, execution: str, machine: Attacker
) -> None:
    asks = {"kind": "bucket", "bucket": "team-data", "prefix": "ours/20*/", "region": HOME}
    s3 = begin(account, execution, machine, "stars", destination=asks).s3()
    s3.put_object(Bucket="team-data", Key="ours/20*/a", Body=b"a")
    assert listed(s3, "team-data", "ours/20*/") == ["ours/20*/a"]
    for key in ("ours/2026/kept", "ours/2025/older"):
        denied(s3.get_object, Bucket="team-data", Key=key)
    denied(s3.list_objects_v2, Bucket="team-data", Prefix="ours/2026/")


def test_a_session_ends_within_the_hour_and_is_good_for_s3_alone(
    account: Account, execution: str, machine: Attacker
) -> None:
    seat = begin(account, execution, machine, "hour")
    keys = seat.session()
    assert 0 < keys["expiresAt"] - time.time() <= 3600
    session = boto3.Session(keys["accessKeyId"], keys["secretAccessKey"], keys["sessionToken"], HOME)
    endpoint = account.cloud.endpoint
    denied(session.client("dynamodb", endpoint_url=endpoint).get_item, **item(seat.transfer.partition, "membership"))
    role = account.aws.client("iam").get_role(RoleName="cpt-buckets")["Role"]["Arn"]
    denied(session.client("sts", endpoint_url=endpoint).assume_role, RoleArn=role, RoleSessionName="wider")
    denied(session.client("s3", endpoint_url=endpoint).list_buckets)


def test_another_machine_neither_reads_nor_changes_what_is_sealed(
    account: Account, execution: str, machine: Attacker, stranger: Attacker
) -> None:
    seat = begin(account, execution, machine, "sealed")
    seat.session()
    dynamodb, partition = stranger.client("dynamodb"), seat.transfer.partition
    for record in (f"credentials#{seat.holder}", f"sealing#{seat.holder}"):
        denied(dynamodb.get_item, **item(partition, record))
        denied(dynamodb.update_item, **written(partition, record, "sealingPublicKey"))
    theirs = Seat(account, seat.transfer, stranger, "r0")
    with pytest.raises(InvalidTag):
        theirs.opened(seat.read()["sealed"]["S"])


def test_no_machine_writes_credentials_into_its_own_transfer(
    account: Account, execution: str, machine: Attacker
) -> None:
    seat = begin(account, execution, machine, "own")
    dynamodb, record = machine.client("dynamodb"), f"credentials#{seat.holder}"
    for attribute in ("sealed", "expiresAt", "refused"):
        denied(dynamodb.update_item, **written(seat.transfer.partition, record, attribute))


def test_an_event_for_anothers_transfer_gives_nothing(
    account: Account, execution: str, machine: Attacker, stranger: Attacker
) -> None:
    """Whoever puts it has published no key where the function looks: it cannot."""
    seat = begin(account, execution, machine, "victim")
    theirs = Seat(account, seat.transfer, stranger, "r0")
    theirs.ask()
    assert theirs.answered() == {"ignored": f"{theirs.holder} has published no key"}
    with pytest.raises(Exception, match="AccessDenied"):
        theirs.publish()
    seat.publish()
    seat.ask(stranger)  # what comes of it is the seat's own
    assert seat.opened(account.cloud.wait_for(seat.read, 30)["sealed"]["S"])["accessKeyId"].startswith("ASIA")


def test_an_old_start_another_seat_and_a_transfer_that_is_over_get_nothing(
    account: Account, execution: str, machine: Attacker
) -> None:
    seat = begin(account, execution, machine, "over")
    seat.publish(0)
    assert seat.answered() == {"ignored": "start 0 asks, and 1 is the present one"}
    sender = Seat(account, seat.transfer, machine, "s0")
    sender.publish()
    assert sender.answered() == {"ignored": "s0 is no bucket's seat of it"}
    seat.publish(1)
    table = Table(account.cloud.client("dynamodb"), "cpt-transfers")
    assert DynamoTransferStore(table).change(seat.transfer, transfer_life.FENCE)
    assert seat.answered() == {"ignored": "the transfer does not run"}
    assert seat.read() == {}


def test_what_the_settings_do_not_allow_is_refused_in_words(
    account: Account, execution: str, machine: Attacker
) -> None:
    elsewhere = {"kind": "bucket", "bucket": "team-secret", "prefix": "", "region": HOME}
    seat = begin(account, execution, machine, "refused", destination=elsewhere)
    seat.publish()
    assert "may not touch s3://team-secret/" in seat.answered()["refused"]
    assert "team-secret" in seat.read()["refused"]["S"]


def test_nobody_but_the_function_has_sessions_of_the_role(account: Account, machine: Attacker) -> None:
    role = account.aws.client("iam").get_role(RoleName="cpt-buckets")["Role"]
    assert role["MaxSessionDuration"] == 3600
    denied(machine.client("sts").assume_role, RoleArn=role["Arn"], RoleSessionName="mine")


def test_no_secret_lies_in_a_record_a_log_or_a_trace(account: Account, execution: str, machine: Attacker) -> None:
    seat = begin(account, execution, machine, "hidden")
    keys = seat.session()
    secrets = [keys[name] for name in ("secretAccessKey", "sessionToken", "accessKeyId")]
    pages = account.aws.client("logs").get_paginator("filter_log_events")

    def told() -> str | None:
        """All that the function has logged, once it has said what it did: that comes after the record."""
        found = pages.paginate(logGroupName="/aws/lambda/cpt-issue-credentials")
        lines = "\n".join(event["message"] for page in found for event in page["events"])
        # One that is out of time once it has issued them says nothing, and the next call that they are known.
        return lines if re.search(rf'"(issued|known)": ?"{seat.holder}"', lines) else None

    lines = account.cloud.wait_for(told, 30)
    records = json.dumps(account.aws.resource("dynamodb").Table("cpt-transfers").scan()["Items"], default=str)
    assert seat.holder in records
    assert [secret for secret in secrets if secret in lines or secret in records] == []


def test_the_daemon_gets_them_by_itself(account: Account, execution: str, machine: Attacker, tmp_path: Path) -> None:
    seat = begin(account, execution, machine, "daemon")
    command = json.loads((ROOT / "contracts/examples/good/relay-command/receive-into-a-bucket.json").read_text())
    control = {**command["control"], "region": HOME, "bucket": account.bucket, "partition": seat.transfer.partition}
    control |= {"transfersTable": "cpt-transfers", "chunksTable": "cpt-chunks", "bus": "cpt"}
    end = {"kind": "bucket", "bucket": "team-data", "prefix": "ours/2026/", "region": HOME}
    file = tmp_path / "receive.json"
    file.write_text(
        json.dumps({**command, "transferId": "daemon", "epoch": first_epoch(1), "control": control, "end": end})
    )
    printed = account.shell(account.source, HOME, f"{quote(str(LABORATORY))} seat-bucket {quote(str(file))} 2>&1")
    assert json.loads(printed.splitlines()[-1]) == {"put": [True, False], "listed": [True, False]}, printed
    assert "ours/2026/by-the-daemon" in listed(account.cloud.client("s3"), "team-data", "ours/2026/")


def test_records_of_credentials_go_with_those_of_their_run(account: Account, execution: str, machine: Attacker) -> None:
    seat = begin(account, execution, machine, "again")
    seat.session()
    DynamoAgentRecords(Table(account.cloud.client("dynamodb"), "cpt-transfers")).forget(seat.transfer.partition)
    assert seat.read() == {}
