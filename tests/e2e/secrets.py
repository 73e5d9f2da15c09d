"""What a secret looks like, in every form in which it could be lying somewhere."""

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

Evidence = dict[str, bytes]

# The part of a PKCS8 document that says: an Ed25519 private key of 32 bytes follows (versions 1 and 2 alike).
PRIVATE_KEY = bytes.fromhex("300506032b657004220420")
PRESIGNED = (b"X-Amz-Signature=", b"X-Amz-Credential=", b"AWSAccessKeyId=")


@dataclass(frozen=True)
class Secret:
    """Something that must not be found, and the only places (prefixes of their names) where it may."""

    name: str
    value: bytes
    allowed: tuple[str, ...] = ()


def structures(*kept: str) -> list[Secret]:
    """Secrets that are known by their form; `kept`: where a process keeps a key of its own for the one after it."""
    return [
        Secret("private key (PKCS8)", PRIVATE_KEY, kept),
        Secret("private key (PEM)", b"PRIVATE KEY-----"),
        *(Secret("presigned URL", text) for text in PRESIGNED),
    ]


def encodings(value: bytes) -> Iterator[bytes]:
    """As it is, in hexadecimal, percent-encoded, and inside base64 (also base64url) of something longer."""
    yield value
    yield value.hex().encode()
    yield value.hex().upper().encode()
    yield quote(value, safe="").encode()
    for before in range(3):
        # Characters that also hold bits of a neighbour are unknown.
        text = base64.b64encode(bytes(before) + value)
        inner = text[-(-before * 8 // 6) : (before + len(value)) * 8 // 6]
        yield inner
        yield inner.replace(b"+", b"-").replace(b"/", b"_")


BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{24,}")
DEPTH = 3


def unfold(content: bytes, depth: int = DEPTH) -> bytes:
    """The content and what is encoded in it: a command is JSON in base64url, and may hold base64 itself."""
    found = [content]
    if depth:
        for run in BASE64.findall(content):
            text = run.replace(b"-", b"+").replace(b"_", b"/")
            found.append(unfold(base64.b64decode(text[: len(text) // 4 * 4]), depth - 1))
    return b"\n".join(found)


def find(evidence: Evidence, secrets: Iterable[Secret]) -> list[str]:
    """`place: secret` for everything that is where it must not be."""
    unfolded = {place: unfold(content) for place, content in evidence.items()}
    return [
        f"{place}: {secret.name}"
        for secret in secrets
        for forms in [set(encodings(secret.value))]
        for place, content in unfolded.items()
        if not place.startswith(secret.allowed or ("\0",)) and any(form in content for form in forms)
    ]
