"""What proves that a copy has the bytes of its source: checksums of the whole object, as S3 has computed them."""

from collections.abc import Mapping
from typing import Any, Final, Literal

FULL = "FULL_OBJECT"
Algorithm = Literal["CRC64NVME", "CRC32", "CRC32C", "SHA1", "SHA256"]
Proof = Algorithm | Literal["none"]
VERIFIES: Final = "CRC64NVME"
"""What "verified" means; the others are named."""
UNPROVED: Final = "none"
_OF_PARTS: tuple[Algorithm, ...] = (VERIFIES, "CRC32C", "CRC32")
ALGORITHMS: tuple[Algorithm, ...] = (VERIFIES, "SHA256", "CRC32C", "SHA1", "CRC32")


def checksums(answer: Mapping[str, Any]) -> dict[Algorithm, str]:
    """The checksums of a whole object in an answer of S3; those made of its parts' prove nothing of another cut."""
    if answer.get("ChecksumType", FULL) != FULL:
        return {}
    found = {name: answer.get(f"Checksum{name}") for name in ALGORITHMS}
    return {name: value for name, value in found.items() if isinstance(value, str) and "-" not in value}


def asked(source: Mapping[Algorithm, str]) -> Algorithm:
    """What S3 is to compute of a copy made at once: the best that the source can be compared by."""
    return next((name for name in ALGORITHMS if name in source), ALGORITHMS[0])


def asked_of_parts(source: Mapping[Algorithm, str]) -> Algorithm:
    """The same of an upload: of its parts' checksums S3 makes a whole one only where that is a CRC."""
    return next((name for name in _OF_PARTS if name in source), _OF_PARTS[0])


def proof(source: Mapping[Algorithm, str], copy: Mapping[Algorithm, str]) -> Proof | None:
    """The algorithm whose checksums are equal; UNPROVED where they have none in common, None where some differ."""
    common = [name for name in ALGORITHMS if name in source and name in copy]
    if any(source[name] != copy[name] for name in common):
        return None
    return common[0] if common else UNPROVED
