"""A transfer whose pairs were pre-tested teaches the link that it used, and `cpt map` shows it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner, Result

from cli.exit_codes import ExitCode
from cli.main import app
from lambdas.core.estimate.network_map import NetworkMap
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.files import make_files
from tests.paths import CONTRACTS

CAP = 20.0
SCHEMA = Draft202012Validator(json.loads((CONTRACTS / "network-map.schema.json").read_text()))


def cpt(*words: str) -> Result:
    return CliRunner().invoke(app, ["map", *words])


@pytest.fixture
def account(make_account: Callable[..., Account], monkeypatch: pytest.MonkeyPatch) -> Account:
    made = make_account(caps={"interRegionMBps": CAP, "intraRegionMBps": 8 * CAP}, bootSeconds=0.5)
    made.configure("cpt-pre-test-relays", PRE_TEST_SECONDS="1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", made.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    return made


@only_full
def test_the_map_knows_the_link_that_a_transfer_has_used(account: Account, tmp_path: Path) -> None:
    before = links(cpt("--json"))
    assert {one.origin for one in before.links if (one.from_region, one.to_region) == (HOME, OTHER)} == {"configured"}

    source = make_files(tmp_path / "set", large_bytes=LARGE)
    request = account.request(source, tmp_path / "out", preTest=True, relays={"pairs": 1})
    # Whatever is busy, the data is under way until the pairs have been measured and have joined.
    arn = account.start_slowly(request, "teaches")
    account.lift_once_joined("teaches", 1)
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    kind = run.report["nodes"][0]["instanceType"]

    after = links(cpt("--type", kind, "--json"))
    there = after.links_of(kind)[HOME, OTHER]
    # One transfer is one sample; twice as many pairs are tested as are kept.
    assert (there.samples, there.origin, there.is_stale) == (1, "measured", False)
    assert "1 sample of 2 values" in there.rate.told
    assert there.last_sample_at is not None
    assert 0 < there.rate.now < 1.1 * CAP  # how near it comes is for `make bench-estimate`
    back = after.links_of(kind)[OTHER, HOME]
    assert back == before.links_of(kind)[OTHER, HOME]
    assert back.samples == 0
    assert there.egress.value > 0

    page = tmp_path / "map.html"
    shown = cpt("--type", kind, "--html", str(page))
    assert f"{kind}: MB/s through one pair of relays" in shown.stdout
    assert "measured" in shown.stdout
    assert f"{HOME} to {OTHER}" in page.read_text()

    wrong = cpt("--type", "c9.huge")
    assert wrong.exit_code == ExitCode.USAGE
    assert (
        f"--type: 'c9.huge' is not a relay type of this deployment; allowed: {before.instance_types[0]}" in wrong.stderr
    )


def links(answer: Result) -> NetworkMap:
    assert answer.exit_code == ExitCode.SUCCEEDED, answer.output
    document = json.loads(answer.stdout)
    SCHEMA.validate(document)
    return NetworkMap.from_document(document)
