"""The protocols that handlers call AWS by, one per service, kept by the real adapter and by its in-memory twin."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from lambdas.adapters.records import (
    LEAST_DELIVERY_SECONDS,
    CommandResult,
    DocumentName,
    Instance,
    LaunchRequest,
)
from lambdas.core.ends.clusters import Cluster
from lambdas.core.fleet.firewall import Rule
from lambdas.core.fleet.launch_plan import Subnet
from lambdas.core.metrics import MetricName
from lambdas.core.seats.commands import USUAL, Command, Share
from lambdas.core.seats.credentials import SeatCredentials
from lambdas.core.watch.overview import Execution


class Sessions(Protocol):
    """STS."""

    def assume(self, role: str, name: str, policy: str, seconds: int) -> SeatCredentials:
        """A session of a role by its ARN, narrowed by a policy; raises MissingPermission where it cannot be had."""


class Compute(Protocol):
    """EC2 instances of one region."""

    def describe(self, instance_ids: Iterable[str]) -> list[Instance]:
        """Return the instances that exist; unknown ids are left out."""

    def of_transfer(self, transfer_id: str) -> list[Instance]:
        """Return all instances with the transfer's tag that are not gone."""

    def of_deployment(self) -> list[Instance]:
        """The relays of all its transfers that are not gone."""

    def of_pool(self) -> list[Instance]:
        """The nodes of its pool that are not gone."""

    def running(self) -> list[Instance]:
        """Return all instances of the account that are pending or running, whoever launched them."""

    def launch(self, request: LaunchRequest) -> list[Instance]:
        """1 to `count` instances; raises LaunchError."""

    def terminate(self, instance_ids: Iterable[str]) -> None:
        """Unknown ids are fine."""


class Clusters(Protocol):
    """EMR of one region."""

    def find(self, cluster_id: str) -> Cluster | None:
        """Return a cluster with its core and task instances that are RUNNING, while it serves; None if it has none."""


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

    def size(self, key: str) -> int | None:
        """Bytes of an object; None where it is absent."""

    def lines(self, key: str) -> Iterator[bytes]:
        """Lines of an object, streamed."""

    def keys(self, prefix: str) -> list[str]:
        """Keys under a prefix, in order."""

    def delete(self, keys: Iterable[str]) -> int:
        """Remove objects; absent ones are fine. How many are gone; raises Throttled where S3 left some for later."""


class Events(Protocol):
    """The event bus."""

    def tell_pool(self, transfer_id: str) -> None:
        """Put Pool Leased, where there is a pool: whoever leases may put no other event."""

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

    def ended(self, most: int, tenant: str | None = None) -> list[Execution]:
        """Those of the last `most` that have ended, the latest first; of a tenant those of his alias."""

    def start(self, name: str, request: Any, tenant: str | None = None) -> str:
        """Start one with `request` as its input, unless one of that `name` has been started; its ARN.

        Through the alias of a `tenant`, where there is one.
        """

    def succeed(self, token: str, output: dict[str, Any]) -> bool:
        """Release a task; False when the token is no longer valid."""

    def fail(self, token: str, error: str, cause: str) -> bool:
        """Fail a task; False when the token is no longer valid."""

    def heartbeat(self, token: str) -> bool:
        """Keep a task alive; False when the token is no longer valid."""

    def stop(self, execution_arn: str, error: str, cause: str) -> None:
        """End it, whatever it does; one that has ended is fine."""

    def alias(self, execution_arn: str) -> str | None:
        """ARN of the alias that it was started through; None where through none. Raises Throttled where unknown."""

    def status(self, execution_arn: str) -> str | None:
        """RUNNING, SUCCEEDED, FAILED, …; None when it is unknown."""

    def why(self, execution_arn: str) -> tuple[str, str]:
        """Error and cause with which it ended; empty where it has none, or Step Functions does not know it."""


class Schedules(Protocol):
    """Schedules that run once and are gone then."""

    def once(self, name: str, at: float, detail: dict[str, Any]) -> None:
        """Have `cpt-close-window` invoked with `detail` within the minute after `at`; one of that name is fine."""


class Clock(Protocol):
    """Time, so that tests need none."""

    def now(self) -> float:
        """Unix time, seconds: for what is written down."""

    def monotonic(self) -> float:
        """Seconds that never jump: for waiting."""

    def sleep(self, seconds: float) -> None:
        """Wait."""
