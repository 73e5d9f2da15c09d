"""Ends named on the command line of `cpt start`, in place of a request in a file."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner, Result

from cli import given_ends, main, starting
from cli.exit_codes import ExitCode
from tests.cli.transfers import Account

MACHINE, WEST = "i-0aaaaaaaaaaaaaaa1", "us-west-2"
BUCKETS = {"near": WEST, "far": "eu-west-1", "theirs": "ap-southeast-2"}


class Named(Account):
    """One machine in the West; buckets, of which one is in another region and one is another's."""

    def client(self, service: str, region: str | None = None) -> Any:
        if service == "ec2":
            return SimpleNamespace(describe_instances=lambda **_: {"Reservations": [{}] if region == WEST else []})
        if service == "s3":
            return SimpleNamespace(head_bucket=self._head)
        return super().client(service)

    def _head(self, *, Bucket: str) -> dict[str, Any]:  # noqa: N803
        if Bucket == "near":
            return {"BucketRegion": WEST, "ResponseMetadata": {}}
        headers = {"x-amz-bucket-region": BUCKETS[Bucket]} if Bucket in BUCKETS else {}
        code = {"far": "301", "theirs": "403"}.get(Bucket, "404")
        answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPHeaders": headers}}
        raise ClientError(answer, "HeadBucket")


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Named:
    found = Named([], {}, {})
    monkeypatch.setattr(starting, "home", lambda *, local: found)
    monkeypatch.setattr(starting, "judge", lambda _aws, _document: None)
    monkeypatch.setattr(given_ends, "enrolled", lambda _aws: ("eu-west-1", WEST))
    return found


def cpt(*words: str) -> Result:
    return CliRunner().invoke(main.app, ["start", *words])


def started(account: Named, *words: str) -> Any:
    answer = cpt(*words)
    assert answer.exit_code == 0, answer.output
    return json.loads(account.started[-1]["input"])


@pytest.mark.parametrize(
    ("text", "prefix", "region"),
    [
        ("s3://near", "", WEST),
        ("s3://near/", "", WEST),
        ("s3://far/a/b/", "a/b/", "eu-west-1"),
        ("s3://far/a", "a/", "eu-west-1"),
        ("s3://theirs/x y/", "x y/", "ap-southeast-2"),
    ],
)
def test_a_bucket_is_found_by_its_name_and_has_a_prefix(account: Named, text: str, prefix: str, region: str) -> None:
    found = started(account, text, f"{MACHINE}:/restore")
    assert found["source"] == {"kind": "bucket", "bucket": text.split("/")[2], "prefix": prefix, "region": region}
    assert found["destination"] == {"instanceId": MACHINE, "region": WEST, "path": "/restore"}


def test_a_machine_has_a_path_and_is_looked_for_in_all_regions(account: Named) -> None:
    found = started(account, f"{MACHINE}:/data/a:b/", "s3://far/set", "--name", "nightly", "--dry-run")
    assert found["source"] == {"instanceId": MACHINE, "region": WEST, "paths": ["/data/a:b/"]}
    assert (found["destination"]["prefix"], found["dryRun"]) == ("set/", True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["s3://gone/x", f"{MACHINE}:/y"], "s3://gone is not found"),
        ([f"{MACHINE}:relative", "s3://near/x"], "is no end: write i-"),
        (["s3://near/x"], "is a source; name the destination too"),
        ([f"{MACHINE}:/x"], "is a source; name the destination too"),
        (["missing.json"], "File 'missing.json' does not exist."),
        (["/etc/hostname", "s3://near/x"], "is no end"),
    ],
)
def test_what_names_no_end_is_refused_and_nothing_is_started(account: Named, words: list[str], said: str) -> None:
    answer = cpt(*words)
    assert answer.exit_code == ExitCode.USAGE
    assert said in " ".join(answer.stderr.replace("│", "").split())
    assert account.started == []
