"""Transfers with several machines at an end, in a cloud that has them."""

from typing import Any

from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import seats_of
from tests.lambdas.builders import DESTINATION_ID, SOURCE_ID, request, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin


def machine_ids(first: str, count: int) -> list[str]:
    """Those of an end: the first as of any transfer, the others end with their number."""
    return [first, *(f"{first[:-2]}{0xC1 + at:x}" for at in range(count - 1))]


def asked(senders: int = 2, receivers: int = 2, **changes: Any) -> dict[str, Any]:
    """A request for so many machines."""
    document = request(**changes)
    for end, first, count in (("source", SOURCE_ID, senders), ("destination", DESTINATION_ID, receivers)):
        document[end] = {"instanceId": first, **document[end]}
        if count > 1:
            del document[end]["instanceId"]
            document[end]["instanceIds"] = machine_ids(first, count)
    return document


def many(senders: int = 2, receivers: int = 2, transfer_id: str = "first", **changes: Any) -> AcceptedTransfer:
    """An accepted transfer with so many machines; those beyond the first have addresses that end with their number."""
    document = asked(senders, receivers, **changes)
    one = transfer(transfer_id, **{**changes, "source": document["source"], "destination": document["destination"]})
    sides = []
    for seats, first, count in ((one.senders, SOURCE_ID, senders), (one.receivers, DESTINATION_ID, receivers)):
        machine = seats[0].machine
        sides.append([machine.model_copy(update=_of(at, instance_id)) for at, instance_id in _numbered(first, count)])
    return one.model_copy(update={"senders": seats_of("sender", sides[0]), "receivers": seats_of("receiver", sides[1])})


def _numbered(first: str, count: int) -> list[tuple[int, str]]:
    return list(enumerate(machine_ids(first, count)))


def _of(at: int, instance_id: str) -> dict[str, Any]:
    side = 0 if instance_id.startswith(SOURCE_ID[:-2]) else 1
    return {
        "instance_id": instance_id,
        "private_address": f"10.{10 + side}.0.{at + 1}",
        "public_address": f"54.{side}.0.{at + 1}",
    }


def with_machines(accepted: AcceptedTransfer, cloud: Cloud | None = None) -> Cloud:
    """A cloud in which all machines of the transfer run."""
    cloud = cloud or Cloud()
    for seat in (*accepted.senders, *accepted.receivers):
        machine = seat.machine
        cloud.compute[machine.region].add(machine.instance_id, machine.private_address, machine.public_address)
    return cloud


def begun(accepted: AcceptedTransfer, **settings: Any) -> Cloud:
    """The same, with a transfer whose ends may be started."""
    cloud = with_machines(accepted, Cloud(**settings))
    begin(cloud, accepted)
    return cloud
