"""Memory, made ready before a measurement."""

from pathlib import Path

BLOCK = bytes(4 << 20)


def warm(folder: Path, size_bytes: int) -> None:
    """Touch as much memory as a run writes into `folder`, which lies in memory.

    A virtual machine's host takes free pages back, and giving one again costs several times the copy into it: that
    would be measured in place of the program.
    """
    path = folder / "warm"
    with path.open("wb") as file:
        for _ in range(size_bytes // len(BLOCK)):
            file.write(BLOCK)
    path.unlink()
