"""The failures that people meet, as `contracts/failures.json` describes them."""

import json
from pathlib import Path
from typing import Literal

from lambdas.core.documents import Document

_CONTRACT = Path(__file__).parents[2] / "contracts" / "failures.json"
_ELSE = "Start again. If it fails again, the cause and the logs of the step that failed say where to look."


class KnownFailure(Document):
    """One failure; `meaning` and `advice` are Markdown of one or two sentences."""

    section: Literal["start", "estimate", "run", "files", "relays", "commands"]
    raised_by: list[Literal["functions", "daemon", "workflow", "outside"]]
    decision: Literal["RetryLater", "ReplaceNode", "FailTransfer", "AskPerson"]
    exit_code: int
    meaning: str
    advice: str


FAILURES = {
    name: KnownFailure.from_document(failure)
    for name, failure in json.loads(_CONTRACT.read_text(encoding="utf-8"))["failures"].items()
}


def advice(error: str) -> str:
    """Return what to do about the error of this name, as plain text; the cause beside it holds the particulars."""
    return FAILURES[error].advice.replace("`", "") if error in FAILURES else _ELSE
