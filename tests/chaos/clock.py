"""A clock that jumps for one running process, though all machines of the local cloud share one.

A program asks for the time by the kernel's vDSO, code that every process has in its own memory. Root may write there:
the function gets a jump to code at the end of the vDSO's last page, which makes the system call and adds to wall-clock
time. What counts monotonically stays as it is, as with a machine's clock that somebody sets. x86-64 only.
"""

import os
import platform
import signal
import struct
import time
from pathlib import Path

FUNCTION = b"__vdso_clock_gettime"
# mov eax, 228 (clock_gettime); syscall; test eax, eax; jne end; test edi, edi; je add; cmp edi, 5
# (CLOCK_REALTIME_COARSE); jne end; add: add qword [rsi], SECONDS; end: ret
_CODE = bytes.fromhex("b8e40000000f0585c0751085ff740583ff057507488106") + b"%s" + b"\xc3"
_JUMP_BYTES = 5


class ClockError(Exception):
    """The clock of this process cannot be changed; the message says why."""


def is_possible() -> bool:
    """Whether this machine lets a process' vDSO be written."""
    return os.geteuid() == 0 and platform.machine() == "x86_64"


def jump(pid: int, seconds: int) -> None:
    """Let the wall-clock time of a process be `seconds` off from now on. Raises ClockError."""
    start, end = _mapping(pid)
    os.kill(pid, signal.SIGSTOP)
    try:
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(start)
            image = memory.read(end - start)
            function = start + _address(image)
            room = start + (len(image.rstrip(b"\0")) + 16) // 16 * 16
            code = _CODE % struct.pack("<i", seconds)
            if image[function - start] == 0xE9:
                room = function + _JUMP_BYTES + struct.unpack_from("<i", image, function - start + 1)[0]
            elif room + len(code) > end:
                raise ClockError(f"the vDSO of process {pid} has no room for {len(code)} bytes")
            _leave(pid, function)
            memory.seek(room)
            memory.write(code)
            memory.seek(function)
            memory.write(b"\xe9" + struct.pack("<i", room - function - _JUMP_BYTES))
    finally:
        os.kill(pid, signal.SIGCONT)


def _mapping(pid: int) -> tuple[int, int]:
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith("[vdso]"):
            start, end = line.split()[0].split("-")
            return int(start, 16), int(end, 16)
    raise ClockError(f"process {pid} has no vDSO")


def _address(image: bytes) -> int:
    """Offset of the function in the vDSO, an ELF file with symbols in `.dynsym`."""
    table, entry_bytes, entries = struct.unpack_from("<Q", image, 0x28)[0], 64, struct.unpack_from("<H", image, 0x3C)[0]
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * entry_bytes) for i in range(entries)]
    symbols = next(section for section in sections if section[1] == 11)  # SHT_DYNSYM
    names = sections[symbols[6]][4]
    for at in range(symbols[4], symbols[4] + symbols[5], symbols[9]):
        name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", image, at)
        begin = names + name
        if image[begin : image.index(b"\0", begin)] == FUNCTION:
            return int(value)
    raise ClockError("the vDSO does not have " + FUNCTION.decode())


def _leave(pid: int, function: int) -> None:
    """Wait until the process is stopped and none of its threads is within the bytes that are written over."""
    for _ in range(1000):
        states = [Path(task, "stat").read_text().rpartition(")")[2].split()[0] for task in _tasks(pid)]
        if all(state == "T" for state in states):
            places = [int(Path(task, "syscall").read_text().split()[-1], 16) for task in _tasks(pid)]
            if not any(function < place < function + _JUMP_BYTES for place in places):
                return
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.001)
    raise ClockError(f"process {pid} did not stop")


def _tasks(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").iterdir())


def daemons(instance: Path) -> list[int]:
    """Return the processes of an instance's units, by its directory."""
    return [int(unit.read_text()) for unit in instance.glob("units/cpt-*/pid")]
