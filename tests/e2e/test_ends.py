"""An end that does not come back by itself is started by the reconciler, and goes on; or it is given up."""

import json
import math
import time
from functools import partial
from pathlib import Path
from typing import Any

from local.config import Fault
from tests.chaos.extent import only_full
from tests.e2e.account import HOME, LARGE, OTHER, SLOW_MBPS, Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_events import finish, paths_with_data, rules_disabled

PLACES = {"s0": (HOME, "send"), "r0": (OTHER, "receive")}


def begin(account: Account, work: Path, name: str, **more: Any) -> str:
    source = make_files(work / "set", large_bytes=LARGE)
    slow = {"chunkSizeMiB": 1, "bandwidthLimitMbps": SLOW_MBPS}
    arn = account.start(account.request(source, work / "out", **slow, **more), name)
    account.cloud.wait_for(lambda: account.progress(name).get("bytes", 0) > 0, 60)
    return arn


def delivered(account: Account, name: str, before: float = math.inf) -> int:
    """Bytes of the chunks that are delivered, by a receiver that had them before that time."""
    found = [item for item in account.chunks(name) if item["state"] == "DELIVERED"]
    return sum(int(item["bytes"]) for item in found if float(item["deliveredAt"]) < before)


def stop(account: Account, name: str, seat_id: str) -> None:
    """Stop its unit, which nobody starts again; then wait until what it had on the way has arrived or broken."""
    region, role = PLACES[seat_id]
    machine = account.source if seat_id == "s0" else account.destination
    account.shell(machine, region, f"systemctl stop 'cpt-{role}-{name}'")
    if seat_id == "r0":
        account.cloud.wait_for(lambda: account.progress(name)["lanes"] == [], 30)
    else:
        # Without bytes that come, the receiver advances only once it waits for the sender alone, and not for its disk.
        def settled() -> bool:
            told, before = receiver(account, name), delivered(account, name)
            account.cloud.wait_for(lambda: receiver(account, name)["sequence"] > told["sequence"] + 1, 60)
            return before == delivered(account, name)

        account.cloud.wait_for(settled, 60)


def receiver(account: Account, name: str) -> dict[str, Any]:
    """The receiver's last report."""
    return dict(json.loads((account.record(name, "progress#r0") or {})["document"]))


def was_refused(account: Account, name: str, times: int) -> bool:
    """Whether the receiver was to be started again so many times, the last time in vain."""
    seen: dict[str, Any] = (account.record(name, "transfer") or {})["seats"]["seats"]["r0"]
    return int(seen.get("restarts", 0)) == times and "NotManaged" in seen.get("trouble", "")


def look(account: Account, name: str, seat_id: str) -> None:
    """The minute's look finds that it is the same report as half a minute before."""
    account.invoke("cpt-watch-ends")
    account.change_record(name, f"seats.seats.{seat_id}.heard", 0)
    account.invoke("cpt-watch-ends")


def sent(account: Account, name: str) -> int:
    """Bytes that the last sender sent."""
    return int((account.record(name, "transfer") or {})["outcome"]["delivered"]["sentBytes"])


@only_full
def test_sender_that_was_stopped_is_started_again_and_sends_only_the_rest(account: Account, tmp_path: Path) -> None:
    arn = begin(account, tmp_path, "sender-stopped", relays={"pairs": 1})
    account.cloud.wait_for(lambda: "pair-1" in paths_with_data(account, "sender-stopped"), 60)
    stop(account, "sender-stopped", "s0")
    stopped_at = time.time()
    look(account, "sender-stopped", "s0")
    run = finish(account, arn, "sender-stopped")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(tmp_path / "set")
    chunks = account.chunks("sender-stopped")
    arrived = sum(int(chunk["bytes"]) for chunk in chunks if float(chunk["startedAt"]) < stopped_at)
    assert 0 < arrived < run.report["bytes"]
    assert sent(account, "sender-stopped") == run.report["bytes"] - arrived
    assert run.report["restarts"] == {"sender": 1, "receiver": 0}
    # The relays knew the second sender as they knew the first.
    assert any(chunk["pathId"] == "pair-1" for chunk in chunks if float(chunk["startedAt"]) > stopped_at)
    assert {node["state"] for node in account.nodes("sender-stopped")} == {"TERMINATED"}
    assert not list((tmp_path / "out").glob(".cpt-partial-*"))


@only_full
def test_receiver_that_was_stopped_is_started_again_and_the_large_file_goes_on(
    account: Account, tmp_path: Path
) -> None:
    arn = begin(account, tmp_path, "receiver-stopped", relays={"pairs": 0})
    stop(account, "receiver-stopped", "r0")
    stopped_at, moved = time.time(), int(account.progress("receiver-stopped")["movedBytes"])
    look(account, "receiver-stopped", "r0")
    run = finish(account, arn, "receiver-stopped")
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert tree(tmp_path / "out" / "set") == tree(tmp_path / "set")
    # The last words of the one that was killed may have reached the table after its end.
    on_the_way = moved - delivered(account, "receiver-stopped", before=stopped_at)
    assert sent(account, "receiver-stopped") - run.report["bytes"] == on_the_way
    assert run.report["restarts"] == {"sender": 0, "receiver": 1}
    assert not list((tmp_path / "out").glob(".cpt-partial-*"))


def test_machine_that_stops_ends_the_transfer_at_once_and_started_again_it_goes_on(
    account: Account, tmp_path: Path
) -> None:
    ec2 = account.cloud.client("ec2", OTHER)
    with rules_disabled(account, "cpt-restart-end"):
        arn = begin(account, tmp_path, "machine-gone", relays={"pairs": 0})
        ec2.stop_instances(InstanceIds=[account.destination])
        run = account.wait(arn, 60)
    assert (run.status, run.error) == ("FAILED", "EndGone")
    assert f"the machine of the receiver, {account.destination} (eu-west-1), is sto" in str(run.cause)
    ec2.get_waiter("instance_stopped").wait(InstanceIds=[account.destination], WaiterConfig={"Delay": 1})
    ec2.start_instances(InstanceIds=[account.destination])
    account.cloud.wait_online(OTHER, account.destination)
    request = account.request(tmp_path / "set", tmp_path / "out", relays={"pairs": 0}, resume=True, name="machine-gone")
    again = account.run(request, "machine-gone-again")
    assert (again.status, again.cause) == ("SUCCEEDED", None)
    assert again.report["same"]["bytes"] > 0
    assert tree(tmp_path / "out" / "set") == tree(tmp_path / "set")


def test_end_that_never_comes_back_is_given_up_and_nothing_is_left(account: Account, tmp_path: Path) -> None:
    arn = begin(account, tmp_path, "gone", relays={"pairs": 0})
    account.cloud.spoil(
        Fault(operation="SendCommand", region=OTHER, document="cpt-receive", code="InvalidInstanceId", count=3)
    )
    stop(account, "gone", "r0")
    for times in range(1, 4):
        look(account, "gone", "r0")
        # A refusal that was not used up would meet the next transfer.
        account.cloud.wait_for(partial(was_refused, account, "gone", times), 30)
    look(account, "gone", "r0")
    run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "EndSilent")
    assert "the receiver on" in str(run.cause)
    assert "NotManaged" in str(run.cause)
    assert account.left("gone") == {}
    assert not (tmp_path / "out" / "set" / "large.bin").exists()
