"""CPU seconds per GB of the steps that a verified, encrypted copy cannot do without, on one core each."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import blake3
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.data_plane.arithmetic import GB

RECORD = 16_384
CHUNK = 8 << 20
COPY_BLOCK = 256 << 10
SECONDS = 0.5
REPEATS = 3


def aes_gcm() -> float:
    """One pass of AES-128-GCM over records of 16 KiB, by the OpenSSL inside `cryptography`."""
    cipher, nonce, data = AESGCM(os.urandom(16)), os.urandom(12), os.urandom(RECORD)
    return _best(lambda: cipher.encrypt(nonce, data, None), RECORD)


def hashing() -> float:
    """One pass of BLAKE3 on one thread over 8 MiB, by its official implementation."""
    data = os.urandom(CHUNK)
    return _best(lambda: blake3.blake3(data, max_threads=1).digest(), CHUNK)


def copying(source: Path, target: Path) -> tuple[float, float]:
    """Reading a file, and writing a new one, in blocks of 256 KiB: (read, write)."""
    size, block = source.stat().st_size, bytearray(COPY_BLOCK)
    reads, writes = [], []
    for _ in range(REPEATS):
        with source.open("rb", buffering=0) as file:
            begun = time.process_time()
            while file.readinto(block):
                pass
            reads.append(time.process_time() - begun)
        target.unlink(missing_ok=True)
        with target.open("wb", buffering=0) as file:
            begun = time.process_time()
            for _ in range(0, size, COPY_BLOCK):
                file.write(block)
            writes.append(time.process_time() - begun)
    target.unlink()
    return min(reads) / size * GB, min(writes) / size * GB


def _best(step: Callable[[], object], size: int) -> float:
    """CPU seconds per GB of the best of several stretches: a bound must not be lowered by somebody else's load."""
    found = []
    for _ in range(REPEATS):
        begun, steps = time.process_time(), 0
        while time.process_time() - begun < SECONDS:
            for _ in range(8):
                step()
            steps += 8
        found.append((time.process_time() - begun) / (steps * size) * GB)
    return min(found)
