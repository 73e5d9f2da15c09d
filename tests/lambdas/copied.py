"""A transfer between two buckets in memory, run as the state machine runs it."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.copies.outcome import Result
from lambdas.core.copies.summary import Copies
from lambdas.core.copies.units import Round
from lambdas.core.ends.allowed_buckets import AllowedBucket
from lambdas.core.request.request import TransferRequest
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.copies.copying import Unit
from lambdas.operations.copies.finishing import finish
from lambdas.operations.copies.notebook import Notebook
from lambdas.operations.copies.opening import open_buckets
from lambdas.operations.copies.rounds import list_round
from tests.lambdas.builders import ARN, IRELAND, WEST
from tests.lambdas.cloud import Cloud

ALLOWED = (AllowedBucket.parse(f"r {WEST} from/"), AllowedBucket.parse(f"rwd {IRELAND} into/"))
BEGIN = Round(number=0, units=0, done=False, width=2)


def bucket_request(**changes: Any) -> dict[str, Any]:
    return {
        "source": {"kind": "bucket", "bucket": "from", "prefix": "a/", "region": WEST},
        "destination": {"kind": "bucket", "bucket": "into", "prefix": "b/", "region": IRELAND},
        **changes,
    }


def cloud() -> Cloud:
    """A cloud whose deployment may read one bucket and write another."""
    return Cloud(buckets=ALLOWED)


def copied(cloud: Cloud, arn: str = ARN, **changes: Any) -> AcceptedTransfer:
    """An accepted transfer with its record; a later one of the same name is another run."""
    name = arn.rsplit(":", 1)[-1]
    request = TransferRequest.from_document(bucket_request(**changes)).model_copy(update={"name": name})
    transfer = AcceptedTransfer(
        transfer_id=name,
        execution_arn=arn,
        execution_started_at=cloud.clock.now(),
        request=request,
        senders=[],
        receivers=[],
    )
    assert cloud.transfers.create(transfer)
    return transfer


def next_round(cloud: Cloud, transfer: AcceptedTransfer, before: Round = BEGIN) -> Round:
    return list_round(cloud.world, transfer, before)


def copy_round(cloud: Cloud, transfer: AcceptedTransfer, found: Round) -> None:
    """Copy each unit of a round, by as many functions as it takes."""
    for unit in range(found.units):
        while not copy_unit(cloud.world, transfer, found, unit):
            pass


def copy_unit(world: World, transfer: AcceptedTransfer, found: Round, unit: int = 0) -> bool:
    """One function's part of a unit; whether that was all."""
    return Unit(world, transfer, open_buckets(world, transfer), found.number, unit).run()


def run(cloud: Cloud, transfer: AcceptedTransfer) -> dict[str, Any]:
    """All of it, round after round; what the last state returns."""
    found = next_round(cloud, transfer)
    while not found.done or found.units:
        copy_round(cloud, transfer, found)
        found = found.model_copy(update={"units": 0}) if found.done else next_round(cloud, transfer, found)
    return finish(cloud.world, transfer, found.number)


def summary(cloud: Cloud, transfer: AcceptedTransfer) -> Copies:
    """What the record says of it."""
    record = cloud.transfers.get(transfer.transfer_id)
    assert record is not None
    assert record.copies is not None
    return record.copies


def results(cloud: Cloud, transfer: AcceptedTransfer, number: int = 1, unit: int = 0) -> dict[str, Result]:
    """What has become of a unit's objects, by key."""
    return {result.key: result for result in Notebook(cloud.world, transfer).results(number, unit)}
