"""The protocols that handlers call AWS by, one per service, kept by the real adapter and by its in-memory twin."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from lambdas.adapters.records import (
    LEAST_DELIVERY_SECONDS,
    CommandResult,
    ControlToken,
    DocumentName,
    Instance,
    LaunchRequest,
    ProbeResult,
)
from lambdas.core.chunks.chunk import Chunk
from lambdas.core.chunks.chunk_life import Change
from lambdas.core.chunks.events import RelayLost, TransferDelivered, TransferFailed
from lambdas.core.chunks.progress import Progress
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.estimate.history import Event
from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.fleet.firewall import Rule
from lambdas.core.fleet.launch_plan import Subnet
from lambdas.core.fleet.membership import Membership
from lambdas.core.fleet.node_life import Change as NodeChange
from lambdas.core.fleet.relay_node import Node
from lambdas.core.intake.destination_lock import Busy, Holding, Way
from lambdas.core.metrics import MetricName
from lambdas.core.record.transfer_life import Change as TransferChange
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.seats.answers import Answer
from lambdas.core.seats.commands import USUAL, Command, Share
from lambdas.core.survey.whereabouts import SourcePath
from lambdas.core.transfer.accepted import AcceptedTransfer


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

    def acquire(self, instance_id: str, path: str, transfer_id: str, ways: tuple[Way, ...] = ()) -> Holding | Busy:
        """Take the lock and a port, or learn what is in the way. Taking it again is fine, with `ways` or without."""

    def release(self, instance_id: str, transfer_id: str) -> None:
        """Give it back; nothing happens where it is not held."""


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


class AgentRecords(Protocol):
    """Membership and fence, which the ends follow, and what they write; `shared` is that of AcceptedTransfer."""

    def membership(self, shared: str) -> Membership | None:
        """Consistent read."""

    def write_membership(self, shared: str, membership: Membership) -> bool:
        """Write version n over n-1 (version 1 over none or itself); False when another was faster."""

    def progress(self, shared: str, seat_id: str) -> Progress | None:
        """The latest report of one seat; None also where what it wrote is none: such a seat is silent."""

    def route_key(self, shared: str, seat_id: str) -> str | None:
        """The public key by which a sender signs routes, once it has published one that can be read."""

    def probe_results(self, shared: str) -> list[ProbeResult]:
        """Return all pre-test results so far that can be read."""

    def outcome(self, shared: str, seat_id: str) -> TransferDelivered | TransferFailed | None:
        """Return how one seat ended; None where it has not, or where its record is no outcome of that seat."""

    def answer(self, shared: str, answer_id: str) -> Answer | None:
        """How a command ended that an end has run; None before that, or where its record is no answer."""

    def lost_relays(self, shared: str) -> list[RelayLost]:
        """Return what the sender says of relays at which its lanes broke."""

    def fence(self, shared: str, *, fenced: bool) -> None:
        """Return whether both ends are to stop, whichever start they are of."""

    def forget(self, shared: str) -> None:
        """Remove all of these: they are of an earlier execution."""


class ChunkStore(Protocol):
    """The chunk table; `shared` is that of AcceptedTransfer."""

    def put_all(self, chunks: Iterable[Chunk]) -> None:
        """Write items in batches, no faster than the table bears; raises Throttled when it bears nothing."""

    def get(self, shared: str, chunk: int) -> Chunk | None:
        """Consistent read of one item."""

    def read(self, shared: str, plan: TransferPlan) -> Iterator[Chunk]:
        """Return all items of a plan, range by range."""

    def change(self, shared: str, chunk: int, change: Change) -> bool:
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


class Compute(Protocol):
    """EC2 instances of one region."""

    def describe(self, instance_ids: Iterable[str]) -> list[Instance]:
        """Return the instances that exist; unknown ids are left out."""

    def of_transfer(self, transfer_id: str) -> list[Instance]:
        """Return all instances with the transfer's tag that are not gone."""

    def of_deployment(self) -> list[Instance]:
        """The relays of all its transfers that are not gone."""

    def running(self) -> list[Instance]:
        """Return all instances of the account that are pending or running, whoever launched them."""

    def launch(self, request: LaunchRequest) -> list[Instance]:
        """1 to `count` instances; raises LaunchError."""

    def terminate(self, instance_ids: Iterable[str]) -> None:
        """Unknown ids are fine."""


class Subnets(Protocol):
    """Subnets of one region."""

    def of_vpc(self, vpc_id: str) -> list[Subnet]:
        """Return the subnets of the VPC that this deployment may launch relays into."""


class SecurityGroups(Protocol):
    """Security-group rules of one region."""

    def find(self, name: str, vpc_id: str) -> str | None:
        """The group's id."""

    def vpc_of(self, name: str) -> str | None:
        """The VPC that has a group of this name: the one that is enrolled here."""

    def admit(self, group_id: str, address: str, port: int, transfer_id: str) -> None:
        """Let `address`/32 in on the daemons' port, tagged with the transfer; a rule that exists is fine."""

    def rules(self) -> list[Rule]:
        """Return all rules that transfers have asked for."""

    def revoke(self, rules: Iterable[Rule]) -> None:
        """Remove rules; absent ones are fine."""


class Commands(Protocol):
    """SSM of one region."""

    def online(self, instance_ids: Iterable[str]) -> set[str]:
        """Return the instances whose agent answers."""

    def send(
        self,
        document: DocumentName,
        instance_ids: Sequence[str],
        transfer_id: str,
        command: Command | None,
        share: Share = USUAL,
        seconds: float = LEAST_DELIVERY_SECONDS,
        answer: str | None = None,
    ) -> str:
        """Start a document on up to 50 machines, each of which gives its daemon a `share`; the command's id.

        An agent that has no worker free for `seconds` (30 to 600 count) does not start it any more. `answer`: the place
        of the record that the documents scan, delete and probe write when what they have started has ended.

        Raises NotManagedError where SSM does not know one of the machines, and OlderDocumentError where the document
        knows of no answers: then it is started nowhere.
        """

    def ended(self, command_id: str) -> dict[str, CommandResult]:
        """Return results by machine where a command has ended, without output. Fewer where SSM is too busy to say."""

    def result(self, command_id: str, instance_id: str) -> CommandResult | None:
        """None while it runs, or where SSM is too busy to say."""

    def started(self, command_id: str, instance_id: str) -> bool:
        """Return whether the agent has begun with it, as far as SSM says."""

    def cancel(self, command_id: str, instance_id: str) -> None:
        """Keep a command that waits from being started; one that runs may go on, and one that has ended is fine."""


class Objects(Protocol):
    """The control bucket."""

    def put(self, key: str, body: bytes) -> None:
        """Write an object."""

    def read(self, key: str) -> bytes | None:
        """A small object; None where it is absent."""

    def lines(self, key: str) -> Iterator[bytes]:
        """Lines of an object, streamed."""

    def keys(self, prefix: str) -> list[str]:
        """Keys under a prefix, in order."""

    def delete(self, keys: Iterable[str]) -> int:
        """Remove objects; absent ones are fine. How many are gone; raises Throttled where S3 left some for later."""


class Events(Protocol):
    """The event bus."""

    def put(self, kind: str, detail: dict[str, Any]) -> None:
        """Put one event of our own; raises Throttled when the bus refuses it."""


class Metrics(Protocol):
    """Counts of all transfers together, as CloudWatch metrics."""

    def put(self, measured: Mapping[MetricName, float]) -> None:
        """Add to the sums, each in its unit (`metrics.UNITS`)."""


class Notifications(Protocol):
    """The topic that people subscribe to, by e-mail for instance."""

    def send(self, subject: str, text: str) -> None:
        """To all subscribers; `subject` is ASCII of fewer than 100 characters."""


class Executions(Protocol):
    """Step Functions."""

    def start(self, name: str, request: Any) -> str:
        """Start one with `request` as its input, unless one of that `name` has been started; its ARN."""

    def succeed(self, token: str, output: dict[str, Any]) -> bool:
        """Release a task; False when the token is no longer valid."""

    def fail(self, token: str, error: str, cause: str) -> bool:
        """Fail a task; False when the token is no longer valid."""

    def heartbeat(self, token: str) -> bool:
        """Keep a task alive; False when the token is no longer valid."""

    def stop(self, execution_arn: str, error: str, cause: str) -> None:
        """End it, whatever it does; one that has ended is fine."""

    def status(self, execution_arn: str) -> str | None:
        """RUNNING, SUCCEEDED, FAILED, …; None when it is unknown."""

    def why(self, execution_arn: str) -> tuple[str, str]:
        """Error and cause with which it ended; empty where it has none, or Step Functions does not know it."""


class Clock(Protocol):
    """Time, so that tests need none."""

    def now(self) -> float:
        """Unix time, seconds: for what is written down."""

    def monotonic(self) -> float:
        """Seconds that never jump: for waiting."""

    def sleep(self, seconds: float) -> None:
        """Wait."""
