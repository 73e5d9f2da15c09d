"""An execution that was stopped, failed or timed out: tear down what it left, and report.

Execution Over: the same, where the execution's own event did not come, or its teardown was not complete.
An execution of waves has nothing to tear down, as each of its steps is an execution of its own: its label is noted.
"""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.chunks.events import ExecutionOver
from lambdas.core.transfer.failure import Failure, ending
from lambdas.operations import stopped_waves, sweeping, teardown
from lambdas.operations.report import reporting
from lambdas.runtime.handler import CONTROL, BusEvent, event_rule


def sweep_execution(event: BusEvent, world: World) -> dict[str, Any]:
    """Nothing to do where the execution's own teardown and report have run."""
    if event.detail_type == "Execution Over":
        over = ExecutionOver.from_document(event.detail) if event.source == CONTROL else None
        return sweeping.sweep(world, over.transfer_id, over.execution_arn) if over else {"swept": False}
    if str(event.detail.get("stateMachineArn", "")).endswith("-waves"):
        return {"swept": False, "waves": stopped_waves.note(world, event.detail)}
    arn, status = str(event.detail["executionArn"]), str(event.detail["status"])
    record = teardown.find(world, None, arn)
    if record is None:
        return {"swept": False}
    result = teardown.tear_down(world, record)
    # Step Functions puts error and cause of an execution that was stopped into its description, not always into events.
    error, cause = world.executions.why(arn)
    why = ending(status, error or event.detail.get("error") or "", cause or event.detail.get("cause") or "")
    failure = Failure(error=f"Execution{status.title().replace('_', '')}", cause=f"the execution ended as {why}")
    report = reporting.write(world, record, failure)
    return {"swept": report is not None, **result}


handler = event_rule(sweep_execution)
