"""The one version of everything that a deployment keeps of a transfer: records, items, objects, what states hand on.

It is raised whenever any of these changes in a way that another version's functions would misread.
"""

from collections.abc import Mapping
from typing import Any

from lambdas.core.errors import RecordOfOtherVersion

# 1: before records said so. 2: plans have ids, locks know directories. 3: relays have a stage.
# 4: ends count starts, and their processes epochs.
# 5: scans and probes answer by the table, and estimates have rows beyond eight pairs.
# 6: what daemons say goes by seat. 7: a transfer has seats at each end, in place of one machine.
FORMAT_VERSION = 7
# Before format 3 a relay's place was only this word.
_STAGE_OF_ROLE = {"source": 0, "destination": 1}


def format_of(document: Mapping[str, Any]) -> int:
    """The format that a transfer's record, or the transfer that states hand on, is of."""
    return int(document.get("formatVersion", 1))


def refuse_other(transfer_id: str, found: int) -> None:
    """Raise RecordOfOtherVersion unless `found` is this version."""
    if found != FORMAT_VERSION:
        raise RecordOfOtherVersion(in_words(transfer_id, found))


def in_words(transfer_id: str, found: int) -> str:
    """Return what is the matter, and what to do."""
    return (
        f"transfer '{transfer_id}' has records of format {found}, and this deployment reads format {FORMAT_VERSION}: "
        "it was deployed over; start the transfer again under a new name, files that have arrived are compared"
    )


def with_stage(relay: Mapping[str, Any]) -> Mapping[str, Any]:
    """A relay's item of any format with its stage: a teardown must be able to read it after a deployment over it."""
    if "stage" in relay or relay.get("role") not in _STAGE_OF_ROLE:
        return relay
    return {**relay, "stage": _STAGE_OF_ROLE[relay["role"]]}


def with_seats(transfer: Mapping[str, Any]) -> Mapping[str, Any]:
    """A transfer of any format with seats at its ends: before format 7 each end was one machine."""
    found = dict(transfer)
    for end, seat_id in (("source", "s0"), ("destination", "r0")):
        if isinstance(machine := transfer.get(end), Mapping):
            found[end] = [{"seatId": seat_id, "machine": machine}]
    return found


def machines_of(transfer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Region and instance id of each machine at the ends of a transfer's record of any format, senders first."""
    seated = with_seats(transfer)
    machines = (seat["machine"] for end in ("source", "destination") for seat in seated[end])
    return [(machine["region"], machine["instanceId"]) for machine in machines]
