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
    shared = {address for t in active for address in (t.source.private_address, t.source.public_address) if address}
    return [rule for rule in rules if rule.transfer_id not in owners and rule.address not in shared]
