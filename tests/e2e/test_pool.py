"""Relays that stand before anybody asks: whole executions through a pool of one node in each region."""

from pathlib import Path
from typing import Any

import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.files import make_files, tree

NODE_TYPE = "c6in.large"
ONE_EACH = {"min": 1, "max": 2, "instanceType": NODE_TYPE, "leasesPerNode": 2}


class Pool:
    """The pool of an account, as its table shows it."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.table = account.aws.resource("dynamodb").Table("cpt-pool")

    def items(self, kind: str) -> list[dict[str, Any]]:
        """Those whose record begins so."""
        return [item for item in self.table.scan()["Items"] if item["record"].startswith(kind)]

    def states(self) -> dict[str, str]:
        """States of nodes, by region."""
        return {item["region"]: item["state"] for item in self.items("node#") if item["state"] != "ENDED"}

    def keep(self) -> None:
        """The minute's look, now."""
        self.account.invoke("cpt-keep-pool", {})

    def await_free(self) -> None:
        """Until each region has a node that takes leases."""

        def is_free() -> bool:
            self.keep()
            return self.states() == {HOME: "FREE", OTHER: "FREE"}

        self.account.cloud.wait_for(is_free, 60)


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    work = tmp_path_factory.mktemp("pool")
    caps = {"interRegionMBps": 20.0, "intraRegionMBps": 160.0}
    config = {"port": 0, "bootSeconds": 1.0, "caps": caps, "pollSeconds": 0.2}
    templates = synthesized(work / "assembly", (HOME, OTHER), pool={HOME: ONE_EACH, OTHER: ONE_EACH})
    with LocalCloud(LocalConfig.model_validate(config), work / "state", templates) as cloud:
        pool = Pool(Account(cloud, work))
        pool.await_free()
        yield pool


def test_a_transfer_goes_through_nodes_that_stand_there_and_leaves_them(pooled: Pool, tmp_path: Path) -> None:
    account = pooled.account
    source = make_files(tmp_path / "set", large_bytes=LARGE)
    request = account.request(source, tmp_path / "out", relays={"pairs": 1, "pool": "only"})
    run = account.run(request, "pooled")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert [account.launched("pooled", region) for region in (HOME, OTHER)] == [[], []]
    nodes = account.nodes("pooled")
    assert {(node["provider"], node["state"]) for node in nodes} == {("pool", "TERMINATED")}
    assert all("joinedAt" in node for node in nodes)
    moved = {path["pathId"]: path["bytes"] for path in run.report["course"]["paths"]}
    assert moved["pair-1"] > 0
    assert pooled.states() == {HOME: "FREE", OTHER: "FREE"}
    assert [account.rules("pooled", region) for region in (HOME, OTHER)] == [[], []]
    account.cloud.wait_for(lambda: all("stoppedAt" in lease for lease in pooled.items("lease#")), 20)
    pooled.keep()
    assert pooled.items("lease#") == []
