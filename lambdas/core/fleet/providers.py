"""The facts of a relay that depend on where its machine comes from."""

from dataclasses import dataclass
from typing import Literal

ProviderName = Literal["launched", "lent", "pool"]


@dataclass(frozen=True)
class Provider:
    """`is_ours`: the machine is there for the transfer alone, which pays for it and ends it.

    Otherwise it goes on when the transfer is over, keeps its addresses, and carries other people's traffic too.
    """

    is_ours: bool
    group: Literal["relay", "endpoint"]
    """The security group that it is in."""


PROVIDERS: dict[ProviderName, Provider] = {
    "launched": Provider(is_ours=True, group="relay"),
    "lent": Provider(is_ours=False, group="endpoint"),
    "pool": Provider(is_ours=False, group="relay"),
}
