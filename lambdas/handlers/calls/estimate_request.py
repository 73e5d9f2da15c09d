"""Estimate Request: invoked by people; what a request would take and cost, or the map of the network that estimates
are made from. Looks, and starts nothing.
"""

from typing import Annotated, Any

from pydantic import Field
from pydantic.alias_generators import to_camel

from lambdas.adapters.world import World
from lambdas.core.copies.estimate import Planned, estimate
from lambdas.core.copies.parts import MIB, requests_of
from lambdas.core.documents import Count, Document
from lambdas.core.errors import InvalidRequest
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.network_map import NetworkMap, Wanted
from lambdas.core.request.request import TransferRequest
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.words import dollars, duration, many
from lambdas.core.words import size as bytes_in_words
from lambdas.operations.estimate.advising import advice
from lambdas.operations.estimate.aim import aim_of
from lambdas.operations.estimate.estimation import estimate_for
from lambdas.operations.estimate.mapping import network_map
from lambdas.operations.intake.acceptance import accept
from lambdas.runtime.handler import user_call


class EstimateRequest(Document):
    """Contract `estimate-request`; `request` is raw, as an execution's input is; `files`: their number, where known.

    Or `map` alone, for the map of the network.
    """

    request: Any = None
    size_bytes: Count | None = None
    files: Annotated[int, Field(ge=1)] | None = None
    wanted: Wanted | None = Field(default=None, alias="map")


def estimate_request(event: EstimateRequest, world: World) -> Estimate | NetworkMap:
    """The estimate, or the map; raises InvalidRequest, BudgetTooSmall, DeadlineUnreachable or MissingPrice."""
    if event.wanted is None:
        return _estimate(event, world)
    if beside := sorted(event.model_fields_set - {"wanted"}):
        raise InvalidRequest(
            [f"$.{to_camel(name)}: stands beside map; ask for an estimate or for the map" for name in beside]
        )
    return network_map(event.wanted, world)


def _estimate(event: EstimateRequest, world: World) -> Estimate:
    if "request" not in event.model_fields_set:
        raise InvalidRequest("$.request: is missing; it is required, or map in its place")
    accepted = accept(event.request, world)
    request = accepted.request
    if not event.size_bytes:
        found = "is missing" if event.size_bytes is None else "is 0"
        raise InvalidRequest(
            f"$.sizeBytes: {found}; nothing is scanned for an estimate, so say how much is to be moved: "
            "a whole number of bytes, at least 1 (cpt estimate REQUEST --size 8GB)"
        )
    if request.objective.minimise == "pairs" and event.files is None:
        raise InvalidRequest(
            "$.files: is missing, and $.request.objective.minimise is 'pairs': DistCp's time goes by the number of "
            "files; give it (cpt estimate REQUEST --size 8GB --files 16)"
        )
    if request.copied_ends is not None:
        raise InvalidRequest(_of_copies(event, request))
    transfer = AcceptedTransfer(
        transfer_id=request.name or "estimate",
        execution_arn="none",
        execution_started_at=world.clock.now(),
        request=request,
        senders=accepted.senders,
        receivers=accepted.receivers,
        existing=accepted.existing,
        transit=accepted.transit,
        apart=accepted.apart,
    )
    aim = aim_of(transfer, event.size_bytes, world)
    estimated = estimate_for(transfer, event.size_bytes, world, files=event.files, aim=aim)
    return estimated.model_copy(update={"alternatives": advice(transfer, estimated, world) or None})


def _of_copies(event: EstimateRequest, request: TransferRequest) -> str:
    """What there is to say of copies by S3, which have no row of relays."""
    size, objects = event.size_bytes or 0, event.files
    words = "$.request: both ends are buckets, between which S3 copies by itself, with no relay to choose; "
    if objects is not None:
        writes = objects * requests_of(size // objects, request.chunk_size_mib and request.chunk_size_mib * MIB)
        found = estimate(Planned(objects, size, writes), request.source.region, request.destination.region)
        words += (
            f"{many(objects, 'object')}, {bytes_in_words(size)}, take {dollars(found.usd)} and "
            f"{duration(found.least_seconds)} to {duration(found.most_seconds)}; "
        )
    return f"{words}a dry run (dryRun: true) lists them, and says what they would take"


handler = user_call(EstimateRequest, estimate_request, of_no_transfer=True)
