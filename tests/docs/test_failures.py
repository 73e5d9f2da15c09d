"""Each failure of contracts/failures.json: the code, the terminal, the page and the documentation say the same."""

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
from lambdas.core.failures import FAILURES, advice
from lambdas.core.report.page.render import render
from lambdas.core.report.report import of_refused
from lambdas.core.transfer.failure import Failure
from tests.docs.failure_tables import PAGE, drawn

DECISIONS = (errors.RetryLater, errors.ReplaceNode, errors.FailTransfer, errors.AskPerson)
RAISED = {kind.__name__ for kind in vars(errors).values() if isinstance(kind, type)} - {
    kind.__name__ for kind in (errors.CptError, *DECISIONS)
}
CODES = {  # what a decision comes to, and the failures of which a script has to know more
    "AskPerson": ExitCode.REQUEST,
    "RetryLater": ExitCode.TRANSFER,
    "ReplaceNode": ExitCode.TRANSFER,
    "FailTransfer": ExitCode.TRANSFER,
}
SPECIAL = {
    "ApprovalRejected": ExitCode.REJECTED,
    "ApprovalTimedOut": ExitCode.UNANSWERED,
    "DestinationTaken": ExitCode.REQUEST,
    "TransferEnding": ExitCode.REQUEST,
    "ExecutionAborted": ExitCode.STOPPED,
    "ExecutionTimedOut": ExitCode.STOPPED,
    "ExecutionGone": ExitCode.STOPPED,
}


def test_errors_that_functions_raise_are_those_of_the_contract() -> None:
    assert {name for name, failure in FAILURES.items() if "functions" in failure.raised_by} == RAISED


@pytest.mark.parametrize("error", sorted(RAISED))
def test_base_class_is_the_decision_of_the_contract(error: str) -> None:
    assert FAILURES[error].decision == getattr(errors, error).__base__.__name__


@pytest.mark.parametrize("error", FAILURES)
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
    assert ended.value.exit_code == SPECIAL.get(error, CODES[FAILURES[error].decision])
    assert capsys.readouterr().err == f"FAILED: {error}: the particulars\nWhat to do: {words}\n"


def test_troubleshooting_has_each_failure_once() -> None:
    page = PAGE.read_text()
    assert drawn(page) == page, "run `python -m tests.docs.failure_tables` and commit the page"
    assert sorted(re.findall(r"^\| `([\w.]+)` \| .* \| \d \|$", page, re.MULTILINE)) == sorted(FAILURES)


def test_errors_of_states_are_known() -> None:
    table = Path("statemachine/README.md").read_text().partition("| state |")[2].partition("\n\n")[0]
    named = {error for row in table.splitlines() for error in re.findall(r"`([A-Z][\w.]+)`", row.split("|")[-2])}
    assert "SurveyProblem" in named
    assert named <= set(FAILURES)


def test_catches_and_retries_of_the_state_machine_name_known_errors() -> None:
    definition = "".join(path.read_text() for path in Path("statemachine").glob("*.json"))
    listed = " ".join(re.findall(r'"ErrorEquals": \[([^\]]*)\]', definition))
    ours = {name for name in re.findall(r'"([\w.]+)"', listed) if "." not in name}
    assert {"Throttled", "PlanGoesOn"} <= ours
    assert ours <= {name for name, failure in FAILURES.items() if "functions" in failure.raised_by}
