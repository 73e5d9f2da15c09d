"""Files with a problem of their own: everything else arrives, and the execution ends as the request says."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.e2e.account import Account, Run
from tests.e2e.files import tree

COUNT = 40
REPORTS, LINES = (
    Draft202012Validator(json.loads(Path(f"contracts/{name}.schema.json").read_text()))
    for name in ("report", "skipped-entry")
)


def run_with_a_conflict(account: Account, work: Path, name: str, **more: Any) -> Run:
    """Of forty small files in one bundle one cannot be placed: a directory has its name at the destination."""
    source = work / "set"
    source.mkdir()
    for number in range(COUNT):
        (source / f"f{number}").write_text(f"file {number}")
    (work / "out" / "set" / "f7" / "full").mkdir(parents=True)
    request = account.request(source, work / "out", relays={"pairs": 0}, name=name, **more)
    return account.run(request, name)


def arrived(work: Path) -> list[str]:
    return sorted(path.name for path in (work / "out" / "set").iterdir() if path.is_file())


def report(account: Account, name: str) -> dict[str, Any]:
    found = account.aws.client("s3").get_object(Bucket=account.bucket, Key=f"transfers/{name}/report.json")
    document = dict(json.loads(found["Body"].read()))
    REPORTS.validate(document)
    return document


def listed(account: Account, name: str) -> list[dict[str, Any]]:
    """The list beside the report."""
    key = f"transfers/{name}/skipped/part-00000.ndjson"
    found = account.aws.client("s3").get_object(Bucket=account.bucket, Key=key)
    lines = [json.loads(line) for line in found["Body"].read().splitlines()]
    for line in lines:
        LINES.validate(line)
    return lines


@pytest.mark.parametrize("on_problem", ["fail", "skip"])
def test_one_file_in_conflict_is_named_and_its_neighbours_arrive(
    account: Account, tmp_path: Path, on_problem: str
) -> None:
    name = f"problem-{on_problem}"
    run = run_with_a_conflict(account, tmp_path, name, onProblem=on_problem)
    assert arrived(tmp_path) == sorted(f"f{number}" for number in range(COUNT) if number != 7)
    found = report(account, name)
    assert not found["verified"]
    assert found["skipped"]["count"] == 1
    assert found["skipped"]["first"] == listed(account, name)
    assert [(line["path"], line["reason"]) for line in listed(account, name)] == [("set/f7", "destination-conflict")]
    if on_problem == "fail":
        assert (run.status, run.error) == ("FAILED", "FilesSkipped")
        assert "set/f7 (destination-conflict" in str(run.cause)
        assert found["status"] == "FAILED"
    else:
        assert (run.status, run.cause) == ("SUCCEEDED", None)
        assert found["status"] == "SUCCEEDED_WITH_SKIPS"

    # Resumed, only what differs is sent; and now there is nothing in its way.
    (tmp_path / "out" / "set" / "f7" / "full").rmdir()
    (tmp_path / "out" / "set" / "f7").rmdir()
    request = account.request(tmp_path / "set", tmp_path / "out", relays={"pairs": 0}, name=name, resume=True)
    again = account.run(request, f"{name}-attempt2")
    assert (again.status, again.cause) == ("SUCCEEDED", None)
    assert (again.report["bytes"], again.report["verified"]) == (len("file 7"), True)
    assert "skipped" not in again.report
    assert tree(tmp_path / "out" / "set") == tree(tmp_path / "set")
