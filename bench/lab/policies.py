"""The papers' policies with real bytes: `python -m bench.lab.policies JSON` sends a tree by one of them."""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.lab.channels import File, Mover
from bench.lab.tuning import Chunk, Setting, globus, mc, pcp, rcd


class Set:
    """The files of a tree by size, as policies name them."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        self.files = sorted((File(n, str(p), p.stat().st_size) for n, p in enumerate(paths)), key=lambda one: one.size)
        self._by_size: dict[int, list[File]] = defaultdict(list)
        for file in self.files:
            self._by_size[file.size].append(file)

    @property
    def sizes(self) -> list[int]:
        """Ascending."""
        return [file.size for file in self.files]

    def take(self, sizes: Sequence[int]) -> list[File]:
        """Files of these sizes; each is given once."""
        return [self._by_size[size].pop() for size in sizes]


def by_rcd(mover: Mover, files: Set, bdp: float, **_: Any) -> None:
    """RCD alone: its chunks one after the other, with one channel."""
    for chunk in rcd(files.sizes, bdp):
        mover.move(files.take(chunk.sizes), chunk.setting)


def by_pcp(mover: Mover, files: Set, bdp: float, chunk_seconds: float, **_: Any) -> None:
    """PCP: a chunk lasts `chunk_seconds` at the last rate, or is joined to the next."""
    for phase in pcp(files.sizes, bdp):
        state, rates = phase.begins, [bdp]
        for chunk in cut(phase.chunks, partial(_least, rates, chunk_seconds)):
            setting = replace(state.setting, pipelining=chunk.setting.pipelining)
            rates.append(mover.move(files.take(chunk.sizes), setting))
            state = state.after(rates[-1])


def _least(rates: Sequence[float], seconds: float) -> float:
    return rates[-1] * seconds


def cut(chunks: Sequence[Chunk], least: Callable[[], float]) -> Iterator[Chunk]:
    """Chunks of at least so many bytes: whole ones of RCD together, and a long one in parts."""
    waiting = [(size, chunk.setting) for chunk in chunks for size in chunk.sizes]
    ends = {sum(len(chunk.sizes) for chunk in chunks[: place + 1]) for place in range(len(chunks))}
    alone, begin = len(chunks) == 1, 0
    while begin < len(waiting):
        end, size, wanted = begin, 0, least()
        while end < len(waiting) and (size < wanted or not (alone or end in ends)):
            size, end = size + waiting[end][0], end + 1
        yield Chunk(tuple(one for one, _ in waiting[begin:end]), waiting[end - 1][1])
        begin = end


def by_mc(mover: Mover, files: Set, bdp: float, buffer: float, **_: Any) -> None:
    """MC: all classes at once."""
    mover.at_once([(files.take(one.sizes), one.setting) for one in mc(files.sizes, bdp, buffer)])


def by_globus(mover: Mover, files: Set, scale: float, **_: Any) -> None:
    """Globus Online's settings."""
    mover.move(files.files, globus(files.sizes, scale))


def one_by_one(mover: Mover, files: Set, **_: Any) -> None:
    """No pipelining, one stream."""
    mover.move(files.files, Setting(0))


def fixed(mover: Mover, files: Set, setting: Sequence[int], **_: Any) -> None:
    """What somebody asks for."""
    mover.move(files.files, Setting(*setting))


POLICIES: Mapping[str, Callable[..., None]] = {
    "rcd": by_rcd,
    "pcp": by_pcp,
    "mc": by_mc,
    "globus": by_globus,
    "plain": one_by_one,
    "fixed": fixed,
}


def send(folder: str, to: str, policy: str, **given: Any) -> None:
    """Move a tree, and print what each chunk took."""
    files, mover = Set(Path(folder)), Mover(to)
    began = time.monotonic()
    POLICIES[policy](mover, files, **given)
    print(json.dumps({"seconds": time.monotonic() - began, "chunks": mover.chunks}), flush=True)


if __name__ == "__main__":
    send(**json.loads(sys.argv[1]))
