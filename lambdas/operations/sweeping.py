"""Takes down and reports what no execution runs any more."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import ENDED, TransferRecord
from lambdas.core.transfer.failure import Failure, ending
from lambdas.operations import teardown
from lambdas.operations.report import reporting


def sweep(world: World, transfer_id: str, execution_arn: str) -> dict[str, Any]:
    """Sweep a transfer of which somebody says that its execution is over: Step Functions is asked again."""
    record = teardown.find(world, transfer_id, execution_arn)
    if record is None or record.closed:
        return {"swept": False}
    status = world.executions.status(execution_arn)
    if status == "RUNNING":
        return {"swept": False}
    end(world, record, status)
    return {"swept": status}


def end(world: World, record: TransferRecord, status: str | None) -> dict[str, int]:
    """Teardown of a transfer whose execution is `status`, and its report if there is none; what was taken down."""
    done = teardown.tear_down(world, record)
    # That took minutes: somebody else may have reported it, and a later execution gone on with it.
    now = teardown.find(world, record.transfer.transfer_id, record.transfer.execution_arn)
    if now is None:
        return done
    if now.status in ENDED:
        world.transfers.change(now.transfer, transfer_life.close(now.status))
        return done
    why = ending(status or "unknown", *world.executions.why(now.transfer.execution_arn))
    failure = Failure(error="ExecutionGone", cause=f"the execution is {why}; taken down")
    reporting.write(world, now, failure)
    return done
