"""Everything outside that a handler may use, in one place: real on AWS, in memory in tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from lambdas.adapters import clients, market, pool_stores, ports, stores
from lambdas.adapters.archive import archive_by_session
from lambdas.adapters.archive_ports import Archive
from lambdas.adapters.bucket_leftovers import leftovers_by_session
from lambdas.adapters.bucket_sessions import buckets_by_session
from lambdas.adapters.clock import SystemClock
from lambdas.adapters.copy_ports import Buckets
from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_added_starts import DynamoAddedStarts
from lambdas.adapters.dynamodb_agents import DynamoAgentRecords
from lambdas.adapters.dynamodb_arrivals import DynamoArrivals
from lambdas.adapters.dynamodb_chunks import DynamoChunkStore
from lambdas.adapters.dynamodb_common_limits import DynamoCommonLimits
from lambdas.adapters.dynamodb_nodes import DynamoNodeStore
from lambdas.adapters.dynamodb_pool import DynamoPoolStore
from lambdas.adapters.dynamodb_pool_accounts import DynamoPoolAccounts
from lambdas.adapters.dynamodb_profiles import DynamoProfileStore
from lambdas.adapters.dynamodb_tenant_ledgers import DynamoTenantLedgers
from lambdas.adapters.dynamodb_tokens import DynamoTokenStore
from lambdas.adapters.dynamodb_transfers import DynamoMirrors, DynamoPathLocks, DynamoTransferStore
from lambdas.adapters.dynamodb_turns import DynamoLaunchTurns
from lambdas.adapters.dynamodb_watched import DynamoWatchedTransfers
from lambdas.adapters.dynamodb_waves import DynamoWaves
from lambdas.adapters.environment import Environment, environment
from lambdas.adapters.events import EventBus
from lambdas.adapters.leftover_ports import Leftovers
from lambdas.adapters.metrics import EmfMetrics
from lambdas.adapters.price_cache import S3PriceCache
from lambdas.adapters.pricing import AwsPriceList, NoPriceList
from lambdas.adapters.s3 import S3Objects
from lambdas.adapters.scheduler import WindowSchedules
from lambdas.adapters.services import Services, services
from lambdas.adapters.sns import SnsNotifications
from lambdas.adapters.stepfunctions import StepFunctions
from lambdas.adapters.sts import RoleSessions
from lambdas.core.ends.retrieval import Tier
from lambdas.core.places.place import Place
from lambdas.core.request.request import TransferRequest
from lambdas.core.seats.commands import Control, shared_prefix, transfer_prefix
from lambdas.core.seats.credentials import BucketPlace, SeatCredentials
from lambdas.core.tariff.price_list import has_price_list
from lambdas.core.transfer.accepted import AcceptedTransfer


@dataclass(frozen=True)
class World:
    """Adapters; `at` has those of a place."""

    env: Environment
    transfers: stores.TransferStore
    watched: stores.WatchedTransfers
    waves: stores.WavesStore
    locks: stores.PathLocks
    mirrors: stores.Mirrors
    turns: stores.LaunchTurns
    common_limits: stores.CommonLimitStore
    tenant_ledgers: stores.TenantLedgers
    agents: stores.AgentRecords
    chunks: stores.ChunkStore
    nodes: stores.NodeStore
    pool: pool_stores.PoolStore
    pool_accounts: pool_stores.PoolAccounts
    profiles: stores.ProfileStore
    tokens: stores.TokenStore
    at: Callable[[Place], Services]
    objects: ports.Objects
    events: ports.Events
    notifications: ports.Notifications
    metrics: ports.Metrics
    executions: ports.Executions
    sessions: ports.Sessions
    arrivals: stores.Arrivals
    added_starts: stores.AddedStartsStore
    schedules: ports.Schedules
    buckets: Callable[[BucketPlace, BucketPlace, Mapping[str, Any], Callable[[], SeatCredentials]], Buckets]
    leftovers: Callable[[BucketPlace, Callable[[], SeatCredentials]], Leftovers]
    archive: Callable[[BucketPlace, Tier, Callable[[], SeatCredentials]], Archive]
    clock: ports.Clock
    price_list: market.PriceList
    price_cache: market.PriceCache

    def control(self, transfer: AcceptedTransfer) -> Control:
        """Return where the ends of a transfer find the control plane."""
        return Control(
            region=self.env.home_region,
            bucket=self.env.control_bucket,
            prefix=shared_prefix(transfer),
            partition=transfer.partition,
            transfers_table=self.env.transfers_table,
            chunks_table=self.env.chunks_table,
            bus=self.env.event_bus,
        )

    def pre_test_seconds(self, request: TransferRequest) -> float:
        """Return how long each hop is measured: what the request says, or the deployment."""
        return float(request.pre_test_seconds or self.env.pre_test_seconds)

    def most_pairs(self, transfer: AcceptedTransfer) -> int:
        """Return how many pairs a transfer may have at most: what the deployment allows, and its tenant's terms."""
        most = transfer.most_pairs
        return self.env.max_pairs if most is None else min(most, self.env.max_pairs)

    def key(self, transfer_id: str, name: str) -> str:
        """S3 key of an object that the control plane alone reads and writes."""
        return f"{transfer_prefix(transfer_id)}{name}"

    def shared_key(self, transfer: AcceptedTransfer, name: str) -> str:
        """S3 key of an object that the ends of a transfer read or write too."""
        return f"{shared_prefix(transfer)}{name}"


@cache
def world(*, hurried: bool = False) -> World:
    """The world of this Lambda; AWS clients are made when first used. `hurried`: they give up after seconds."""
    env = environment()
    home = env.home_region
    clock = SystemClock()

    def table(name: str) -> Table:
        return Table(clients.dynamodb(home, hurried=hurried), name)

    @cache
    def at(region: str) -> Services:
        return services(region, env, hurried=hurried)

    return World(
        env=env,
        transfers=DynamoTransferStore(table(env.transfers_table)),
        watched=DynamoWatchedTransfers(table(env.transfers_table), table(env.nodes_table)),
        waves=DynamoWaves(table(env.transfers_table)),
        locks=DynamoPathLocks(table(env.transfers_table)),
        mirrors=DynamoMirrors(table(env.transfers_table)),
        turns=DynamoLaunchTurns(table(env.transfers_table)),
        common_limits=DynamoCommonLimits(table(env.transfers_table)),
        tenant_ledgers=DynamoTenantLedgers(table(env.transfers_table)),
        agents=DynamoAgentRecords(table(env.transfers_table)),
        chunks=DynamoChunkStore(table(env.chunks_table), clock),
        nodes=DynamoNodeStore(table(env.nodes_table)),
        pool=DynamoPoolStore(table(env.pool_table), env.state_machine),
        pool_accounts=DynamoPoolAccounts(table(env.pool_table)),
        profiles=DynamoProfileStore(table(env.profiles_table), clock),
        tokens=DynamoTokenStore(table(env.control_tokens_table)),
        at=lambda place: at(place.region),
        objects=S3Objects(clients.s3(home), env.control_bucket),
        events=EventBus(clients.events(home, hurried=hurried), env.event_bus),
        notifications=SnsNotifications(clients.sns(home), env.approval_topic),
        metrics=EmfMetrics(),
        executions=StepFunctions(clients.stepfunctions(home, hurried=hurried), env.state_machine),
        sessions=RoleSessions(clients.sts(home)),
        arrivals=DynamoArrivals(table(env.arrivals_table), clock),
        added_starts=DynamoAddedStarts(table(env.arrivals_table)),
        schedules=WindowSchedules(clients.scheduler(home, hurried=hurried), env.deployment, env.state_machine),
        buckets=buckets_by_session,
        leftovers=leftovers_by_session,
        archive=archive_by_session,
        clock=clock,
        price_list=AwsPriceList(clients.pricing(home)) if has_price_list(home) else NoPriceList(),
        price_cache=S3PriceCache(clients.s3(home), env.control_bucket),
    )
