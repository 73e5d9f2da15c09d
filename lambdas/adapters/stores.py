"""The protocols of what the tables keep, kept by the real adapter and by its in-memory twin."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from lambdas.adapters.records import (
    ControlToken,
    ProbeResult,
)
from lambdas.core.chunks.chunk import Chunk, Finish
from lambdas.core.chunks.chunk_life import Change
from lambdas.core.chunks.events import RelayLost, TransferDelivered, TransferFailed
from lambdas.core.chunks.progress import Progress
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.estimate.history import Event
from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.fleet.common_limit import CommonLimits
from lambdas.core.fleet.membership import Membership
from lambdas.core.fleet.node_life import Change as NodeChange
from lambdas.core.fleet.relay_node import Node
from lambdas.core.intake.added_starts import AddedStarts
from lambdas.core.intake.arrivals import Arrival, Window
from lambdas.core.intake.destination_lock import Busy, Holding, Way
from lambdas.core.record.transfer_life import Change as TransferChange
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.seats.answers import Answer
from lambdas.core.seats.credentials import Issued, SealingKey
from lambdas.core.spending.tenant_ledger import TenantLedger
from lambdas.core.survey.whereabouts import SourcePath
from lambdas.core.transfer.accepted import RECEIVER_PORTS, AcceptedTransfer
from lambdas.core.transfer.partition import Partition
from lambdas.core.watch.overview import Running
from lambdas.core.watch.transfer_state import TransferState
from lambdas.core.waves.waves import Waves


class TransferStore(Protocol):
    """Record `transfer` and the index of running transfers; its changes are those of `transfer_life`."""

    def create(self, transfer: AcceptedTransfer) -> bool:
        """Write the record; False when another execution has the id, unless that was the first one and had no plan."""

    def resume(self, transfer: AcceptedTransfer) -> bool:
        """Write the record anew over that of run n-1; False unless that has ended. Epochs are counted on."""

    def get(self, transfer_id: str) -> TransferRecord | None:
        """Consistent read."""

    def active_ids(self) -> list[str]:
        """Ids of transfers that are not reported yet, by an index: one may be missing, or be over, for a moment."""

    def ids_with_end(self, instance_id: str) -> list[str]:
        """Those of `active_ids` whose source or destination is this machine, by one query of the index."""

    def active(self) -> list[TransferRecord]:
        """Transfers that are not reported yet; one may be missing for a moment."""

    def change(self, transfer: AcceptedTransfer, change: TransferChange) -> TransferRecord | None:
        """One arrow of the transfer's life, made by its execution; None, and no change, where it may not be made."""


class PathLocks(Protocol):
    """Locks on destination paths, and the ports of receivers, per machine."""

    def acquire(
        self,
        instance_id: str,
        path: str,
        transfer_id: str,
        ways: tuple[Way, ...] = (),
        ports: Sequence[int] = RECEIVER_PORTS,
    ) -> Holding | Busy:
        """Take the lock and one of these ports, or learn what is in the way.

        Taking it again is fine, with `ways` or without; the port stays.
        """

    def acquire_shared(self, transfer_id: str, ways: tuple[Way, ...]) -> Holding | Busy:
        """Take directories that several machines see, in place of those that it had; or learn who writes there."""

    def release(self, instance_id: str, transfer_id: str) -> None:
        """Give it back; nothing happens where it is not held."""

    def release_shared(self, transfer_id: str) -> None:
        """The same of directories that several machines see."""


class Mirrors(Protocol):
    """What is known of mirrors whatever their runs are called, by a key of their ends and paths."""

    def source_paths(self, key: str) -> list[SourcePath]:
        """Where the source was when the last one was made; none before the first."""

    def note(self, key: str, paths: Sequence[SourcePath]) -> None:
        """This one is the last."""


class LaunchTurns(Protocol):
    """Turns of all transfers at RunInstances, by region."""

    def take(self, region: str, now: float) -> float:
        """When this call may be made, Unix seconds; no other call gets the same turn."""


class CommonLimitStore(Protocol):
    """The limits over several transfers, and who has which share of them."""

    def get(self) -> CommonLimits:
        """Consistent read; version 0 where there never was any."""

    def put(self, limits: CommonLimits) -> bool:
        """Write version n over n-1 (version 1 over none); False when another was faster."""


class TenantLedgers(Protocol):
    """What each tenant's transfers hold of his terms, and have spent this month."""

    def get(self, tenant: str) -> TenantLedger:
        """Consistent read; version 0 where he never had a transfer."""

    def put(self, tenant: str, ledger: TenantLedger) -> bool:
        """Write version n over n-1 (version 1 over none); False when another was faster."""


class AgentRecords(Protocol):
    """Membership and fence, which the ends follow, and what they write; `partition` is that of AcceptedTransfer."""

    def membership(self, partition: Partition) -> Membership | None:
        """Consistent read."""

    def write_membership(self, partition: Partition, membership: Membership) -> bool:
        """Write version n over n-1 (version 1 over none or itself); False when another was faster."""

    def progress(self, partition: Partition, seat_id: str) -> Progress | None:
        """The latest report of one seat; None also where what it wrote is none: such a seat is silent."""

    def tell_progress(self, partition: Partition, seat_id: str, progress: Progress) -> None:
        """Write a report of what the control plane itself moves, where no daemon works for that seat."""

    def route_key(self, partition: Partition, seat_id: str) -> str | None:
        """The public key by which a sender signs routes, once it has published one that can be read."""

    def probe_results(self, partition: Partition) -> list[ProbeResult]:
        """Return all pre-test results so far that can be read."""

    def outcome(self, partition: Partition, seat_id: str) -> TransferDelivered | TransferFailed | None:
        """Return how one seat ended; None where it has not, or where its record is no outcome of that seat."""

    def answer(self, partition: Partition, answer_id: str) -> Answer | None:
        """How a command ended that an end has run; None before that, or where its record is no answer."""

    def lost_relays(self, partition: Partition) -> list[RelayLost]:
        """Return what the sender says of relays at which its lanes broke."""

    def fence(self, partition: Partition, *, fenced: bool) -> None:
        """Return whether both ends are to stop, whichever start they are of."""

    def sealing_key(self, partition: Partition, holder: str) -> SealingKey | None:
        """The public key to which credentials are sealed, once its process has published one that can be read."""

    def issued(self, partition: Partition, holder: str) -> Issued | None:
        """The credentials that were issued last, sealed."""

    def issue(self, partition: Partition, holder: str, issued: Issued) -> None:
        """Write them, over earlier ones."""

    def forget(self, partition: Partition) -> None:
        """Remove all of these: they are of an earlier execution."""


class ChunkStore(Protocol):
    """The chunk table; `partition` is that of AcceptedTransfer."""

    def put_all(self, chunks: Iterable[Chunk]) -> None:
        """Write items in batches, no faster than the table bears; raises Throttled when it bears nothing."""

    def get(self, partition: Partition, chunk: int) -> Chunk | None:
        """Consistent read of one item."""

    def read(self, partition: Partition, plan: TransferPlan) -> Iterator[Chunk]:
        """Return all items of a plan, range by range."""

    def finish(self, partition: Partition) -> Finish | None:
        """Who has finished a transfer of several machines; None where there is one at each end."""

    def forget_finish(self, partition: Partition) -> None:
        """Remove that item: it is of an earlier execution."""

    def change(self, partition: Partition, chunk: int, change: Change) -> bool:
        """One arrow of the chunk's life; False when the item is in another state or attempt."""


class NodeStore(Protocol):
    """The node table."""

    def put(self, node: Node) -> bool:
        """Write a new node; False when there is one, which stays as it is."""

    def of(self, transfer_id: str) -> list[Node]:
        """Return all nodes of a transfer, by a consistent read."""

    def forget(self, transfer_id: str) -> None:
        """Remove all nodes of a transfer: they are of an earlier execution."""

    def by_instance(self, instance_id: str) -> list[Node]:
        """Nodes of an instance (index, eventually consistent)."""

    def change(self, node: Node, change: NodeChange) -> Node | None:
        """One arrow of the node's life; None where the item is in another state."""


class ProfileStore(Protocol):
    """Profiles of instance types and pairs of hosts; a subject is a type's name or `profile.hosts`."""

    def get(self, subject: str, region_pair: str) -> Profile | None:
        """Consistent read of what is known on a region pair."""

    def get_all(self, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Profile]:
        """Many of them, by subject and region pair, in few reads; raises Throttled when the table bears none."""

    def integrate(
        self,
        subject: str,
        region_pair: str,
        metric: Metric,
        sample: float | Event,
        at_seconds: float,
        lasted_seconds: float = 0.0,
    ) -> None:
        """Refine a metric by a sample, whose own time counts where it is an `Event`; raises WriteConflict when others
        keep writing, ValueError for a bad sample.
        """


class TokenStore(Protocol):
    """Task tokens, of Start Transfer and of Await Approval; only the control plane reads them."""

    def get(self, transfer_id: str) -> ControlToken | None:
        """Consistent read."""

    def put(self, transfer_id: str, token: str, start: int) -> bool:
        """Store; False when this very token is stored already."""

    def approval(self, transfer_id: str) -> str | None:
        """The token of Await Approval, consistent."""

    def put_approval(self, transfer_id: str, token: str) -> None:
        """Store the token of Await Approval, over an earlier one."""

    def delete(self, transfer_id: str) -> None:
        """Forget both."""


class WatchedTransfers(Protocol):
    """Transfers as people watch them."""

    def running(self, prefix: str = "") -> Running:
        """Those that run, in three reads, however many there are; of each what a line of a list says.

        With a `prefix` those alone whose names begin with it.
        """

    def transfer(self, transfer_id: str) -> TransferState | None:
        """One, with all that its records say; None where there is none."""


class WavesStore(Protocol):
    """Waves by their label."""

    def of(self, label: str) -> Waves | None:
        """Those of a label, by a consistent read."""

    def latest(self, most: int) -> list[Waves]:
        """Those on which something was done last, by one read; where there are hundreds of labels, not among all."""

    def write(self, waves: Waves) -> bool:
        """Write version n over n-1 (version 1 over none); False when another was faster."""


class AddedStartsStore(Protocol):
    """Starts by objects that people add."""

    def get(self) -> AddedStarts:
        """All of them, by a consistent read; version 0 before the first."""

    def put(self, starts: AddedStarts) -> bool:
        """Write version n over n-1 (version 1 over none); False when another was faster."""


class Arrivals(Protocol):
    """Objects that have come, by the start that collects them, and the starts' windows."""

    def collect(self, start: str, arrival: Arrival, now: float) -> bool:
        """Note the write and let it wait; False, and no change, where this write of the key or a later one is known."""

    def waits(self, start: str, arrival: Arrival) -> bool:
        """Whether this very write waits, by a consistent read."""

    def waiting(self, start: str) -> Iterator[Arrival]:
        """All that wait, by consistent reads, in the same order each time."""

    def take(self, start: str, arrivals: Iterable[Arrival]) -> None:
        """These wait no more; absent ones are fine. Raises Throttled where some are left."""

    def window(self, start: str) -> Window | None:
        """Consistent read; None before the first one."""

    def windows(self) -> list[Window]:
        """Those of all starts, by a consistent read."""

    def write(self, window: Window) -> bool:
        """Write version n over n-1 (version 1 over none); False when another was faster."""
