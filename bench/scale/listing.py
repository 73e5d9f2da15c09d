"""From the start of a listing that takes long to the first byte, with and without the estimate first."""

import tempfile
import time
from pathlib import Path
from typing import Any

from bench.results import Result
from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.e2e.account import Account

LISTING_SECONDS = 20.0
FIRST_BYTE_SECONDS = 5.0
# Objects of 100, 200 and 10 lines; the last one is held back until the listing's time is over.
FILES, LAST_OBJECT = 310, r"^PUT .*/listing/part-00002\.ndjson"
ORDERS: dict[str, dict[str, Any]] = {"while it goes on": {}, "after the estimate": {"objective": {"maxCostUsd": 100}}}


def rows() -> list[Result]:
    """Both orders on one local cloud, one after the other; the first of them starts every Lambda cold."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for number in range(FILES):
            (work / "set").mkdir(exist_ok=True)
            (work / "set" / f"{number}").write_bytes(bytes(10_240))
        with LocalCloud(LocalConfig.model_validate({"port": 0}), work / "state") as cloud:
            account = Account(cloud, work)
            case = f"listing of {LISTING_SECONDS:.0f} s to first byte"
            return [
                Result(
                    f"{case}, {order}",
                    _first_byte(account, work, f"order-{number}", more),
                    "s",
                    bar=None if more else FIRST_BYTE_SECONDS,
                )
                for number, (order, more) in enumerate(ORDERS.items())
            ]


def _first_byte(account: Account, work: Path, name: str, more: dict[str, Any]) -> float:
    request = account.request(work / "set", work / name, relays={"pairs": 0}, **more)
    with account.cloud.holding(LAST_OBJECT):
        arn = account.start(request, name)
        account.entered(arn, "Survey Ends")
        time.sleep(LISTING_SECONDS)  # what is measured against
    run = account.wait(arn)
    if run.status != "SUCCEEDED":
        raise SystemExit(f"bench-scale: {name}: {run.error}: {run.cause}")
    record = account.record(name, "transfer") or {}
    return account.first_byte_at(name) - float(record["stages"]["Survey Ends"]["enteredAt"])
