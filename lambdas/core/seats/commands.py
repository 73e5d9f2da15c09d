"""Relay commands (contract `relay-command`): what an SSM command tells cpt-relay."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lambdas.core.documents import SCHEMA_VERSION, Document
from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.places.machines import EndMachine
from lambdas.core.request.deletion import ExtrasSurvey
from lambdas.core.request.request import Preserve
from lambdas.core.seats.credentials import bucket_place
from lambdas.core.survey.survey import SourceSurvey
from lambdas.core.transfer.accepted import AcceptedTransfer

Command = dict[str, Any]


@dataclass(frozen=True)
class Share:
    """Of its machine, what a daemon that runs as a unit gets; without a number, what any unit does.

    `cpu_percent`: of one processor, at most. `cpu_weight`, `io_weight`: 1 to 10 000 among units that want the same.
    """

    cpu_percent: int | None = None
    cpu_weight: int | None = None
    io_weight: int | None = None


USUAL = Share()
OF_BOTH_ENDS = ("kind", "runAs", "user")
"""Keys of an end that say the same of a source and of a destination: who looks where."""

# A relay outlives fourteen keepalives that are lost in a row; at 15 minutes one goes out each minute.
KEEPALIVES_PER_LIFE = 15


class Control(Document):
    """The addresses at which the ends find the control plane."""

    region: str
    bucket: str
    prefix: str
    partition: str
    transfers_table: str
    chunks_table: str
    bus: str


def transfer_prefix(transfer_id: str) -> str:
    """Key prefix of what the control plane alone keeps of a transfer in the control bucket."""
    return f"transfers/{transfer_id}/"


def shared_prefix(transfer: AcceptedTransfer) -> str:
    """Key prefix of what its ends read and write in the control bucket.

    Of more than two machines it says where their names end: the policy of ends knows names of objects by that.
    """
    if len(transfer.senders) + len(transfer.receivers) > 2:
        return f"ends/many/{transfer.partition}=/"
    return f"ends/{transfer.partition}/"


def encode(command: Command) -> str:
    """The document's parameter `Command`: JSON in base64url without padding."""
    return urlsafe_b64encode(json.dumps(command, separators=(",", ":")).encode()).decode().rstrip("=")


def _head(role: str, transfer_id: str) -> Command:
    return {"schemaVersion": SCHEMA_VERSION, "role": role, "transferId": transfer_id}


def listen_addresses(private: str, public: str | None, port: int) -> list[str]:
    """Both addresses; the daemon skips one that is no interface's."""
    return [f"{address}:{port}" for address in dict.fromkeys([private, public]) if address]


def receiver_addresses(transfer: AcceptedTransfer, end: EndMachine) -> list[str]:
    """Return where a machine of the destination listens for lanes."""
    return listen_addresses(end.private_address, end.public_address, transfer.receiver_port)


def _source(transfer: AcceptedTransfer) -> Command:
    """Where the data lies, as the daemon is told."""
    return {"end": _end(transfer, transfer.request.source)}


def _destination(transfer: AcceptedTransfer) -> Command:
    """Where it goes, as the daemon is told."""
    return {"end": _end(transfer, transfer.request.destination)}


def _end(transfer: AcceptedTransfer, end: SourceEnd | DestinationEnd) -> Command:
    """An end; a bucket of its name that another account has is refused: whose name is free may be taken by anybody."""
    command = end.command(_kept_of_entries(transfer))
    return {**command, "owner": bucket_place(transfer, end).owner} if isinstance(end, BucketEnd) else command


def _kept_of_entries(transfer: AcceptedTransfer) -> Command:
    """What is kept beyond the default, where the request asks for any."""
    preserve = transfer.request.preserve
    return {} if preserve == Preserve() else {"preserve": preserve.to_document()}


def _replacing(transfer: AcceptedTransfer) -> Command:
    """What of the destination is replaced, where the request does not let all be."""
    overwrite = transfer.request.overwrite
    return {} if overwrite == "always" else {"overwrite": overwrite}


def _leading(transfer: AcceptedTransfer) -> Command:
    """Directories of the destination that no source has and that lead to what arrives, where there are such."""
    above = transfer.request.source.above
    return {"above": above} if above else {}


def _kept(transfer: AcceptedTransfer) -> Command:
    """Where what is replaced or removed is kept, if the request says so."""
    name = transfer.request.keep_replaced
    return {} if name is None else {"keepReplaced": name}


def _many(transfer: AcceptedTransfer) -> Command:
    """Whether its side, or the other one, has more machines than one."""
    many = (("manySenders", transfer.senders), ("manyReceivers", transfer.receivers))
    return {key: True for key, seats in many if len(seats) > 1}


def _selection(transfer: AcceptedTransfer) -> Command:
    """What of the source paths is moved; empty where everything is."""
    select = transfer.request.select.command(transfer.execution_started_at)
    links = transfer.request.links
    return select | ({} if links == "keep" else {"links": links})


def scan_source(
    transfer: AcceptedTransfer, control: Control, announce: str | None = None, key_parts: int | None = None
) -> Command:
    """List the source; `announce`: name of the object, below the prefix, that says how far it is.

    `key_parts`: of the list, below the prefix, of what alone is listed.
    """
    command: Command = {
        **_head("scan", transfer.transfer_id),
        **_source(transfer),
        **_kept(transfer),
        "side": "source",
        "control": control.to_document(),
    }
    select = _selection(transfer)
    command |= {} if transfer.request.compress == "never" else {"compress": transfer.request.compress}
    # The sender leaves them out, and the report names them.
    command |= {"listUnreadable": True} if transfer.request.on_problem == "skip" else {}
    command |= {} if key_parts is None else {"keyParts": key_parts}
    return command | ({} if announce is None else {"announce": announce}) | ({"select": select} if select else {})


def scan_beside(transfer: AcceptedTransfer, control: Control, seat_id: str, below: str) -> Command:
    """Tell where the source's paths are as another machine sees them, and list nothing: `below` is in none of them."""
    # What it might write all the same is not the listing's.
    beside = control.model_copy(update={"prefix": f"{control.prefix}beside/{seat_id}/"})
    paths = [f"{path.rstrip('/')}/{below}" for path in transfer.request.source.plain_paths]
    # What has changed between snapshots is of the paths themselves.
    end = {**transfer.request.source.command({}), "paths": paths, "snapshotDiff": None}
    end = {key: value for key, value in end.items() if value is not None}
    return {**_head("scan", transfer.transfer_id), "end": end, "side": "source", "control": beside.to_document()}


def scan_destination(transfer: AcceptedTransfer, control: Control, seat_id: str | None = None) -> Command:
    """Check the destination as the machine of a seat sees it; a bucket's credentials come through the control plane."""
    of_bucket = {"control": control.to_document()} if transfer.request.destination.kind == "bucket" else {}
    return {
        **_head("scan", transfer.transfer_id),
        **_destination(transfer),
        **_kept(transfer),
        **of_bucket,
        **({"dryRun": True} if transfer.request.dry_run else {}),
        **({} if seat_id is None else {"seat": seat_id}),
        "side": "destination",
    }


def mark(transfer: AcceptedTransfer, name: str, *, present: bool) -> Command:
    """Put the mark of this name into the destination, or take it away again."""
    return {
        **_head("scan", transfer.transfer_id),
        **_destination(transfer),
        "side": "mark",
        "name": name,
        "present": present,
    }


def marked(transfer: AcceptedTransfer, name: str, directories: Sequence[str]) -> Command:
    """Look on the source's machine for the mark, in directories that are percent-encoded."""
    return {
        **_head("scan", transfer.transfer_id),
        **_source(transfer),
        "side": "marked",
        "name": name,
        "directories": list(directories),
    }


def mark_source(transfer: AcceptedTransfer, path: str, name: str, *, present: bool) -> Command:
    """Put the mark of this name into a directory of the source, or take it away again."""
    of_a_destination = {key: value for key, value in transfer.request.source.command({}).items() if key in OF_BOTH_ENDS}
    end = {**of_a_destination, "path": path}
    return {**_head("scan", transfer.transfer_id), "end": end, "side": "mark", "name": name, "present": present}


def marked_at_destination(transfer: AcceptedTransfer, name: str, directory: str) -> Command:
    """Look on another machine of the destination for the mark, in a directory that is percent-encoded."""
    asked = transfer.request.destination.command({})
    of_a_source = {key: value for key, value in asked.items() if key in OF_BOTH_ENDS}
    end = {**of_a_source, "paths": [asked["path"]]}
    return {
        **_head("scan", transfer.transfer_id),
        "end": end,
        "side": "marked",
        "name": name,
        "directories": [directory],
    }


def scan_digests(transfer: AcceptedTransfer, control: Control, parts: int) -> Command:
    """Digest the source's files that are listed in `parts` objects."""
    return {
        **_head("scan", transfer.transfer_id),
        **_source(transfer),
        "side": "digests",
        "control": control.to_document(),
        "parts": parts,
    }


def changed_folder(transfer: AcceptedTransfer) -> str:
    """Return where a comparison lists what is to be sent, below the transfer's prefix: a plan may outlive its run."""
    return f"changed/{transfer.run}/"


def equal_folder(transfer: AcceptedTransfer) -> str:
    """Return where a comparison lists what is there already, below the transfer's prefix."""
    return f"equal/{transfer.run}/"


def scan_comparison(transfer: AcceptedTransfer, control: Control, parts: int) -> Command:
    """Compare the listing's `parts` objects with the destination."""
    return {
        **_head("scan", transfer.transfer_id),
        **_destination(transfer),
        **_replacing(transfer),
        "side": "comparison",
        "control": control.to_document(),
        "parts": parts,
        "compare": transfer.request.compare,
        **({"resendAll": True} if transfer.request.resend_all else {}),
        "folder": changed_folder(transfer),
        "equalFolder": equal_folder(transfer),
    }


def extras_folder(transfer: AcceptedTransfer) -> str:
    """Return where the extras are listed, below the transfer's prefix: of this run alone."""
    return f"extras/{transfer.run}/"


def remaining_folder(transfer: AcceptedTransfer) -> str:
    """Return where those of them are listed that could not be removed, below the transfer's prefix."""
    return f"remaining/{transfer.run}/"


def scan_extras(transfer: AcceptedTransfer, control: Control, source: SourceSurvey) -> Command:
    """Find what the destination has and the source, as it is listed, does not."""
    request = transfer.request
    select = _selection(transfer)
    left_out = {"unselectedParts": source.unselected_parts, "unselectedDigest": source.unselected_digest}
    return {
        **_head("scan", transfer.transfer_id),
        **_destination(transfer),
        **_replacing(transfer),
        **_kept(transfer),
        **({"select": select} if select else {}),
        **({"within": request.source.tops} if request.source.tops is not None else {}),
        **({"apart": request.source.apart} if request.source.apart else {}),
        **_leading(transfer),
        **(left_out if source.unselected_parts else {}),
        "side": "extras",
        "control": control.to_document(),
        "parts": source.parts,
        "listingDigest": source.listing_digest,
        "folder": extras_folder(transfer),
    }


def delete(
    transfer: AcceptedTransfer, control: Control, extras: ExtrasSurvey, epoch: int, *, in_the_way: bool = False
) -> Command:
    """Remove these extras; `epoch`: the first of the start that has brought the data.

    `in_the_way`: only those that are in the way of data that is to come, before any start.
    """
    return {
        **_head("delete", transfer.transfer_id),
        **_destination(transfer),
        **_kept(transfer),
        "control": control.to_document(),
        "epoch": epoch,
        "folder": extras_folder(transfer),
        "parts": extras.parts,
        "digest": extras.digest,
        "directory": extras.directory,
        "remainingFolder": remaining_folder(transfer),
        **({"inTheWay": True} if in_the_way else {}),
    }


def receive(transfer: AcceptedTransfer, control: Control, seat_id: str, epoch: int, plan_key: str) -> Command:
    """Receive into the destination directory."""
    return {
        **_head("receive", transfer.transfer_id),
        **_destination(transfer),
        **_kept(transfer),
        "control": control.to_document(),
        "seat": seat_id,
        "epoch": epoch,
        "listen": receiver_addresses(transfer, transfer.seat(seat_id).machine),
        "verify": transfer.request.verify,
        "plan": plan_key,
        **_leading(transfer),
        **_many(transfer),
    }


def send(
    transfer: AcceptedTransfer,
    control: Control,
    seat_id: str,
    epoch: int,
    plan_key: str,
    relay_time_to_live_seconds: int,
) -> Command:
    """Send the chunks of the plan, read from beneath the request's paths alone, and keep the relays alive."""
    return {
        **_head("send", transfer.transfer_id),
        **_source(transfer),
        "control": control.to_document(),
        "seat": seat_id,
        "epoch": epoch,
        "plan": plan_key,
        "keepaliveSeconds": max(1, relay_time_to_live_seconds // KEEPALIVES_PER_LIFE),
        "compress": transfer.request.compress,
        "verify": transfer.request.verify,
        **_many(transfer),
    }


class RelayMachine(Document):
    """The part of a relay command that is for one machine.

    It powers itself off `time_to_live_seconds` after the last keepalive; with None it is never touched.
    `bandwidth_limit_mbps`: of all that it sends, Mbit/s.
    """

    node_id: str
    listen: list[str]
    time_to_live_seconds: int | None = None
    bandwidth_limit_mbps: int | None = None


def relay(
    transfer_id: str, route_keys: Sequence[str], idle_seconds: int, machines: Mapping[str, RelayMachine]
) -> Command:
    """Pass streams on that are signed with one of `route_keys`; `machines`: by instance id."""
    return {
        **_head("relay", transfer_id),
        "senderRouteKeys": list(route_keys),
        "idleSeconds": idle_seconds,
        "machines": {instance_id: machine.to_document() for instance_id, machine in machines.items()},
    }


def probe(transfer_id: str, mode: Literal["listen", "connect"], target: list[str] | str, seconds: float) -> Command:
    """Is an address reachable? `target`: addresses to listen on, or the one to connect to."""
    key = "listen" if mode == "listen" else "address"
    return {**_head("probe", transfer_id), "mode": mode, key: target, "seconds": seconds}
