"""The security-group rules that may go when a transfer ends."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from lambdas.core.fleet.membership import RELAY_PORT
from lambdas.core.transfer.accepted import AcceptedTransfer


class Rule(NamedTuple):
    """An ingress rule for one address and one port, tagged with the transfer that asked for it first."""

    group_id: str
    rule_id: str
    address: str
    port: int
    transfer_id: str


def to_revoke(
    rules: Iterable[Rule], active: Collection[AcceptedTransfer], pooled: Collection[tuple[str, int]] = ()
) -> list[Rule]:
    """Return all rules but those of active transfers and those that an active transfer shares.

    EC2 keeps one rule per address and port, under the first transfer's tag; another of the same source relies on it.
    `pooled`: address and port of what nodes of the pool reach for active transfers, and of who reaches these.
    """
    owners = {transfer.transfer_id for transfer in active}
    used = {way for transfer in active for way in _ways(transfer)} | set(pooled)
    return [rule for rule in rules if rule.transfer_id not in owners and (rule.address, rule.port) not in used]


def shared(rules: Iterable[Rule], transfer: AcceptedTransfer) -> list[Rule]:
    """Return the rules that `transfer` relies on though another asked for them."""
    return [rule for rule in rules if (rule.address, rule.port) in _ways(transfer)]


def _ways(transfer: AcceptedTransfer) -> set[tuple[str, int]]:
    """Address and port of what machines that outlive the transfer reach: its relays, and the destination's machines."""
    machines = [*(seat.machine for seat in transfer.senders), *transfer.existing]
    addresses = {address for m in machines for address in (m.private_address, m.public_address) if address}
    return {(address, port) for address in addresses for port in (RELAY_PORT, transfer.receiver_port)}
