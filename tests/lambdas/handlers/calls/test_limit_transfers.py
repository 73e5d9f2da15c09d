import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from lambdas.handlers.calls.limit_transfers import CommonLimitRequest, limit_transfers
from tests.lambdas.cloud import Cloud
from tests.lambdas.operations.fleet.test_sharing import mbps, starts
from tests.paths import CONTRACTS

EXAMPLES = CONTRACTS / "examples"


def test_the_limit_is_set_and_each_share_told() -> None:
    cloud = Cloud()
    one, two = starts(cloud, "first", label="night"), starts(cloud, "second")
    assert limit_transfers(CommonLimitRequest(bandwidth_limit_mbps=240), cloud.world) == {
        "bandwidthLimitMbps": 240,
        "shares": {"first": 120.0, "second": 120.0},
    }
    of_label = limit_transfers(CommonLimitRequest(label="night", bandwidth_limit_mbps=40), cloud.world)
    assert of_label["label"] == "night"
    assert (mbps(cloud, one), mbps(cloud, two)) == (40.0, 120.0)
    limit_transfers(CommonLimitRequest(bandwidth_limit_mbps=None), cloud.world)
    assert (mbps(cloud, one), mbps(cloud, two)) == (40.0, None)


def test_it_holds_for_transfers_to_come() -> None:
    cloud = Cloud()
    assert limit_transfers(CommonLimitRequest(bandwidth_limit_mbps=240), cloud.world)["shares"] == {}
    assert mbps(cloud, starts(cloud, "first")) == 240.0


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("good/common-limit-request/*.json")), ids=lambda path: path.stem)
def test_good_example_is_read(path: Path) -> None:
    document = json.loads(path.read_text())
    assert CommonLimitRequest.from_document(document).bandwidth_limit_mbps == document["bandwidthLimitMbps"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("bad/common-limit-request/*.json")), ids=lambda path: path.stem)
def test_bad_example_is_refused(path: Path) -> None:
    with pytest.raises(ValidationError):
        CommonLimitRequest.from_document(json.loads(path.read_text()))


def test_a_label_that_is_null_is_no_limit_over_all() -> None:
    with pytest.raises(ValidationError, match="leave it out for a limit over all transfers"):
        CommonLimitRequest.from_document({"label": None, "bandwidthLimitMbps": 80})
