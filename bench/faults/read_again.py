"""8 GB, nine tenths delivered, the sender killed: how much the next one reads."""

import time
from pathlib import Path

from bench.results import Result
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import HOME, Account
from tests.e2e.files import tree

LARGE_BYTES = 8_000_000_000
SMALL_FILES, SMALL_BYTES = 10_000, 10_000
CONFIG = {"port": 0, "bootSeconds": 1.0, "caps": {"interRegionMBps": 120.0, "intraRegionMBps": 240.0}}
OVERHEAD_MB = 20.0
"""The manifest, the journal and the program's own files."""


def case(work: Path) -> list[Result]:
    """Run it."""
    source = work / "set"
    source.mkdir()
    with (source / "large").open("wb") as file:
        for number in range(LARGE_BYTES // 1_000_000):
            file.write(number.to_bytes(8, "big") * 125_000)
    for number in range(SMALL_FILES):
        (source / f"small-{number}").write_bytes(number.to_bytes(8, "big") * (SMALL_BYTES // 8))
    total = LARGE_BYTES + SMALL_FILES * SMALL_BYTES
    with LocalCloud(LocalConfig.model_validate(CONFIG), work / "state") as cloud:
        account = Account(cloud, work)
        arn = account.start(account.request(source, work / "out", relays={"pairs": 0}), "large")
        cloud.wait_for(lambda: account.progress("large").get("bytes", 0) >= 0.9 * total, 300)
        account.shell(account.source, HOME, "systemctl kill --signal=KILL 'cpt-send-*'")
        left = total - _delivered(account)
        units = cloud.state.instances / account.source / "units"
        read = 0
        while account.describe(arn)["status"] == "RUNNING":
            read = max(read, _read_by_sender(units))
            time.sleep(0.05)
        run = account.wait(arn, 60)
    note = f"{run.report.get('restarts')}, {run.report['seconds']['transfer']:.0f} s"
    if "restarts" not in run.report:
        return [Result("8 GB", 0, "sender restarted", 1, "higher", note)]
    if tree(work / "out" / source.name) != tree(source):
        return [Result("8 GB", 0, "identical", 1, "higher", note)]
    return [
        Result("8 GB, sender killed at nine tenths", read / 1e6, "MB read", round(left / 1e6 + OVERHEAD_MB), note=note)
    ]


def _delivered(account: Account) -> int:
    return sum(int(chunk["bytes"]) for chunk in account.chunks("large") if chunk["state"] == "DELIVERED")


def _read_by_sender(units: Path) -> int:
    """Bytes that the running sender has read from files; what it receives from sockets does not count."""
    for pid in units.glob("cpt-send-*/pid"):
        try:
            for line in Path(f"/proc/{pid.read_text().strip()}/io").read_text().splitlines():
                if line.startswith("rchar: "):
                    return int(line.removeprefix("rchar: "))
        except OSError:
            continue
    return 0
