"""Relays between a machine and a bucket: beside the machine, and each dials S3 itself."""

import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.extent import only_full
from tests.e2e.account import HOME, KILL_RELAY, OTHER, SLOW_MBPS, Account, Run
from tests.e2e.buckets import BUCKET, allowing

MIB = 1 << 20
RELAYS = 2
WAYS = {"direct", "route-0-1", "route-0-2"}


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """A deployment whose settings allow a bucket in the other region."""
    with allowing(tmp_path_factory.mktemp("bucket relays")) as found:
        yield found


def contents(seed: int, parts: int = 30) -> dict[str, bytes]:
    """Names with what they hold: parts of a large one go by all ways, once 16 lanes have taken one each."""
    randomness = random.Random(seed)
    small = {f"small-{number}": randomness.randbytes(9_000) for number in range(20)}
    large = b"".join(randomness.randbytes(8 * MIB) for _ in range(parts))
    return {"large": large + b"and a little", **small}


def written(account: Account, folder: Path, held: Mapping[str, bytes], name: str) -> str:
    """What is held goes from the machine to the bucket, below this name."""
    for path, body in held.items():
        (folder / path).write_bytes(body)
    source = {"instanceId": account.source, "region": HOME, "paths": [f"{folder}/"]}
    bucket = {"kind": "bucket", "bucket": BUCKET, "prefix": f"{name}/", "region": OTHER}
    return slowly(account, {"source": source, "destination": bucket}, name)


def stored(account: Account, names: Iterable[str], name: str) -> dict[str, bytes]:
    """What the bucket has below this name."""
    s3 = account.cloud.client("s3", OTHER)
    return {key: s3.get_object(Bucket=BUCKET, Key=f"{name}/{key}")["Body"].read() for key in names}


def slowly(account: Account, request: dict[str, Any], name: str) -> str:
    """Start it so that relays come while most is left."""
    relays = {"pairs": RELAYS, "instanceTypes": ["t3.small"]}
    wish = {"relays": relays, "chunkSizeMiB": 8, "bandwidthLimitMbps": SLOW_MBPS}
    arn = account.start({**request, **wish}, name)
    account.cloud.wait_for(lambda: sum("joinedAt" in node for node in account.nodes(name)) == RELAYS, 120)
    # Without a limit the direct way has done the rest before a busy machine has connected to both relays.
    account.cloud.wait_for(lambda: {lane["pathId"] for lane in account.progress(name)["lanes"]} == WAYS, 120)
    return arn


def assert_whole(account: Account, run: Run, name: str) -> None:
    """It has succeeded, each relay has carried some of it, and no upload, rule or machine is left."""
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    assert run.report["verified"]
    assert {chunk["pathId"] for chunk in account.chunks(name)} == WAYS
    assert run.report["pairs"] == RELAYS
    assert "Uploads" not in account.cloud.client("s3", OTHER).list_multipart_uploads(Bucket=BUCKET)
    assert [account.rules(name, region) for region in (HOME, OTHER)] == [[], []]
    assert (len(account.launched(name, HOME)), account.launched(name, OTHER)) == (RELAYS, [])
    assert_ended(account, name)


def assert_ended(account: Account, name: str) -> None:
    """No relay of it runs."""
    states = {one["State"]["Name"] for one in account.launched(name, HOME)}
    assert states <= {"terminated", "shutting-down"}


def test_relays_beside_a_machine_carry_what_it_writes_to_a_bucket(account: Account, tmp_path: Path) -> None:
    held = contents(1)
    arn = written(account, tmp_path, held, "out")
    account.limit("out", None)
    assert_whole(account, account.wait(arn), "out")
    assert stored(account, held, "out") == held


def test_relays_beside_a_machine_carry_what_it_reads_from_a_bucket(account: Account, tmp_path: Path) -> None:
    held, s3 = contents(2), account.cloud.client("s3", OTHER)
    for path, body in held.items():
        s3.put_object(Bucket=BUCKET, Key=f"in/{path}", Body=body)
    request = {
        "source": {"kind": "bucket", "bucket": BUCKET, "prefix": "in/", "region": OTHER},
        "destination": {"instanceId": account.source, "region": HOME, "path": str(tmp_path / "in")},
    }
    arn = slowly(account, request, "in")
    account.limit("in", None)
    assert_whole(account, account.wait(arn), "in")
    assert {path: (tmp_path / "in" / path).read_bytes() for path in held} == held


@only_full
def test_a_relay_that_dies_on_the_way_to_a_bucket_costs_nothing_and_is_replaced(
    account: Account, tmp_path: Path
) -> None:
    # Forty seconds at the rate at which a relay dies.
    held = contents(3, parts=90)
    arn = written(account, tmp_path, held, "killed")
    account.limit("killed", 160)
    first = next(node for node in account.nodes("killed") if node["slot"] == 1)
    account.shell(first["instanceId"], HOME, KILL_RELAY)
    account.cloud.wait_for(lambda: len(account.nodes("killed")) > RELAYS, 120)
    account.limit("killed", None)
    run = account.wait(arn)
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    assert stored(account, held, "killed") == held
    assert_ended(account, "killed")
