"""Relays that grow slow or fall silent are replaced: whoever looks at them sees it, nobody reports it."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.extent import only_full
from tests.e2e.account import HOME, Account
from tests.e2e.files import make_files
from tests.e2e.test_events import joined, paths_with_data, rules_disabled
from tests.e2e.test_replacement import check_end, replacement

SIZE = 600_000_000
# The machine's network carries a fifth from now on; its daemon begins anew, since it has read the rates.
SLOW_DOWN = """
sed -i 's/"megabytesPerSecond": [0-9.]*/"megabytesPerSecond": 0.6/g' "$CPT_RATE_LIMITS"
grep -q 0.6 "$CPT_RATE_LIMITS" && systemctl kill --signal=KILL 'cpt-relay-*'
"""
# What was on its way through a relay when it froze has long come by then.
SETTLED_SECONDS = 1.0
# The whole machine: nothing on it would start its daemon again.
FREEZE = 'for file in manager pid; do kill -STOP "$(cat "$CPT_INSTANCE_DIR"/units/cpt-relay-*/$file)"; done'


@pytest.fixture(scope="module")
def narrow(make_account: Callable[..., Account]) -> Account:
    """Paths of 3 MB/s, so that enough is left for a successor to pay when the sender gives a relay up, after 52 s."""
    return make_account(caps={"interRegionMBps": 3.0, "intraRegionMBps": 40.0})


# The sender may find out by itself that a frozen relay does not answer new lanes.
@only_full
@pytest.mark.parametrize(
    ("name", "harm", "causes"),
    [
        ("slow", SLOW_DOWN, ("slow: ",)),
        # That a frozen relay is replaced, test_routes.py shows at a third region's, in half the time.
        ("silent", FREEZE, ("nothing came through it", "relay source-1-0")),
    ],
)
def test_relay_that_carries_too_little_is_replaced(
    narrow: Account, tmp_path: Path, name: str, harm: str, causes: tuple[str, ...]
) -> None:
    source = make_files(tmp_path / "set", large_bytes=SIZE)
    with rules_disabled(narrow, "cpt-reconcile", "cpt-watch-relays"):
        arn = narrow.start(narrow.request(source, tmp_path / "out", relays={"pairs": 2}), name)
        narrow.cloud.wait_for(lambda: {"pair-1", "pair-2"} <= paths_with_data(narrow, name), 60)
        first = next(node for node in narrow.nodes(name) if node["nodeId"] == "source-1-0")
        narrow.shell(first["instanceId"], HOME, harm)
        harmed = time.time()  # of one clock with the sender's
        # A look at an older report would count what came through before.
        narrow.cloud.wait_for(lambda: narrow.progress(name)["at"] > harmed + SETTLED_SECONDS, 30)
        narrow.invoke("cpt-watch-relays")  # two looks, half a minute apart
        narrow.cloud.wait_for(joined(narrow, name, "source-1-1"), 60)
        run = narrow.wait(arn)
    check_end(narrow, run, name, source, tmp_path / "out")
    found = replacement(run, "source-1-0")
    assert found["successor"] == "source-1-1"
    assert found["cause"].startswith(causes)
    assert {each["nodeId"] for each in run.report["replacements"]} <= {"source-1-0", "destination-1-0"}
