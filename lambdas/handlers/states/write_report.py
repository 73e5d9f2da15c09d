"""Write Report: what moved, how fast and at what cost, against the estimate."""

from datetime import datetime
from re import sub
from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Handover
from lambdas.core.report.report import of_refused
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.failure import Failure
from lambdas.operations import teardown
from lambdas.operations.chunks import file_list
from lambdas.operations.report import reporting
from lambdas.runtime.handler import task_state


class ReportInput(Handover):
    """Input of the state: null is what was not reached."""

    transfer: AcceptedTransfer | None = None
    verified: dict[str, Any] | None = None
    failure: dict[str, Any] | None = None
    error: dict[str, Any] | str | None = None
    execution_arn: str
    started_at: str | None = None


def write_report(event: ReportInput, world: World) -> dict[str, Any]:
    """The report, fit for a state's output."""
    failure = Failure.from_any(event.failure) or Failure.from_any(event.error)
    transfer_id = event.transfer.transfer_id if event.transfer else None
    record = teardown.find(world, transfer_id, event.execution_arn)
    verified = bool(event.verified and event.verified.get("verified"))
    if record is not None:
        total = int(event.verified["files"]) if event.verified else None
        files = file_list.read(world, record.transfer.transfer_id, total) if total is not None else None
        report = reporting.write(world, record, failure, verified=verified, files=files)
        if report is not None:
            return report.for_output()
    name = sub(r"[^A-Za-z0-9_-]", "-", event.execution_arn.rsplit(":", 1)[-1])[:80].lstrip("-_") or "unknown"
    now = world.clock.now()
    started = datetime.fromisoformat(event.started_at).timestamp() if event.started_at else now
    refused = failure or Failure(error="UnknownFailure", cause="the execution failed before its request was accepted")
    return of_refused(name, event.execution_arn, refused, max(now - started, 0.0)).to_document()


handler = task_state("Write Report", ReportInput, write_report)
