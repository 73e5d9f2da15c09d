"""Clocks that jump by an hour in the middle of a transfer: nothing is lost, repeated or miscounted."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos import clock
from tests.chaos.extent import only_full
from tests.e2e.account import LARGE, Account
from tests.e2e.conftest import make_account  # noqa: F401 - a fixture
from tests.e2e.files import make_files, tree

pytestmark = [
    pytest.mark.paced,
    pytest.mark.skipif(not clock.is_possible(), reason="clocks of processes need root on x86-64"),
]

HOUR = 3600
TELL = "import sys, time\nprint(flush=True)\nfor _ in sys.stdin: print(time.time(), time.monotonic(), flush=True)"


def test_a_jump_moves_wall_clock_time_alone_and_may_come_again() -> None:
    with subprocess.Popen([sys.executable, "-c", TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        child.stdout.readline()  # before, the kernel may not have mapped the vDSO yet
        for seconds in (0, HOUR, -HOUR):
            clock.jump(child.pid, seconds)
            before = time.time(), time.monotonic()
            child.stdin.write(b"\n")
            child.stdin.flush()
            wall, steady = map(float, child.stdout.readline().split())
            after = time.time(), time.monotonic()
            assert before[0] + seconds <= wall <= after[0] + seconds
            assert before[1] <= steady <= after[1]
        child.stdin.close()


# Either way one end's clock goes ahead and the other's falls behind.
@only_full
@pytest.mark.parametrize("seconds", [HOUR, -HOUR], ids=["ahead", "behind"])
def test_clocks_of_ends_and_relays_that_jump_cost_no_attempt_and_no_relay(
    make_account: Callable[..., Account],  # noqa: F811
    tmp_path: Path,
    seconds: int,
) -> None:
    """The sender's clock jumps one way, the receiver's the other; AWS refuses calls until they are signed aright."""
    account = make_account(caps={"interRegionMBps": 6.0, "intraRegionMBps": 60.0})
    source, name = make_files(tmp_path / "set", large_bytes=LARGE), "jump"
    arn = account.start_slowly(account.request(source, tmp_path / "out", relays={"pairs": 1}), name)

    def delivered() -> int:
        return sum(chunk["state"] == "DELIVERED" for chunk in account.chunks(name))

    account.cloud.wait_for(lambda: sum("joinedAt" in node for node in account.nodes(name)) == 2, 60)
    account.cloud.wait_for(lambda: delivered() >= 2, 60)
    machines = {node["instanceId"]: seconds for node in account.nodes(name)}
    machines |= {account.source: seconds, account.destination: -seconds}
    for instance_id, off in machines.items():
        for pid in clock.daemons(account.cloud.state.instances / instance_id):
            clock.jump(pid, off)
    since = delivered()
    account.limit(name, None)
    run = account.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert {chunk["attempt"] for chunk in account.chunks(name)} == {1}
    assert len(account.chunks(name)) > since, "the clocks jumped when all was over"
    assert run.report["retries"] == 0
    assert not run.report["replacements"]
    assert not run.report.get("restarts")
    whole = run.report["seconds"]["transfer"]
    assert 0 < whole < HOUR / 4
    bars = [bar for lane in run.report["course"]["lanes"] for bar in lane["bars"]]
    assert all(0 <= bar["start"] <= bar["end"] <= whole + 1 for bar in bars)
