from typing import Any

import pytest

from lambdas.core.copies.proof import asked, asked_of_parts, checksums, proof

CRC = {"ChecksumCRC64NVME": "AAAAAAAAAAA=", "ChecksumType": "FULL_OBJECT"}
SHA = {"ChecksumSHA256": "c2hh", "ChecksumType": "FULL_OBJECT"}


@pytest.mark.parametrize(
    ("source", "copy", "found"),
    [
        pytest.param(CRC, CRC, "CRC64NVME", id="equal"),
        pytest.param(CRC, {**CRC, "ChecksumCRC64NVME": "AAAAAAAAAAE="}, None, id="different"),
        pytest.param(SHA, SHA, "SHA256", id="another algorithm is named"),
        pytest.param(SHA, CRC, "none", id="nothing in common"),
        pytest.param({}, CRC, "none", id="an object from before checksums"),
        pytest.param({"ChecksumSHA256": "c2hh-2", "ChecksumType": "COMPOSITE"}, SHA, "none", id="of parts"),
        pytest.param({**SHA, **CRC}, {**SHA, "ChecksumCRC64NVME": "x"}, None, id="one of two differs"),
    ],
)
def test_what_proves_a_copy(source: dict[str, Any], copy: dict[str, Any], found: str | None) -> None:
    assert proof(checksums(source), checksums(copy)) == found


def test_s3_is_asked_for_what_the_source_has() -> None:
    assert asked(checksums(SHA)) == "SHA256"
    assert asked(checksums({**SHA, **CRC})) == "CRC64NVME"
    assert asked({}) == "CRC64NVME"


def test_of_an_upload_a_crc_is_asked_for() -> None:
    assert asked_of_parts(checksums(SHA)) == "CRC64NVME"
    assert asked_of_parts(checksums({"ChecksumCRC32": "AAAAAA==", "ChecksumType": "FULL_OBJECT"})) == "CRC32"
    assert asked_of_parts({"CRC32": "x", "CRC64NVME": "y"}) == "CRC64NVME"
