"""The tables as the stack makes them, in the emulator or in the official DynamoDB Local."""

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from lambdas.adapters.dynamodb import Table
from tests.paths import ROOT

DYNAMODB_LOCAL = ROOT / ".cache" / "dynamodb-local"
# DynamoDB Local where `make test-dynamodb-local` has fetched it.
DYNAMODBS = ["dynamodb", *(["dynamodb-local"] if DYNAMODB_LOCAL.is_dir() and shutil.which("java") else [])]
START_SECONDS = 60.0
TABLES: dict[str, tuple[str, str, dict[str, tuple[str, str | None]]]] = {
    "transfers": ("transferId", "record", dict.fromkeys(("running", "active"), ("active", "transferId"))),
    "chunks": ("rangeKey", "itemKey", {}),
    "nodes": ("transferId", "nodeId", dict.fromkeys(("of-instance", "by-instance"), ("instanceId", None))),
    "tokens": ("transferId", "task", {}),
    "arrivals": ("collection", "item", {}),
    "pool": ("machine", "record", {}),
}
KEYS: dict[str, Any] = {"ProjectionType": "KEYS_ONLY"}
# What indexes hold beside the keys; those of the release before hold all.
HOLDS: dict[str, dict[str, Any]] = {
    "running": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["source", "destination"]},
    "active": {"ProjectionType": "ALL"},
    "by-instance": {"ProjectionType": "ALL"},
}


def make(client: Any) -> dict[str, Table]:
    """Create all tables, empty: those of an earlier test are dropped first."""
    for name in client.list_tables()["TableNames"]:
        client.delete_table(TableName=name)
    for name, (hash_key, sort_key, indexes) in TABLES.items():
        keys = {hash_key, sort_key, *(key for pair in indexes.values() for key in pair if key)}
        options: dict[str, Any] = {}
        if indexes:
            options["GlobalSecondaryIndexes"] = [
                {"IndexName": index, "KeySchema": _schema(*index_keys), "Projection": HOLDS.get(index, KEYS)}
                for index, index_keys in indexes.items()
            ]
        client.create_table(
            TableName=name,
            KeySchema=_schema(hash_key, sort_key),
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in sorted(keys)],
            BillingMode="PAY_PER_REQUEST",
            **options,
        )
    return {name: Table(client, name) for name in TABLES}


def _schema(hash_key: str, sort_key: str | None) -> list[dict[str, str]]:
    keys = [{"AttributeName": hash_key, "KeyType": "HASH"}]
    return keys + ([{"AttributeName": sort_key, "KeyType": "RANGE"}] if sort_key else [])


@contextlib.contextmanager
def dynamodb_local() -> Iterator[Any]:
    """A client of DynamoDB Local in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    main = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
    command = ["java", f"-Djava.library.path={DYNAMODB_LOCAL}", "-cp", f"{DYNAMODB_LOCAL}/*", main]
    options = ["-inMemory", "-disableTelemetry", "-port", str(port)]
    with subprocess.Popen(
        [*command, *options], cwd=DYNAMODB_LOCAL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    ) as server:
        try:
            client = boto3.client(
                "dynamodb",
                endpoint_url=f"http://127.0.0.1:{port}",
                region_name="us-west-2",
                aws_access_key_id="local",
                aws_secret_access_key="local",
                config=Config(retries={"max_attempts": 1}, connect_timeout=2),
            )
            _await_answer(client, server)
            yield client
        finally:
            server.kill()


def _await_answer(client: Any, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            client.list_tables()
        except BotoCoreError:
            assert server.poll() is None, "DynamoDB Local ended at its start"
            assert time.monotonic() < deadline, f"DynamoDB Local did not answer within {START_SECONDS:.0f} s"
        else:
            return
