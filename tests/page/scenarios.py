"""Reports of transfers that could have been, as Write Report builds them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from lambdas.core.chunks.chunk import Chunk
from lambdas.core.chunks.events import Copied
from lambdas.core.chunks.file_list import FileEntry
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.profiling import Measured, MeasuredPair
from lambdas.core.estimate.rows import build_rows
from lambdas.core.fleet.relay_node import Node, NodeState
from lambdas.core.record.transfer_record import Outcome, Spawned, TransferRecord
from lambdas.core.report import report
from lambdas.core.report.page.render import Files
from lambdas.core.report.report import Report
from lambdas.core.report.seat_report import SeatReport
from lambdas.core.report.tally import Tally
from lambdas.core.request.bandwidth import BandwidthLimit, LimitChange
from lambdas.core.spending.meter import Dollars, Spent
from lambdas.core.spending.sent import Sent
from lambdas.core.transfer.failure import Failure
from tests.lambdas import builders
from tests.lambdas.traffic import Traffic

STARTED = 1_795_254_000.4
FIRST_BYTE = 2.3
HOSTILE = "</td><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}"


def node(stage: str, slot: int, joined: float, *, generation: int = 0, asked: float = 1.2, **changes: object) -> Node:
    """A relay that serves `joined` seconds after the start."""
    serving = joined - asked
    state: NodeState = "TERMINATED"
    times = {
        "requested_at": STARTED + asked,
        "running_at": STARTED + asked + 0.55 * serving,
        "online_at": STARTED + asked + 0.8 * serving,
        "ready_at": STARTED + joined - 0.1,
        "joined_at": STARTED + joined,
        "ended_at": STARTED + 61.0,
        "measured_inter_region": 19.0 + slot / 2,
        "measured_intra_region": 150.0,
    }
    return builders.node(stage, slot, generation, state, **{**times, **changes})


def estimate(size_mb: float, pairs: int, most: int = 8) -> Estimate:
    figures = builders.figures(spawn=11.0, relay_hour=0.0266)
    rows = build_rows(int(size_mb * 1e6), most, figures)
    known = builders.estimate(1, size=int(size_mb * 1e6))
    reason = "at $10 per hour, one more pair saves less than it costs"
    return known.model_copy(update={"rows": rows, "chosen_pairs": pairs, "reason": reason, "figures": figures})


def stages(total: float) -> dict[str, dict[str, float]]:
    """Times of the states of a transfer that took `total` seconds."""
    ends = {
        "Validate Request": (0.0, 0.3),
        "Resolve Paths": (0.3, 0.9),
        "Survey Ends": (0.9, 1.5),
        "Estimate Transfer": (1.5, 1.8),
        "Plan Chunks": (1.8, 2.1),
        "Start Transfer": (2.1, total - 4),
        "Spawn Relays": (2.1, 3.0),
        "Await Relays": (3.0, 16.5),
        "Verify Transfer": (total - 4, total - 3.2),
        "Tear Down": (total - 3.2, total - 0.2),
    }
    return {name: {"enteredAt": STARTED + enter, "leftAt": STARTED + leave} for name, (enter, leave) in ends.items()}


def built(
    chunks: list[Chunk],
    nodes: list[Node],
    *,
    estimated: Estimate | None,
    failure: Failure | None = None,
    total: float = 62.0,
    transfer_id: str = "nightly-backup",
    measured: Measured | None = None,
    limits: Sequence[LimitChange] = (),
) -> Report:
    """As Write Report does."""
    tally = Tally.of(chunks)
    notes = ["t3.small in us-west-2a: VcpuLimitExceeded: 3 of 4 pairs were launched"]
    relays = 0.0266 / 3600 * sum((one.ended_at or STARTED) - one.requested_at for one in nodes)
    dollars = Dollars(relays, tally.bytes * 0.02e-9, 0.0, 0.0014)
    spent = Spent.of(dollars, STARTED + total, Sent())
    transfer = builders.transfer(transfer_id).model_copy(update={"execution_started_at": STARTED})
    record = TransferRecord(
        transfer=transfer,
        status="DONE",
        fenced=True,
        outcome=Outcome(measured=measured),
        estimate=estimated,
        spawned=Spawned(wanted=4, launched=3, notes=notes) if nodes else None,
        stages=stages(total),
        bandwidth=BandwidthLimit(changes=list(limits)),
    )
    return report.build(
        record,
        failure=failure,
        verified=failure is None,
        tally=tally,
        nodes=nodes,
        spent=spent,
        now=STARTED + total,
    )


def traffic(rates: Mapping[str, float], joins: Mapping[str, float], size_mb: float, **changes: float) -> list[Chunk]:
    """Chunk items; `joins` in seconds after the first byte."""
    found = Traffic(rates, joins, size_mb, lanes=2, begin=STARTED + FIRST_BYTE, **changes)  # type: ignore[arg-type]
    return found.chunks()


def succeeded() -> Report:
    """The direct path and three pairs; a relay is lost and replaced, and some chunks are sent again."""
    rates = {"direct": 20.0, "pair-1": 20.5, "pair-2": 19.0, "pair-3": 21.0}
    chunks = traffic(rates, {"direct": 0.0, "pair-1": 11.2, "pair-2": 11.6, "pair-3": 14.0}, 3200)
    lost_at, back_at = 26.0, 38.5
    shown = []
    for item in chunks:
        began = (item.started_at or 0.0) - STARTED - FIRST_BYTE
        if item.path_id == "pair-2" and lost_at - 0.4 <= began < back_at:
            item = item.model_copy(update={"path_id": "direct" if item.chunk % 2 else "pair-3"})
        if item.path_id != "pair-2" and 26.0 <= began < 26.9:
            item = item.model_copy(update={"attempt": 2, "reason": "stream-lost"})
        shown.append(item)
    nodes = [
        node(stage, slot, FIRST_BYTE + joined)
        for stage in ("source", "destination")
        for slot, joined in ((1, 11.2), (2, 11.6), (3, 14.0))
    ]
    lost = {"state": "LOST", "ended_at": STARTED + FIRST_BYTE + lost_at, "reason": "the instance is shutting-down"}
    nodes = [one.model_copy(update=lost) if one.node_id == "destination-2-0" else one for one in nodes]
    nodes.append(node("destination", 2, FIRST_BYTE + back_at, generation=1, asked=FIRST_BYTE + 26.5))
    limits = [LimitChange(at=STARTED + FIRST_BYTE + 41.0, mbps=640), LimitChange(at=STARTED + FIRST_BYTE + 44.5)]
    return built(shown, nodes, estimated=estimate(3200, 3), limits=limits)


def failed() -> Report:
    """The destination's disk fills up under way."""
    chunks = traffic({"direct": 20.0, "pair-1": 20.0}, {"direct": 0.0, "pair-1": 11.0}, 700)
    reason = "destination-error after 5 attempts"
    lost = [
        item.model_copy(update={"state": "FAILED", "attempt": 5, "reason": reason, "delivered_at": None})
        for item in chunks[-4:]
    ]
    cause = (
        "sender: 4 chunks were given up after 5 attempts each: 83, 84, 85, 86 (destination-error: No space left on "
        "device (os error 28) while writing /restore/.cpt-partial-nightly-backup/000000000000004e)"
    )
    nodes = [node("source", 1, 13.3), node("destination", 1, 13.3)]
    return built(
        chunks[:-4] + lost, nodes, estimated=estimate(700, 1), failure=Failure(error="ChunksFailed", cause=cause)
    )


def large() -> Report:
    """Twenty-four pairs over two hours: more paths than colours, more lanes and chunks than bars."""
    rates = {"direct": 40.0} | {f"pair-{n}": 30.0 + n / 2 for n in range(1, 25)}
    joins = {"direct": 0.0} | {f"pair-{n}": 80.0 + n for n in range(1, 25)}
    chunks = traffic(rates, joins, 6_000_000, chunk_mb=640.0)
    nodes = [node(stage, n, 82.0 + n) for stage in ("source", "destination") for n in range(1, 25)]
    nodes = [one.model_copy(update={"ended_at": STARTED + 7000}) for one in nodes]
    return built(chunks, nodes, estimated=estimate(6_000_000, 24, 32), total=7020.0, transfer_id="archive")


def short() -> Report:
    """Two seconds on the direct path alone."""
    return built(traffic({"direct": 20.0}, {"direct": 0.0}, 40, chunk_mb=2.0), [], estimated=estimate(40, 0), total=8.5)


def refused() -> Report:
    """A request with a mistake, which repeats what somebody wrote."""
    cause = (
        f"$.source.paths[0]: {HOSTILE}: must begin with /\n$.destination.region: mars-1: no region of this deployment"
    )
    return report.of_refused("nightly-backup", builders.ARN, Failure(error="InvalidRequest", cause=cause), 0.8)


def measured() -> Report:
    """A profiling execution."""
    pairs = [
        MeasuredPair(path_id="pair-2", inter_region=20.4, intra_region=158.0, spawn_seconds=12.2),
        MeasuredPair(path_id="pair-1", inter_region=19.1, intra_region=149.0, spawn_seconds=11.7),
    ]
    found = Measured(direct=20.2, pairs=pairs, sent_bytes=598_000_000)
    return built([], [], estimated=estimate(0, 1), measured=found, transfer_id="measure-the-two")


def hostile() -> Report:
    """Whatever may come from outside tries to be more than text."""
    whole = succeeded()
    nodes = [{**one, "reason": HOSTILE} if one["state"] == "LOST" else one for one in whole.nodes]
    wanted = whole.estimate or {}
    wanted = {**wanted, "reason": HOSTILE, "notes": [HOSTILE]}
    return whole.model_copy(
        update={"status": "FAILED", "error": "VerificationFailed", "cause": HOSTILE, "nodes": nodes, "estimate": wanted}
    )


def files(count: int = 400, total: int | None = None) -> Files:
    """A list whose first names are hostile or unreadable."""
    names = [
        "set/%3C%2Ftd%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E",
        "set/Latin-1%20%E9t%E9.txt",
        "set/caf%C3%A9%20%E2%98%95.txt",
        "set/line%0Abreak.txt",
        "set/gpj.exe%E2%80%AEimages.jpg",
        "set/" + "very-long-name-" * 16 + ".bin",
    ]
    names += [f"set/part-{number:05d}.parquet" for number in range(count - len(names))]
    entries = [
        FileEntry(path=name, bytes=(number * 7919) ** 2 % 10**9, digest=f"{number:02x}" * 32)
        for number, name in enumerate(names[: min(count, 200)], 16)
    ]
    return Files(entries, total or count, "s3://cpt-control-000000000000-us-west-2/transfers/nightly-backup/files/")


def many_machines() -> Report:
    """Two machines send and two receive; one of these was terminated under way, and one sender was started again."""
    zones, shares = ("us-west-2a", "us-west-2b", "eu-west-1a", "eu-west-1c"), (0.62, 0.38, 0.71, 0.29)
    whole = succeeded()
    seats = [
        SeatReport(
            seat_id=seat_id,
            instance_id=f"i-{number:017x}",
            instance_type="c6in.large",
            availability_zone=zones[number],
            bytes=round(whole.bytes * shares[number]),
            share=shares[number],
            rate=round(whole.rate * shares[number], 3),
        )
        for number, seat_id in enumerate(("s0", "s1", "r0", "r1"))
    ]
    seats[1] = seats[1].model_copy(update={"restarts": 2, "trouble": "the SSM agent did not answer within 4 min"})
    gone = {"retired_at": STARTED + 31.0, "retired_because": "EndGone: i-00000000000000003 is terminated"}
    seats[3] = seats[3].model_copy(update=gone)
    return whole.model_copy(update={"seats": seats, "copied": Copied(bytes=400_000_000, seconds=2.5)})


def recorded() -> Report:
    """What `make demo` left on a machine that had much else to do."""
    return Report.from_document(json.loads((Path(__file__).parent / "recorded.json").read_text()))


ALL = {
    "succeeded": succeeded,
    "failed": failed,
    "large": large,
    "short": short,
    "refused": refused,
    "measured": measured,
    "hostile": hostile,
    "recorded": recorded,
    "many_machines": many_machines,
}
