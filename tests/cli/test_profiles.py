"""`cpt profiles export` and `import` over DynamoDB's API in memory."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner, Result

from cli import profiles
from cli.aws import Aws
from cli.exit_codes import ExitCode
from cli.main import app
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_profiles import DynamoProfileStore
from lambdas.core.estimate.profile import Profile

WEST, PAIR = "us-west-2", "us-west-2>eu-west-1"


class Home:
    """What is asked of `Aws`."""

    region, deployment = WEST, "cpt"

    def client(self, service: str) -> Any:
        return boto3.client(cast(Any, service), region_name=WEST)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[DynamoProfileStore]:
    """The table as functions use it: with one subject that two transfers have measured, and one that is configured."""
    monkeypatch.setattr(profiles, "home", lambda *, local: cast(Aws, Home()))
    with mock_aws():
        client = boto3.client("dynamodb", region_name=WEST)
        make_table(client)
        found = DynamoProfileStore(Table(client, "cpt-profiles"))
        found.integrate("c6in.large", PAIR, "interRegion", 80.0, 1000.0, 60.0)
        found.integrate("c6in.large", PAIR, "interRegion", 90.0, 2000.0, 60.0)
        configure(client, "t3.small", spawn="8.5")
        yield found


def make_table(client: Any) -> None:
    keys = {"subject": "HASH", "regionPair": "RANGE"}
    client.create_table(
        TableName="cpt-profiles",
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
        BillingMode="PAY_PER_REQUEST",
    )


def configure(client: Any, subject: str, **figures: str) -> None:
    """As an operator does it: without a version."""
    client.update_item(
        TableName="cpt-profiles",
        Key={"subject": {"S": subject}, "regionPair": {"S": PAIR}},
        UpdateExpression="SET configured = :figures",
        ExpressionAttributeValues={":figures": {"M": {name: {"N": value} for name, value in figures.items()}}},
    )


def empty() -> None:
    client = boto3.client("dynamodb", region_name=WEST)
    client.delete_table(TableName="cpt-profiles")
    make_table(client)


def cpt(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["profiles", *map(str, words)])


def known(store: DynamoProfileStore) -> dict[str, Profile | None]:
    return {subject: store.get(subject, PAIR) for subject in ("c6in.large", "t3.small")}


def test_what_was_exported_comes_back_into_an_empty_table_as_it_was(store: DynamoProfileStore, tmp_path: Path) -> None:
    before, file = known(store), tmp_path / "profiles.ndjson"
    assert cpt("export", file).stdout == f"2 entries are in {file}\n"
    assert [json.loads(line)["subject"] for line in file.read_text().splitlines()] == ["c6in.large", "t3.small"]
    assert cpt("export").stdout == file.read_text()
    empty()
    assert cpt("import", file).stdout == "2 entries are new, 0 are replaced\n"
    assert known(store) == before
    # Transfers go on from there.
    store.integrate("c6in.large", PAIR, "interRegion", 90.0, 3000.0)
    assert cpt("import", file).stdout.endswith("2 stay, as the table has the same or something newer\n")


def test_what_was_measured_since_stays_unless_somebody_says_so(store: DynamoProfileStore, tmp_path: Path) -> None:
    before, file = known(store), tmp_path / "profiles.ndjson"
    cpt("export", file)
    store.integrate("c6in.large", PAIR, "interRegion", 40.0, 3000.0)
    configure(boto3.client("dynamodb", region_name=WEST), "t3.small", spawn="9.5", direct="20")
    since = known(store)
    assert cpt("import", file).exit_code == ExitCode.SUCCEEDED
    assert known(store) == since
    answer = cpt("import", file, "--overwrite", "--json")
    assert [json.loads(line)["result"] for line in answer.stdout.splitlines()] == ["replaced", "replaced"]
    assert known(store)["c6in.large"] == before["c6in.large"]
    small = store.get("t3.small", PAIR)
    assert small is not None
    assert small.configured == {"spawn": 8.5, "direct": 20}


def test_a_transfer_that_writes_meanwhile_is_not_overwritten(
    store: DynamoProfileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "profiles.ndjson"
    newer = {"mean": 50.0, "secondMoment": 2500.0, "samples": 1, "atSeconds": 2500.0}
    file.write_text(json.dumps({"subject": "c6in.large", "regionPair": PAIR, "metrics": {"interRegion": newer}}))
    read, times = Table.get, iter(range(10))

    def get_and_be_late(table: Table, **key: str) -> Any:
        item = read(table, **key)
        if next(times) == 0:
            store.integrate("c6in.large", PAIR, "interRegion", 40.0, 3000.0)
        return item

    monkeypatch.setattr(Table, "get", get_and_be_late)
    assert cpt("import", file).stdout.startswith("0 entries are new, 0 are replaced; 1 stay")
    found = store.get("c6in.large", PAIR)
    assert found is not None
    assert found.metrics["interRegion"].at_seconds == 3000.0


def test_one_wrong_line_keeps_all_others_out(store: DynamoProfileStore, tmp_path: Path) -> None:
    file = tmp_path / "profiles.ndjson"
    cpt("export", file)
    with file.open("a") as more:
        more.write('{"subject": "m5.large", "regionPair": "a>b", "metrics": {"speed": {}}}\n')
    empty()
    answer = cpt("import", file)
    assert answer.exit_code == ExitCode.REQUEST
    assert f"{file}: line 3: $.metrics.speed" in answer.stderr
    assert known(store) == {"c6in.large": None, "t3.small": None}


def test_an_item_of_the_table_that_no_import_would_take_is_named(store: DynamoProfileStore, tmp_path: Path) -> None:
    configure(boto3.client("dynamodb", region_name=WEST), "m5.large", interRegion="-1")
    answer = cpt("export", tmp_path / "profiles.ndjson")
    assert (answer.exit_code, list(tmp_path.iterdir())) == (ExitCode.REQUEST, [])
    assert f"the table's item of m5.large on {PAIR}: $.configured.interRegion: -1" in answer.stderr


@pytest.mark.parametrize(("name", "content"), [("absent", None), ("binary", b"\xff\xfe")])
def test_a_file_that_cannot_be_read_is_named(
    store: DynamoProfileStore, tmp_path: Path, name: str, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    answer = cpt("import", tmp_path / name)
    assert (answer.exit_code, str(tmp_path / name) in answer.stderr) == (ExitCode.USAGE, True)
