"""What people set on a transfer that runs: a timetable of limits, a limit by hand, weights of the ends' daemons."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import rules_disabled

# Rates are read off the bytes that are counted.
pytestmark = pytest.mark.paced
NAME = "by-timetable"
# Mbit/s; the direct path carries 20 MB/s.
AT_FIRST, THEN, BY_HAND = 48, 24, 96
# Each holds for a quarter of a minute, or a half on a busy machine: 21 MB/s in all, 630 MB.
LARGE = 800_000_000
LOOK_SECONDS = 6  # of which a chunk is 6 % at the slowest
MINUTE = 60
LATER_SECONDS = 3 * MINUTE
WEIGHTS = ("CPUWeight", "IOWeight")


def clock(minute: float) -> str:
    return datetime.fromtimestamp(minute, UTC).strftime("%H:%M")


def rate_mbps(account: Account) -> float:
    """Mbit/s that were delivered between two reports, some seconds after a limit was set."""
    time.sleep(2 * 2)  # the sender follows within a second, and reports every two
    first = account.progress(NAME)
    account.cloud.wait_for(lambda: account.progress(NAME)["at"] >= first["at"] + LOOK_SECONDS, 60)
    last = account.progress(NAME)
    return float(8 * (last["bytes"] - first["bytes"]) / (last["at"] - first["at"]) / 1e6)


def limit_of_the_sender(account: Account) -> int | None:
    membership = json.loads((account.record(NAME, "membership") or {})["membership"])
    found = membership.get("bandwidthLimitMbps")
    return None if found is None else int(found)


def shown(account: Account, side: str, name: str) -> str:
    machine, region, role = (
        (account.source, HOME, "send") if side == "source" else (account.destination, OTHER, "receive")
    )
    return account.shell(machine, region, f"systemctl show --property={name} cpt-{role}-{NAME}").strip()


@only_full
def test_the_rate_follows_the_timetable_then_a_person_then_the_timetable_again(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")

    def cpt_limit(mbps: str) -> dict[str, object]:
        answer = CliRunner().invoke(app, ["limit", NAME, "--mbps", mbps, "--json"])
        assert answer.exit_code == 0, answer.output
        return dict(json.loads(answer.stdout))

    source = make_files(tmp_path / "set", large_bytes=LARGE)
    began = time.time()
    timetable = [
        {"from": clock(began - MINUTE), "mbps": AT_FIRST},
        {"from": clock(began + LATER_SECONDS - MINUTE), "mbps": THEN},
    ]
    request = account.request(
        source, tmp_path / "out", relays={"pairs": 0}, chunkSizeMiB=1, bandwidthLimitMbps={"timetable": timetable}
    )
    request["source"] |= {"cpuWeight": 20, "ioWeight": 1}
    request["destination"] |= {"ioWeight": 200}
    with rules_disabled(account, "cpt-reconcile"):
        arn = account.start(request, NAME)
        account.cloud.wait_for(lambda: account.progress(NAME).get("bytes", 0) > 0, 60)
        weights = [(side, name, shown(account, side, name)) for side in ("source", "destination") for name in WEIGHTS]
        assert weights == [
            ("source", "CPUWeight", "CPUWeight=20"),
            ("source", "IOWeight", "IOWeight=1"),
            ("destination", "CPUWeight", "CPUWeight=[not set]"),
            ("destination", "IOWeight", "IOWeight=200"),
        ]

        assert limit_of_the_sender(account) == AT_FIRST
        assert rate_mbps(account) == pytest.approx(AT_FIRST, rel=0.25)
        account.look_at(NAME)
        assert limit_of_the_sender(account) == AT_FIRST
        # Nobody waits for the minute: for the functions that look at the timetable, it has come.
        for function in ("cpt-reconcile", "cpt-limit-transfer"):
            account.configure(function, LOCAL_CLOCK_AHEAD_SECONDS=str(LATER_SECONDS))
        account.look_at(NAME)
        assert limit_of_the_sender(account) == THEN
        assert rate_mbps(account) == pytest.approx(THEN, rel=0.25)

        assert cpt_limit(str(BY_HAND)) == {"transferId": NAME, "bandwidthLimitMbps": BY_HAND}
        account.look_at(NAME)
        assert limit_of_the_sender(account) == BY_HAND
        assert rate_mbps(account) == pytest.approx(BY_HAND, rel=0.25)

        assert cpt_limit("timetable") == {"transferId": NAME, "bandwidthLimitMbps": THEN}
        assert limit_of_the_sender(account) == THEN
        cpt_limit("none")
        run = account.wait(arn)
    for function in ("cpt-reconcile", "cpt-limit-transfer"):
        account.configure(function, LOCAL_CLOCK_AHEAD_SECONDS="0")
    assert (run.status, run.error) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(source)
    limits = [(one.get("bandwidthLimitMbps"), one["by"]) for one in run.report["course"]["limits"]]
    assert limits == [(THEN, "timetable"), (BY_HAND, "person"), (THEN, "timetable"), (None, "person")]
