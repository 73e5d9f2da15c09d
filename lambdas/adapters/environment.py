"""The Lambda's environment, read once and typed."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, cast, get_args

from lambdas.core.ends.allowed_buckets import AllowedBucket
from lambdas.core.pool.size import PoolSettings
from lambdas.core.pool.tenant import TenantTerms, parse_tenants

Ids = dict[str, list[str]]

SETTINGS = "SETTINGS"
"""The variable with the document of contracts/function-environment.schema.json."""

RegionPath = Literal["internet", "peering", "transit-gateway"]
"""How VPCs are joined: by public addresses, or by private ones over a peering or a transit gateway."""


class MissingVariableError(Exception):
    """A variable of the environment is absent or of the wrong form; the message names it."""


@dataclass(frozen=True)
class DaemonAsset:
    """The place of cpt-relay in a region for one processor."""

    uri: str
    sha256: str


@dataclass(frozen=True)
class Environment:
    """Names and settings of the deployment; seconds where times are meant."""

    deployment: str
    home_region: str
    regions: tuple[str, ...]
    instance_types: tuple[str, ...]
    max_pairs: int
    max_cost_usd: float | None
    """Dollars that one transfer may cost at most; None: what its own request says."""
    value_of_time_usd_per_hour: float
    """Dollars that an hour less is worth, where a request says nothing else."""
    pre_test_seconds: float
    relay_time_to_live_seconds: int
    chunk_retention_seconds: int
    inter_region_path: RegionPath
    transfers_table: str
    chunks_table: str
    nodes_table: str
    profiles_table: str
    control_tokens_table: str
    idempotency_table: str
    arrivals_table: str
    control_bucket: str
    event_bus: str
    approval_topic: str
    state_machine: str
    daemon_assets: Mapping[str, Mapping[str, DaemonAsset]]
    """Daemons by region, then by architecture: x86_64 always, arm64 where it was built."""
    subnet_ids: Mapping[str, tuple[str, ...]]
    """Subnets by region that were enrolled by id; an absent region has those that the deployment made."""
    poll_seconds: float
    buckets: tuple[AllowedBucket, ...]
    """Buckets and prefixes that transfers may touch."""
    read_file_systems: bool
    """EFS and FSx may be asked for the modes and limits of file systems."""
    require_consent: bool
    """Commands reach only ends that their owner has tagged for this deployment."""
    tenants: Mapping[str, TenantTerms]
    """Who shares the deployment, by name; empty where everybody is the operator."""
    pool_regions: Mapping[str, PoolSettings] = field(default_factory=dict)
    """What the pool keeps, by region."""

    @property
    def pool_table(self) -> str:
        """Table of the pool's nodes and leases; there is none without a region with a pool."""
        return f"{self.deployment}-pool"

    @classmethod
    def from_env(cls, variables: Mapping[str, str]) -> "Environment":
        """Read what `spread` returns; raises MissingVariableError."""
        read = _Reader(variables)
        path = read.text("INTER_REGION_PATH")
        if path not in get_args(RegionPath):
            raise MissingVariableError(f"INTER_REGION_PATH is '{path}'; give {', '.join(get_args(RegionPath))}")
        return cls(
            deployment=read.text("DEPLOYMENT_NAME"),
            home_region=read.text("HOME_REGION"),
            regions=tuple(cast(list[str], read.json("REGIONS"))),
            instance_types=tuple(cast(list[str], read.json("INSTANCE_TYPES"))),
            max_pairs=int(read.number("MAX_PAIRS")),
            max_cost_usd=None if read.text("MAX_COST_USD") == "none" else read.number("MAX_COST_USD"),
            value_of_time_usd_per_hour=read.number("VALUE_OF_TIME_USD_PER_HOUR"),
            pre_test_seconds=read.number("PRE_TEST_SECONDS"),
            relay_time_to_live_seconds=int(read.number("RELAY_TIME_TO_LIVE_SECONDS")),
            chunk_retention_seconds=int(read.number("CHUNK_RETENTION_SECONDS")),
            inter_region_path=cast(RegionPath, path),
            transfers_table=read.text("TRANSFERS_TABLE"),
            chunks_table=read.text("CHUNKS_TABLE"),
            nodes_table=read.text("NODES_TABLE"),
            profiles_table=read.text("PROFILES_TABLE"),
            control_tokens_table=read.text("CONTROL_TOKENS_TABLE"),
            idempotency_table=read.text("IDEMPOTENCY_TABLE"),
            arrivals_table=read.text("ARRIVALS_TABLE"),
            control_bucket=read.text("CONTROL_BUCKET"),
            event_bus=read.text("EVENT_BUS"),
            approval_topic=read.text("APPROVAL_TOPIC_ARN"),
            state_machine=read.text("STATE_MACHINE_ARN"),
            daemon_assets=_by_region(read.json("DAEMON_ASSETS")),
            subnet_ids={region: tuple(ids) for region, ids in cast(Ids, read.json("SUBNET_IDS")).items()},
            poll_seconds=read.number("POLL_SECONDS", "1"),
            buckets=AllowedBucket.parse_all(cast(list[str], read.json("BUCKETS"))),
            read_file_systems=read.text("READ_FILE_SYSTEMS", "false") == "true",
            require_consent=read.text("REQUIRE_CONSENT") == "true",
            pool_regions={one.region: one for one in map(PoolSettings.from_document, _list(read.json("POOL", "[]")))},
            tenants=parse_tenants(cast(list[str], read.json("TENANTS", "[]"))),
        )


def spread(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of a function, with those that all functions have alike, which stand in one.

    One that a function has itself comes before that of the same name in there.
    """
    shared = json.loads(variables.get(SETTINGS, "{}")).items()
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in shared} | dict(variables)


def _list(variable: object) -> list[object]:
    return cast(list[object], variable)


def _by_region(variable: object) -> dict[str, dict[str, DaemonAsset]]:
    assets = cast(dict[str, dict[str, Any]], variable)
    return {
        region: {
            architecture: DaemonAsset(f"s3://{bucket}/{file['key']}", file["sha256"])
            for architecture, file in assets["files"].items()
        }
        for region, bucket in assets["buckets"].items()
    }


class _Reader:
    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def text(self, name: str, default: str | None = None) -> str:
        value = self._variables.get(name) or default
        if value is None:
            raise MissingVariableError(f"environment variable {name} is missing; the control stack sets it")
        return value

    def json(self, name: str, default: str | None = None) -> object:
        value = self.text(name, default)
        try:
            return json.loads(value)
        except ValueError:
            raise MissingVariableError(f"environment variable {name} is '{value}'; give JSON") from None

    def number(self, name: str, default: str | None = None) -> float:
        value = self.text(name, default)
        try:
            return float(value)
        except ValueError:
            raise MissingVariableError(f"environment variable {name} is '{value}'; give a number") from None


@cache
def environment() -> Environment:
    """The process's environment."""
    return Environment.from_env(spread(os.environ))
