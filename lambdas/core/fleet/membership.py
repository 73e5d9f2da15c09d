"""What the sender follows: its paths, probes that are wanted, and bounds on its rate and its dollars."""

from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import MAX_STAGES, Count, Document, Name, SocketAddress
from lambdas.core.request.bandwidth import Mbps

RELAY_PORT = 4600
# Id of the path without relays.
DIRECT = "direct"


class Hop(Document):
    """A relay to go through."""

    node_id: str
    address: SocketAddress


class TransferPath(Document):
    """One way from sender to receiver."""

    path_id: Name
    generation: Count
    hops: list[Hop] = Field(max_length=MAX_STAGES)
    receiver: SocketAddress
    lanes: Annotated[int, Field(ge=1, le=32)]


class Probe(Document):
    """One pre-test, `seconds` per hop; `measure_from`: the relay, from 0, at which it begins, if not the first."""

    path: TransferPath
    seconds: float
    measure_from: Annotated[int, Field(ge=0, lt=MAX_STAGES - 1)] | None = None


class BudgetLease(Document):
    """Dollars that the sender may still spend, renewed with each look at the meter; Unix seconds.

    `start`: whose processes hold it. `sent_bytes`: on the wire, as that start had reported by `at`; they are paid for.
    What is sent after it and the time that passes use `usd` up; then the sender pauses.
    """

    start: Count
    at: Annotated[float, Field(ge=0)]
    sent_bytes: Count
    usd: Annotated[float, Field(ge=0)]
    usd_per_gb: Annotated[float, Field(ge=0)]
    usd_per_hour: Annotated[float, Field(ge=0)]

    def is_older_than(self, other: "BudgetLease | None") -> bool:
        """Return whether the other one knows more. Of two of one moment that one does which has less to give."""
        return other is not None and (self.at, -self.usd) < (other.at, -other.usd)

    def bears(self, sent_bytes: int, seconds: float) -> bool:
        """Return whether so many bytes of the start are paid for, so long after it was granted."""
        sent, passed = max(sent_bytes - self.sent_bytes, 0), max(seconds, 0.0)
        return sent / 1e9 * self.usd_per_gb + passed / 3600 * self.usd_per_hour <= self.usd


class Membership(Document):
    """Contract `membership`."""

    schema_version: Literal[1] = 1
    version: Count
    paths: list[TransferPath]
    probes: list[Probe] = Field(default_factory=list)
    bandwidth_limit_mbps: Mbps | None = None
    budget_lease: BudgetLease | None = None

    def changed(self, *, paths: list[TransferPath] | None = None, probes: list[Probe] | None = None) -> "Membership":
        """Return the next version of the membership, with other paths, other probes, or both."""
        return self._next(
            paths=self.paths if paths is None else paths,
            probes=self.probes if probes is None else probes,
        )

    def limited(self, mbps: int | None) -> "Membership":
        """The next version, with another bound on the sender's rate; None: no bound."""
        return self._next(bandwidth_limit_mbps=mbps)

    def leased(self, lease: BudgetLease) -> "Membership":
        """The next version, with what the budget bears now."""
        return self._next(budget_lease=lease)

    def _next(self, **changes: object) -> "Membership":
        return self.model_copy(update={"version": self.version + 1, **changes})
