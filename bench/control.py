"""`make bench-control`: from start-execution to the first payload byte, on the local cloud without added latency."""

import statistics
import sys
import tempfile
from pathlib import Path

from bench.results import Result, publish
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import Account

RUNS = 5
FILE_BYTES = 20_000_000


def main() -> int:
    """Run a small transfer several times; the first installs the daemon on both ends and starts every Lambda cold."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "set").mkdir()
        (work / "set" / "file").write_bytes(bytes(FILE_BYTES))
        with LocalCloud(LocalConfig.model_validate({"port": 0}), work / "state") as cloud:
            account = Account(cloud, work)
            seconds = []
            for number in range(RUNS):
                run = account.run(
                    account.request(work / "set", work / f"out-{number}", relays={"pairs": 0}), f"control-{number}"
                )
                if run.status != "SUCCEEDED":
                    raise SystemExit(f"bench-control: run {number}: {run.error}: {run.cause}")
                seconds.append(run.report["seconds"]["firstByte"])
    results = [
        Result("start-execution to first byte, cold", seconds[0], "s", bar=6.0),
        Result(
            f"start-execution to first byte, median of {RUNS - 1} warm", statistics.median(seconds[1:]), "s", bar=3.0
        ),
    ]
    return publish("control", results, "make bench-control")


if __name__ == "__main__":
    sys.exit(main())
