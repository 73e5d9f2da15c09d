"""What the sender follows: its paths, probes that are wanted, and bounds on its rate and its dollars."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from lambdas.core.documents import MAX_STAGES, Count, Document, Name, SocketAddress
from lambdas.core.request.bandwidth import Mbps
from lambdas.core.transfer.seat import ReceiverId, SeatId, SenderId

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
    store: Literal[True] | None = None
    """The last hop dials the store of a bucket, and no receiver: both ends are beside each other, and exchange with it
    by these relays what comes on the lanes of this path.
    """
    sender: SenderId | None = Field(default=None, alias="from")
    """Its seat; None: `s0`."""
    to: ReceiverId | None = None
    """The receiver's seat; None: `r0`."""

    @model_validator(mode="after")
    def _is_dialled(self) -> "TransferPath":
        if self.store and not self.hops:
            raise ValueError(f"path {self.path_id}: hops is empty, and it leads to a store: some relay has to dial it")
        return self


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


class LimitLease(Document):
    """A part of a limit over several transfers, Mbit/s: `mbps` until `seconds` after the sender first saw its number.

    Then `safe_mbps` is left of it, where that is less.
    """

    number: Annotated[int, Field(ge=1)]
    mbps: Annotated[float, Field(ge=0)]
    safe_mbps: Annotated[float, Field(ge=0)]
    seconds: Annotated[float, Field(ge=0)]


class Retired(Document):
    """A seat that was given up while others of its side go on: its processes up to `epoch` count no more.

    `is_gone`: its machine is stopped or terminated, or has said that its daemon has ended: it will never write again.
    """

    seat_id: SeatId
    epoch: Annotated[int, Field(ge=1)]
    is_gone: bool


class Share(Document):
    """The bounds of one sender where there are several."""

    seat_id: SenderId
    bandwidth_limit_mbps: Annotated[float, Field(gt=0)] | None = None
    budget_lease: BudgetLease | None = None
    limit_lease: LimitLease | None = None


class Membership(Document):
    """Contract `membership`."""

    schema_version: Literal[1] = 1
    version: Count
    paths: list[TransferPath]
    probes: list[Probe] = Field(default_factory=list)
    bandwidth_limit_mbps: Mbps | None = None
    budget_lease: BudgetLease | None = None
    limit_lease: LimitLease | None = None
    """None where no limit over several transfers holds for this one."""
    paused: Literal[True] | None = None
    """The senders begin no chunk."""
    retired: list[Retired] | None = None
    shares: list[Share] | None = None

    def changed(
        self,
        *,
        paths: list[TransferPath] | None = None,
        probes: list[Probe] | None = None,
        retired: list[Retired] | None = None,
        shares: list[Share] | None = None,
    ) -> "Membership":
        """Return the next version, with other paths, probes, retired seats or shares, or several of them."""
        return self._next(
            paths=self.paths if paths is None else paths,
            probes=self.probes if probes is None else probes,
            retired=self.retired if retired is None else retired,
            shares=self.shares if shares is None else shares,
        )

    def limited(self, mbps: int | None, shares: list[Share] | None = None) -> "Membership":
        """The next version, with another bound on the senders' rate, and what each has of it; None: no bound."""
        return self._next(bandwidth_limit_mbps=mbps, shares=shares)

    def leased(self, lease: BudgetLease, shares: list[Share] | None = None) -> "Membership":
        """The next version, with what the budget bears now, and what each sender has of it."""
        return self._next(budget_lease=lease, shares=shares)

    def held(self, *, paused: bool) -> "Membership":
        """The next version, in which the senders begin no chunk, or go on."""
        return self._next(paused=True if paused else None)

    def shared(self, lease: LimitLease | None, shares: list[Share] | None = None) -> "Membership":
        """The next version, with another part of a limit over several transfers, and what each sender has of it."""
        return self._next(limit_lease=lease, shares=shares)

    @property
    def lowest_limit_mbps(self) -> int | None:
        """The lower one of its own limit and its share of a limit over several transfers, in whole Mbit/s."""
        shared = max(round(self.limit_lease.mbps), 1) if self.limit_lease else None
        return min((limit for limit in (self.bandwidth_limit_mbps, shared) if limit is not None), default=None)

    def _next(self, **changes: object) -> "Membership":
        return self.model_copy(update={"version": self.version + 1, **changes})
