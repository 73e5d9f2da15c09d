"""Data takes ways through third regions, carried out by the real state machine over regions of their own."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.aws import configuration
from cli.figures import tell_figures
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import END_TYPE, HOME, OTHER, SLOW_MBPS, Account
from tests.e2e.files import make_files, tree

FRANKFURT, TOKYO = "eu-central-1", "ap-northeast-1"
REGIONS = (HOME, OTHER, FRANKFURT, TOKYO)
SLOW, WIDE = {"interRegionMBps": 5.0, "intraRegionMBps": 160.0}, {"interRegionMBps": 40.0, "intraRegionMBps": 160.0}


def assembly(folder: Path) -> Path:
    """The templates of a deployment with four regions."""
    settings = {**configuration(), "regions": {region: {} for region in REGIONS}}
    command = ["npx", "--no-install", "cdk", "synth", "--quiet", "-o", str(folder), "-c", f"cpt={json.dumps(settings)}"]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    return folder


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An account in which the way through Frankfurt is known to be eight times as wide as the direct one."""
    work = tmp_path_factory.mktemp("account")
    settings: dict[str, Any] = {"port": 0, "regions": list(REGIONS), "bootSeconds": 1.0}
    with LocalCloud(LocalConfig.model_validate(settings), work / "state", assembly(work / "assembly")) as cloud:
        account = Account(cloud, work)
        types = configuration()["instanceTypes"]
        tell_figures(account.aws, f"{HOME}>{OTHER}", [END_TYPE, *types], SLOW, 3)
        for pair in (f"{HOME}>{FRANKFURT}", f"{FRANKFURT}>{OTHER}"):
            tell_figures(account.aws, pair, types, WIDE, 3)
        yield account


def test_data_goes_through_a_third_region_and_nothing_is_left_in_any(wide: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=200_000_000)
    request = wide.request(
        source, tmp_path / "out", relays={"through": [FRANKFURT, TOKYO]}, objective={"minimise": "time"},
        bandwidthLimitMbps=SLOW_MBPS * 4,
    )  # fmt: skip
    run = wide.run(request, "through")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    joined = {node["role"]: node["region"] for node in run.report["nodes"] if "joinedAt" in node}
    assert joined["transit-3"] == FRANKFURT
    assert TOKYO not in joined.values()
    carried = {path["pathId"] for path in run.report["course"]["paths"]}
    assert any(path.startswith("route-2-") for path in carried)
    assert wide.left("through") == {}
    for region in REGIONS:
        assert [
            one["State"]["Name"] for one in wide.launched("through", region) if one["State"]["Name"] != "terminated"
        ] == []
        assert wide.rules("through", region) == []
