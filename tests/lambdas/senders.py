"""Ends in memory that move data second by second, as the daemon does: they follow membership, lease and fence."""

import random
from dataclasses import dataclass, field

from lambdas.core.chunks.progress import LaneProgress
from lambdas.core.fleet.membership import Membership
from lambdas.core.tariff import control_plane, cost
from lambdas.core.transfer.accepted import AcceptedTransfer
from tests.lambdas.builders import estimate, progress
from tests.lambdas.cloud import Cloud
from tests.lambdas.machines import Machine

# As in builders.figures, MB/s and dollars.
DIRECT, PAIR, ENDS, EGRESS_GB, RELAY_HOUR = 20.0, 20.0, 160.0, 0.02, 0.1
CHUNK = 8_000_000
# As the daemon's `DRAIN_TIMEOUT`: lanes have so long to leave, and so long after it has paused relays are told to power
# off; machines shut down within as long as the lease reserves beside (`RELAYS_END_SECONDS`).
DRAIN_SECONDS, SHUTDOWN_SECONDS = 20, 38.0
REPORT_SECONDS = 2
# The ends read the fence so often.
FENCE_SECONDS = 2
LEAST_BILLED_SECONDS = 60.0
KNOWN = estimate()


@dataclass
class Sender:
    """A sender with its receiver: `size` bytes, of which `lost` are sent again, as a share. `obeys`: its lease."""

    cloud: Cloud
    transfer: AcceptedTransfer
    size: int
    lost: float
    burst: float
    chance: random.Random
    obeys: bool = True
    begun_at: float = 0.0
    start: int = 1
    moved: float = 0.0
    delivered: float = 0.0
    sequence: int = 0
    paused: int = 0
    pauses: int = 0
    fenced: int = 0
    has_ended: bool = False
    powered_off: list[str] = field(default_factory=list)
    ends_at: dict[str, float] = field(default_factory=dict)
    """When machines that were told to power off are down."""
    _leaving: dict[str, float] = field(default_factory=dict)
    _dead: set[tuple[str, int]] = field(default_factory=set)
    _seen: Membership | None = None
    _machines: tuple[int, list[Machine]] = (0, [])

    @property
    def now(self) -> float:
        """The clock of all."""
        return self.cloud.clock.now()

    def second(self) -> None:
        """Send for a second what path, lease and fence allow; report."""
        self._follow()
        moved = self._sends()
        self.paused = 0 if moved or not self.obeys else self.paused + 1
        self.pauses += self.paused == 1
        if self.paused == DRAIN_SECONDS:
            self._power_off()
        self.moved += moved
        self.delivered = min(self.delivered + moved * (1 - self.lost), self.size)
        self.sequence += 1
        if self.sequence % REPORT_SECONDS == 0 or self.delivered >= self.size:
            self._report(moved / 1e6)
        self.fenced += self.transfer.shared in self.cloud.agents.fenced
        self.has_ended = self.delivered >= self.size or self.fenced > FENCE_SECONDS

    def _follow(self) -> None:
        seen = self.cloud.agents.membership(self.transfer.shared)
        assert seen
        before = {path.path_id for path in self._seen.paths} if self._seen else set()
        for left in before - {path.path_id for path in seen.paths}:
            self._leaving[left] = self.now + self.chance.uniform(0, DRAIN_SECONDS)
        self._leaving = {path: until for path, until in self._leaving.items() if until > self.now}
        self._seen = seen

    def _sends(self) -> float:
        assert self._seen
        pairs = [(p.path_id, p.generation) for p in self._seen.paths if p.path_id != "direct"]
        carrying = len([pair for pair in pairs if pair not in self._dead]) + len(self._leaving)
        rate = self.chance.uniform(0.1, 1.0) * min(self.burst * (DIRECT + carrying * PAIR), ENDS)
        most = min(rate * 1e6, (self.size - self.delivered) / (1 - self.lost))
        lease = self._seen.budget_lease
        if not self.obeys or lease is None:
            return most
        # Chunk by chunk: it sends as many as the lease bears.
        sizes = [size for size in (most, most // CHUNK * CHUNK, CHUNK) if 0 < size <= most]
        return next((size for size in sizes if lease.bears(round(self.moved + size), self.now + 1 - lease.at)), 0.0)

    def _power_off(self) -> None:
        assert self._seen
        self._dead |= {(path.path_id, path.generation) for path in self._seen.paths if path.path_id != "direct"}
        for machine in self.machines():
            if not machine.instance.gone:
                down = self.now + self.chance.uniform(0, SHUTDOWN_SECONDS)
                self.ends_at.setdefault(machine.instance.instance_id, down)

    def _report(self, rate: float) -> None:
        assert self._seen
        alive = [path.path_id for path in self._seen.paths if (path.path_id, path.generation) not in self._dead]
        lanes = [LaneProgress(path_id=path, lane=0, bytes=0, rate=0.0) for path in [*alive, *self._leaving]]
        said = progress(self.sequence, sent=round(self.delivered), rate=rate, start=self.start).model_copy(
            update={"moved_bytes": round(self.moved), "first_byte_at": self.begun_at, "at": self.now, "lanes": lanes}
        )
        self.cloud.agents.progresses |= {
            (self.transfer.shared, "s0"): said,
            (self.transfer.shared, "r0"): said,
        }

    def machines(self) -> list[Machine]:
        """Of all relays that were ever launched for it."""
        count = sum(len(one.machines) for one in self.cloud.compute.values())
        if count != self._machines[0]:
            every = [machine for one in self.cloud.compute.values() for machine in one.machines.values()]
            self._machines = (count, [one for one in every if one.transfer_id == self.transfer.transfer_id])
        return self._machines[1]

    def bill(self, ended: dict[str, float], chunks: int) -> float:
        """Dollars by now, by machines and bytes as they were; `ended`: when machines were gone."""
        lived = [ended.get(m.instance.instance_id, self.now) - m.launched for m in self.machines()]
        relays = sum(max(seconds, LEAST_BILLED_SECONDS) for seconds in lived) * RELAY_HOUR / 3600
        pairs = len(lived) // 2
        calls = control_plane.calls(chunks, pairs, self.now - self.begun_at, KNOWN.figures.spawn.value, 0)
        requests = control_plane.dollars(calls)
        return relays + cost.egress(round(self.moved), EGRESS_GB) + requests
