"""A cloud in memory: two regions, and everything that the handlers ask of AWS."""

from dataclasses import replace
from typing import Any

from lambdas.adapters.world import World
from lambdas.runtime.env import DaemonAsset, Environment
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST
from tests.lambdas.clock import FakeClock
from tests.lambdas.machines import MemoryCommands, MemoryCompute
from tests.lambdas.memory.market import (
    MemoryInstanceTypes,
    MemoryPriceCache,
    MemoryPriceList,
    MemoryQuotas,
    MemorySpotMarket,
)
from tests.lambdas.memory.stores import (
    MemoryAgentRecords,
    MemoryChunkStore,
    MemoryNodeStore,
    MemoryPathLocks,
    MemoryProfileStore,
    MemoryTokenStore,
    MemoryTransferStore,
)
from tests.lambdas.services import (
    MACHINE,
    MemoryEvents,
    MemoryExecutions,
    MemoryGroups,
    MemoryMetrics,
    MemoryNotifications,
    MemoryObjects,
    MemorySubnets,
)


class Cloud:
    """Two regions with an end machine each."""

    def __init__(self, **settings: Any) -> None:
        self.clock = FakeClock()
        self.compute = {region: MemoryCompute(region, self.clock) for region in (WEST, IRELAND)}
        self.commands = {region: MemoryCommands(self.compute[region], self.clock) for region in (WEST, IRELAND)}
        self.groups = {region: MemoryGroups() for region in (WEST, IRELAND)}
        self.subnets = {region: MemorySubnets(region) for region in (WEST, IRELAND)}
        self.compute[WEST].add(SOURCE_ID, "10.10.0.1", "54.0.0.1")
        self.compute[IRELAND].add(DESTINATION_ID, "10.11.0.1", "54.1.0.1")
        self.transfers, self.locks, self.agents = MemoryTransferStore(), MemoryPathLocks(), MemoryAgentRecords()
        self.chunks, self.nodes, self.profiles = MemoryChunkStore(), MemoryNodeStore(), MemoryProfileStore()
        self.tokens, self.objects, self.events = MemoryTokenStore(), MemoryObjects(), MemoryEvents()
        self.executions, self.notifications, self.metrics = MemoryExecutions(), MemoryNotifications(), MemoryMetrics()
        self.price_list, self.price_cache = MemoryPriceList(), MemoryPriceCache()
        self.spot_market = {region: MemorySpotMarket() for region in (WEST, IRELAND)}
        self.instance_types = {region: MemoryInstanceTypes() for region in (WEST, IRELAND)}
        self.quotas = {region: MemoryQuotas() for region in (WEST, IRELAND)}
        self.world = World(
            env=replace(ENVIRONMENT, **settings),
            transfers=self.transfers,
            locks=self.locks,
            agents=self.agents,
            chunks=self.chunks,
            nodes=self.nodes,
            profiles=self.profiles,
            tokens=self.tokens,
            compute=lambda region: self.compute[region],
            commands=lambda region: self.commands[region],
            groups=lambda region: self.groups[region],
            subnets=lambda region: self.subnets[region],
            objects=self.objects,
            events=self.events,
            notifications=self.notifications,
            metrics=self.metrics,
            executions=self.executions,
            clock=self.clock,
            price_list=self.price_list,
            price_cache=self.price_cache,
            spot_market=lambda region: self.spot_market[region],
            instance_types=lambda region: self.instance_types[region],
            quotas=lambda region: self.quotas[region],
        )

    def alive(self) -> list[str]:
        """Ids of relays that are not terminated."""
        machines = [machine for compute in self.compute.values() for machine in compute.machines.values()]
        return [m.instance.instance_id for m in machines if m.transfer_id and not m.instance.gone]


ENVIRONMENT = Environment(
    deployment="cpt",
    home_region=WEST,
    regions=(WEST, IRELAND),
    instance_types=("t3.small", "t3.medium"),
    max_pairs=8,
    max_cost_usd=None,
    pre_test_seconds=2.0,
    relay_time_to_live_seconds=900,
    chunk_retention_seconds=32 * 86_400,
    inter_region_path="internet",
    transfers_table="cpt-transfers",
    chunks_table="cpt-chunks",
    nodes_table="cpt-nodes",
    profiles_table="cpt-profiles",
    control_tokens_table="cpt-control-tokens",
    idempotency_table="cpt-idempotency",
    control_bucket="cpt-control-000000000000-us-west-2",
    event_bus="cpt",
    approval_topic="arn:aws:sns:us-west-2:000000000000:cpt-approvals",
    state_machine=MACHINE,
    daemon_assets={region: {"x86_64": DaemonAsset(f"s3://assets-{region}/d", "0" * 64)} for region in (WEST, IRELAND)},
    subnet_ids={},
    poll_seconds=1.0,
)
