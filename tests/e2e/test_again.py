"""A transfer that is run again sends only what is not there yet, whether it had succeeded or was stopped half-way."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.chaos.extent import only_full
from tests.e2e.account import Account, Run
from tests.e2e.files import make_files, tree

SIZE = 2_000_000
BLOCK = 64 << 10
LEAST_BYTES = 4096


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:
    return make_account()


def sent_bytes(account: Account, name: str) -> int:
    """What the sender of the latest execution put on the wire, by its own word."""
    record = account.record(name, "transfer") or {}
    return int(record["outcome"]["delivered"]["sentBytes"])


def succeeded(run: Run) -> dict[str, Any]:
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    return run.report


def begun_and_stopped(account: Account, request: dict[str, Any], delivered: int) -> None:
    """Run it, slowly, until so many bytes are delivered; then stop it, and wait until nothing runs any more."""
    name = request["name"]
    arn = account.start({**request, "bandwidthLimitMbps": 40}, name)
    account.cloud.wait_for(lambda: int(account.progress(name).get("bytes", 0)) >= delivered, 60)
    account.aws.client("stepfunctions").stop_execution(executionArn=arn, error="User", cause="changed my mind")
    account.cloud.wait_for(lambda: not account.left(name), 90)


def test_run_again_only_what_differs_is_sent(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=3_000_000)
    request = account.request(source, tmp_path / "out", relays={"pairs": 0}, name="often")
    first = succeeded(account.run(request, "often"))
    assert "same" not in first

    request |= {"resume": True, "relays": {"pairs": 1}}
    again = succeeded(account.run(request, "often-attempt2"))
    assert (again["run"], again["bytes"], again["files"], again["chunks"]) == (2, 0, 0, 0)
    assert again["same"]["bytes"] == first["bytes"]
    assert sent_bytes(account, "often") == 0
    assert account.nodes("often") == []  # a pair was asked for, and would have had nothing to carry

    (source / "deep" / "small 7.txt").write_text("other words")
    with (source / "large.bin").open("ab") as grown:
        grown.write(Random(5).randbytes(100_000))
    third = succeeded(account.run(request, "often-attempt3"))
    assert (third["run"], third["bytes"]) == (3, 3_100_000 + len("other words"))
    assert third["same"]["files"] == again["same"]["files"] - 2
    # Of the file that grew, what is new, and the rest of its first block.
    crossed = sent_bytes(account, "often") - third["savedBytes"] - len("other words")
    assert 100_000 <= crossed < 100_000 + BLOCK
    assert third["cost"]["egress"] < first["cost"]["egress"] / 10
    assert tree(tmp_path / "out" / "set") == tree(source)

    # Modes alone: no byte crosses, but of files that are so small that their digest would tell what is in them.
    for path in ("large.bin", "deep/small 3.txt", "deep/small 7.txt"):
        (source / path).chmod(0o604)
    assert (source / "deep" / "small 3.txt").stat().st_size >= LEAST_BYTES
    fourth = succeeded(account.run(request, "often-attempt4"))
    assert fourth["bytes"] == sent_bytes(account, "often") > 3_100_000
    assert fourth["bytes"] - fourth["savedBytes"] == len("other words")
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert "leftAlone" not in fourth

    there = tmp_path / "out" / "set" / "deep" / "small 7.txt"
    (source / "deep" / "small 7.txt").write_text("by the source, again")
    (source / "new.txt").write_text("new")
    fifth = succeeded(account.run({**request, "overwrite": "never"}, "often-attempt5"))
    assert (fifth["bytes"], fifth["leftAlone"]) == (3, {"entries": 1, "bytes": len("by the source, again")})
    assert there.read_text() == "other words"


def test_a_name_that_was_used_is_refused_with_the_remedy(account: Account, tmp_path: Path) -> None:
    request = account.request(tmp_path, tmp_path / "out", relays={"pairs": 0}, name="often")
    refused = account.run(request, "often-by-mistake")
    assert (refused.status, refused.error) == ("FAILED", "InvalidRequest")
    assert "$.resume: true" in str(refused.cause)


@only_full
def test_stopped_half_way_and_resumed_what_has_arrived_is_not_sent_again(account: Account, tmp_path: Path) -> None:
    source = tmp_path / "set"
    source.mkdir()
    randomness = Random(3)
    for number in range(40):
        (source / f"{number:02d}").write_bytes(randomness.randbytes(SIZE))
    request = account.request(source, tmp_path / "out", relays={"pairs": 0}, chunkSizeMiB=8, name="stopped")
    begun_and_stopped(account, request, 6 * SIZE)
    arrived = int(account.progress("stopped")["bytes"])

    report = succeeded(account.run({**request, "resume": True}, "stopped-attempt2"))
    assert report["same"]["bytes"] >= arrived
    assert report["bytes"] == 40 * SIZE - report["same"]["bytes"]
    assert sent_bytes(account, "stopped") == report["bytes"]
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["set"]  # nor partial files


def test_stopped_within_a_large_file_and_resumed_it_goes_on_inside(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=40 * SIZE)
    request = account.request(source, tmp_path / "out", relays={"pairs": 0}, name="large")
    begun_and_stopped(account, request, 6 * SIZE)
    left = account.progress("large")
    arrived, moved = int(left["bytes"]), int(left["movedBytes"])
    assert not (tmp_path / "out" / "set" / "large.bin").exists()

    report = succeeded(account.run({**request, "resume": True}, "large-attempt2"))
    assert report["same"]["bytes"] >= arrived
    size = sum(len(found[3]) for found in tree(source).values() if found[0] == "file")
    assert report["bytes"] == size - report["same"]["bytes"]
    assert sent_bytes(account, "large") == report["bytes"]
    twice, on_the_way = moved + sent_bytes(account, "large") - size, moved - arrived
    assert twice <= size // 100 + on_the_way
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["set"]
