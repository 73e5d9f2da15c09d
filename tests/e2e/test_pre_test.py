"""Twice the relays are spawned; the slow half, which the chooser does not know, goes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import make_files, tree

pytestmark = pytest.mark.alone


def test_the_slow_half_is_terminated_and_the_rest_joins(make_account: Callable[..., Account], tmp_path: Path) -> None:
    slow = [{"tag": "cpt:role", "value": role, "every": 2, "factor": 0.2} for role in ("source", "destination")]
    account = make_account(caps={"interRegionMBps": 40.0, "intraRegionMBps": 320.0, "launches": slow}, bootSeconds=0.5)
    account.configure("cpt-pre-test-relays", PRE_TEST_SECONDS="1")
    source = make_files(tmp_path / "set", large_bytes=600_000_000)
    run = account.run(account.request(source, tmp_path / "out", relays={"pairs": 1}, preTest=True), "pre-test")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert run.report["pairs"] == 1
    assert [len(account.launched("pre-test", region)) for region in (HOME, OTHER)] == [2, 2]
    nodes = {node["nodeId"]: node for node in account.nodes("pre-test")}
    rejected = {name for name, node in nodes.items() if "joinedAt" not in node}
    assert len(rejected) == 2
    for name in rejected:
        assert nodes[name]["endedAt"] < run.report["nodes"][0]["endedAt"] or nodes[name]["state"] == "REJECTED"
    measured = {name: float(node["measuredInterRegionMBps"]) for name, node in nodes.items()}
    kept = set(nodes) - rejected
    assert min(measured[name] for name in kept) > 2 * max(measured[name] for name in rejected)
    # the cap of the rejected is a fifth of 40 MB/s; the chooser saw it only by measuring
    assert max(measured[name] for name in rejected) < 16
