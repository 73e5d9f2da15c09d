"""XXH64, XXH3 and XXH128 with seed 0, which S3 takes as checksums; written from the algorithm's specification.

Long bodies are gone over by numpy: the 16 stripes of a block are added up for all blocks at once.
"""

from __future__ import annotations

import numpy as np

_M32, _M64, _M128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MX1, _MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
    "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a"
    "51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8f"
    "f8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE, _BLOCK, _PER_BLOCK, _SECRET_STEP = 64, 1024, 16, 8
_START = [_P32_3, _P1, _P2, _P3, _P4, _P32_2, _P5, _P32_1]


def xxh64(data: bytes) -> bytes:
    """Return XXH64."""
    size, at = len(data), 0
    if size >= 32:
        with np.errstate(over="ignore"):
            words = np.frombuffer(data, "<u8", size // 32 * 4).reshape(-1, 4) * np.uint64(_P2)
        starts = ((_P1 + _P2) & _M64, _P2, 0, -_P1 & _M64)
        state = [_gone_over(start, words[:, lane].tolist()) for lane, start in enumerate(starts)]
        value = sum(_rotated(one, bits) for one, bits in zip(state, (1, 7, 12, 18), strict=True)) & _M64
        for one in state:
            value = ((value ^ _round(0, one)) * _P1 + _P4) & _M64
        at = size // 32 * 32
    else:
        value = _P5
    value = (value + size) & _M64
    while at + 8 <= size:
        value = (_rotated(value ^ _round(0, _u64(data, at)), 27) * _P1 + _P4) & _M64
        at += 8
    if at + 4 <= size:
        value = (_rotated(value ^ (_u64(data, at, 4) * _P1 & _M64), 23) * _P2 + _P3) & _M64
        at += 4
    for byte in data[at:]:
        value = _rotated(value ^ (byte * _P5 & _M64), 11) * _P1 & _M64
    return _avalanche64(value).to_bytes(8)


def xxh3(data: bytes) -> bytes:
    """Return XXH3 of 64 bits."""
    size = len(data)
    if size == 0:
        value = _avalanche64(_u64(_SECRET, 56) ^ _u64(_SECRET, 64))
    elif size <= 3:
        mixed = _few(data)
        value = _avalanche64(mixed ^ (_u64(_SECRET, 0, 4) ^ _u64(_SECRET, 4, 4)))
    elif size <= 8:
        flip = _u64(_SECRET, 8) ^ _u64(_SECRET, 16)
        value = _rrmxmx((_u64(data, size - 4, 4) + (_u64(data, 0, 4) << 32)) ^ flip, size)
    elif size <= 16:
        low = _u64(data, 0) ^ (_u64(_SECRET, 24) ^ _u64(_SECRET, 32))
        high = _u64(data, size - 8) ^ (_u64(_SECRET, 40) ^ _u64(_SECRET, 48))
        value = _avalanche((size + _swapped(low) + high + _folded(low, high)) & _M64)
    elif size <= 240:
        value = _avalanche(_middle(data))
    else:
        value = _merged(_accumulated(data), 11, size * _P1 & _M64)
    return value.to_bytes(8)


def xxh128(data: bytes) -> bytes:
    """Return XXH3 of 128 bits."""
    size = len(data)
    if size == 0:
        low = _avalanche64(_u64(_SECRET, 64) ^ _u64(_SECRET, 72))
        high = _avalanche64(_u64(_SECRET, 80) ^ _u64(_SECRET, 88))
    elif size <= 3:
        mixed = _few(data)
        turned = _rotated(_swapped(mixed, 4), 13, 32)
        low = _avalanche64(mixed ^ (_u64(_SECRET, 0, 4) ^ _u64(_SECRET, 4, 4)))
        high = _avalanche64(turned ^ (_u64(_SECRET, 8, 4) ^ _u64(_SECRET, 12, 4)))
    elif size <= 8:
        low, high = _four_to_eight(data)
    elif size <= 16:
        low, high = _nine_to_sixteen(data)
    elif size <= 240:
        low, high = _middle128(data)
    else:
        sums = _accumulated(data)
        low = _merged(sums, 11, size * _P1 & _M64)
        high = _merged(sums, 192 - 64 - 11, ~(size * _P2) & _M64)
    return (high << 64 | low).to_bytes(16)


def _few(data: bytes) -> int:
    return data[0] << 16 | data[len(data) >> 1] << 24 | data[-1] | len(data) << 8


def _accumulated(data: bytes) -> list[int]:
    size = len(data)
    blocks = (size - 1) // _BLOCK
    secrets = np.stack([np.frombuffer(_SECRET, "<u8", 8, _SECRET_STEP * one) for one in range(_PER_BLOCK)])
    scramble = np.frombuffer(_SECRET, "<u8", 8, 192 - _STRIPE)
    state = np.array(_START, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for first in range(0, blocks, 1024):
            count = min(1024, blocks - first)
            part = np.frombuffer(data, "<u8", count * _BLOCK // 8, first * _BLOCK).reshape(count, _PER_BLOCK, 8)
            for added in _products(part, secrets).sum(axis=1, dtype=np.uint64):
                state = state + added
                state = (state ^ (state >> np.uint64(47)) ^ scramble) * np.uint64(_P32_1)
        stripes = (size - 1 - blocks * _BLOCK) // _STRIPE
        if stripes:
            part = np.frombuffer(data, "<u8", stripes * 8, blocks * _BLOCK).reshape(1, stripes, 8)
            state = state + _products(part, secrets[:stripes]).sum(axis=1, dtype=np.uint64)[0]
        last = np.frombuffer(data[-_STRIPE:], "<u8").reshape(1, 1, 8)
        state = state + _products(last, np.frombuffer(_SECRET, "<u8", 8, 192 - _STRIPE - 7))[0, 0]
    return [int(one) for one in state]


def _products(words: np.ndarray, secrets: np.ndarray) -> np.ndarray:
    """What stripes of eight words add to the sums: the products of their halves, and their neighbours."""
    keyed = words ^ secrets
    swapped = words.reshape(*words.shape[:-1], 4, 2)[..., ::-1].reshape(words.shape)
    product: np.ndarray = (keyed & np.uint64(_M32)) * (keyed >> np.uint64(32)) + swapped
    return product


def _merged(sums: list[int], at: int, start: int) -> int:
    value = start
    for one in range(4):
        left = sums[2 * one] ^ _u64(_SECRET, at + 16 * one)
        value += _folded(left, sums[2 * one + 1] ^ _u64(_SECRET, at + 16 * one + 8))
    return _avalanche(value & _M64)


def _mix(data: bytes, at: int, secret: int) -> int:
    return _folded(_u64(data, at) ^ _u64(_SECRET, secret), _u64(data, at + 8) ^ _u64(_SECRET, secret + 8))


def _middle(data: bytes) -> int:
    """Of 17 to 240 bytes."""
    size = len(data)
    value = size * _P1
    if size <= 128:
        for one in range((size - 1) // 32, -1, -1):
            value += _mix(data, 16 * one, 32 * one) + _mix(data, size - 16 * (one + 1), 32 * one + 16)
        return value & _M64
    for one in range(8):
        value += _mix(data, 16 * one, 16 * one)
    value = _avalanche(value & _M64)
    for one in range(8, size // 16):
        value += _mix(data, 16 * one, 16 * (one - 8) + 3)
    return (value + _mix(data, size - 16, 136 - 17)) & _M64


def _middle128(data: bytes) -> tuple[int, int]:
    size = len(data)
    low, high = size * _P1 & _M64, 0
    if size <= 128:
        for one in range((size - 1) // 32, -1, -1):
            low, high = _mix32(low, high, data, (16 * one, size - 16 * (one + 1)), 32 * one)
    else:
        for one in range(4):
            low, high = _mix32(low, high, data, (32 * one, 32 * one + 16), 32 * one)
        low, high = _avalanche(low), _avalanche(high)
        for one in range(4, size // 32):
            low, high = _mix32(low, high, data, (32 * one, 32 * one + 16), 3 + 32 * (one - 4))
        low, high = _mix32(low, high, data, (size - 16, size - 32), 136 - 17 - 16)
    total = (low + high) & _M64
    mixed = (low * _P1 + high * _P4 + size * _P2) & _M64
    return _avalanche(total), -_avalanche(mixed) & _M64


def _mix32(low: int, high: int, data: bytes, at: tuple[int, int], secret: int) -> tuple[int, int]:
    first, second = at
    sums = [_u64(data, one) + _u64(data, one + 8) & _M64 for one in (first, second)]
    low = (low + _mix(data, first, secret)) & _M64 ^ sums[1]
    return low, (high + _mix(data, second, secret + 16)) & _M64 ^ sums[0]


def _four_to_eight(data: bytes) -> tuple[int, int]:
    size = len(data)
    keyed = (_u64(data, 0, 4) + (_u64(data, size - 4, 4) << 32)) ^ _u64(_SECRET, 16) ^ _u64(_SECRET, 24)
    product = keyed * (_P1 + (size << 2)) & _M128
    high = ((product >> 64) + (product << 1)) & _M64
    low = product & _M64 ^ high >> 3
    low = (low ^ low >> 35) * _MX2 & _M64
    return low ^ low >> 28, _avalanche(high)


def _nine_to_sixteen(data: bytes) -> tuple[int, int]:
    size = len(data)
    first, last = _u64(data, 0), _u64(data, size - 8)
    product = (first ^ last ^ _u64(_SECRET, 32) ^ _u64(_SECRET, 40)) * _P1
    low = ((product & _M64) + ((size - 1) << 54)) & _M64
    last ^= _u64(_SECRET, 48) ^ _u64(_SECRET, 56)
    high = ((product >> 64) + last + (last & _M32) * (_P32_2 - 1)) & _M64
    low ^= _swapped(high)
    product = low * _P2 & _M128
    high = ((product >> 64) + high * _P2) & _M64
    return _avalanche(product & _M64), _avalanche(high)


def _gone_over(state: int, products: list[int]) -> int:
    """One lane of XXH64; the words come multiplied by its second prime."""
    for product in products:
        state = (state + product) & _M64
        state = (state << 31 | state >> 33) * _P1 & _M64
    return state


def _round(state: int, word: int) -> int:
    return _rotated((state + word * _P2) & _M64, 31) * _P1 & _M64


def _avalanche64(value: int) -> int:
    value = (value ^ value >> 33) * _P2 & _M64
    value = (value ^ value >> 29) * _P3 & _M64
    return value ^ value >> 32


def _avalanche(value: int) -> int:
    value = (value ^ value >> 37) * _MX1 & _M64
    return value ^ value >> 32


def _rrmxmx(value: int, size: int) -> int:
    value = (value ^ _rotated(value, 49) ^ _rotated(value, 24)) * _MX2 & _M64
    value = (value ^ (value >> 35) + size) * _MX2 & _M64
    return value ^ value >> 28


def _folded(left: int, right: int) -> int:
    product = left * right
    return product & _M64 ^ product >> 64


def _rotated(value: int, bits: int, width: int = 64) -> int:
    return (value << bits | value >> (width - bits)) & (1 << width) - 1


def _swapped(value: int, size: int = 8) -> int:
    return int.from_bytes(value.to_bytes(size), "little")


def _u64(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")
