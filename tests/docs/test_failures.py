"""Each failure that the workflow knows: the terminal, the page, the exit code and the documentation say the same."""

import html
import re
from pathlib import Path

import pytest
import typer
from rich.console import Console

from cli.exit_codes import ExitCode
from cli.render import report_view
from cli.reporting import finish
from lambdas.core import errors
from lambdas.core.advice import advice
from lambdas.core.report.page.render import render
from lambdas.core.report.report import of_refused
from lambdas.core.transfer import Failure

TROUBLESHOOTING = Path("docs/troubleshooting.md").read_text()
EXIT_CODES = Path("docs/use.md").read_text().partition("## Exit codes")[2].partition("\n## ")[0]
ENDS = Path("relay-ami/relay/src/cli/roles.rs").read_text()
# What keeps a daemon from coming up: people meet it as EndNotStarted, a dead relay or a failed survey.
BEFORE_IT_SERVES = {"ListenFailed", "NotReady", "Output", "RateRules", "ReadyFile", "RelayError", "Signals"}

DECISIONS = (errors.CptError, errors.RetryLater, errors.ReplaceNode, errors.FailTransfer, errors.AskPerson)
RAISED = {kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and kind not in DECISIONS}
OF_ENDS = set(re.findall(r'CliError::failed\("(\w+)"', ENDS)) - BEFORE_IT_SERVES
OF_STEP_FUNCTIONS = {"States.Timeout", "States.HeartbeatTimeout"}
FROM_OUTSIDE = {"ExecutionAborted", "ExecutionTimedOut", "ExecutionGone"}
ALL = sorted({*RAISED, *OF_ENDS, *OF_STEP_FUNCTIONS, *FROM_OUTSIDE})


def expected(error: str) -> ExitCode:
    special = {
        "ApprovalRejected": ExitCode.REJECTED,
        "ApprovalTimedOut": ExitCode.UNANSWERED,
        "DestinationTaken": ExitCode.REQUEST,
        "TransferEnding": ExitCode.REQUEST,
    }
    if error in special:
        return special[error]
    if error in FROM_OUTSIDE:
        return ExitCode.STOPPED
    return ExitCode.REQUEST if issubclass(RAISED.get(error, errors.CptError), errors.AskPerson) else ExitCode.TRANSFER


@pytest.mark.parametrize("error", ALL)
def test_terminal_page_and_exit_code_agree(error: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = of_refused("nightly", "arn", Failure(error=error, cause="the particulars"), 1.0)
    words = advice(error)
    assert words != advice("SomethingNobodyKnows")
    console = Console(width=1000)
    with console.capture() as shown:
        console.print(report_view(report.to_document()))
    for line in (f"{error}: the particulars", f"What to do: {words}"):
        assert line in shown.get()
    assert words in html.unescape(render(report))

    with pytest.raises(typer.Exit) as ended:
        finish({"status": "FAILED", "error": error, "cause": "the particulars"}, as_json=False)
    assert ended.value.exit_code == expected(error)
    assert capsys.readouterr().err == f"FAILED: {error}: the particulars\nWhat to do: {words}\n"


@pytest.mark.parametrize("error", ALL)
def test_troubleshooting_has_it(error: str) -> None:
    rows = [row for row in TROUBLESHOOTING.splitlines() if row.startswith("|") and f"`{error}`" in row.split("|")[1]]
    assert len(rows) >= 1
    assert all(cell.strip() for row in rows for cell in row.split("|")[1:4])


def test_documented_exit_codes_are_those_of_the_errors_beside_them() -> None:
    for row in re.findall(r"^\| (\d) \| (.*) \|$", EXIT_CODES, re.MULTILINE):
        named = [error for error in re.findall(r"`([A-Z]\w+)`", row[1]) if error in ALL]
        assert {expected(error) for error in named} <= {int(row[0])}, named
