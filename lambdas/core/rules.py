"""Which security-group rules may go when a transfer ends."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from lambdas.core.transfer import AcceptedTransfer


class Rule(NamedTuple):
    """An ingress rule for one address, tagged with the transfer that asked for it first."""

    group_id: str
    rule_id: str
    address: str
    transfer_id: str


def to_revoke(rules: Iterable[Rule], active: Collection[AcceptedTransfer]) -> list[Rule]:
    """All rules but those of active transfers, and those that an active transfer shares.

    EC2 keeps one rule per address, under the first transfer's tag; a second transfer of the same source relies on it.
    """
    owners = {transfer.transfer_id for transfer in active}
    used = {address for transfer in active for address in _addresses(transfer)}
    return [rule for rule in rules if rule.transfer_id not in owners and rule.address not in used]


def shared(rules: Iterable[Rule], transfer: AcceptedTransfer) -> list[Rule]:
    """Those that `transfer` relies on though another asked for them."""
    return [rule for rule in rules if rule.address in _addresses(transfer)]


def _addresses(transfer: AcceptedTransfer) -> set[str]:
    machines = [transfer.source, *transfer.existing]
    return {address for m in machines for address in (m.private_address, m.public_address) if address}
