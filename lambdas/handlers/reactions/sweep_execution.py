"""An execution that was stopped, failed or timed out: tear down what it left, and report."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.transfer import Failure
from lambdas.operations import teardown
from lambdas.operations.report import reporting
from lambdas.runtime.handler import BusEvent, event_rule


def sweep_execution(event: BusEvent, world: World) -> dict[str, Any]:
    """Nothing to do where the execution's own teardown and report have run."""
    arn, status = str(event.detail["executionArn"]), str(event.detail["status"])
    record = teardown.find(world, None, arn)
    if record is None:
        return {"swept": False}
    result = teardown.tear_down(world, record)
    failure = Failure(error=f"Execution{status.title().replace('_', '')}", cause=f"the execution ended as {status}")
    report = reporting.write(world, record, failure)
    return {"swept": report is not None, **result}


handler = event_rule(sweep_execution)
