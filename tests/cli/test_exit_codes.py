import re
from pathlib import Path

import pytest

from cli.exit_codes import ExitCode, exit_code


@pytest.mark.parametrize(
    ("report", "code"),
    [
        ({"status": "SUCCEEDED"}, 0),
        ({"status": "FAILED", "error": "InvalidRequest"}, 3),
        ({"status": "FAILED", "error": "InvalidApproval"}, 3),
        ({"status": "FAILED", "error": "BudgetReached"}, 3),
        ({"status": "FAILED", "error": "ChunksFailed"}, 4),
        ({"status": "FAILED", "error": "FilesSkipped"}, 4),
        ({"status": "FAILED", "error": "DestinationFull"}, 4),
        ({"status": "SUCCEEDED_WITH_SKIPS"}, 10),
        ({"status": "ABORTED"}, 5),
        ({"status": "FAILED", "error": "ExecutionAborted"}, 5),
        ({"status": "FAILED", "error": "ExecutionTimedOut"}, 5),
        ({"status": "FAILED", "error": "ApprovalRejected"}, 6),
        ({"status": "FAILED", "error": "ApprovalTimedOut"}, 7),
    ],
)
def test_each_end_has_the_code_of_its_class(report: dict[str, str], code: int) -> None:
    assert exit_code(report) == ExitCode(code)


def test_documentation_lists_each_code() -> None:
    _, _, section = Path("docs/use.md").read_text().partition("## Exit codes")
    listed = re.findall(r"^\| (\d+) \|", section.partition("\n## ")[0], re.MULTILINE)
    assert [int(code) for code in listed] == sorted(ExitCode)
