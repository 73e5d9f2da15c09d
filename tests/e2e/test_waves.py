"""A tree is moved in waves while it changes, and cut over: identical, as forecast, nothing without the owner's word."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_waves import DynamoWaves
from lambdas.core.waves.waves import Waves
from tests.chaos.extent import only_full
from tests.e2e.account import Account
from tests.e2e.files import make_files, tree

LABEL = "Move of the archive"
NO_RSYNC = shutil.which("rsync") is None
# What a forecast may be off by.
NEAR = 0.2
# Bytes that change while each wave runs; after the fourth what is left is below the bound.
CHANGING = (40_000_000, 24_000_000, 14_000_000, 8_000_000, 8_000_000)
BOUND = 9_500_000
FILE = 100_000


def machine(account: Account) -> str:
    return f"{account.machine.removesuffix('-transfer')}-waves"


def start(account: Account, name: str, request: dict[str, Any], **keys: Any) -> str:
    client, asked = account.aws.client("stepfunctions"), {"label": LABEL, "request": request, **keys}
    return str(
        client.start_execution(stateMachineArn=machine(account), name=name, input=json.dumps(asked))["executionArn"]
    )


def over(account: Account, arn: str, seconds: float = 600) -> dict[str, Any]:
    """The execution once it has ended."""
    return dict(
        account.cloud.wait_for(lambda: (found := account.describe(arn))["status"] != "RUNNING" and found, seconds)
    )


def succeeded(account: Account, arn: str) -> Waves:
    found = over(account, arn)
    assert (found["status"], found.get("cause")) == ("SUCCEEDED", None)
    return Waves.from_document(json.loads(found["output"]))


def refused(account: Account, arn: str) -> tuple[str, str]:
    found = over(account, arn)
    assert found["status"] == "FAILED"
    return str(found["error"]), str(found["cause"])


def noted(account: Account) -> Waves | None:
    return DynamoWaves(Table(account.aws.client("dynamodb"), "cpt-transfers")).of(LABEL)


def test_waves_end_below_the_bound_and_the_cutover_takes_the_word_about_the_latest_look(
    account: Account, tmp_path: Path
) -> None:
    source, out = make_files(tmp_path / "set", large_bytes=2_000_000), tmp_path / "out"
    mirror = account.request(source, out, relays={"pairs": 0}, delete=True)

    first = start(account, "archive", mirror, untilBytes=0)
    account.cloud.wait_for(lambda: noted(account), 60)
    error, cause = refused(account, start(account, "archive-meanwhile", mirror))
    assert (error, "waves run under 'Move of the archive' already" in cause) == ("TransferRunning", True)
    waves = succeeded(account, first)
    assert [step.name for step in waves.steps] == ["archive-look-1", "archive-wave-1", "archive-look-2"]
    assert waves.status == "CUT_OVER_NOW"
    assert waves.said.startswith("cut over now: 0 files (0 B), about ")
    assert noted(account) == waves
    assert waves.spent_usd == pytest.approx(sum(account_cost(account, step.name) for step in waves.steps), abs=1e-5)

    # A word for what an older look has found is none for what is there now.
    (out / "set" / "extra").write_text("only here")
    (source / "deep" / "small 1.txt").unlink()
    looked = succeeded(account, start(account, "archive-again", mirror, untilBytes=0, mostWaves=0))
    assert looked.confirm not in (None, waves.confirm)
    old = {**mirror, "confirmDelete": waves.confirm}
    error, cause = refused(account, start(account, "archive-old-word", old, cutOver=True))
    assert (error, "is not of the latest look" in cause) == ("InvalidRequest", True)
    assert (out / "set" / "extra").exists()

    done = succeeded(
        account, start(account, "archive-cutover", {**mirror, "confirmDelete": looked.confirm}, cutOver=True)
    )
    assert (done.status, done.steps[-1].kind) == ("CUT_OVER", "cut-over")
    assert tree(out / "set") == tree(source)


def test_waves_that_are_stopped_from_the_console_say_so_and_begin_again_under_the_label(
    account: Account, tmp_path: Path
) -> None:
    source = make_files(tmp_path / "set", large_bytes=20_000_000)
    slow = account.request(source, tmp_path / "out", relays={"pairs": 0}, bandwidthLimitMbps=2)
    arn = start(account, "stopped", slow, untilBytes=0)
    # A step is noted before its execution starts, and has a record once that has begun.
    account.cloud.wait_for(lambda: account.record("stopped-wave-1", "transfer"), 120)
    account.aws.client("stepfunctions").stop_execution(executionArn=arn, error="Cancelled", cause="wrong tree")
    account.cloud.wait_for(lambda: (found := noted(account)) and found.status != "RUNNING", 60)
    known = noted(account)
    assert known is not None
    assert (known.status, known.steps[-1].status) == ("STOPPED", "STOPPED")
    assert "ABORTED" in known.said
    child = known.steps[-1].name
    run = account.wait(f"{account.machine.replace(':stateMachine:', ':execution:')}:{child}")
    assert run.status == "ABORTED"
    account.cloud.wait_for(lambda: (record := account.record(child, "transfer")) and record["status"] != "ACTIVE", 60)
    fast = {key: value for key, value in slow.items() if key != "bandwidthLimitMbps"}
    again = succeeded(account, start(account, "stopped-2", fast, untilBytes=0, mostWaves=0))
    assert (again.status, len(again.mine), again.steps[-1].status) == ("NOT_YET", 1, "SUCCEEDED")


def account_cost(account: Account, name: str) -> float:
    arn = f"{account.machine.replace(':stateMachine:', ':execution:')}:{name}"
    return float(json.loads(account.describe(arn)["output"])["cost"]["total"])


@contextmanager
def changing(account: Account, root: Path) -> Iterator[None]:
    """The source is written to all the time: files are replaced, appended to, made and removed."""
    stop = Event()

    def write() -> None:
        turn = 0
        while not stop.wait(0.01):
            turn += 1
            known = noted(account) if turn % 20 == 1 else None
            if known is not None:
                write.wave = sum(step.kind == "wave" for step in known.steps)  # type: ignore[attr-defined]
            size = CHANGING[max(getattr(write, "wave", 1), 1) - 1]
            path = root / f"live {turn % (size // FILE)}"
            path.write_bytes(os.urandom(FILE))
            (root / "log").open("ab").write(b"one more line\n")
            (root / f"short-lived {turn % 7}").unlink(missing_ok=True)
            (root / f"short-lived {turn % 5}").write_text(str(turn))

    thread = Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@only_full
@pytest.mark.skipif(NO_RSYNC, reason="rsync is the judge")
def test_a_tree_that_changes_all_the_time_is_moved_in_four_waves_and_cut_over_as_forecast(
    account: Account, tmp_path: Path
) -> None:
    source, out = make_files(tmp_path / "set", large_bytes=60_000_000), tmp_path / "out"
    # At 1 MB/s the cutover takes ten seconds and more, of which one is a tenth at most.
    mirror = account.request(source, out, relays={"pairs": 0}, delete=True, bandwidthLimitMbps=8)
    with changing(account, source):
        waves = succeeded(account, start(account, "live", mirror, untilBytes=BOUND))
    moved = [step for step in waves.mine if step.kind == "wave"]
    assert (len(moved), waves.status) == (4, "CUT_OVER_NOW")
    assert waves.said.startswith("cut over now: ")

    # What writes is stopped, and the owner sees what will be deleted.
    for gone in ("short-lived 1", "deep/small 2.txt"):
        (source / gone).unlink(missing_ok=True)
    looked = succeeded(account, start(account, "live-word", mirror, mostWaves=0))
    confirmed = {**mirror, "confirmDelete": looked.confirm}
    arn = start(account, "live-cutover", confirmed, cutOver=True)
    done = succeeded(account, arn)
    assert done.status == "CUT_OVER"
    command = ["rsync", "-aHn", "--itemize-changes", "--checksum", "--delete", f"{source}/", f"{out / 'set'}/"]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b""

    last = done.steps[-1]
    assert last.forecast is not None
    assert last.seconds is not None
    transfer = account.describe(f"{account.machine.replace(':stateMachine:', ':execution:')}:{last.name}")
    took = (transfer["stopDate"] - transfer["startDate"]).total_seconds()
    assert last.forecast.seconds == pytest.approx(took, rel=NEAR)
