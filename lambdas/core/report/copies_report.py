"""The report of copies between two buckets, for which no machine, relay or chunk was needed."""

from typing import Any

from lambdas.core.chunks.skipped import Skipped
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.record.unfinished_uploads import waiting
from lambdas.core.report.report import Dollars, Report, Seconds
from lambdas.core.report.stages import stage_times
from lambdas.core.tariff.prices import PriceBook
from lambdas.core.transfer.failure import Failure


def build(
    record: TransferRecord, *, failure: Failure | None, verified: bool, skipped: Skipped | None, now: float
) -> Report:
    """The report; what was copied of a transfer that failed is in it as far as that was added up."""
    transfer, copies = record.transfer, record.copies
    began, ended = (copies.began_at, copies.ended_at) if copies else (None, None)
    took = 0.0 if began is None or ended is None else ended - began
    size = copies.bytes if copies else 0
    egress = size / 1e9 * PriceBook().egress_gb(transfer.source_region, transfer.destination_region).usd
    own, expected = (copies.usd, copies.estimate) if copies else (0.0, None)
    told: dict[str, Any] = {"copies": copies, "unselected": record.unselected, "same": record.same}
    told |= {"unfinished": waiting(record.unfinished), "restores": record.restores}
    restored = record.restores.spent_usd if record.restores else 0.0
    return Report(
        transfer_id=transfer.transfer_id,
        tenant=transfer.tenant,
        run=transfer.run,
        execution_arn=transfer.execution_arn,
        started_at=transfer.execution_started_at,
        request=transfer.request.to_document(),
        status="FAILED" if failure else "SUCCEEDED_WITH_SKIPS" if skipped else "SUCCEEDED",
        error=failure.error if failure else None,
        cause=failure.cause if failure else None,
        bytes=size,
        files=copies.objects if copies else 0,
        chunks=0,
        retries=0,
        failed_chunks=[],
        left_alone=record.left_alone,
        empty_source=record.empty_source,
        skipped=skipped,
        verified=verified and skipped is None,
        pairs=0,
        seconds=Seconds(
            total=max(now - transfer.execution_started_at, 0.0),
            transfer=took,
            first_byte=max(began - transfer.execution_started_at, 0.0) if began else 0.0,
            direct_estimate=0.0,
            estimate=expected.most_seconds if expected else 0.0,
        ),
        rate=size / 1e6 / took if took > 0 else 0.0,
        cost=Dollars(
            relays=0.0,
            egress=egress,
            cross_zone=0.0,
            control_plane=own,
            requests=restored or None,
            total=own + egress + restored,
            estimate=(expected.usd if expected else 0.0) + (record.restores.total_usd if record.restores else 0.0),
        ),
        estimate=None,
        nodes=[],
        replacements=[],
        stages=stage_times(record.stages),
        **told,
    )
