"""The lock of destination paths: who may write where on one machine."""

from collections.abc import Mapping
from posixpath import normpath


def overlaps(one: str, other: str) -> bool:
    """Whether one path is the other or lies inside it."""
    a, b = _parts(one), _parts(other)
    shorter = min(len(a), len(b))
    return a[:shorter] == b[:shorter]


def _parts(path: str) -> list[str]:
    return [part for part in normpath(path).split("/") if part]


def holder(held: Mapping[str, str], path: str, transfer_id: str) -> str | None:
    """The other transfer whose path overlaps `path`; `held`: transfer id → destination path."""
    for other, other_path in sorted(held.items()):
        if other != transfer_id and overlaps(path, other_path):
            return other
    return None
