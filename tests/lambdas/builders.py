"""Documents for tests, valid unless a test spoils them."""

from dataclasses import replace
from typing import Any

from lambdas.core.chunks.chunk import RANGE_SIZE, Chunk, item_key, range_key
from lambdas.core.chunks.events import Delivered
from lambdas.core.chunks.listing import Announcement, OpenSurvey
from lambdas.core.chunks.progress import LaneProgress, Progress
from lambdas.core.chunks.transfer_plan import PlanListing, TransferPlan
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import Figure, Figures, Origin
from lambdas.core.estimate.profile import Profile
from lambdas.core.estimate.rows import Row
from lambdas.core.estimate.type_choice import Candidate
from lambdas.core.fleet.relay_node import Node, NodeState
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.core.fleet.topology import PAIR, Route, Stage, pair_of
from lambdas.core.places.machines import EndMachine
from lambdas.core.record.transfer_record import Outcome
from lambdas.core.request.request import TransferRequest
from lambdas.core.seats.epochs import first_epoch
from lambdas.core.survey.survey import DestinationSurvey, SourceSurvey, Survey
from lambdas.core.survey.whereabouts import DirectoryWay
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.partition import Partition, partition_of
from lambdas.core.transfer.seat import Seat, role_of, seats_of

WEST, IRELAND = "us-west-2", "eu-west-1"
SOURCE_ID, DESTINATION_ID = "i-0aaaaaaaaaaaaaaa1", "i-0bbbbbbbbbbbbbbb2"
# Private and public.
SOURCE_ADDRESSES = ("10.10.0.1", "54.0.0.1")
DESTINATION_ADDRESSES = ("10.11.0.1", "54.1.0.1")
PLAN_ID = "9f86d081884c7d659a2feaa0c55ad015"
LISTING_DIGEST = "ab" * 32
ARN = "arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:first"


def shared(transfer_id: str = "first") -> Partition:
    """AcceptedTransfer.partition of `transfer(transfer_id)`."""
    return partition_of(ARN, [(WEST, SOURCE_ID), (IRELAND, DESTINATION_ID)], transfer_id)


# Where the ends of the transfer `first` share records and objects.
SHARED = shared()
ENDS = f"ends/{SHARED}/"


def request(**changes: Any) -> dict[str, Any]:
    return {
        "source": {"instanceId": SOURCE_ID, "region": WEST, "paths": ["/data/set"]},
        "destination": {"instanceId": DESTINATION_ID, "region": IRELAND, "path": "/restore"},
        **changes,
    }


def transfer(transfer_id: str = "first", arn: str = ARN, **changes: Any) -> AcceptedTransfer:
    source = EndMachine(
        instance_id=SOURCE_ID,
        region=WEST,
        availability_zone="us-west-2a",
        instance_type="m5.large",
        vpc_id="vpc-source",
        subnet_id="subnet-source",
        private_address=SOURCE_ADDRESSES[0],
        public_address=SOURCE_ADDRESSES[1],
    )
    destination = source.model_copy(
        update={
            "instance_id": DESTINATION_ID,
            "region": IRELAND,
            "availability_zone": "eu-west-1a",
            "vpc_id": "vpc-destination",
            "subnet_id": "subnet-destination",
            "private_address": DESTINATION_ADDRESSES[0],
            "public_address": DESTINATION_ADDRESSES[1],
        }
    )
    return AcceptedTransfer(
        transfer_id=transfer_id,
        execution_arn=arn,
        execution_started_at=1000.0,
        request=TransferRequest.from_document(request(name=transfer_id, **changes)),
        senders=seats_of("sender", [source]),
        receivers=seats_of("receiver", [destination]),
    )


def with_machine(accepted: AcceptedTransfer, seat_id: str, **changes: Any) -> AcceptedTransfer:
    """The transfer with another machine in a seat, also as its request names it."""
    end, seats = ("source", "senders") if role_of(seat_id) == "sender" else ("destination", "receivers")
    there: list[Seat] = getattr(accepted, seats)
    changed = accepted.seat(seat_id).machine.model_copy(update=changes)
    found = [Seat(seat_id=one.seat_id, machine=changed if one.seat_id == seat_id else one.machine) for one in there]
    asked = getattr(accepted.request, end).model_copy(update={"region": found[0].machine.region})
    request = accepted.request.model_copy(update={end: asked})
    return accepted.model_copy(update={seats: found, "request": request})


def paths() -> ResolvedPaths:
    return ResolvedPaths(
        direct_reachable=True,
        inter_region="public",
        source_address="54.0.0.1",
        receiver_address="54.1.0.1:4601",
        receiver_inside_address="10.11.0.1:4601",
    )


def figure(value: float, origin: Origin = "configured") -> Figure:
    return Figure(value=value, origin=origin, note="test")


def figures(**changes: float) -> Figures:
    """160 MB/s machines with 20 MB/s paths, relays after 5 s; `changes` by name."""
    values = {
        "source": 160.0,
        "destination": 160.0,
        "direct": 20.0,
        "egress": 0.02,
        "pair": 20.0,
        "pair_spread": 0.15,
        "spawn": 5.0,
        "relay_hour": 0.1,
        **changes,
    }
    return Figures.model_validate({name: figure(value) for name, value in values.items()}, by_name=True)


def estimate(pairs: int = 1, *, pre_test: bool = False, size: int = 10**9) -> Estimate:
    rows = [
        Row(
            pairs=p,
            pre_test=pre_test and p > 0,
            seconds=50.0 / (p + 1),
            speedup=float(p + 1),
            cost_usd=0.02 + p / 100,
            limit="x",
        )
        for p in range(max(pairs, 1) + 1)
    ]
    return Estimate(
        bytes=size,
        rows=rows,
        chosen_pairs=pairs,
        pre_test=pre_test,
        reason="asked for",
        figures=figures(),
        instance_type="t3.small",
        candidates=[Candidate(instance_type="t3.small", pair_mb_s=20.0, hour_usd=0.1, suitable=True, reason="x")],
        notes=[],
    )


def survey(parts: int = 0, *, size: int = 10**9, files: int = 3) -> Survey:
    return Survey(
        source=SourceSurvey(
            schema_version=1,
            side="source",
            daemon_version="0.1.0",
            files=files,
            directories=0,
            symlinks=0,
            skipped=0,
            listing_digest=LISTING_DIGEST,
            bytes=size,
            largest_file_bytes=size,
            parts=parts,
            problems=[],
            problem_count=0,
        ),
        destination=DestinationSurvey(
            schema_version=1,
            side="destination",
            daemon_version="0.1.0",
            free_bytes=10**12,
            free_inodes=10**6,
            occupied=False,
            ways=[DirectoryWay(directories=["1:2", "1:3"], names=["restore"])],
            problems=[],
            problem_count=0,
        ),
    )


def announcement(parts: int = 1, *, size: int = 10**9, files: int = 3, **changes: Any) -> Announcement:
    listed = survey(parts, size=size, files=files).source
    fields = {name: getattr(listed, name) for name in Announcement.model_fields if name != "complete"}
    return Announcement.model_validate({**fields, "complete": False, **changes}, by_name=True)


def open_survey(listed: Announcement | None = None) -> OpenSurvey:
    """Of a listing that goes on."""
    return OpenSurvey(command_id="command-1", destination=survey().destination, listed=listed or announcement())


def plan(transfer_id: str = "first", chunks: int = 4, size: int = 10**9, files: int = 3) -> TransferPlan:
    return TransferPlan(
        transfer_id=transfer_id,
        plan_id=PLAN_ID,
        chunk_size_bytes=1 << 20,
        chunks=chunks,
        range_size=RANGE_SIZE,
        first_range=0,
        last_phase_chunks=0,
        bytes=size,
        files=files,
        manifest_parts=[],
        lanes_per_path=2,
        listing=PlanListing(parts=1, digest=LISTING_DIGEST, planned_folder="listing/", planned_parts=1),
    )


def delivered(**changes: Any) -> Outcome:
    """What the sender of one byte says in the end."""
    said = {"bytes": 1, "files": 1, "chunks": 1, "sent_bytes": 1, "epoch": first_epoch(1), **changes}
    return Outcome(delivered=Delivered(**said))


def chunk(number: int = 0, transfer_id: str = "first", **changes: Any) -> Chunk:
    whole = Chunk(
        range_key=range_key(shared(transfer_id), number // RANGE_SIZE),
        item_key=item_key(number),
        chunk=number,
        state="PENDING",
        attempt=1,
        plan_id=PLAN_ID,
        phase=0,
        manifest_key="m",
        manifest_start=0,
        manifest_end=1,
        bytes=100,
        files=1,
    )
    return whole.model_copy(update=changes)


def route(stages: int = 2) -> Route:
    """A pair's route, or one of so many stages: the first is beside the source, the last beside the destination."""
    pair = pair_of(transfer().at_source, transfer().at_destination)
    between = [Stage(at, f"stage{at}", WEST, f"vpc-{at}") for at in range(1, stages - 1)]
    last = replace(pair.stages[1], index=stages - 1)
    return replace(pair, stages=(pair.stages[0], *between, last)[:stages])


def node(
    stage: int | str = 0, slot: int = 1, generation: int = 0, state: NodeState = "SPAWNED", **changes: Any
) -> Node:
    """A relay of a stage, which a pair's may be given by its name."""
    at = PAIR.index(stage) if isinstance(stage, str) else stage
    name = PAIR[at] if at < len(PAIR) else f"stage{at}"
    west = at == 0
    whole = Node(
        transfer_id="first",
        node_id=f"{name}-{slot}-{generation}",
        stage=at,
        stage_name=name,
        slot=slot,
        generation=generation,
        state=state,
        instance_id=f"i-{'a' if west else 'b'}{slot:07d}{generation}",
        instance_type="t3.small",
        region=WEST if west else IRELAND,
        availability_zone="us-west-2a" if west else "eu-west-1a",
        market="on-demand",
        private_address=f"10.{10 if west else 11}.1.{slot}",
        public_address=f"54.{0 if west else 1}.1.{slot}",
        requested_at=1000.0,
    )
    return whole.model_copy(update=changes)


def profile(inter_region: float, intra_region: float, spawn: float) -> Profile:
    return Profile(configured={"interRegion": inter_region, "intraRegion": intra_region, "spawn": spawn})


def progress(sequence: int = 1, *, sent: int = 0, rate: float = 20.0, failed: int = 0, start: int = 1) -> Progress:
    return Progress(
        schema_version=1,
        epoch=first_epoch(start),
        sequence=sequence,
        bytes=sent,
        moved_bytes=sent,
        chunks=0,
        files=0,
        failed_chunks=failed,
        rate=rate,
        at=1000.0,
        lanes=[
            LaneProgress(path_id=path, lane=lane, bytes=0, rate=rate / 4)
            for path in ("direct", "pair-1")
            for lane in (0, 1)
        ],
    )
