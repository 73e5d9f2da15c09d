"""S3's calls that transfers make, judged by the cases of versitygw, where it is installed."""

import sys
from pathlib import Path

import pytest

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.chaos.extent import only_full
from tests.chaos.object_cases import judge, program

KNOWN = Path(__file__).with_name("object_cases.txt")

pytestmark = [only_full, pytest.mark.timeout(3600)]


def test_what_fails_of_versitygws_cases_is_known_by_name(tmp_path: Path) -> None:
    versitygw = program()
    if versitygw is None:
        pytest.skip("versitygw is not here: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0")
    cloud = LocalCloud(LocalConfig(port=0, home_region="us-east-1", regions=["us-east-1"]), tmp_path, None)
    cloud.start()
    try:
        verdict = judge(versitygw, cloud.endpoint)
    finally:
        cloud.stop()
    sys.stderr.write(f"\n{verdict.told()}\n")
    known = {line for line in KNOWN.read_text().splitlines() if line and not line.startswith("#")}
    assert set(verdict.failed) == known, verdict.told()
