"""A transfer whose data has arrived, and its report."""

from typing import Any

from lambdas.core.record import transfer_life
from lambdas.handlers.states.write_report import ReportInput, write_report
from tests.lambdas.builders import ARN, chunk, delivered, estimate, node, plan, transfer
from tests.lambdas.cloud import Cloud


def finished(**said: int) -> Cloud:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    cloud.transfers.change(transfer(), transfer_life.note(estimate=estimate(1), plan=plan(chunks=4)))
    cloud.transfers.change(transfer(), transfer_life.note_stage("Survey Ends", {"enteredAt": 1001.0, "leftAt": 1002.5}))
    cloud.transfers.change(
        transfer(), transfer_life.note_stage("Validate Request", {"enteredAt": 1000.0, "leftAt": 1000.25})
    )
    cloud.transfers.change(transfer(), transfer_life.note_stage("Write Report", {"enteredAt": 1100.0}))
    chunks = [(0, "direct", 1010.0, 1010.5, 1), (1, "pair-1", 1010.2, 1011.5, 1), (2, "pair-1", 1011.0, 1011.9, 3)]
    for number, path, started, at, attempt in chunks:
        item = chunk(number, state="DELIVERED", path_id=path, started_at=started, delivered_at=at, attempt=attempt)
        cloud.chunks.put_all([item])
    cloud.chunks.put_all([chunk(3, state="FAILED", attempt=5, reason="stream-lost after 5 attempts")])
    for role in ("source", "destination"):
        cloud.nodes.put(node(role, state="TERMINATED", joined_at=1005.0, ended_at=1090.0))
    cloud.transfers.change(transfer(), transfer_life.finish(delivered(sent_bytes=2 * 10**9, **said)))
    cloud.transfers.change(transfer(), transfer_life.note(teardown={"terminated": 2}))
    cloud.clock.time = 1100.0
    return cloud


def run(cloud: Cloud, **changes: Any) -> dict[str, Any]:
    document = {
        "transfer": transfer().to_document(),
        "executionArn": ARN,
        "startedAt": "1970-01-01T00:16:40Z",
        **changes,
    }
    return write_report(ReportInput.from_document(document), cloud.world)
