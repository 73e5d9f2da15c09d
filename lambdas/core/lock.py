"""The lock of destinations: who may write where on one machine, and who is received at which of its ports."""

from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import normpath

from lambdas.core.transfer import RECEIVER_PORTS


@dataclass(frozen=True)
class Holding:
    """What one transfer holds of a machine."""

    path: str
    port: int


@dataclass(frozen=True)
class Busy:
    """Why there is nothing for another: `holder` writes to an overlapping path; None: all ports are taken."""

    holder: str | None


def take(held: Mapping[str, Holding], path: str, transfer_id: str) -> Holding | Busy:
    """What `transfer_id` gets of a machine of which `held` is taken, by transfer id; the same when it asks again."""
    others = {other: holding for other, holding in sorted(held.items()) if other != transfer_id}
    for other, holding in others.items():
        if overlaps(path, holding.path):
            return Busy(other)
    if transfer_id in held:
        return Holding(path, held[transfer_id].port)
    taken = {holding.port for holding in others.values()}
    port = next((port for port in RECEIVER_PORTS if port not in taken), None)
    return Busy(None) if port is None else Holding(path, port)


def overlaps(one: str, other: str) -> bool:
    """Whether one path is the other or lies inside it."""
    a, b = _parts(one), _parts(other)
    shorter = min(len(a), len(b))
    return a[:shorter] == b[:shorter]


def _parts(path: str) -> list[str]:
    return [part for part in normpath(path).split("/") if part]
