"""The request: its schema as models, its defaults, and the rules that a schema cannot say."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from lambdas.core.bandwidth import Mbps
from lambdas.core.documents import (
    Document,
    InstanceId,
    InstanceType,
    Integer,
    TransferId,
    whole,
)
from lambdas.core.end_kinds.machine import DestinationMachine, SourceMachine
from lambdas.core.errors import InvalidRequest
from lambdas.core.problems import describe

MAX_REQUEST_PAIRS = 64
MAX_APPROVAL_SECONDS = 604_800
# The thesis tests for 30 s between datacenters and 30 s inside (4.3.2).
MAX_PRE_TEST_SECONDS = 60
# A machine gets its command as one variable, which Linux limits to 131 072 bytes: in base64 90 000 bytes are 120 000.
PATHS_BYTES = 90_000
_RIGHT = {"$.relays.pairs": f'write "auto", 0 to {MAX_REQUEST_PAIRS}, or {{"source": 2, "destination": 3}}'}
ChunkSize = Literal[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]


SideCount = Annotated[Integer, Field(ge=1, le=MAX_REQUEST_PAIRS)]


class Sides(Document):
    """Relays on each side: any of the source's feeds any of the destination's."""

    source: SideCount
    destination: SideCount


class RelaysRequest(Document):
    """Which relays to use."""

    pairs: Literal["auto"] | Annotated[Integer, Field(ge=0, le=MAX_REQUEST_PAIRS)] | Sides = "auto"
    instance_types: list[InstanceType] | None = Field(default=None, min_length=1, max_length=20)
    market: Literal["on-demand", "spot"] = "on-demand"
    existing: list[InstanceId] = Field(default_factory=list, max_length=128)
    existing_share: Annotated[float, Field(gt=0, le=1)] = 0.5

    @property
    def wanted(self) -> int | Literal["auto"]:
        """Pairs that were asked for: what the smaller side is, since like relays carry no more."""
        return min(self.pairs.source, self.pairs.destination) if isinstance(self.pairs, Sides) else self.pairs

    @property
    def sides(self) -> Sides | None:
        """Where they were asked for by side."""
        return self.pairs if isinstance(self.pairs, Sides) else None


class Objective(Document):
    """What the choice of p optimises, and what follows when the budget is used up; dollars and seconds."""

    minimise: Literal["time", "cost", "balanced"] = "balanced"
    max_cost_usd: float | None = Field(default=None, gt=0)
    on_budget: Literal["direct", "stop"] = "direct"
    deadline_seconds: Integer | None = Field(default=None, gt=0)

    @property
    def contradiction(self) -> str:
        """Why these cannot be wanted together; empty when they can."""
        if self.minimise == "time" and self.deadline_seconds is not None:
            return "with a deadline the cheapest row that meets it is chosen, not the fastest; leave one of them out"
        return ""


class TransferRequest(Document):
    """Input of an execution."""

    schema_version: Annotated[Literal[1], BeforeValidator(whole)] = 1
    name: TransferId | None = None
    resume: bool = False
    compare: Literal["size-time", "digest"] = "size-time"
    source: SourceMachine
    destination: DestinationMachine
    relays: RelaysRequest = Field(default_factory=RelaysRequest)
    objective: Objective = Field(default_factory=Objective)
    pre_test: Literal["auto"] | bool = "auto"
    pre_test_seconds: Annotated[Integer, Field(ge=1, le=MAX_PRE_TEST_SECONDS)] | None = None
    profile: Literal["none", "measure"] = "none"
    approval: Literal["none", "required"] = "none"
    approval_timeout_seconds: Annotated[Integer, Field(ge=10, le=MAX_APPROVAL_SECONDS)] = 86_400
    chunk_size_mib: Annotated[ChunkSize, BeforeValidator(whole)] | None = Field(default=None, alias="chunkSizeMiB")
    bandwidth_limit_mbps: Mbps | None = None
    verify: Literal["digest", "readback"] = "digest"
    when_busy: Literal["refuse", "wait"] = "refuse"
    on_problem: Literal["fail", "skip"] = "fail"

    @property
    def testing(self) -> Literal["auto"] | bool:
        """`preTest`; it tests pairs, so there is none where the sides differ."""
        sides = self.relays.sides
        return False if sides and sides.source != sides.destination else self.pre_test

    @property
    def is_profiling(self) -> bool:
        """Whether the execution measures, and moves nothing."""
        return self.profile == "measure"


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
        request = TransferRequest.from_document(_without_null_free_defaults(raw))
    except ValidationError as error:
        raise InvalidRequest(describe(error, _RIGHT)) from None
    problems = list(_rules(request, limits))
    if problems:
        raise InvalidRequest(problems)
    return request


def _without_null_free_defaults(raw: object) -> Any:
    """Refuse null where the schema has no null: an absent key is the way to take a default."""
    nulls = list(_nulls(raw, "$"))
    if nulls:
        raise InvalidRequest([f"{path}: null is not allowed; leave the key out to take its default" for path in nulls])
    return raw


def _nulls(value: object, path: str) -> list[str]:
    if value is None:
        return [path]
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in _nulls(inner, f"{path}.{key}")]
    if isinstance(value, list):
        return [found for i, inner in enumerate(value) for found in _nulls(inner, f"{path}[{i}]")]
    return []


def _rules(request: TransferRequest, limits: Limits) -> list[str]:
    problems: list[str] = []
    enrolled = ", ".join(sorted(limits.regions))
    for side, end in (("source", request.source), ("destination", request.destination)):
        problems += [
            f"$.{side}.region: '{region}' is not enrolled; regions of this deployment: {enrolled}"
            for region in end.regions
            if region not in limits.regions
        ]
    if request.source.instance_id == request.destination.instance_id:
        problems.append(
            f"$.destination.instanceId: '{request.destination.instance_id}' is the source as well; "
            "name another instance (to copy within one machine use cp or rsync there)"
        )
    for i, path in enumerate(request.source.paths):
        problems += _path_problem(f"$.source.paths[{i}]", path)
    problems += _path_problem("$.destination.path", request.destination.path)
    problems += _collisions(request.source.paths) + _too_long_together(request.source.paths)
    problems += _pairs_problems(request, limits)
    for i, instance_type in enumerate(request.relays.instance_types or ()):
        if limits.instance_types and instance_type not in limits.instance_types:
            allowed = ", ".join(limits.instance_types)
            problems.append(f"$.relays.instanceTypes[{i}]: '{instance_type}' is not allowed here; allowed: {allowed}")
    budget, most = request.objective.max_cost_usd, limits.max_cost_usd
    if budget is not None and most is not None and budget > most:
        problems.append(f"$.objective.maxCostUsd: {budget} is more than this deployment's limit; give {most} at most")
    if request.is_profiling and request.bandwidth_limit_mbps is not None:
        problems.append(
            f"$.bandwidthLimitMbps: {request.bandwidth_limit_mbps} would be all that is measured; leave it out where "
            "$.profile is 'measure'"
        )
    if request.objective.contradiction:
        problems.append(f"$.objective.minimise: '{request.objective.minimise}': {request.objective.contradiction}")
    return problems + _existing_problems(request)


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


def _existing_problems(request: TransferRequest) -> list[str]:
    existing = request.relays.existing
    ends = {instance_id for _, instance_id in (*request.source.machines, *request.destination.machines)}
    problems = []
    for i, instance_id in enumerate(existing):
        if instance_id in ends or instance_id in existing[:i]:
            why = "is an end of this transfer" if instance_id in ends else "is named twice"
            problems.append(f"$.relays.existing[{i}]: '{instance_id}' {why}; name each other machine once")
    if existing and request.is_profiling:
        problems.append(
            "$.relays.existing: a share of these machines would be all that is measured; leave it out where $.profile "
            "is 'measure'"
        )
    if existing and request.relays.wanted == 0:
        problems.append("$.relays.existing: $.relays.pairs is 0, so no relay is used; leave one of them out")
    return problems


def _path_problem(where: str, path: str) -> list[str]:
    if ".." in path.split("/"):
        return [f"{where}: '{path}' contains '..'; give the path without it"]
    return []


def _too_long_together(paths: list[str]) -> list[str]:
    size = len(json.dumps(paths))
    if size <= PATHS_BYTES:
        return []
    return [
        f"$.source.paths: {len(paths)} paths are {size} bytes of JSON together, and {PATHS_BYTES} reach the machine; "
        "name a directory above them, or move them in several transfers"
    ]


def _collisions(paths: list[str]) -> list[str]:
    """Two paths that land under one name. What paths that end with a slash bring, the survey of the source knows."""
    seen: dict[str, int] = {}
    problems = []
    for i, path in enumerate(paths):
        name = _landing_name(path)
        if name is None:
            continue
        if name in seen:
            problems.append(
                f"$.source.paths[{i}]: '{path}' and '{paths[seen[name]]}' both land as '{name}'; "
                "move them in two transfers to two destinations"
            )
        seen.setdefault(name, i)
    return problems


def _landing_name(path: str) -> str | None:
    """The name under which `path` lands, as the daemon does it ('/a//b/.' as 'b'); None where its contents do."""
    if path.endswith("/"):
        return None
    return next((part for part in reversed(path.split("/")) if part not in ("", ".")), None)
