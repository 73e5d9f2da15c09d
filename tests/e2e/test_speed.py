"""With caps, three pairs follow the zero-wait model for the observed joins, and the direct path its own cap."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from local.cloud import namespaces_available
from tests.e2e.account import Account, joins_of, zero_wait_seconds

BYTES = 2_000_000_000
CAP, INSIDE = 40.0, 320.0


@pytest.fixture(scope="module")
def capped(make_account: Callable[..., Account]) -> Account:
    return make_account(
        instances="netns" if namespaces_available() else "process",
        caps={"interRegionMBps": CAP, "intraRegionMBps": INSIDE},
        bootSeconds=2.0,
    )


def test_two_gigabytes_follow_the_model_and_beat_half_the_direct_time(capped: Account, tmp_path: Path) -> None:
    source = tmp_path / "set"
    source.mkdir()
    with (source / "zeros").open("wb") as stream:
        stream.truncate(BYTES)
    seconds = {}
    for pairs in (3, 0):
        name = f"speed-{pairs}"
        request = capped.request(source, tmp_path / name, relays={"pairs": pairs})
        run = capped.run(request, name)
        assert (run.status, run.cause) == ("SUCCEEDED", None)
        seconds[pairs] = run.report["seconds"]["transfer"]
        model = zero_wait_seconds(BYTES, CAP, INSIDE, joins_of(run.report, capped.first_byte_at(name)))
        sys.stdout.write(
            f"p = {pairs}: {seconds[pairs]:.2f} s; zero-wait model with the observed joins {model:.2f} s\n"
        )
        assert seconds[pairs] <= 1.1 * model
    assert seconds[3] < seconds[0] / 2
