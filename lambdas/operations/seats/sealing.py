"""Sealing to a process of a seat: HPKE (RFC 9180), base mode, X25519, HKDF-SHA256, AES-256-GCM.

`relay-ami/relay/ends-s3` is the other end of it. Only the functions that seal have the library in their asset.
"""

from base64 import urlsafe_b64encode

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def seal(text: str, public_key: bytes, info: bytes) -> str:
    """The encapsulated key and the ciphertext behind it, base64url without padding."""
    sealed = SUITE.encrypt(text.encode(), X25519PublicKey.from_public_bytes(public_key), info)
    return urlsafe_b64encode(sealed).rstrip(b"=").decode()
