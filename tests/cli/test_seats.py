"""`cpt seats`, up to what it sends to its function and of what it reads; tests/e2e has it against a deployment."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli import main, seats
from cli.exit_codes import ExitCode
from tests.cli.transfers import Account, execution, records

MACHINE = "i-0aaaaaaaaaaaaaaa2"
RETIRED = {"retiredAt": 1795254025.25, "retiredBecause": "its host is retired"}


def of_end(letter: str, region: str) -> list[dict[str, Any]]:
    return [{"seatId": f"{letter}{n}", "machine": {"region": region, "instanceId": f"i-{letter}{n}"}} for n in (0, 1)]


def retired(seat_id: str, **more: Any) -> dict[str, Any]:
    known = {"seatId": seat_id, "instanceId": f"i-{seat_id}", "epoch": 131071, "isGone": False}
    return {**known, "at": 1795254025.25, "why": "its host is retired", **more}


def cpt(*words: str) -> Result:
    return CliRunner().invoke(main.app, ["seats", *words])


def account(monkeypatch: pytest.MonkeyPatch, *gone: dict[str, Any], **told: dict[str, Any]) -> None:
    found = records(source=of_end("s", "us-west-2"), destination=of_end("r", "eu-west-1"), retired=list(gone))
    found |= {f"progress#{seat_id}": {"document": json.dumps(report)} for seat_id, report in told.items()}
    monkeypatch.setattr(seats, "home", lambda *, local: Account([execution("nightly")], {"nightly": found}, {}))


def listed() -> dict[str, dict[str, Any]]:
    answer = cpt("list", "nightly", "--json")
    assert answer.exit_code == ExitCode.SUCCEEDED, answer.output
    return {line["seatId"]: line for line in map(json.loads, answer.stdout.splitlines())}


def test_each_machine_is_listed_with_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = {"s1": {"bytes": 100_000_000, "rateMBps": 10.25, "lanes": []}}
    account(monkeypatch, retired("s1", drained=True), retired("r0", isGone=True, why="EndGone: x"), **reports)
    found = listed()
    assert {seat_id: seat["state"] for seat_id, seat in found.items()} == {
        "s0": "working",
        "s1": "draining",
        "r0": "given-up",
        "r1": "unheard",
    }
    assert found["s1"] == {
        "seatId": "s1",
        "instanceId": "i-s1",
        "region": "us-west-2",
        "end": "source",
        "state": "draining",
        "bytes": 100_000_000,
        "rateMBps": 10.25,
        **RETIRED,
    }
    shown = cpt("list", "nightly").stdout
    assert "draining since 2026-11-21 09:40:25 UTC" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("gone", "report", "state"),
    [
        ({}, {"epoch": 65536}, "draining"),
        ({}, {"epoch": 65536, "hasEnded": True}, "drained"),
        ({}, {"epoch": 131072, "hasEnded": True}, "draining"),
        ({"isGone": True}, {"epoch": 65536}, "drained"),
    ],
)
def test_a_machine_is_drained_once_its_daemon_has_ended(
    monkeypatch: pytest.MonkeyPatch, gone: dict[str, Any], report: dict[str, Any], state: str
) -> None:
    account(monkeypatch, retired("r1", drained=True, **gone), r1={"bytes": 1, "rateMBps": 0.0, "lanes": [], **report})
    assert listed()["r1"]["state"] == state


@pytest.mark.parametrize(
    ("answered", "words"),
    [
        ({"changed": True, "drained": True}, "cpt seats list nightly shows it as drained once its daemon has ended"),
        ({"changed": False, "drained": True}, "was drained at 2026-11-21 09:40:25 UTC: its host is retired; nothing"),
        ({"changed": False, "drained": False}, "was given up at 2026-11-21 09:40:25 UTC: its host is retired; nothing"),
    ],
)
def test_a_drain_is_sent_and_told(monkeypatch: pytest.MonkeyPatch, answered: dict[str, bool], words: str) -> None:
    sent = []
    answer = {"transferId": "nightly", "instanceId": MACHINE, "seatId": "s1", **RETIRED, **answered}

    def call(_aws: object, function: str, document: dict[str, Any]) -> dict[str, Any]:
        sent.append((function, document))
        return answer

    monkeypatch.setattr(seats, "call", call)
    monkeypatch.setattr(seats, "home", lambda *, local: None)
    told = cpt("drain", "nightly", MACHINE, "--reason", "its host is retired")
    assert words in told.stdout
    asked = {"transferId": "nightly", "instanceId": MACHINE, "reason": "its host is retired"}
    assert sent == [("drain-seat", asked)]
    assert json.loads(cpt("drain", "nightly", MACHINE, "--json").stdout) == answer


def test_no_machine_can_be_added_and_what_to_do_is_said() -> None:
    answer = cpt("add", "nightly", MACHINE)
    assert answer.exit_code == ExitCode.USAGE
    assert f"{MACHINE} cannot join 'nightly'" in answer.stderr
    assert "cpt cancel nightly" in answer.stderr
    assert f"a transfer that names {MACHINE} at that end too" in " ".join(answer.stderr.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nightly", "nothing"), '$.instanceId: "nothing" is not valid; write the id of an instance'),
        (("-x y", MACHINE), '$.transferId: "-x y" is not valid; write up to 80 letters'),
        (("nightly", MACHINE, "--reason", ""), '$.reason: "" is not valid; write 1 characters or more'),
    ],
)
def test_what_cannot_be_a_machine_is_refused_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.setattr(seats, "home", lambda *, local: pytest.fail("AWS was asked"))
    answer = cpt("drain", "--", *words) if words[0].startswith("-") else cpt("drain", *words)
    assert (answer.exit_code, told in answer.output) == (ExitCode.REQUEST, True), answer.output
