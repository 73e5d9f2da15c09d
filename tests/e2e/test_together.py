"""Three transfers under one limit: they start later than it, it changes while they run, one of them pauses."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from lambdas.core.fleet.common_limit import LEASE_SECONDS
from local.cloud import namespaces_available
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import rules_disabled

# Rates are read off the bytes that are counted.
pytestmark = pytest.mark.paced
NAMES = ("together-a", "together-b", "together-c")
MBIT = 8
# MB/s; the direct path carries 20 in all.
AT_FIRST, THEN = 3, 5
LARGE = 120_000_000
WINDOW_SECONDS = 8
# Reports come every two seconds, and of chunks of a MiB one may be at either side of a window's edge.
EDGE = 1.05
# What TCP, IP and what goes to AWS add, by the kernel's count.
HEADERS = 1.06


class Together:
    """Transfers of one source machine, and what they have sent in all."""

    def __init__(self, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
        self.account = account
        monkeypatch.setenv("AWS_ENDPOINT_URL", account.cloud.endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")

    def cpt(self, *words: str) -> dict[str, Any]:
        answer = CliRunner().invoke(app, [*words, "--json"])
        assert answer.exit_code == 0, answer.output
        return dict(json.loads(answer.stdout))

    def limit(self, megabytes: int | None) -> dict[str, float]:
        """Set the limit over all: one look, too; the shares, in MB/s."""
        mbps = "none" if megabytes is None else str(MBIT * megabytes)
        return {name: share / MBIT for name, share in self.cpt("limit", "--all", "--mbps", mbps)["shares"].items()}

    def shared_out(self, megabytes: int, holds: Callable[[dict[str, float]], bool]) -> None:
        """Look until the shares are as they should be; whoever has less says so within two seconds."""
        self.account.cloud.wait_for(lambda: holds(self.limit(megabytes)), 60)

    def moved(self) -> dict[str, tuple[float, int]]:
        """When each sender has reported, and what it had sent."""
        reports = {name: self.account.progress(name) for name in NAMES}
        return {name: (report["at"], report["movedBytes"]) for name, report in reports.items()}

    def rates(self, seconds: float = WINDOW_SECONDS) -> dict[str, float]:
        """MB/s of each in a window that begins with a report after now."""
        first = self._after({name: at + 1.5 for name, (at, _) in self.moved().items()})
        last = self._after({name: at + seconds for name, (at, _) in first.items()})
        return {name: (last[name][1] - first[name][1]) / (last[name][0] - first[name][0]) / 1e6 for name in NAMES}

    def _after(self, times: dict[str, float]) -> dict[str, tuple[float, int]]:
        """The first reports after these times, by the clock of the machine."""

        def fresh() -> dict[str, tuple[float, int]] | None:
            found = {name: one for name, one in self.moved().items() if one[0] > times[name]}
            return found if len(found) == len(times) else None

        found: dict[str, tuple[float, int]] = self.account.cloud.wait_for(fresh, 240)
        return found


def starts(account: Account, tmp_path: Path, large: int) -> tuple[Path, list[str]]:
    source = make_files(tmp_path / "set", large_bytes=large)
    arns = [
        account.start(account.request(source, tmp_path / name, relays={"pairs": 0}, chunkSizeMiB=1), name)
        for name in NAMES
    ]
    for name in NAMES:
        account.cloud.wait_for(lambda name=name: account.progress(name).get("at"), 90)  # type: ignore[misc]
    return source, arns


@only_full
def test_three_share_a_limit_that_changes_and_one_of_them_pauses(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Together(account, monkeypatch)
    assert together.limit(AT_FIRST) == {}
    source, arns = starts(account, tmp_path, LARGE)
    third = pytest.approx(dict.fromkeys(NAMES, AT_FIRST / 3), rel=0.02)
    together.shared_out(AT_FIRST, lambda shares: shares == third)
    rates = together.rates()
    assert 0.95 * AT_FIRST <= sum(rates.values()) <= EDGE * AT_FIRST, rates

    together.limit(THEN)
    together.shared_out(THEN, lambda shares: sum(shares.values()) == pytest.approx(THEN, rel=0.01))
    rates = together.rates()
    assert 0.95 * THEN <= sum(rates.values()) <= EDGE * THEN, rates

    paused, others = NAMES[0], NAMES[1:]
    assert together.cpt("pause", paused) == {"transferId": paused, "paused": True, "changed": True}
    assert together.cpt("pause", paused)["changed"] is False
    together.shared_out(THEN, lambda shares: shares[paused] == 0 and min(shares[one] for one in others) > 0.45 * THEN)
    rates = together.rates()
    assert rates[paused] == 0
    assert 0.95 * THEN <= sum(rates.values()) <= EDGE * THEN, rates
    assert together.cpt("unpause", paused)["changed"] is True
    assert together.cpt("unpause", paused)["changed"] is False
    together.limit(None)
    for name, arn in zip(NAMES, arns, strict=True):
        run = account.wait(arn)
        assert (run.status, run.error) == ("SUCCEEDED", None)
        assert tree(tmp_path / name / "set") == tree(source)
        assert account.left(name) == {}


@only_full
@pytest.mark.skipif(not namespaces_available(), reason="only the kernel counts what a machine sends in all")
def test_without_whoever_shares_the_sum_stays_below_the_limit(
    make_account: Callable[..., Account], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """30 MB/s, counted by the kernel each second; the function that shares is gone for longer than a lease lasts."""
    account = make_account(instances="netns", caps={"interRegionMBps": 100.0, "intraRegionMBps": 160.0})
    together, limit = Together(account, monkeypatch), 30
    together.limit(limit)
    _, arns = starts(account, tmp_path, 3_500_000_000)
    together.shared_out(limit, lambda shares: shares == pytest.approx(dict.fromkeys(NAMES, limit / 3), rel=0.02))

    def sent() -> tuple[float, int]:
        """When, and how many bytes the source machine had sent by then, headers and all."""
        lines = account.shell(account.source, HOME, "cat /proc/net/dev").splitlines()
        devices = dict(line.split(":", 1) for line in lines if ":" in line)
        return time.monotonic(), sum(int(told.split()[8]) for name, told in devices.items() if name.strip() != "lo")

    def by_the_kernel(before: tuple[float, int]) -> float:
        """MB/s since then."""
        now = sent()
        return (now[1] - before[1]) / (now[0] - before[0]) / 1e6

    before = sent()
    rates = together.rates(20)
    assert 0.95 * limit <= sum(rates.values()) <= limit * 1.01, rates
    assert by_the_kernel(before) <= limit * HEADERS
    with rules_disabled(account, "cpt-share-limits"):
        before = sent()
        rates = together.rates(LEASE_SECONDS + 10)
        assert sum(rates.values()) <= limit * 1.01
        assert by_the_kernel(before) <= limit * HEADERS
        # Each one has what it would have beside one more.
        rates = together.rates()
        assert sum(rates.values()) == pytest.approx(0.75 * limit, rel=0.05)
    together.shared_out(limit, lambda shares: shares == pytest.approx(dict.fromkeys(NAMES, limit / 3), rel=0.02))
    rates = together.rates()
    assert 0.95 * limit <= sum(rates.values()) <= limit * 1.01, rates
    for arn in arns:
        account.aws.client("stepfunctions").stop_execution(executionArn=arn)
