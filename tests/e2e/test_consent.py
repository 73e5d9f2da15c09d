"""A deployment that requires consent commands no end that its owner has not tagged, and says what is missing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.files import make_files, tree

TAG = "Key=cpt:end,Value=cpt"


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    work = tmp_path_factory.mktemp("account")
    config = LocalConfig.model_validate({"port": 0, "bootSeconds": 1.0})
    templates = synthesized(work / "assembly", (HOME, OTHER), requireConsent=True)
    with LocalCloud(config, work / "state", templates) as cloud:
        yield Account(cloud, work)


def untag(account: Account) -> None:
    """What the destination's owner does who wants no transfers any more."""
    ec2 = account.cloud.client("ec2", OTHER)
    ec2.delete_tags(Resources=[account.destination], Tags=[{"Key": "cpt:end"}])


def tag(account: Account) -> None:
    ec2 = account.cloud.client("ec2", OTHER)
    ec2.create_tags(Resources=[account.destination], Tags=[{"Key": "cpt:end", "Value": "cpt"}])


def test_ends_that_are_tagged_serve_from_the_first_command_to_the_last(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=20_000_000)
    run = account.run(account.request(source, tmp_path / "out", relays={"pairs": 1}), "tagged")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    record = account.record("tagged", "transfer") or {}
    assert record["teardown"]["stopped"] == 2
    assert account.left("tagged") == {}


def test_an_untagged_end_is_refused_by_name_before_anything_is_done(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1000)
    untag(account)
    run = account.run(account.request(source, tmp_path / "out"), "untagged")
    tag(account)
    assert (run.status, run.error) == ("FAILED", "InvalidRequest")
    assert f"--region {OTHER} --resources {account.destination} --tags {TAG}" in (run.cause or "")


def test_iam_refuses_the_command_where_nobody_has_looked_before(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1000)
    account.configure("cpt-validate-request", REQUIRE_CONSENT="false")
    untag(account)
    run = account.run(account.request(source, tmp_path / "out"), "denied")
    tag(account)
    account.configure("cpt-validate-request", REQUIRE_CONSENT="true")
    assert (run.status, run.error) == ("FAILED", "MissingPermission")
    assert f"the machine {account.destination} is not tagged" in (run.cause or "")
    assert TAG in (run.cause or "")
    assert list((tmp_path / "out").glob("*")) == []
