"""The report of a transfer: gathered, written, announced; then the transfer is no longer active, and profiles learn."""

import json
from collections.abc import Mapping

from lambdas.adapters.world import World
from lambdas.core.chunks.progress import Progress
from lambdas.core.metrics import MetricName
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import ENDED, TransferRecord
from lambdas.core.report import copies_report, report
from lambdas.core.report.page.render import Files, render
from lambdas.core.report.report import Report
from lambdas.core.report.tally import Tally
from lambdas.core.seats.liveness import Seats
from lambdas.core.transfer.failure import Failure
from lambdas.operations import teardown
from lambdas.operations.chunks import entry_list, skipped
from lambdas.operations.copies import finishing
from lambdas.operations.report.learning import learn, look_beside
from lambdas.operations.seats import reports
from lambdas.operations.spending import charging, metering, tenants


def write(
    world: World, record: TransferRecord, failure: Failure | None, *, verified: bool = False, files: Files | None = None
) -> Report | None:
    """Write `report.json` and `report.html`, close the transfer, put `Transfer Finished`, refine the profiles.

    None, and nothing of these, where a later execution has taken the transfer up.

    `files` are shown on the page; Write Report alone may read their list.
    A transfer whose teardown is not complete stays active, so that the reconciler takes it down again.
    """
    transfer = record.transfer
    transfer_id = transfer.transfer_id
    found = teardown.find(world, transfer_id, transfer.execution_arn)
    if found is None:
        return None
    record = found
    if transfer.errand.copies:
        return _of_copies(world, record, failure, verified=verified)
    # A plan that was taken up has chunks that an earlier run delivered.
    since = transfer.execution_started_at if transfer.run > 1 else None
    tally = Tally.of(world.chunks.read(record.transfer.partition, record.plan) if record.plan else iter(()), since)
    nodes = world.nodes.of(transfer_id)
    told = _last_reports(world, record)
    document = report.build(
        _with_last_reports(world, record, told),
        failure=failure,
        verified=verified,
        tally=tally,
        nodes=nodes,
        spent=metering.look(world, record, tally.bytes),
        skipped=skipped.read(world, record),
        entries=entry_list.where(world, transfer),
        now=world.clock.now(),
        told=told,
    )
    # Chunks and nodes took a while to read, and may be the later one's; or somebody else's report has come first.
    found = teardown.find(world, transfer_id, transfer.execution_arn)
    if found is None or (found.status in ENDED and found.status != document.status):
        return None
    key = world.key(transfer_id, "report.json")
    world.objects.put(key, json.dumps(document.to_document()).encode())
    world.objects.put(world.key(transfer_id, "report.html"), render(document, files).encode())
    # A report that is written again is no news.
    is_first = record.teardown is not None and record.status not in ENDED
    if record.teardown is not None:
        # Before it is closed: whoever finds it closed may take it that its tenant has been told what it cost.
        tenants.settle(world, transfer, document.cost.total)
        charging.charge(world, transfer, document)
    others = look_beside(world, record, tally) if is_first else None
    closed = (
        world.transfers.change(transfer, transfer_life.close(document.status))
        if record.teardown is not None
        else record
    )
    if closed is None:
        return None
    world.events.put("Transfer Finished", document.news(key))
    if is_first:
        _count(world, document)
        learn(
            world, record.model_copy(update={"status": document.status, "beside": closed.beside}), tally, nodes, others
        )
    return document


def _of_copies(world: World, record: TransferRecord, failure: Failure | None, *, verified: bool) -> Report | None:
    """The report of a transfer that had no machine, and teaches nothing about any."""
    skipped = finishing.skipped(world, record.transfer, record.copies)
    document = copies_report.build(record, failure=failure, verified=verified, skipped=skipped, now=world.clock.now())
    if record.status in ENDED and record.status != document.status:
        return None
    key = world.key(record.transfer.transfer_id, "report.json")
    world.objects.put(key, json.dumps(document.to_document()).encode())
    world.objects.put(world.key(record.transfer.transfer_id, "report.html"), render(document, None).encode())
    is_first = record.teardown is not None and record.status not in ENDED
    if record.teardown is not None:
        tenants.settle(world, record.transfer, document.cost.total)
    if record.teardown is not None and not world.transfers.change(
        record.transfer, transfer_life.close(document.status)
    ):
        return None
    world.events.put("Transfer Finished", document.news(key))
    if is_first:
        _count(world, document)
    return document


def _last_reports(world: World, record: TransferRecord) -> dict[str, Progress | None]:
    try:
        return reports.of_all(world, record.transfer)
    except (KeyError, ValueError):
        return {}  # a machine of the user wrote something else there: no reason to have no report


def _with_last_reports(world: World, record: TransferRecord, told: Mapping[str, Progress | None]) -> TransferRecord:
    """With what its ends have said since they were watched the last time: a minute ago, or never."""
    now, seat_ids = world.clock.now(), [seat.seat_id for seat in record.transfer.seats]
    seats = record.seats or Seats.begun(record.earlier_starts + 1, now, seat_ids)
    return record.model_copy(update={"seats": seats.seen(told, now)}) if told else record


def _count(world: World, document: Report) -> None:
    if document.status == "FAILED":
        world.metrics.put({"TransfersFailed": 1})
        return
    if document.dry_run is not None:
        return
    took: dict[MetricName, float] = {"TransfersSucceeded": 1, "TransferSeconds": document.seconds.total}
    world.metrics.put({**took, "TransferRate": document.rate} if document.rate else took)
