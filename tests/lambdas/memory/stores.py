"""In-memory twins of the stores: the same answers as DynamoDB's, under the same test suite."""

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from lambdas.adapters.records import ControlToken
from lambdas.core.chunks import chunk_life
from lambdas.core.chunks.chunk import Chunk, Finish
from lambdas.core.chunks.chunk_life import Change
from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.estimate.history import Event
from lambdas.core.estimate.profile import Metric, Profile
from lambdas.core.fleet import node_life
from lambdas.core.fleet.common_limit import CommonLimits
from lambdas.core.fleet.launch_queue import next_turn
from lambdas.core.fleet.relay_node import Node
from lambdas.core.intake import destination_lock
from lambdas.core.intake.destination_lock import Busy, Holding, Way
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import TransferRecord
from lambdas.core.spending.tenant_ledger import TenantLedger
from lambdas.core.survey.whereabouts import SourcePath
from lambdas.core.transfer.accepted import RECEIVER_PORTS, AcceptedTransfer
from lambdas.core.transfer.record_format import machines_of
from lambdas.core.waves.waves import Waves
from tests.lambdas.memory.conditions import after, holds


class MemoryTransferStore:
    """TransferStore; keeps items, as the table does."""

    def __init__(self) -> None:
        self._items: dict[str, dict[str, Any]] = {}

    def create(self, transfer: AcceptedTransfer) -> bool:
        """See TransferStore."""
        if self._begin(transfer_life.create(transfer)):
            return True
        known = self.get(transfer.transfer_id)
        return known is not None and known.is_of(transfer) and known.status == "ACTIVE"

    def resume(self, transfer: AcceptedTransfer) -> bool:
        """See TransferStore."""
        known = self._items.get(transfer.transfer_id)
        return known is not None and self._begin(transfer_life.resume(transfer, known))

    def get(self, transfer_id: str) -> TransferRecord | None:
        """See TransferStore."""
        item = self._items.get(transfer_id)
        return TransferRecord.parse(deepcopy(item)) if item else None

    def active_ids(self) -> list[str]:
        """See TransferStore."""
        return [transfer_id for transfer_id, item in list(self._items.items()) if "active" in item]

    def ids_with_end(self, instance_id: str) -> list[str]:
        """See TransferStore."""
        active = {transfer_id: self._items[transfer_id] for transfer_id in self.active_ids()}
        return [id_ for id_, item in active.items() if any(instance_id == one for _, one in machines_of(item))]

    def active(self) -> list[TransferRecord]:
        """See TransferStore."""
        records = [TransferRecord.parse(deepcopy(item)) for item in list(self._items.values())]
        return [record for record in records if not record.closed]

    def change(self, transfer: AcceptedTransfer, change: transfer_life.Change) -> TransferRecord | None:
        """See TransferStore."""
        changed = after(self._items.get(transfer.transfer_id), transfer, change)
        if changed is not None:
            self._items[transfer.transfer_id] = changed
        return None if changed is None else self.get(transfer.transfer_id)

    def _begin(self, beginning: transfer_life.Beginning) -> bool:
        transfer_id = beginning.item["transferId"]
        may_begin = holds(beginning.condition, self._items.get(transfer_id))
        if may_begin:
            self._items[transfer_id] = beginning.item
        return may_begin


class MemoryPathLocks:
    """PathLocks."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, Holding]] = {}

    def acquire(
        self,
        instance_id: str,
        path: str,
        transfer_id: str,
        ways: tuple[Way, ...] = (),
        ports: Sequence[int] = RECEIVER_PORTS,
    ) -> Holding | Busy:
        """See PathLocks."""
        held = self._held.setdefault(instance_id, {})
        found = destination_lock.take(held, path, transfer_id, ways, ports)
        if isinstance(found, Holding):
            held[transfer_id] = found
        return found

    def acquire_shared(self, transfer_id: str, ways: tuple[Way, ...]) -> Holding | Busy:
        """See PathLocks."""
        held = self._held.setdefault("shared", {})
        found = destination_lock.take_shared(held, transfer_id, ways)
        if isinstance(found, Holding):
            held[transfer_id] = found
        return found

    def release(self, instance_id: str, transfer_id: str) -> None:
        """See PathLocks."""
        self._held.get(instance_id, {}).pop(transfer_id, None)

    def release_shared(self, transfer_id: str) -> None:
        """See PathLocks."""
        self.release("shared", transfer_id)


class MemoryMirrors:
    """Mirrors."""

    def __init__(self) -> None:
        self._paths: dict[str, list[SourcePath]] = {}

    def source_paths(self, key: str) -> list[SourcePath]:
        """See Mirrors."""
        return self._paths.get(key, [])

    def note(self, key: str, paths: Sequence[SourcePath]) -> None:
        """See Mirrors."""
        self._paths[key] = list(paths)


class MemoryWaves:
    """WavesStore."""

    def __init__(self) -> None:
        self._waves: dict[str, Waves] = {}

    def of(self, label: str) -> Waves | None:
        """See WavesStore."""
        return self._waves.get(label)

    def latest(self, most: int) -> list[Waves]:
        """See WavesStore."""
        return sorted(self._waves.values(), key=lambda waves: waves.updated_at, reverse=True)[:most]

    def write(self, waves: Waves) -> bool:
        """See WavesStore."""
        known = self._waves.get(waves.label)
        if (known.version if known else 0) != waves.version - 1:
            return False
        self._waves[waves.label] = waves
        return True


class MemoryLaunchTurns:
    """LaunchTurns."""

    def __init__(self) -> None:
        self._following: dict[str, float] = {}

    def take(self, region: str, now: float) -> float:
        """See LaunchTurns."""
        turn, self._following[region] = next_turn(self._following.get(region), now)
        return turn


class MemoryCommonLimits:
    """CommonLimitStore."""

    def __init__(self) -> None:
        self._limits = CommonLimits()

    def get(self) -> CommonLimits:
        """See CommonLimitStore."""
        return self._limits

    def put(self, limits: CommonLimits) -> bool:
        """See CommonLimitStore."""
        held = limits.version == self._limits.version + 1
        if held:
            self._limits = limits
        return held


class MemoryTenantLedgers:
    """TenantLedgers."""

    def __init__(self) -> None:
        self._ledgers: dict[str, TenantLedger] = {}

    def get(self, tenant: str) -> TenantLedger:
        """See TenantLedgers."""
        return self._ledgers.get(tenant, TenantLedger())

    def put(self, tenant: str, ledger: TenantLedger) -> bool:
        """See TenantLedgers."""
        held = ledger.version == self.get(tenant).version + 1
        if held:
            self._ledgers[tenant] = ledger
        return held


class MemoryChunkStore:
    """ChunkStore."""

    def __init__(self) -> None:
        self._chunks: dict[tuple[str, int], Chunk] = {}
        self.finishes: dict[str, Finish] = {}

    def finish(self, partition: str) -> Finish | None:
        """See ChunkStore."""
        return self.finishes.get(partition)

    def forget_finish(self, partition: str) -> None:
        """See ChunkStore."""
        self.finishes.pop(partition, None)

    def put_all(self, chunks: Iterable[Chunk]) -> None:
        """See ChunkStore."""
        for chunk in chunks:
            self._chunks[chunk.range_key.split("#")[0], chunk.chunk] = chunk

    def get(self, shared: str, chunk: int) -> Chunk | None:
        """See ChunkStore."""
        return self._chunks.get((shared, chunk))

    def read(self, shared: str, plan: TransferPlan) -> Iterator[Chunk]:
        """See ChunkStore."""
        first = plan.first_range * plan.range_size
        numbers = range(first, first + plan.chunks)
        yield from (found for number in numbers if (found := self._chunks.get((shared, number))))

    def change(self, shared: str, chunk: int, change: Change) -> bool:
        """See ChunkStore."""
        known = self._chunks.get((shared, chunk))
        changed = chunk_life.after(known, change) if known else None
        if changed is not None:
            self._chunks[shared, chunk] = changed
        return changed is not None


class MemoryNodeStore:
    """NodeStore. What is gone through is a copy: functions run beside each other."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], Node] = {}

    def put(self, node: Node) -> bool:
        """See NodeStore."""
        return self._nodes.setdefault((node.transfer_id, node.node_id), node) is node

    def of(self, transfer_id: str) -> list[Node]:
        """See NodeStore."""
        return [node for (owner, _), node in sorted(self._nodes.items()) if owner == transfer_id]

    def forget(self, transfer_id: str) -> None:
        """See NodeStore."""
        self._nodes = {key: node for key, node in list(self._nodes.items()) if key[0] != transfer_id}

    def by_instance(self, instance_id: str) -> list[Node]:
        """See NodeStore."""
        return [node for node in list(self._nodes.values()) if node.instance_id == instance_id]

    def change(self, node: Node, change: node_life.Change) -> Node | None:
        """See NodeStore."""
        key = (node.transfer_id, node.node_id)
        changed = node_life.after(self._nodes[key], change) if key in self._nodes else None
        if changed is not None:
            self._nodes[key] = changed
        return changed


class MemoryProfileStore:
    """ProfileStore."""

    def __init__(self) -> None:
        self.profiles: dict[tuple[str, str], Profile] = {}

    def get(self, subject: str, region_pair: str) -> Profile | None:
        """See ProfileStore."""
        return self.profiles.get((subject, region_pair))

    def get_all(self, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Profile]:
        """See ProfileStore."""
        return {key: self.profiles[key] for key in keys if key in self.profiles}

    def integrate(
        self,
        subject: str,
        region_pair: str,
        metric: Metric,
        sample: float | Event,
        at_seconds: float,
        lasted_seconds: float = 0.0,
    ) -> None:
        """See ProfileStore."""
        known = self.profiles.get((subject, region_pair), Profile())
        self.profiles[subject, region_pair] = known.refined(metric, sample, at_seconds, lasted_seconds)


class MemoryTokenStore:
    """TokenStore."""

    def __init__(self) -> None:
        self._tokens: dict[str, ControlToken] = {}
        self._approvals: dict[str, str] = {}

    def get(self, transfer_id: str) -> ControlToken | None:
        """See TokenStore."""
        return self._tokens.get(transfer_id)

    def put(self, transfer_id: str, token: str, epoch: int) -> bool:
        """See TokenStore."""
        known = self._tokens.get(transfer_id)
        if known is not None and known.token == token:
            return False
        self._tokens[transfer_id] = ControlToken(token, epoch)
        return True

    def approval(self, transfer_id: str) -> str | None:
        """See TokenStore."""
        return self._approvals.get(transfer_id)

    def put_approval(self, transfer_id: str, token: str) -> None:
        """See TokenStore."""
        self._approvals[transfer_id] = token

    def delete(self, transfer_id: str) -> None:
        """See TokenStore."""
        self._tokens.pop(transfer_id, None)
        self._approvals.pop(transfer_id, None)
