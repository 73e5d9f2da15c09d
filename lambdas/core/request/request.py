"""The request: its schema as models, its defaults, and the rules that a schema cannot say."""

from collections.abc import Collection
from dataclasses import dataclass
from re import fullmatch
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from lambdas.core.documents import (
    MAX_TRANSIT_REGIONS,
    Count,
    Document,
    TransferId,
    whole,
)
from lambdas.core.ends.bucket import DestinationBucket, SourceBucket
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.ends.seated import DestinationPath, SourcePaths
from lambdas.core.errors import InvalidRequest
from lambdas.core.request import bucket_rules, distcp_request, hdfs_rules, machine_rules, path_rules, replacing
from lambdas.core.request.bandwidth import MOST_MBPS, LimitWish, Timetable
from lambdas.core.request.deletion import MOST_DELETED, WITHOUT_DRY_RUN, Confirmation
from lambdas.core.request.distcp_request import DistCpRequest
from lambdas.core.request.labels import Label, Tags
from lambdas.core.request.nulls import without_nulls
from lambdas.core.request.problems import describe
from lambdas.core.request.quantities import Seconds, size_bytes
from lambdas.core.request.relays_request import MAX_REQUEST_PAIRS, RelaysRequest
from lambdas.core.request.replacing import KeepName, Overwrite
from lambdas.core.request.selection import Selection

MAX_APPROVAL_SECONDS = 604_800
# About a fifth of what an engineer's hour costs, and forty times what a pair of c6in.large does (docs/design/006).
VALUE_OF_TIME_USD_PER_HOUR = 10.0
DEADLINE_CONFIDENCE = 0.9
MAX_VALUE_OF_TIME = 1_000_000
# The thesis tests for 30 s between datacenters and 30 s inside (4.3.2).
MAX_PRE_TEST_SECONDS = 60
_RIGHT = {
    **dict.fromkeys(("$.source.kind", "$.destination.kind"), "write 'machine', 'bucket' or 'hdfs'"),
    "$.relays.pairs": f'write "auto", 0 to {MAX_REQUEST_PAIRS}, or {{"source": 2, "destination": 3}}',
    "$.relays.through": f'write "none", "auto", or 1 to {MAX_TRANSIT_REGIONS} regions, e.g. ["us-east-1"]',
    "$.keepReplaced": "write one name that does not begin with '.cpt-', e.g. '.replaced', of a directory "
    "at the top of the destination",
    "$.chunkSizeMiB": "write MiB, a power of two from 1 to 1024, e.g. 64 or 64MiB",
    "$.bandwidthLimitMbps": f"write Mbit/s as a whole number from 1 to {MOST_MBPS}, or a timetable",
}
_OTHER_THAN_BY_DEADLINE = {
    "time": "the fastest",
    "energy": "the one that takes the least energy",
    "pairs": "the one with the fewest pairs",
}
_NOT_BESIDE_SKIPS = "extras are removed only once everything has arrived"
_NOT_BY_A_LIST = "the list is the source's, and the destination cannot tell what it leaves out"
_NOT_A_MACHINE = "it would be the whole machine, its system included"
MIB = 1 << 20
CHUNK_SIZE = r"^((1|2|4|8|16|32|64|128|256|512|1024) ?MiB|1 ?GiB)$"
# What proves that bytes have arrived: what of it decides that others need not be sent is in docs/design/055.
Verification = Literal["digest", "readback", "crc64"]
ChunkSize = Literal[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]


def _chunk_size(value: object) -> object:
    """MiB; text that is no chunk size goes on to the refusal as it is."""
    if isinstance(value, str):
        return size_bytes(value) // MIB if fullmatch(CHUNK_SIZE, value) else value
    return whole(value)


class Objective(Document):
    """What the choice of p optimises, and what follows when the budget is used up; dollars and seconds."""

    minimise: Literal["time", "cost", "energy", "balanced", "pairs"] = "balanced"
    value_of_time_usd_per_hour: float | None = Field(default=None, ge=0, le=MAX_VALUE_OF_TIME)
    max_cost_usd: float | None = Field(default=None, gt=0)
    on_budget: Literal["direct", "stop"] = "direct"
    deadline_seconds: Annotated[Seconds, Field(gt=0)] | None = None
    deadline_confidence: float | None = Field(default=None, ge=0.5, le=0.999)

    @property
    def value_of_time(self) -> float:
        """Dollars that an hour less is worth to `balanced`."""
        given = self.value_of_time_usd_per_hour
        return VALUE_OF_TIME_USD_PER_HOUR if given is None else given

    @property
    def confidence(self) -> float:
        """The share of transfers like this one that would meet the deadline."""
        return self.deadline_confidence or DEADLINE_CONFIDENCE

    @property
    def contradictions(self) -> list[tuple[str, str]]:
        """Keys that cannot stand beside the others, and why."""
        found = []
        if (other := _OTHER_THAN_BY_DEADLINE.get(self.minimise)) and self.deadline_seconds is not None:
            found.append(("minimise", f"with a deadline the cheapest row that meets it is chosen, not {other}"))
        if self.value_of_time_usd_per_hour is not None:
            if self.minimise != "balanced":
                found.append(("minimise", "a value of time is what 'balanced' goes by"))
            if self.deadline_seconds is not None:
                why = "with a deadline the cheapest row that meets it is chosen, whatever time is worth"
                found.append(("valueOfTimeUsdPerHour", why))
        if self.deadline_confidence is not None and self.deadline_seconds is None:
            found.append(("deadlineConfidence", "without a deadline there is nothing to be confident of"))
        return found


class Preserve(Document):
    """What is kept of a tree beyond bytes, permission bits, times, directories and symbolic links."""

    hard_links: bool = False
    sparse: bool = False
    owners: Literal["numeric", "names"] | None = None
    xattrs: bool = False
    acls: bool = False
    special_files: bool = False


class TransferRequest(Document):
    """Input of an execution."""

    schema_version: Annotated[Literal[1], BeforeValidator(whole)] = 1
    name: TransferId | None = None
    label: Label | None = None
    tags: Tags = Field(default_factory=dict)
    resume: bool = False
    compare: Literal["size-time", "digest"] = "size-time"
    overwrite: Overwrite = "always"
    keep_replaced: KeepName | None = None
    resend_all: bool = False
    links: Literal["keep", "skip", "follow"] = "keep"
    dry_run: bool = False
    delete: bool = False
    max_delete: Count = MOST_DELETED
    confirm_delete: Confirmation | None = None
    source: SourceEnd
    destination: DestinationEnd
    select: Selection = Field(default_factory=Selection)
    relays: RelaysRequest = Field(default_factory=RelaysRequest)
    objective: Objective = Field(default_factory=Objective)
    distcp: DistCpRequest | None = None
    pre_test: Literal["auto"] | bool = "auto"
    pre_test_seconds: Annotated[Seconds, Field(ge=1, le=MAX_PRE_TEST_SECONDS)] | None = None
    profile: Literal["none", "measure"] = "none"
    approval: Literal["none", "required"] = "none"
    approval_timeout_seconds: Annotated[Seconds, Field(ge=10, le=MAX_APPROVAL_SECONDS)] = 86_400
    chunk_size_mib: Annotated[ChunkSize, BeforeValidator(_chunk_size)] | None = Field(
        default=None, alias="chunkSizeMiB"
    )
    bandwidth_limit_mbps: LimitWish | None = None
    verify: Verification = "digest"
    compress: Literal["never", "auto"] = "never"
    when_busy: Literal["refuse", "wait"] = "refuse"
    on_problem: Literal["fail", "skip"] = "fail"
    empty_source: Literal["succeed", "fail"] = "succeed"
    preserve: Preserve = Field(default_factory=Preserve)

    @model_validator(mode="before")
    @classmethod
    def _without_schema(cls, value: object) -> object:
        """`$schema` is for editors, and says nothing of the transfer."""
        if isinstance(value, dict) and isinstance(value.get("$schema"), str):
            return {key: inner for key, inner in value.items() if key != "$schema"}
        return value

    @property
    def end_regions(self) -> set[str]:
        """Those of source and destination."""
        return {self.source.region, self.destination.region}

    @property
    def copied_ends(self) -> tuple[SourceBucket, DestinationBucket] | None:
        """Both ends where they are buckets, between which S3 copies by itself; None where a machine is one of them."""
        source, destination = self.source, self.destination
        if isinstance(source, SourceBucket) and isinstance(destination, DestinationBucket):
            return source, destination
        return None

    @property
    def has_bucket(self) -> bool:
        """Whether an end is a bucket."""
        return "bucket" in (self.source.kind, self.destination.kind)

    @property
    def machine_sides(self) -> list[int]:
        """Sides with machines, beside which relays may stand: 0 is the source, 1 the destination."""
        return [side for side, end in enumerate((self.source, self.destination)) if end.kind != "bucket"]

    @property
    def gives_tags(self) -> bool:
        """Whether objects at the destination get tags of the request's."""
        return isinstance(self.destination, DestinationBucket) and bool(self.destination.tags)

    @property
    def testing(self) -> Literal["auto"] | bool:
        """`preTest`; it tests pairs, so there is none where the sides differ, or a bucket is one of them."""
        sides = self.relays.sides
        return False if self.has_bucket or (sides and sides.source != sides.destination) else self.pre_test

    @property
    def timetable(self) -> Timetable | None:
        """Where the limit changes by the clock."""
        return self.bandwidth_limit_mbps if isinstance(self.bandwidth_limit_mbps, Timetable) else None

    @property
    def tells_content(self) -> bool:
        """Whether what the ends have noted of content says that it need not be sent again."""
        return self.verify != "crc64"


@dataclass(frozen=True)
class Limits:
    """What this deployment allows."""

    regions: Collection[str]
    max_pairs: int
    instance_types: Collection[str]
    max_cost_usd: float | None = None


def parse_request(raw: object, limits: Limits) -> TransferRequest:
    """Validate `raw`; raises InvalidRequest with one line per problem."""
    try:
        request = TransferRequest.from_document(without_nulls(raw))
    except ValidationError as error:
        raise InvalidRequest(describe(error, _RIGHT)) from None
    problems = list(_rules(request, limits))
    if problems:
        raise InvalidRequest(problems)
    # The name stays free for the transfer itself: a dry run goes by that of its execution.
    return request.model_copy(update={"name": None}) if request.dry_run else request


def _rules(request: TransferRequest, limits: Limits) -> list[str]:
    problems: list[str] = []
    enrolled = ", ".join(sorted(limits.regions))
    for side, end in (("source", request.source), ("destination", request.destination)):
        problems += [
            f"$.{side}.region: '{region}' is not enrolled; regions of this deployment: {enrolled}"
            for region in end.regions
            if region not in limits.regions
        ]
    source, destination = request.source, request.destination
    if isinstance(source, SourcePaths) and isinstance(destination, DestinationPath):
        problems += machine_rules.problems(source, destination, measures=request.profile == "measure")
    problems += path_rules.problems(
        source.paths if isinstance(source, SourcePaths) else [],
        destination.path if isinstance(destination, DestinationPath) else "",
        request.select,
    )
    said = request.to_document()
    problems += bucket_rules.problems(source, destination, said)
    problems += hdfs_rules.problems(source, destination, said)
    problems += distcp_request.problems(source, destination, request.distcp, request.objective.minimise)
    problems += request.select.problems
    problems += _pairs_problems(request, limits) + request.relays.pool_problems
    for stage, where in enumerate((".source", ".destination") if request.relays.by_side else ("",)):
        for i, instance_type in enumerate(request.relays.types_of(stage, ())):
            if limits.instance_types and instance_type not in limits.instance_types:
                wrong = f"$.relays.instanceTypes{where}[{i}]: '{instance_type}' is not allowed here"
                problems.append(f"{wrong}; allowed: {', '.join(limits.instance_types)}")
    budget, most = request.objective.max_cost_usd, limits.max_cost_usd
    if budget is not None and most is not None and budget > most:
        problems.append(f"$.objective.maxCostUsd: {budget} is more than this deployment's limit; give {most} at most")
    if request.profile == "measure":
        problems += _measuring_problems(request)
    if request.timetable:
        problems += [f"$.bandwidthLimitMbps.{problem}" for problem in request.timetable.problems]
    if request.dry_run:
        problems += [
            f"$.dryRun: true, and $.{key} is {value!r}: nothing is moved, so {why}; leave one of them out"
            for key, value, usual, why in (
                ("profile", request.profile, "none", "nothing is measured"),
                ("approval", request.approval, "none", "there is nothing to approve"),
                ("resume", request.resume, False, "no transfer goes on"),
            )
            if value != usual
        ]
    problems += replacing.problems(
        request.overwrite,
        resend_all=request.resend_all,
        compare=request.compare,
        resume=request.resume,
        hard_links=request.preserve.hard_links,
    )
    problems += replacing.keep_problems(
        request.keep_replaced, request.overwrite, request.source.apart, delete=request.delete
    )
    problems += _deletion_problems(request)
    written = request.objective.to_document()
    problems += [
        f"$.objective.{key}: {written[key]!r}: {why}; leave one of them out"
        for key, why in request.objective.contradictions
    ]
    return problems + _through_problems(request, limits) + _existing_problems(request)


def _deletion_problems(request: TransferRequest) -> list[str]:
    """What is said of extras, and does not go together."""
    if not request.delete:
        said: dict[str, object] = {"confirmDelete": request.confirm_delete}
        said |= {"maxDelete": request.max_delete} if "max_delete" in request.model_fields_set else {}
        return [
            f"$.{key}: {value!r}, and $.delete is false, so nothing is removed; set it, or leave {key} out"
            for key, value in said.items()
            if value is not None
        ]
    path = request.destination.where
    problems = [
        f"$.delete: true, and $.{key} is {value!r}: {why}; leave one of them out"
        for key, value, refused, why in (
            ("profile", request.profile, request.profile == "measure", "nothing is moved"),
            ("onProblem", request.on_problem, request.on_problem == "skip", _NOT_BESIDE_SKIPS),
            ("select.pathsFrom", request.select.paths_from, request.select.paths_from is not None, _NOT_BY_A_LIST),
            ("destination.path", path, all(name in ("", ".") for name in path.split("/")), _NOT_A_MACHINE),
        )
        if refused
    ]
    if request.confirm_delete is None and not request.dry_run:
        problems.append(
            "$.confirmDelete: is missing, and $.delete is true; start a dry run first (dryRun: true) and give the "
            f"digest that it reports, or write '{WITHOUT_DRY_RUN}'"
        )
    return problems


def _pairs_problems(request: TransferRequest, limits: Limits) -> list[str]:
    pairs, sides = request.relays.wanted, request.relays.sides
    if sides is None:
        if pairs == "auto" or pairs <= limits.max_pairs:
            return []
        return [f"$.relays.pairs: {pairs} is more than this deployment's limit; give 0 to {limits.max_pairs}"]
    problems = [
        f"$.relays.pairs.{side}: {count} is more than this deployment's limit; give 1 to {limits.max_pairs}"
        for side, count in (("source", sides.source), ("destination", sides.destination))
        if count > limits.max_pairs
    ]
    if request.pre_test is True and sides.source != sides.destination:
        problems.append(
            f"$.preTest: pairs are tested, and {sides.source} source with {sides.destination} destination relays are "
            "none; leave it out, or ask for as many on both sides"
        )
    return problems


def _through_problems(request: TransferRequest, limits: Limits) -> list[str]:
    through, enrolled = request.relays.through, ", ".join(sorted(limits.regions))
    if through == "none":
        return []
    ends = request.end_regions
    problems = []
    for i, region in enumerate(through if isinstance(through, list) else []):
        key = f"$.relays.through[{i}]: '{region}'"
        if region not in limits.regions:
            problems.append(f"{key} is not enrolled; regions of this deployment: {enrolled}")
        elif region in ends:
            problems.append(f"{key} is the region of an end; name regions between the two ends")
        elif region in through[:i]:
            problems.append(f"{key} is named twice; name each region once")
    if len(ends) == 1:
        problems.append(
            "$.relays.through: both ends are in one region, and no way through another one is shorter; leave it out"
        )
    if request.relays.wanted == 0:
        problems.append("$.relays.through: $.relays.pairs is 0, so no relay is used; leave one of them out")
    return problems


def _measuring_problems(request: TransferRequest) -> list[str]:
    problems, leave_out = [], "would be all that is measured; leave it out where $.profile is 'measure'"
    if request.bandwidth_limit_mbps is not None:
        limit = "a timetable" if request.timetable else request.bandwidth_limit_mbps
        problems.append(f"$.bandwidthLimitMbps: {limit} {leave_out}")
    if request.relays.existing:
        problems.append(f"$.relays.existing: a share of these machines {leave_out}")
    return problems


def _existing_problems(request: TransferRequest) -> list[str]:
    existing = request.relays.existing
    ends = {instance_id for _, instance_id in (*request.source.machines, *request.destination.machines)}
    problems = []
    for i, instance_id in enumerate(existing):
        if instance_id in ends or instance_id in existing[:i]:
            why = "is an end of this transfer" if instance_id in ends else "is named twice"
            problems.append(f"$.relays.existing[{i}]: '{instance_id}' {why}; name each other machine once")
    if existing and request.relays.wanted == 0:
        problems.append("$.relays.existing: $.relays.pairs is 0, so no relay is used; leave one of them out")
    return problems
