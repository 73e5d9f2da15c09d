"""After a whole transfer no key and no credential lies anywhere but where it belongs."""

import base64
import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.files import make_files
from tests.e2e.secrets import PRESIGNED, PRIVATE_KEY, Evidence, Secret, find, structures
from tests.queues import open_queue

REGIONS = (HOME, OTHER)
TOKENS = "table us-west-2 cpt-control-tokens"
ROUTE_KEY = "file cpt/run/searched/send.key"
NEW_ROUTE_KEY = "file cpt/run/searched/send.new"
"""Where it is for the moment before it is on the disk."""
NAME = "searched"
# What must have been searched, or the search says nothing.
PLACES = (
    "argv relay",
    "argv send",
    "argv receive",
    "environ relay",
    "environ send",
    "environ receive",
    "file units/cpt-relay-searched/log",
    "file units/cpt-send-searched/log",
    "file units/cpt-receive-searched/log",
    "file cpt/run/searched/relay.json",
    ROUTE_KEY,
    "lambda log cpt-start-transfer",
    "lambda log cpt-spawn-relays",
    "lambda log cpt-await-approval",
    "lambda log cpt-decide-approval",
    "ssm parameters us-west-2 cpt-send",
    "ssm parameters us-west-2 cpt-relay",
    "ssm parameters eu-west-1 cpt-receive",
    "ssm output us-west-2 cpt-scan",
    "ssm output eu-west-1 cpt-receive",
    "event us-west-2 Approval Required",
    "event us-west-2 Transfer Delivered",
    "event eu-west-1 EC2 Instance State-change Notification",
    "table us-west-2 cpt-transfers key#s0",
    "table us-west-2 cpt-chunks",
    "table us-west-2 cpt-nodes",
    TOKENS,
    "object ends/",
    "object transfers/searched/report.json",
)


class Watch:
    """Collects everything that a transfer leaves behind, while it runs and afterwards."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.evidence: Evidence = {}
        self.secrets: dict[bytes, Secret] = {}
        self._queues = {region: self._catch_events(region) for region in REGIONS}
        self._asked: set[str] = set()
        self._read: set[tuple[str, str]] = set()

    def keep(self, place: str, content: bytes) -> None:
        """Add to a place what is not there yet."""
        if content not in (before := self.evidence.get(place, b"")):
            self.evidence[place] = before + content + b"\n"

    def look(self) -> None:
        """What is there only while it runs."""
        self._processes()
        self._instance_files()
        self._table(HOME, "cpt-control-tokens")
        self._objects()

    def look_back(self) -> None:
        """What stays."""
        for region in REGIONS:
            for table in self.account.cloud.client("dynamodb", region).list_tables()["TableNames"]:
                self._table(region, table)
            self._ssm(region)
            self._events(region)
        self._objects()
        logs = self.account.cloud.state.logs
        for log in (logs / "lambda").glob("*.log"):
            self.keep(f"lambda log {log.stem}", log.read_bytes())
        for log in (logs / "instances").rglob("*.log"):
            self.keep(f"file units/{log.stem}/log of {log.parent.name}", log.read_bytes())

    def _processes(self) -> None:
        """Every process of an instance, and the keys that its metadata service would give it."""
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            try:
                environ, argv = (process / "environ").read_bytes(), (process / "cmdline").read_bytes()
            except OSError:
                continue  # it has ended, or is somebody else's
            variables = dict(item.partition(b"=")[::2] for item in environ.split(b"\0"))
            if variables.get(b"CPT_LOCAL_STATE") != bytes(self.account.cloud.state.root):
                continue
            if b"CPT_INSTANCE_ID" not in variables:
                continue  # a function's, which gets its keys in its environment, as in AWS
            words = argv.split(b"\0")
            role = words[1].decode() if b"cpt-relay" in words[0] and len(words) > 1 else "other"
            self.keep(f"argv {role}", argv)
            self.keep(f"environ {role}", environ)
            self._ask_metadata(variables[b"AWS_EC2_METADATA_SERVICE_ENDPOINT"].decode())

    def _ask_metadata(self, endpoint: str) -> None:
        if endpoint in self._asked:
            return

        def ask(path: str, method: str = "GET", **headers: str) -> str:
            request = urllib.request.Request(endpoint + path, method=method, headers=headers)
            with urllib.request.urlopen(request, timeout=5) as answer:
                return str(answer.read().decode())

        session = ask("/latest/api/token", "PUT", **{"X-aws-ec2-metadata-token-ttl-seconds": "60"})
        roles = "/latest/meta-data/iam/security-credentials/"
        token = {"X-aws-ec2-metadata-token": session}
        keys = json.loads(ask(roles + ask(roles, **token), **token))
        self._secret("an instance's secret key", keys["SecretAccessKey"].encode())
        self._secret("an instance's session token", keys["Token"].encode())
        self._asked.add(endpoint)

    def _instance_files(self) -> None:
        """Commands, ready files and logs, also of instances that will be gone at the end."""
        for home in self.account.cloud.state.instances.iterdir():
            for pattern in ("cpt/run/**/*", "units/**/*", "env", "root/**/*"):
                for path in _there(home, pattern):
                    try:
                        if path.is_file() and path.stat().st_size < 1 << 20:
                            self.keep(f"file {path.relative_to(home)} of {home.name}", path.read_bytes())
                    except OSError:
                        continue  # removed under way

    def _table(self, region: str, table: str) -> None:
        for page in self.account.cloud.client("dynamodb", region).get_paginator("scan").paginate(TableName=table):
            for item in page["Items"]:
                record = item.get("record", {}).get("S", "")
                self.keep(f"table {region} {table} {record}".rstrip(), repr(item).encode())
                if table == "cpt-control-tokens":
                    self._secret("a task token", item["token"]["S"].encode(), TOKENS)

    def _objects(self) -> None:
        s3 = self.account.aws.client("s3")
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=self.account.bucket):
            for entry in page.get("Contents", []):
                if (version := (entry["Key"], entry["ETag"])) in self._read:
                    continue
                try:
                    body = s3.get_object(Bucket=self.account.bucket, Key=entry["Key"])["Body"].read()
                except s3.exceptions.NoSuchKey:
                    continue
                self.keep(f"object {entry['Key']}", body)
                self._read.add(version)

    def _ssm(self, region: str) -> None:
        ssm = self.account.cloud.client("ssm", region)
        for page in ssm.get_paginator("list_commands").paginate():
            for command in page["Commands"]:
                place = f"{region} {command['DocumentName']}"
                self.keep(f"ssm parameters {place}", json.dumps(command["Parameters"]).encode())
                for instance in command["InstanceIds"]:
                    answer = ssm.get_command_invocation(CommandId=command["CommandId"], InstanceId=instance)
                    output = answer["StandardOutputContent"] + answer["StandardErrorContent"]
                    self.keep(f"ssm output {place}", output.encode())

    def _catch_events(self, region: str) -> str:
        """A queue that gets every event of every bus of the region; its URL."""
        sqs, events = self.account.cloud.client("sqs", region), self.account.cloud.client("events", region)
        url, arn = open_queue(sqs, "searched-events", "events.amazonaws.com")
        for bus in [bus["Name"] for bus in events.list_event_buses()["EventBuses"]]:
            rule = f"searched-{bus}"
            events.put_rule(Name=rule, EventBusName=bus, EventPattern=json.dumps({"source": [{"prefix": ""}]}))
            target = {"Id": "queue", "Arn": arn}
            assert not events.put_targets(Rule=rule, EventBusName=bus, Targets=[target])["FailedEntryCount"]
        return url

    def _events(self, region: str) -> None:
        sqs, url = self.account.cloud.client("sqs", region), self._queues[region]
        while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            for message in messages:
                kind = json.loads(message["Body"])["detail-type"]
                self.keep(f"event {region} {kind}", message["Body"].encode())
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def _secret(self, name: str, value: bytes, *allowed: str) -> None:
        self.secrets[value] = Secret(name, value, allowed)


@pytest.fixture(scope="module")
def watched(make_account: Callable[..., Account], tmp_path_factory: pytest.TempPathFactory) -> Watch:
    """A transfer that a person approved, through one pair of relays, with everything that it left anywhere."""
    account, work = make_account(image=None), tmp_path_factory.mktemp("searched")
    source = make_files(work / "set", large_bytes=LARGE)
    watch = Watch(account)
    request = account.request(source, work / "out", relays={"pairs": 1}, approval="required")
    arn = account.start_slowly(request, NAME)

    def asked() -> bool:
        watch.look()
        return "a task token" in {secret.name for secret in watch.secrets.values()}

    account.cloud.wait_for(asked, 60)
    account.invoke("cpt-decide-approval", {"transferId": NAME, "decision": "approve"})

    def joined() -> bool:
        watch.look()
        return sum("joinedAt" in node for node in account.nodes(NAME)) == 2

    account.cloud.wait_for(joined, 90)
    account.limit(NAME, None)

    def ended() -> bool:
        watch.look()
        return bool(account.describe(arn)["status"] != "RUNNING")

    account.cloud.wait_for(ended, 240)
    run = account.wait(arn)
    assert (run.status, run.cause, run.report["pairs"]) == ("SUCCEEDED", None, 1)
    watch.look_back()
    return watch


def test_everything_was_searched_for_every_kind_of_secret(watched: Watch) -> None:
    missing = [place for place in PLACES if not any(found.startswith(place) for found in watched.evidence)]
    assert not missing, sorted(watched.evidence)
    kinds = sorted(secret.name for secret in watched.secrets.values())
    # the approval's token and the transfer's; two ends and two relays
    assert kinds == [*2 * ["a task token"], *4 * ["an instance's secret key"], *4 * ["an instance's session token"]]


def test_no_secret_lies_where_it_does_not_belong(watched: Watch) -> None:
    assert find(watched.evidence, [*structures(ROUTE_KEY, NEW_ROUTE_KEY), *watched.secrets.values()]) == []
    # Where tokens belong they are found, so the search can see them.
    everywhere = [Secret(secret.name, secret.value) for secret in watched.secrets.values()]
    assert {place.split(":")[0] for place in find(watched.evidence, everywhere)} == {TOKENS}
    source = watched.account.source
    assert f"{ROUTE_KEY} of {source}: private key (PKCS8)" in find(watched.evidence, structures())


def planted() -> dict[str, bytes]:
    """One of each kind, as it would be written if something went wrong."""
    pkcs8 = bytes.fromhex("302e020100") + PRIVATE_KEY + bytes(range(32))
    command = json.dumps({"role": "relay", "key": base64.b64encode(pkcs8).decode()}).encode()
    return {
        "raw key": b"key " + pkcs8,
        "key in hexadecimal": pkcs8.hex().encode(),
        "key in capitals": pkcs8.hex().upper().encode(),
        "key in base64": base64.b64encode(pkcs8),
        "key in base64url": base64.urlsafe_b64encode(b"x" + pkcs8),
        "key in base64 in a command in base64url": base64.urlsafe_b64encode(command),
        "PEM": b"-----BEGIN PRIVATE KEY-----\n",
        "presigned URL": b"https://bucket.s3.amazonaws.com/key?X-Amz-Algorithm=x&" + PRESIGNED[0] + b"00ff",
    }


@pytest.mark.parametrize("kind", planted())
def test_a_planted_structure_is_found(kind: str) -> None:
    clean = {"log": b"nothing here", "table": b"{'key': 'MCowBQYDK2VwAyEA'}"}
    assert find(clean, structures()) == []
    assert find({**clean, "log": b"before " + planted()[kind] + b" after"}, structures())


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_of_this_run_planted_in_any_place_is_found(watched: Watch, place: str) -> None:
    where = next(found for found in watched.evidence if found.startswith(place))
    secrets = [secret for secret in watched.secrets.values() if not where.startswith(secret.allowed or ("\0",))]
    records = [json.dumps({"id": 1, "text": secret.value.decode()}).encode() for secret in secrets]
    hidden = {
        "JSON": records,
        "hexadecimal": [secret.value.hex().encode() for secret in secrets],
        "base64": [base64.b64encode(record) for record in records],
        "base64url": [base64.urlsafe_b64encode(b"?" + record) for record in records],
    }
    for form, texts in hidden.items():
        bent = {where: b"\n".join([watched.evidence[where], *texts])}
        assert find(bent, secrets) == [f"{where}: {secret.name}" for secret in secrets], form


def _there(home: Path, pattern: str) -> Iterator[Path]:
    """What matches, as far as it is found: an instance that ends takes its folders with it under way."""
    with suppress(OSError):
        yield from home.glob(pattern)
