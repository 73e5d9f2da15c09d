"""Relays that never come cost the transfer nothing: it neither waits for them nor goes slower meanwhile."""

from pathlib import Path

import pytest

from local.config import Fault
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import make_files, tree

pytestmark = pytest.mark.paced

LARGE = 100_000_000  # 5 s on the direct path
# On a busy machine two such runs may differ by a fifth; the relays' own limit to join is 300 s.
MARGIN, END_SECONDS = 1.25, 30


def test_relays_that_never_come_do_not_delay_the_transfer(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    alone = account.run(account.request(source, tmp_path / "alone", relays={"pairs": 0}), "alone")
    for region in (HOME, OTHER):
        account.cloud.spoil(Fault(operation="UpdateInstanceInformation", region=region, count=2))
    waited = account.run(account.request(source, tmp_path / "waited", relays={"pairs": 2}), "waited")
    assert (alone.status, waited.status, waited.cause) == ("SUCCEEDED", "SUCCEEDED", None)
    assert tree(tmp_path / "waited" / "set") == tree(source)
    assert waited.report["seconds"]["transfer"] < MARGIN * alone.report["seconds"]["transfer"]
    assert waited.report["seconds"]["total"] < alone.report["seconds"]["total"] + END_SECONDS
    nodes = account.nodes("waited")
    assert len(nodes) == 4
    assert not any("onlineAt" in node for node in nodes)
    gone = {"terminated", "shutting-down"}
    for region in (HOME, OTHER):
        assert {relay["State"]["Name"] for relay in account.launched("waited", region)} <= gone
