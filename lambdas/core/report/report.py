"""The report: what moved, how fast and at what cost, against the estimate."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from lambdas.core.chunks.events import Copied
from lambdas.core.chunks.progress import Progress
from lambdas.core.chunks.skipped import Skipped
from lambdas.core.copies.summary import Copies
from lambdas.core.documents import Count, Document, InstanceId, Region, TenantName
from lambdas.core.estimate.dry_run import DryRun
from lambdas.core.estimate.first_contact import RelayDecision
from lambdas.core.estimate.profiling import Measured
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.replacements import Replacement, replacements
from lambdas.core.fleet.topology import routes_of
from lambdas.core.places.machines import EndMachine
from lambdas.core.pool.energy import transfer_wh
from lambdas.core.record.pause import PauseSpan
from lambdas.core.record.transfer_record import EndStatus, TransferRecord
from lambdas.core.record.unfinished_uploads import UnfinishedUploads, waiting
from lambdas.core.report import fleet_report, pool_report, route_report, seat_report
from lambdas.core.report.fleet_report import FleetReport
from lambdas.core.report.pool_report import PoolUse
from lambdas.core.report.route_report import RouteShare
from lambdas.core.report.seat_report import SeatReport
from lambdas.core.report.stages import StageTime, stage_times
from lambdas.core.report.tally import FailedChunk, RetryCause, Tally
from lambdas.core.report.timeline import Course
from lambdas.core.request import labels
from lambdas.core.request.deletion import Deleted
from lambdas.core.request.replacing import Kept, where_kept
from lambdas.core.request.request import Verification
from lambdas.core.restores.summary import Restores
from lambdas.core.seats.liveness import Restarts
from lambdas.core.spending import cross_zone
from lambdas.core.spending.meter import BudgetDecision, Spent
from lambdas.core.survey.survey import LeftAlone, Same, UnkeptCounts, Unselected
from lambdas.core.tariff import energy
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.failure import Failure

# Step Functions takes 262 144 bytes as a state's output; the rest of the document needs a few thousand.
MAX_OUTPUT_BYTES = 200_000


class Seconds(Document):
    """Wall times and estimates, s."""

    total: float
    transfer: float
    first_byte: float
    direct_estimate: float
    estimate: float


class Dollars(Document):
    """Costs."""

    relays: float
    egress: float
    cross_zone: float
    control_plane: float
    requests: float | None = None
    """Those of a bucket, with what restoring its archived objects took; absent where no end is one."""
    file_systems: float | None = None
    """What file systems of AWS's charge at most for reading and writing; absent where none does."""
    pool: float | None = None
    """For what went through the pool, at the price that it had at the start; absent where the transfer had no lease."""
    total: float
    estimate: float


class Energy(Document):
    """Watt-hours of all machines, and what that goes by."""

    watt_hours: float
    assumption: str


class End(Document):
    """One of the two machines."""

    instance_id: InstanceId
    instance_type: str
    region: Region


class Report(Document):
    """Contract `report`; `started_at`: of the execution, Unix seconds; `run`: which of the transfer's it is.

    `request`: as it was accepted, with its defaults; absent where it never was. `entries`: the folder (`s3://…/`) of
    the list of every entry.
    """

    schema_version: Literal[1] = 1
    transfer_id: str
    tenant: TenantName | None = None
    run: Annotated[int, Field(ge=1)] = 1
    execution_arn: str
    started_at: float | None = None
    request: dict[str, Any] | None = None
    source: End | None = None
    destination: End | None = None
    status: EndStatus
    error: str | None = None
    cause: str | None = None
    bytes: Count
    files: Count
    chunks: Count
    retries: Count
    retry_causes: list[RetryCause] = Field(default_factory=list)
    failed_chunks: list[FailedChunk]
    same: Same | None = None
    left_alone: LeftAlone | None = None
    unselected: Unselected | None = None
    empty_source: Annotated[str, Field(min_length=1)] | None = None
    unkept: UnkeptCounts | None = None
    dry_run: DryRun | None = None
    deleted: Deleted | None = None
    unfinished: UnfinishedUploads | None = None
    kept: Kept | None = None
    copied: Copied | None = None
    skipped: Skipped | None = None
    entries: str | None = None
    verified: bool
    verification: Verification | None = None
    stored_checksums: Literal[True] | None = None
    pairs: Count
    seconds: Seconds
    rate: float = Field(alias="rateMBps")
    cost: Dollars
    energy: Energy | None = None
    pool: PoolUse | None = None
    budget: BudgetDecision | None = None
    pauses: Annotated[list[PauseSpan], Field(min_length=1)] | None = None
    estimate: dict[str, Any] | None
    nodes: list[dict[str, Any]]
    routes: Annotated[list[RouteShare], Field(min_length=1)] | None = None
    decisions: list[RelayDecision] | None = None
    replacements: list[Replacement]
    saved_bytes: Count | None = None
    hedged_bytes: Count | None = None
    repaired_chunks: Count | None = None
    restarts: Restarts | None = None
    seats: list[SeatReport] | None = None
    fleet: FleetReport | None = None
    measured: Measured | None = None
    copies: Copies | None = None
    restores: Restores | None = None
    course: Course | None = None
    stages: list[StageTime]

    @property
    def ends(self) -> tuple[str, str]:
        """Source and destination, for people; empty before they are accepted."""
        asked = self.request or {}
        return (_words(asked.get("source"), self.source), _words(asked.get("destination"), self.destination))

    def to_document(self) -> dict[str, Any]:
        """Return the report as its contract has it: `estimate` is null where it was not reached."""
        return {**super().to_document(), "estimate": self.estimate}

    def news(self, report_key: str) -> dict[str, Any]:
        """Detail of `Transfer Finished`, without schemaVersion and type: what people hear before they read a report."""
        detail: dict[str, Any] = {
            "transferId": self.transfer_id,
            "status": self.status,
            "reportKey": report_key,
            "bytes": self.bytes,
            "files": self.files,
            "seconds": self.seconds.total,
            "costUsd": self.cost.total,
        }
        if self.request is not None:
            detail |= labels.of_event(self.request.get("label"), self.request.get("tags") or {})
        if self.skipped is not None:
            detail["skipped"] = self.skipped.count
        if self.dry_run is not None:
            detail["dryRun"] = True
        if self.empty_source is not None:
            detail["emptySource"] = self.empty_source[:1000]
        return detail if self.error is None else {**detail, "error": self.error, "cause": (self.cause or "")[:1000]}

    def for_output(self) -> dict[str, Any]:
        """The document, without its course, and then its request, where it would not pass as a state's output."""
        found = self
        for part in ("course", "request"):
            if len(found.to_json()) <= MAX_OUTPUT_BYTES:
                break
            found = found.model_copy(update={part: None})
        return found.to_document()


def build(
    record: TransferRecord,
    *,
    failure: Failure | None,
    verified: bool,
    tally: Tally,
    nodes: list[Node],
    spent: Spent,
    skipped: Skipped | None = None,
    entries: str | None = None,
    now: float,
    told: Mapping[str, Progress | None] = MappingProxyType({}),
) -> Report:
    """The report of an accepted transfer; `spent` is the meter's last word, but for the ways that bytes took.

    `told`: the last reports of all seats.
    """
    transfer, estimate = record.transfer, record.estimate
    between_zones = spent.cross_zone * cross_zone.share(transfer, nodes, tally.by_path())
    pooled = pool_report.use_of(record.pool_price, nodes, tally.by_path(), spent.pool, spent.sent.bytes)
    pool_usd = pooled.usd if pooled else 0.0
    ways = route_report.routes(transfer, estimate, nodes, tally.by_path(), spent.egress)
    egress = route_report.egress(ways, spent.egress)
    chosen = estimate.chosen_first if estimate else None
    rows = estimate.rows if estimate else []
    started = transfer.execution_started_at
    # What could not be looked at has no kind, so no sender could leave it out: the list of what is not moved names it.
    counts = record.unselected.counts if record.unselected and record.dry_run is None else {}
    unreadable = "unreadable" in counts
    is_verified = verified and skipped is None and not unreadable
    return Report(
        transfer_id=transfer.transfer_id,
        tenant=transfer.tenant,
        run=transfer.run,
        execution_arn=transfer.execution_arn,
        started_at=started,
        request=transfer.request.to_document(),
        source=_end(transfer.at_source),
        destination=_end(transfer.at_destination),
        status="FAILED" if failure else "SUCCEEDED_WITH_SKIPS" if skipped or unreadable else "SUCCEEDED",
        error=failure.error if failure else None,
        cause=failure.cause if failure else None,
        bytes=tally.bytes,
        files=tally.files,
        chunks=tally.chunks,
        retries=tally.retries,
        retry_causes=tally.retry_causes(),
        failed_chunks=tally.failed,
        same=record.same,
        left_alone=record.left_alone,
        unselected=record.unselected,
        empty_source=record.empty_source,
        unkept=record.unkept,
        dry_run=record.dry_run,
        # What is kept is said once.
        deleted=record.deleted.model_copy(update={"kept": None}) if record.deleted else None,
        unfinished=waiting(record.unfinished),
        restores=record.restores,
        kept=_kept(record),
        copied=record.delivered.copied if record.delivered else None,
        skipped=skipped,
        entries=entries,
        verified=is_verified,
        verification=transfer.request.verify,
        stored_checksums=True if is_verified and transfer.request.destination.stored_checksums else None,
        pairs=_joined_pairs(transfer, nodes),
        seconds=Seconds(
            total=max(now - started, 0.0),
            transfer=tally.seconds,
            first_byte=max(tally.first - started, 0.0) if tally.first else 0.0,
            direct_estimate=next((row.seconds for row in rows if row.pairs == 0), 0.0),
            estimate=chosen.seconds if chosen else 0.0,
        ),
        rate=tally.bytes / 1e6 / tally.seconds if tally.seconds > 0 else 0.0,
        cost=Dollars(
            relays=spent.relays,
            egress=egress,
            cross_zone=between_zones,
            control_plane=spent.control_plane,
            requests=spent.requests if transfer.request.has_bucket else None,
            file_systems=spent.file_systems or None,
            pool=pooled.usd if pooled else None,
            total=spent.total - spent.cross_zone + between_zones - spent.egress + egress - spent.pool + pool_usd,
            estimate=chosen.cost_usd if chosen else 0.0,
        ),
        energy=_energy(transfer, tally, nodes, now, pooled),
        pool=pooled,
        budget=record.budget,
        pauses=(record.pause.spans or None) if record.pause else None,
        estimate=estimate.to_document() if estimate else None,
        nodes=[node.to_document() for node in nodes],
        routes=ways or None,
        decisions=record.decisions or None,
        replacements=replacements(nodes),
        saved_bytes=record.delivered.saved_bytes if record.delivered else None,
        hedged_bytes=record.delivered.hedged_bytes if record.delivered else None,
        repaired_chunks=record.delivered.repaired_chunks if record.delivered else None,
        restarts=record.seats.restarts if record.seats else None,
        seats=seat_report.build(record, told, tally.seconds),
        fleet=fleet_report.build(transfer, record.spawned, nodes),
        measured=record.measured,
        course=tally.course(record.limit.changes),
        stages=stage_times(record.stages),
    )


def _kept(record: TransferRecord) -> Kept | None:
    """Where something was moved, and its requester wants to have what was there before."""
    request = record.transfer.request
    if request.keep_replaced is None or record.plan is None or record.dry_run or record.measured:
        return None
    where = where_kept(request.destination.where, request.keep_replaced, record.transfer.transfer_id)
    # The later count has all of the earlier one. Nothing is sent where nothing differs.
    counts = [record.deleted.kept or 0] if record.deleted else []
    counts += [record.delivered.kept or 0] if record.delivered else []
    return Kept(entries=max(counts, default=None), where=where)


def _energy(
    transfer: AcceptedTransfer, tally: Tally, nodes: list[Node], now: float, pooled: PoolUse | None
) -> Energy | None:
    if not tally.seconds:
        return None
    relays = [(node.ended_at or now) - node.requested_at for node in nodes if node.provider != "pool"]
    # Beside a bucket a machine has both daemons.
    ends = {seat.machine.instance_id for seat in (*transfer.senders, *transfer.receivers)}
    # Others have the rest of the pool's nodes.
    watt_hours = transfer_wh(len(ends), tally.seconds, relays, pooled.node_seconds if pooled else 0.0)
    return Energy(watt_hours=round(watt_hours, 3), assumption=energy.ASSUMPTION)


def _words(asked: object, machine: End | None) -> str:
    """The machine, or the bucket that it reads or writes."""
    if isinstance(asked, dict) and asked.get("kind") == "bucket":
        return f"bucket {asked['bucket']} in {asked['region']}"
    return f"{machine.instance_type} in {machine.region} ({machine.instance_id})" if machine else ""


def _end(machine: EndMachine) -> End:
    return End(instance_id=machine.instance_id, instance_type=machine.instance_type, region=machine.region)


def of_refused(transfer_id: str, execution_arn: str, failure: Failure, total_seconds: float) -> Report:
    """The report of a request that was never accepted: nothing ran, nothing was spent."""
    nothing = Seconds(total=total_seconds, transfer=0.0, first_byte=0.0, direct_estimate=0.0, estimate=0.0)
    return Report(
        transfer_id=transfer_id,
        execution_arn=execution_arn,
        status="FAILED",
        error=failure.error,
        cause=failure.cause,
        bytes=0,
        files=0,
        chunks=0,
        retries=0,
        failed_chunks=[],
        verified=False,
        pairs=0,
        seconds=nothing,
        rate=0.0,
        cost=Dollars(relays=0.0, egress=0.0, cross_zone=0.0, control_plane=0.0, total=0.0, estimate=0.0),
        estimate=None,
        nodes=[],
        replacements=[],
        stages=[],
    )


def _joined_pairs(transfer: AcceptedTransfer, nodes: list[Node]) -> int:
    """Slots of which the relays of all stages joined at some time."""
    joined = {(node.stage, node.slot) for node in nodes if node.joined_at is not None}
    return sum(
        len(set.intersection(*({slot for at, slot in joined if at == stage.index} for stage in route.stages)))
        for route in routes_of(transfer)
    )
