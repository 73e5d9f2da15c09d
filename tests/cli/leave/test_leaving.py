"""`cpt leave`: what is undone, by whose leave; tests/e2e has it against a deployment."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner, Result

from cli import leaving
from cli.aws import Aws
from cli.exit_codes import ExitCode
from cli.leave.tie import Tie
from cli.main import app

REFUSED: Any = {"Error": {"Code": "OperationNotPermitted", "Message": "it is a load balancer's"}}


@dataclass
class Found:
    """What is found: transfers that run, and the rest; `undone` grows as `cpt` undoes it."""

    transfers: list[str] = field(default_factory=list)
    rest: list[Tie] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)

    def tie(self, about: str, *, fails: bool = False) -> Tie:
        """One that can be undone."""

        def undo() -> None:
            if fails:
                raise ClientError(REFUSED, "ModifyNetworkInterfaceAttribute")
            self.undone.append(about)

        return Tie("holds", "us-west-2", about, "it is attached", "it is detached", undo)

    def running(self, _aws: Aws) -> Iterator[Tie]:
        """Those that were not stopped."""
        return (self.tie(name) for name in self.transfers if name not in self.undone)

    def starts(self, _aws: Aws) -> Iterator[Tie]:
        """None: tests/cli/leave/test_starts.py has some."""
        return iter(())

    def ties(self, _aws: Aws, _enrolled: object) -> Iterator[Tie]:
        """The rest that was not undone."""
        return (tie for tie in self.rest if tie.about not in self.undone)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Found:
    account = Found()
    monkeypatch.setattr(leaving, "running", account.running)
    monkeypatch.setattr(leaving, "ties", account.ties)
    monkeypatch.setattr(leaving, "start_ties", account.starts)
    return account


def cpt(*words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, ["leave", *words], input=answer)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The input is a terminal, as nothing that a test can give is."""
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda _: True)


def test_without_consent_it_says_and_changes_nothing(found: Found) -> None:
    found.rest = [found.tie("policy")]
    answer = cpt()
    assert (answer.exit_code, found.undone) == (ExitCode.UNFIT, [])
    assert "us-west-2 policy: it is attached" in answer.stdout
    assert "with --yes: it is detached" in answer.stdout


@pytest.mark.parametrize(("answer", "undone", "code"), [("y\n", ["policy"], 0), ("n\n", [], ExitCode.UNFIT)])
@pytest.mark.usefixtures("terminal")
def test_at_a_terminal_it_asks(found: Found, answer: str, undone: list[str], code: int) -> None:
    found.rest = [found.tie("policy")]
    result = cpt(answer=answer)
    assert (result.exit_code, found.undone) == (code, undone)


def test_while_a_transfer_runs_consent_undoes_nothing(found: Found) -> None:
    found.transfers, found.rest = ["nightly"], [found.tie("policy")]
    answer = cpt("--yes")
    assert (answer.exit_code, found.undone) == (ExitCode.UNFIT, [])
    assert "--cancel-transfers" in answer.stderr


def test_transfers_are_stopped_first_and_only_when_that_is_said(found: Found) -> None:
    found.transfers, found.rest = ["nightly"], [found.tie("policy")]
    answer = cpt("--yes", "--cancel-transfers")
    assert (answer.exit_code, found.undone) == (ExitCode.SUCCEEDED, ["nightly", "policy"])
    assert "us-west-2 nightly: it is attached; it is detached: undone" in answer.stdout


def test_what_aws_refuses_to_undo_is_said_and_does_not_keep_from_the_rest(found: Found) -> None:
    found.rest = [found.tie("interface", fails=True), found.tie("policy")]
    answer = cpt("--yes", "--json")
    assert (answer.exit_code, found.undone) == (ExitCode.UNFIT, ["policy"])
    interface, policy, still = (json.loads(line) for line in answer.stdout.splitlines())
    assert "OperationNotPermitted" in interface["result"]
    assert policy["result"] == "undone"
    assert still == {
        "status": "holds",
        "region": "us-west-2",
        "about": "interface",
        "message": "it is attached",
        "remedy": "it is detached",
        "byCpt": True,
    }


def test_data_and_what_stays_do_not_keep_the_stacks(found: Found) -> None:
    found.rest = [Tie("goes", "us-west-2", "cpt-nodes", "deleted"), Tie("stays", "us-west-2", "cpt-profiles", "stays")]
    answer = cpt()
    assert answer.exit_code == ExitCode.SUCCEEDED
    assert "What is data that cdk destroy --all deletes:" in answer.stdout
    assert "npx cdk destroy --all" in answer.stdout.splitlines()[-1]
