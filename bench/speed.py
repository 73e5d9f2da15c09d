"""`make bench-speed`: a whole transfer through capped instances against the zero-wait model and the direct path."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.results import Result, publish
from lambdas.core.models.zero_wait import Serving, zero_wait
from local.cloud import LocalCloud, namespaces_available
from local.config import LocalConfig
from tests.e2e.account import Account

FILE_BYTES = 2_000_000_000
CAP, INSIDE = 40.0, 320.0
PAIRS = 3


def main() -> int:
    """Run the transfer with `PAIRS` pairs and with none; both report their own joins to the model."""
    config = LocalConfig.model_validate(
        {
            "port": 0,
            "instances": "netns" if namespaces_available() else "process",
            "caps": {"interRegionMBps": CAP, "intraRegionMBps": INSIDE},
            "bootSeconds": 2.0,
        }
    )
    results, seconds = [], {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        source = work / "set"
        source.mkdir()
        with (source / "zeros").open("wb") as stream:
            stream.truncate(FILE_BYTES)
        with LocalCloud(config, work / "state") as cloud:
            account = Account(cloud, work)
            for pairs in (PAIRS, 0):
                name = f"speed-{pairs}"
                run = account.run(account.request(source, work / name, relays={"pairs": pairs}), name)
                if run.status != "SUCCEEDED":
                    raise SystemExit(f"bench-speed: p = {pairs}: {run.error}: {run.cause}")
                seconds[pairs] = run.report["seconds"]["transfer"]
                model = zero_wait(FILE_BYTES / 1e6, schedule(run.report, account.first_byte_at(name)), INSIDE, INSIDE)
                note = f"{seconds[pairs]:.1f} s against {model:.1f} s"
                results.append(Result(f"p = {pairs} / zero-wait model", seconds[pairs] / model, "×", 1.1, note=note))
    results.append(Result(f"p = {PAIRS} / p = 0", seconds[PAIRS] / seconds[0], "×", 0.5))
    return publish("speed", results, "make bench-speed")


def schedule(report: dict[str, Any], first_byte_at: float) -> list[Serving]:
    """The direct path and each pair from the second at which both its relays were in the membership."""
    joins: dict[int, float] = {}
    for node in report["nodes"]:
        if "joinedAt" in node:
            joins[node["slot"]] = max(joins.get(node["slot"], 0.0), node["joinedAt"] - first_byte_at)
    return [Serving(CAP), *(Serving(CAP, second) for second in joins.values())]


if __name__ == "__main__":
    sys.exit(main())
