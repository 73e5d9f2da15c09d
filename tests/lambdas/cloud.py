"""A cloud in memory: two regions, and everything that the handlers ask of AWS."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lambdas.adapters.environment import Environment, spread
from lambdas.adapters.services import Services
from lambdas.adapters.world import World
from tests.lambdas.builders import DESTINATION_ADDRESSES, DESTINATION_ID, IRELAND, SOURCE_ADDRESSES, SOURCE_ID, WEST
from tests.lambdas.clock import FakeClock
from tests.lambdas.machines import MemoryCommands, MemoryCompute
from tests.lambdas.memory.agents import MemoryAgentRecords
from tests.lambdas.memory.archive import MemoryArchive
from tests.lambdas.memory.arrivals import MemoryAddedStarts, MemoryArrivals, MemorySchedules
from tests.lambdas.memory.buckets import MemoryBuckets
from tests.lambdas.memory.leftovers import MemoryLeftovers
from tests.lambdas.memory.market import (
    MemoryClusters,
    MemoryFileSystems,
    MemoryInstanceTypes,
    MemoryPriceCache,
    MemoryPriceList,
    MemoryQuotas,
    MemorySpotMarket,
)
from tests.lambdas.memory.pool import MemoryPoolStore
from tests.lambdas.memory.pool_accounts import MemoryPoolAccounts
from tests.lambdas.memory.stores import (
    MemoryChunkStore,
    MemoryCommonLimits,
    MemoryLaunchTurns,
    MemoryMirrors,
    MemoryNodeStore,
    MemoryPathLocks,
    MemoryProfileStore,
    MemoryTenantLedgers,
    MemoryTokenStore,
    MemoryTransferStore,
    MemoryWaves,
)
from tests.lambdas.services import (
    MemoryEvents,
    MemoryExecutions,
    MemoryGroups,
    MemoryMetrics,
    MemoryNotifications,
    MemoryObjects,
    MemorySessions,
    MemorySubnets,
    MemoryWatchedTransfers,
)


class Cloud:
    """Two regions with an end machine each, and those of `third`, which have none."""

    def __init__(self, third: Sequence[str] = (), clock: FakeClock | None = None, **settings: Any) -> None:
        self.clock = clock or FakeClock()
        regions = (WEST, IRELAND, *third)
        daemons = dict.fromkeys(regions, ENVIRONMENT.daemon_assets[WEST])
        settings = {"regions": regions, "daemon_assets": daemons, **settings} if third else settings
        self.compute = {region: MemoryCompute(region, self.clock) for region in regions}
        self.commands = {region: MemoryCommands(self.compute[region], self.clock) for region in regions}
        self.groups = {region: MemoryGroups() for region in regions}
        self.subnets = {region: MemorySubnets(region) for region in regions}
        self.compute[WEST].add(SOURCE_ID, *SOURCE_ADDRESSES)
        self.compute[IRELAND].add(DESTINATION_ID, *DESTINATION_ADDRESSES)
        self.transfers, self.locks, self.agents = MemoryTransferStore(), MemoryPathLocks(), MemoryAgentRecords()
        self.agents.answers = [commands.answers for commands in self.commands.values()]
        self.mirrors = MemoryMirrors()
        self.turns, self.common_limits = MemoryLaunchTurns(), MemoryCommonLimits()
        self.tenant_ledgers = MemoryTenantLedgers()
        self.watched = MemoryWatchedTransfers()
        self.waves = MemoryWaves()
        self.chunks, self.nodes, self.profiles = MemoryChunkStore(), MemoryNodeStore(), MemoryProfileStore()
        self.pool, self.pool_accounts = MemoryPoolStore(), MemoryPoolAccounts()
        self.tokens, self.objects, self.events = MemoryTokenStore(), MemoryObjects(), MemoryEvents()
        self.executions, self.notifications, self.metrics = MemoryExecutions(), MemoryNotifications(), MemoryMetrics()
        self.sessions = MemorySessions(self.clock)
        self.arrivals, self.schedules = MemoryArrivals(), MemorySchedules()
        self.added_starts = MemoryAddedStarts()
        self.price_list, self.price_cache = MemoryPriceList(), MemoryPriceCache()
        self.buckets = MemoryBuckets(self.clock.now)
        self.leftovers = MemoryLeftovers(self.buckets)
        self.archive = MemoryArchive(self.buckets)
        self.spot_market = {region: MemorySpotMarket() for region in regions}
        self.instance_types = {region: MemoryInstanceTypes() for region in regions}
        self.quotas = {region: MemoryQuotas() for region in regions}
        self.file_systems = {region: MemoryFileSystems() for region in regions}
        self.clusters = {region: MemoryClusters() for region in regions}
        self.world = World(
            env=replace(ENVIRONMENT, **settings),
            transfers=self.transfers,
            watched=self.watched,
            waves=self.waves,
            locks=self.locks,
            mirrors=self.mirrors,
            turns=self.turns,
            common_limits=self.common_limits,
            tenant_ledgers=self.tenant_ledgers,
            agents=self.agents,
            chunks=self.chunks,
            nodes=self.nodes,
            pool=self.pool,
            pool_accounts=self.pool_accounts,
            profiles=self.profiles,
            tokens=self.tokens,
            at=lambda place: self._services(place.region),
            objects=self.objects,
            events=self.events,
            notifications=self.notifications,
            metrics=self.metrics,
            executions=self.executions,
            sessions=self.sessions,
            arrivals=self.arrivals,
            added_starts=self.added_starts,
            schedules=self.schedules,
            buckets=lambda _source, _destination, _written, _session: self.buckets.opened(),
            leftovers=self.leftovers.opened,
            archive=self.archive.opened,
            clock=self.clock,
            price_list=self.price_list,
            price_cache=self.price_cache,
        )

    def _services(self, region: str) -> Services:
        return Services(
            compute=self.compute[region],
            commands=self.commands[region],
            brief_commands=self.commands[region],
            groups=self.groups[region],
            subnets=self.subnets[region],
            spot_market=self.spot_market[region],
            instance_types=self.instance_types[region],
            quotas=self.quotas[region],
            file_systems=self.file_systems[region],
            clusters=self.clusters[region],
        )

    def alive(self) -> list[str]:
        """Ids of relays that are not terminated."""
        machines = [machine for compute in list(self.compute.values()) for machine in list(compute.machines.values())]
        return [m.instance.instance_id for m in machines if m.transfer_id and not m.instance.gone]


ENVIRONMENT = Environment.from_env(
    spread({"SETTINGS": Path("contracts/examples/good/function-environment/two-regions.json").read_text()})
)
