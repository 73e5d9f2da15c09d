"""A profiling execution measures the two machines' path and relays, moves nothing, and the next estimate knows it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from cli.state_reading import read_state
from tests.chaos.extent import cases, only_full
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.files import make_files, tree
from tests.e2e.test_endings import MEASURING, stop
from tests.e2e.test_endings import nothing_left as nothing_left_at_all
from tools.data_flow import tasks

pytestmark = pytest.mark.paced

INTER, INTRA = 30.0, 120.0
STATES = json.loads(Path("statemachine/transfer.asl.json").read_text())["States"]
ASKING = {"Await Measuring Approval", "Apply Measuring Approval"}


@pytest.fixture(scope="module")
def measuring(make_account: Callable[..., Account]) -> Account:
    """Caps of which nobody has told the deployment."""
    account = make_account(caps={"interRegionMBps": INTER, "intraRegionMBps": INTRA}, bootSeconds=0.5)
    account.forget()
    # What lay in buffers when a busy machine began to read counts too: some 30 MB of 720 MB.
    account.configure("cpt-measure-relays", PRE_TEST_SECONDS="6")
    return account


def estimated(account: Account, request: dict[str, Any]) -> dict[str, Any]:
    """What Estimate Request says."""
    payload = json.dumps({"request": request, "sizeBytes": 2 * 10**9})
    answer = account.aws.client("lambda").invoke(FunctionName="cpt-estimate-request", Payload=payload)
    assert "FunctionError" not in answer
    return dict(json.loads(answer["Payload"].read()))


def nothing_left(account: Account, name: str) -> None:
    """No relay, rule or daemon of the transfer."""
    for region, machine in ((HOME, account.source), (OTHER, account.destination)):
        states = {relay["State"]["Name"] for relay in account.launched(name, region)}
        assert states <= {"terminated", "shutting-down"}
        assert not account.rules(name, region)
        assert not account.units(machine, region)


def test_the_next_estimate_of_the_same_machines_is_measured(
    measuring: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_files(tmp_path / "set", large_bytes=1_000_000)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "stranger").write_text("stays")
    before = tree(tmp_path / "out"), (tmp_path / "out").stat().st_mtime_ns
    request = measuring.request(source, tmp_path / "out")
    assert estimated(measuring, request)["figures"]["directMBps"]["origin"] != "measured"

    run = measuring.run({**request, "profile": "measure"}, "measures")
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    assert (run.report["bytes"], run.report["files"], run.report["pairs"]) == (0, 0, 0)
    measured = run.report["measured"]
    assert measured["directMBps"] == pytest.approx(INTER, rel=0.1)
    assert len(measured["pairs"]) == 2
    for pair in measured["pairs"]:
        assert pair["interRegionMBps"] == pytest.approx(INTER, rel=0.1)
    # One of them is measured within the region: that is as fast for all.
    within = sorted(pair["intraRegionMBps"] for pair in measured["pairs"])
    assert within == [0, pytest.approx(INTRA, rel=0.1)]
    assert (tree(tmp_path / "out"), (tmp_path / "out").stat().st_mtime_ns) == before
    nothing_left(measuring, "measures")
    entered = [state for state in measuring.history(run.arn) if state in tasks(STATES)]
    assert entered[0] == "Validate Request"
    assert set(entered[1:-2]) == set(MEASURING) - ASKING
    assert entered[-2:] == ["Tear Down", "Write Report"]

    figures = estimated(measuring, request)["figures"]
    # Seconds on machines with network credits show the rate of a burst; what lasts stays the published baseline.
    direct, pair = (figures[path]["burst"]["rateMBps"] for path in ("directMBps", "pairMBps"))
    assert {one["origin"] for one in (direct, pair, figures["spawnSeconds"])} == {"measured"}
    assert direct["value"] == pytest.approx(INTER, rel=0.1)
    assert pair["value"] == pytest.approx(INTER, rel=0.1)
    assert figures["spawnSeconds"]["value"] == pytest.approx(max(p["spawnSeconds"] for p in measured["pairs"]), rel=0.5)

    monkeypatch.setenv("AWS_ENDPOINT_URL", measuring.cloud.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    shown = CliRunner().invoke(app, ["report", "measures"]).stdout
    assert f"direct path: {measured['directMBps']:.1f} MB/s" in shown


@only_full
def test_relays_that_die_under_it_fail_it_with_the_reason_and_leave_nothing(account: Account, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    request = account.request(tmp_path / "set", tmp_path / "out", profile="measure")
    arn = account.start(request, "measures-nothing")
    account.cloud.wait_for(lambda: [n["state"] for n in account.nodes("measures-nothing")] == ["READY"] * 4, 60)
    relays = [relay["InstanceId"] for relay in account.launched("measures-nothing", OTHER)]
    account.cloud.client("ec2", OTHER).terminate_instances(InstanceIds=relays)
    run = account.wait(arn)
    assert (run.status, run.report["error"]) == ("FAILED", "MeasuringFailed")
    assert "no pair of relays" in run.report["cause"]
    assert "measured" not in run.report
    assert not (tmp_path / "out").exists()
    nothing_left(account, "measures-nothing")


@only_full
def test_person_chooses_how_many_pairs_are_measured(measuring: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1_000_000)
    request = measuring.request(source, tmp_path / "out", profile="measure", approval="required")
    arn = measuring.start(request, "measures-two")
    state = measuring.cloud.wait_for(
        lambda: next((one for one in [read_state(measuring.aws, "measures-two")] if one.awaits_approval), None), 60
    )
    assert measuring.nodes("measures-two") == []
    rows = {row["pairs"]: row for row in (state.estimate or {})["rows"]}
    answer = {"transferId": "measures-two", "decision": "approve", "pairs": 2}
    assert 2 in rows
    measuring.invoke("cpt-decide-approval", answer)
    run = measuring.wait(arn)
    assert (run.status, run.cause) == ("SUCCEEDED", None)
    assert len(run.report["measured"]["pairs"]) == 4
    nothing_left(measuring, "measures-two")


@pytest.mark.parametrize("state", cases([name for name in MEASURING if name not in ASKING], ["Measure Relays"]))
def test_stopped_while_it_measures_it_leaves_nothing(account: Account, tmp_path: Path, state: str) -> None:
    source, name = make_files(tmp_path / "set", large_bytes=1_000_000), f"stopped-{state.replace(' ', '-')}"
    arn = account.start(account.request(source, tmp_path / "out", profile="measure"), name)
    account.entered(arn, state)
    stop(account, arn)
    nothing_left_at_all(account, name)
    assert not (tmp_path / "out").exists()


# Where no sender comes, relays wait for it until the join timeout.
CRASHING = [name for name in MEASURING if name not in {*ASKING, "Start Sender"}]


@pytest.mark.parametrize("function", cases(CRASHING, ["Spawn Measured Relays"]))
def test_function_of_it_that_crashes_fails_it_and_leaves_nothing(
    account: Account, tmp_path: Path, function: str
) -> None:
    source, name = make_files(tmp_path / "set", large_bytes=1_000_000), f"crash-{function.replace(' ', '-')}"
    lambda_name = f"cpt-{function.lower().replace(' ', '-')}"
    account.configure(lambda_name, MAX_PAIRS="not a number")
    try:
        run = account.wait(account.start(account.request(source, tmp_path / "out", profile="measure"), name))
    finally:
        account.configure(lambda_name, MAX_PAIRS="16")
    assert run.status == "FAILED"
    nothing_left_at_all(account, name)
