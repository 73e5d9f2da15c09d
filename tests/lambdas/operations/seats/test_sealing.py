import json
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from lambdas.core.seats.credentials import sealing_info
from lambdas.operations.seats.sealing import SUITE, seal
from tests.paths import ROOT


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.fixture
def vector() -> dict[str, Any]:
    """What the daemon's tests open too."""
    found: dict[str, Any] = json.loads((ROOT / "contracts" / "examples" / "sealed-credentials.json").read_text())
    return found


def test_golden_text_is_what_this_suite_seals(vector: dict[str, Any]) -> None:
    key = X25519PrivateKey.from_private_bytes(decoded(vector["privateKey"]))
    info = sealing_info(vector["partition"], vector["holder"])
    assert SUITE.decrypt(decoded(vector["sealed"]), key, info).decode() == vector["text"]
    assert SUITE.decrypt(decoded(seal("again", decoded(vector["publicKey"]), info)), key, info) == b"again"


def test_the_same_text_is_sealed_anew_each_time(vector: dict[str, Any]) -> None:
    public = decoded(vector["publicKey"])
    assert seal("text", public, b"info") != seal("text", public, b"info")
