"""Data that is packed on its way: it arrives as it was, and only what crossed the network is paid for."""

from itertools import count, islice
from pathlib import Path

from tests.e2e.account import Account
from tests.e2e.files import tree

LINES = 1_600_000
EGRESS_USD_PER_GB = 0.02


def make_log(directory: Path) -> Path:
    """100 MB of lines as a web server writes them, no two alike."""
    directory.mkdir()
    lines = (
        f"2026-11-25T07:{n // 60 % 60:02}:{n % 60:02} GET /items/{n * 7919 % 10**9:09}/{n:09} 200\n" for n in count()
    )
    with (directory / "access.log").open("w") as log:
        log.writelines(islice(lines, LINES))
    return directory


def test_a_log_arrives_as_it_was_and_costs_what_crossed_the_network(account: Account, tmp_path: Path) -> None:
    source = make_log(tmp_path / "logs")
    # So slowly that packing pays however busy the processors are.
    limits = {"relays": {"pairs": 0}, "bandwidthLimitMbps": 80}
    request = account.request(source, tmp_path / "out", compress="auto", **limits)
    run = account.wait(account.start(request, "packed"))
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "logs") == tree(source)
    size, saved = run.report["bytes"], run.report["savedBytes"]
    assert saved > 0.6 * size
    expected = run.report["estimate"]["packing"]
    assert expected["savedBytes"] > 0.6 * size
    assert run.report["cost"]["egress"] < 0.5 * size / 1e9 * EGRESS_USD_PER_GB
