"""CRC-64/NVME and CRC-32C fast enough for objects of gigabytes, and the CRC of a whole from those of its parts.

Emulator: goes over each byte in Python, at a few MB/s. Here thousands of stretches of a body are gone over side by
side, and their CRCs are put together as those of an upload's parts are.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

_LANES = 4096
_SHORT = 32 * 1024  # below, the bytes are gone over one by one


@dataclass(frozen=True)
class Crc:
    """A reflected CRC that begins with all ones and is inverted at the end."""

    width: int
    polynomial: int

    @property
    def ones(self) -> int:
        """All bits."""
        return (1 << self.width) - 1

    @cached_property
    def table(self) -> list[int]:
        """What each byte does."""
        table = []
        for byte in range(256):
            for _ in range(8):
                byte = (byte >> 1) ^ (self.polynomial if byte & 1 else 0)
            table.append(byte)
        return table

    @cached_property
    def _pairs(self) -> Any:
        """What each two bytes do."""
        one = np.array(self.table, dtype=np.uint64)
        both = np.arange(65536, dtype=np.uint64)
        first = one[both & 0xFF] ^ (both >> np.uint64(8))
        return one[first & 0xFF] ^ (first >> np.uint64(8))

    @cached_property
    def _powers(self) -> list[Any]:
        """Matrices that append 1, 2, 4, … zero bytes, each made when it is first asked for."""
        bits = [1 << bit for bit in range(self.width)]
        return [np.array([self.table[bit & 0xFF] ^ (bit >> 8) for bit in bits], dtype=np.uint64)]

    def _append_zeros(self, states: Any, count: int) -> Any:
        power = 0
        while count:
            if power == len(self._powers):
                self._powers.append(self._times(self._powers[-1], self._powers[-1]))
            if count & 1:
                states = self._times(self._powers[power], states)
            count, power = count >> 1, power + 1
        return states

    def _times(self, matrix: Any, states: Any) -> Any:
        result = np.zeros_like(states)
        for bit in range(self.width):
            result ^= np.where((states >> np.uint64(bit)) & np.uint64(1), matrix[bit], np.uint64(0))
        return result

    def of(self, data: bytes | memoryview, before: int = 0) -> int:
        """Return the CRC of what had the CRC `before`, and then `data`."""
        state = before ^ self.ones
        stretch = len(data) // _LANES // 2 * 2
        if len(data) >= _SHORT and stretch:
            whole = stretch * _LANES
            state = int(self._append_zeros(np.array([state], dtype=np.uint64), whole)[0]) ^ self._raw(data[:whole])
            data = data[whole:]
        table = self.table
        for byte in data:
            state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
        return state ^ self.ones

    def _raw(self, data: bytes | memoryview) -> int:
        """Go over `_LANES` stretches side by side, two bytes a step, beginning with zeros."""
        words = np.frombuffer(data, dtype="<u2").reshape(_LANES, -1)
        states, pairs = np.zeros(_LANES, dtype=np.uint64), self._pairs
        index, taken = np.zeros_like(states), np.zeros_like(states)
        for column in np.ascontiguousarray(words.T):
            np.bitwise_xor(states.astype(np.uint16), column, out=index, casting="unsafe", dtype=np.uint16)
            np.take(pairs, index.view(np.int64), out=taken, mode="clip")  # without a check of bounds
            np.right_shift(states, 16, out=states)
            np.bitwise_xor(states, taken, out=states)
        length = len(data) // _LANES
        while len(states) > 1:
            states = self._append_zeros(states[::2], length) ^ states[1::2]
            length *= 2
        return int(states[0])

    def joined(self, first: int, second: int, second_length: int) -> int:
        """Return the CRC of two bodies, one after the other, from theirs."""
        return int(self._append_zeros(np.array([first], dtype=np.uint64), second_length)[0]) ^ second


class _Zlib(Crc):
    def of(self, data: bytes | memoryview, before: int = 0) -> int:
        """Return it by the C library, which has this one."""
        return zlib.crc32(data, before)


CRCS = {
    "CRC32": _Zlib(32, 0xEDB88320),
    "CRC32C": Crc(32, 0x82F63B78),
    "CRC64NVME": Crc(64, 0x9A6C9329AC4BC9B5),
}
