"""With caps, relays shorten a transfer; `make lab FIGURE=cpt-6.1` measures by how much against the model."""

from collections.abc import Callable
from pathlib import Path

import pytest

from local.cloud import namespaces_available
from tests.e2e.account import Account

pytestmark = pytest.mark.alone

BYTES = 1_200_000_000


@pytest.fixture(scope="module")
def capped(make_account: Callable[..., Account]) -> Account:
    return make_account(
        instances="netns" if namespaces_available() else "process",
        caps={"interRegionMBps": 40.0, "intraRegionMBps": 320.0},
        bootSeconds=2.0,
    )


def test_three_pairs_take_less_than_two_thirds_of_the_direct_time(capped: Account, tmp_path: Path) -> None:
    """Four paths of one cap, three of which join late, take about 0.35 of it; a busy machine has taken 0.44."""
    source = tmp_path / "set"
    source.mkdir()
    with (source / "zeros").open("wb") as stream:
        stream.truncate(BYTES)
    seconds = {}
    for pairs in (3, 0):
        name = f"speed-{pairs}"
        run = capped.run(capped.request(source, tmp_path / name, relays={"pairs": pairs}), name)
        assert (run.status, run.cause) == ("SUCCEEDED", None)
        seconds[pairs] = run.report["seconds"]["transfer"]
    assert seconds[3] < seconds[0] * 2 / 3
