"""Checksums of objects and parts.

AWS: takes one checksum with a request, of the form that its algorithm has, and refuses one that is not that of the
bytes; an object that comes without gets the CRC-64/NVME of the whole, an upload too. A full object's CRC is put
together from those of its parts, a composite one is the digest of theirs.
Emulator: takes several, and keeps none where none came.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from local.patches.objects import xxh
from local.patches.objects.bodies import Body, digest, pieces
from local.patches.objects.crc import CRCS
from local.patches.replace import override
from local.patches.upstream import s3

_XXH = {"XXHASH64": xxh.xxh64, "XXHASH3": xxh.xxh3, "XXHASH128": xxh.xxh128}
SIZES = {
    "CRC32": 4,
    "CRC32C": 4,
    "CRC64NVME": 8,
    "MD5": 16,
    "SHA1": 20,
    "SHA256": 32,
    "SHA512": 64,
    "XXHASH64": 8,
    "XXHASH3": 8,
    "XXHASH128": 16,
}
DEFAULT = "CRC64NVME"
Answer = tuple[int, dict[str, str], bytes]


def install() -> None:
    """Compute them fast, and be as strict as S3."""
    override(s3, _compute_s3_checksum=_of_name, _resolve_object_checksums=_of_request)


def checksum(algorithm: str, body: Body | bytes) -> str:
    """Return a body's checksum, as S3 writes it."""
    if algorithm in _XXH:
        return base64.b64encode(_XXH[algorithm](bytes(body))).decode()
    if algorithm not in CRCS:
        return base64.b64encode(digest(algorithm.lower(), body).digest()).decode()
    if isinstance(body, Body) and algorithm in body.checksums:
        return body.checksums[algorithm]
    crc, value = CRCS[algorithm], 0
    for piece in pieces(body):
        value = crc.of(piece, value)
    written = _written(algorithm, value)
    if isinstance(body, Body):
        body.checksums[algorithm] = written
    return written


def full_object(algorithm: str, parts: list[tuple[str, int]]) -> str:
    """Return the CRC of a whole from the CRCs and sizes of its parts."""
    crc, value = CRCS[algorithm], 0
    for told, size in parts:
        value = crc.joined(value, int.from_bytes(base64.b64decode(told)), size)
    return _written(algorithm, value)


def composite(algorithm: str, parts: list[str]) -> str:
    """Return the checksum of the checksums of an object's parts."""
    return f"{checksum(algorithm, b''.join(map(base64.b64decode, parts)))}-{len(parts)}"


def given(headers: dict[str, str]) -> tuple[dict[str, str], Answer | None]:
    """Return the checksum that a request states, by its algorithm, or S3's refusal of it."""
    found = {name: headers[f"x-amz-checksum-{name.lower()}"] for name in SIZES if _header(name) in headers}
    about = ("mode", "type", "algorithm")
    known = {_header(name) for name in (*SIZES, *about)}
    if strange := [name for name in headers if name.startswith("x-amz-checksum-") and name not in known]:
        return {}, _invalid(f"The local cloud does not compute {strange[0]}.")
    if len(found) > 1:
        return {}, _invalid("Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")
    for name, value in found.items():
        # A composite one may have the number of its parts behind it.
        if not is_well_formed(name, re.sub(r"-\d+$", "", value)):
            return {}, _invalid(f"Value for {_header(name)} header is invalid.")
    named = headers.get("x-amz-sdk-checksum-algorithm", "").upper()
    if found and named and named not in found:
        return {}, _invalid("Value for x-amz-sdk-checksum-algorithm header is invalid.")
    return found, None


def unsupported() -> Answer:
    """Return S3's refusal of an algorithm that it does not have."""
    message = (
        "Checksum algorithm provided is unsupported. Please try again with any of the valid types: "
        f"[{', '.join(sorted(SIZES))}]"
    )
    return _invalid(message)


def _header(name: str) -> str:
    return f"x-amz-checksum-{name.lower()}"


def is_well_formed(algorithm: str, value: str) -> bool:
    """Return whether a value has the form of the algorithm's."""
    try:
        return len(base64.b64decode(value, validate=True)) == SIZES[algorithm]
    except binascii.Error:
        return False


def _written(algorithm: str, value: int) -> str:
    return base64.b64encode(value.to_bytes(SIZES[algorithm])).decode()


def _invalid(message: str) -> Answer:
    refused: Answer = s3._error("InvalidRequest", message, 400)
    return refused


def _of_name(algorithm: str, body: Any) -> str | None:
    name = (algorithm or "").upper().replace("_", "")
    return checksum(name, body) if name in SIZES else None


def _of_request(body: Any, headers: dict[str, str]) -> tuple[dict[str, str], Answer | None]:
    """Return the checksums to keep of an object or a part."""
    named = headers.get("x-amz-sdk-checksum-algorithm", "").upper()
    if named and named not in SIZES:
        return {}, _invalid("Value for x-amz-sdk-checksum-algorithm header is invalid.")
    found, refused = given(headers)
    if refused:
        return {}, refused
    # A copy names the algorithm that S3 is to compute; there are no bytes that the caller could have a checksum of.
    is_copy = "x-amz-copy-source" in headers
    if named and not is_copy and named not in found:
        return {}, _invalid(
            "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers "
            "were found."
        )
    algorithm = next(iter(found), named or DEFAULT)
    computed = checksum(algorithm, body)
    if found and found[algorithm] != computed:
        message = f"The {algorithm} you specified did not match the calculated checksum."
        return {}, s3._error("BadDigest", message, 400)
    return {algorithm: computed}, None
