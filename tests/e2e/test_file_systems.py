"""A transfer between file systems of AWS's: what they bear and charge is in the estimate, the record and the report.

The mounts are of memory under the names that EFS's would have, which is all that a survey knows of them.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.assembly import synthesized
from tests.e2e.files import make_files, tree

MIB = 1.048576


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    work = tmp_path_factory.mktemp("account")
    config = LocalConfig.model_validate({"port": 0, "bootSeconds": 1.0})
    templates = synthesized(work / "assembly", (HOME, OTHER), readFileSystems=True)
    with LocalCloud(config, work / "state", templates) as cloud:
        yield Account(cloud, work)


def made(account: Account, region: str, **settings: Any) -> str:
    """The name of a file system of EFS."""
    client = account.cloud.client("efs", region)
    return f"{client.create_file_system(CreationToken=region, **settings)['FileSystemId']}.efs.{region}.amazonaws.com:/"


@contextmanager
def mounted(name: str, at: Path) -> Iterator[Path]:
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", name, str(at)], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


@only_full
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_modes_are_read_and_charges_counted_from_the_estimate_to_the_report(account: Account, tmp_path: Path) -> None:
    elastic = made(account, HOME, ThroughputMode="elastic")
    slow = made(account, OTHER, ThroughputMode="provisioned", ProvisionedThroughputInMibps=5.0)
    with mounted(elastic, tmp_path / "from") as source, mounted(slow, tmp_path / "to") as destination:
        files = make_files(source / "set", large_bytes=20_000_000)
        run = account.run(account.request(files, destination, relays={"pairs": 0}), "served")
        assert (run.status, run.cause) == ("SUCCEEDED", None)
        assert tree(destination / "set") == tree(files)
    estimate, cost = run.report["estimate"], run.report["cost"]
    assert estimate["rows"][0]["limit"] == "the destination's file system takes at most 5.2 MB/s"
    figure = estimate["figures"]["fileSystemsUsdPerGB"]
    assert figure["low"] >= 0.03
    assert "provisioned: charges nothing per GB" in figure["note"]
    assert cost["fileSystems"] >= run.report["bytes"] / 1e9 * figure["value"]
    assert cost["total"] >= cost["fileSystems"] + cost["egress"]
    assert not [note for note in estimate["notes"] if "readFileSystems" in note]
    spent = (account.record("served", "transfer") or {})["spent"]
    assert float(spent["fileSystems"]) == pytest.approx(cost["fileSystems"])
