"""A source whose listing takes long is sent while it goes on. What is held back makes the order, not time."""

import json
import os
from pathlib import Path
from typing import Any

from tests.e2e.account import Account
from tests.e2e.files import tree

# Objects of 100 and of 200 lines; what is left goes into the third, which is written last.
FILES = 310
THIRD_OBJECT = r"^PUT .*/listing/part-00002\.ndjson"


def many_files(root: Path) -> Path:
    for number in range(FILES):
        (root / f"{number % 3}").mkdir(parents=True, exist_ok=True)
        (root / f"{number % 3}" / f"{number}").write_bytes(b"%d" % number * 100)
    return root


def nest(directory: Path) -> None:
    """Makes directories in it, one in the other, until their path is longer than any program can name (4 096 bytes)."""
    above = os.open(directory, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("z" * 250, dir_fd=above)
        below = os.open("z" * 250, os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)


def delivered(account: Account, name: str) -> list[dict[str, Any]]:
    return [chunk for chunk in account.chunks(name) if chunk["state"] == "DELIVERED"]


def announced(account: Account, name: str) -> dict[str, Any]:
    key = f"ends/{account.shared(name)}/announced/{name}.json"
    return dict(json.loads(account.aws.client("s3").get_object(Bucket=account.bucket, Key=key)["Body"].read()))


def test_chunks_arrive_before_the_listing_is_done(account: Account, tmp_path: Path) -> None:
    source, name = many_files(tmp_path / "set"), "listed-slowly"
    with account.cloud.holding(THIRD_OBJECT):
        arn = account.start(account.request(source, tmp_path / "out", relays={"pairs": 0}), name)
        account.cloud.wait_for(lambda: delivered(account, name), 120)
        assert not announced(account, name)["complete"]
    run = account.wait(arn)
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert run.report["verified"]
    assert run.report["files"] == len(tree(source)) + 1
    assert run.report["estimate"]["chosenPairs"] == 0
    assert account.left(name) == {}


def test_what_the_listing_finds_in_the_way_fails_the_transfer_with_the_same_words(
    account: Account, tmp_path: Path
) -> None:
    source, name = many_files(tmp_path / "set"), "listed-in-vain"
    whole = tree(source)
    nest(source / "2")  # which is listed last
    request = account.request(source, tmp_path / "out", relays={"pairs": 0})
    with account.cloud.holding(THIRD_OBJECT):
        arn = account.start(request, name)
        account.cloud.wait_for(lambda: delivered(account, name), 120)
    run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert "$.source.paths: '" in str(run.cause)
    assert f"' on {account.source}: File name too long" in str(run.cause)
    arrived = tree(tmp_path / "out" / "set")
    files = {path: entry for path, entry in arrived.items() if entry[0] == "file"}
    assert files.items() <= whole.items()
    assert account.left(name) == {}
