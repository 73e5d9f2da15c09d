"""The pool's table in memory."""

from collections.abc import Mapping, Sequence

from lambdas.core.fleet.relay_node import Node
from lambdas.core.pool import pool_life
from lambdas.core.pool.lease_share import LeaseShare
from lambdas.core.pool.pool_life import Change
from lambdas.core.pool.pool_node import Lease, LeaseLimit, PoolNode
from lambdas.core.pool.size import Need

Key = tuple[str, str, str]


class MemoryPoolStore:
    """PoolStore; what nodes say is put in by `says`, `listens` and `stops`."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], PoolNode] = {}
        self.leases: dict[Key, Lease] = {}
        self.kept: dict[str, float] = {}
        self._said: dict[str, float] = {}
        self._needs: dict[str, list[Need]] = {}
        self._looks: dict[str, float] = {}
        self._again: set[str] = set()
        self._shares: dict[str, dict[str, LeaseShare]] = {}

    def nodes(self, region: str) -> list[PoolNode]:
        """See PoolStore."""
        return [node for (owner, _), node in sorted(self._nodes.items()) if owner == region]

    def put(self, node: PoolNode) -> bool:
        """See PoolStore."""
        return self._nodes.setdefault((node.region, node.node_id), node) is node

    def change(self, node: PoolNode, change: Change) -> PoolNode | None:
        """See PoolStore."""
        key = (node.region, node.node_id)
        changed = pool_life.after(self._nodes[key], change) if key in self._nodes else None
        if changed is not None:
            self._nodes[key] = changed
        return changed

    def forget(self, node: PoolNode) -> None:
        """See PoolStore."""
        del self._nodes[node.region, node.node_id]
        self.leases = {key: lease for key, lease in self.leases.items() if key[0] != node.instance_id}

    def standing(self, node: PoolNode) -> tuple[list[Lease], float | None]:
        """See PoolStore."""
        mine = [lease for key, lease in sorted(self.leases.items()) if key[0] == node.instance_id]
        return mine, self._said.get(node.instance_id)

    def lease(self, relay: Node) -> Lease | None:
        """See PoolStore."""
        return self.leases.get(_of(relay))

    def give(self, node: PoolNode, change: Change, lease: Lease) -> bool:
        """See PoolStore."""
        key = _key(node, lease)
        if (key in self.leases and self.leases[key].holds_port) or self.change(node, change) is None:
            return False
        self.leases[key] = lease
        return True

    def take_back(self, node: PoolNode, change: Change | None, lease: Lease, now: float) -> bool:
        """See PoolStore."""
        known = self.leases.get(_key(node, lease))
        if known is None or not known.is_live or (change is not None and self.change(node, change) is None):
            return False
        self._write(_key(node, lease), ended_at=now)
        return True

    def command(self, relay: Node, command: str) -> bool:
        """See PoolStore."""
        known = self.leases.get(_of(relay))
        if known is None or not known.is_live:
            return False
        self._write(_of(relay), command=command)
        return True

    def limit(self, node: PoolNode, lease: Lease, limit: LeaseLimit, guarantee_mb_s: float) -> None:
        """See PoolStore."""
        self._write(_key(node, lease), limit=limit, guarantee_mb_s=guarantee_mb_s)

    def shares(self, region: str) -> dict[str, LeaseShare]:
        """See PoolStore."""
        return dict(self._shares.get(region, {}))

    def put_shares(self, region: str, shares: Mapping[str, LeaseShare]) -> None:
        """See PoolStore."""
        self._shares[region] = dict(shares)

    def renew(self, node: PoolNode, lease: Lease, until: float) -> None:
        """See PoolStore."""
        self._write(_key(node, lease), until=until)

    def forget_lease(self, node: PoolNode, lease: Lease) -> None:
        """See PoolStore."""
        del self.leases[_key(node, lease)]

    def keep_alive(self, node: PoolNode, until: float) -> None:
        """See PoolStore."""
        self.kept[node.instance_id] = until

    def begin_look(self, region: str, now: float, until: float) -> bool:
        """See PoolStore."""
        if self._looks.get(region, now) > now:
            self._again.add(region)
            return False
        self._looks[region] = until
        self._again.discard(region)
        return True

    def is_called_again(self, region: str, until: float) -> bool:
        """See PoolStore."""
        called = region in self._again and self._looks.get(region) == until
        self._again.discard(region)
        return called

    def end_look(self, region: str, until: float) -> None:
        """See PoolStore."""
        if self._looks.get(region) == until:
            del self._looks[region]

    def needs(self, region: str) -> list[Need]:
        """See PoolStore."""
        return self._needs.get(region, [])

    def put_needs(self, region: str, needs: Sequence[Need]) -> None:
        """See PoolStore."""
        self._needs[region] = list(needs)

    def says(self, instance_id: str, now: float) -> None:
        """The node says that it lives."""
        self._said[instance_id] = now

    def listens(self, relay: Node, now: float) -> None:
        """The node says that a lease's daemon listens."""
        self._write(_of(relay), listening_at=now)

    def applies(self, relay: Node, number: int, moved: int) -> None:
        """The node says which limit a lease's daemon applies, and how many bytes it has moved both ways."""
        self._write(_of(relay), applied=number, bytes=moved)

    def fails(self, relay: Node, why: str) -> None:
        """The node says that it does not."""
        self._write(_of(relay), failed=why)

    def stops(self, relay: Node, now: float) -> None:
        """The node says that nothing of a lease runs any more."""
        self._write(_of(relay), stopped_at=now)

    def _write(self, key: Key, **fields: object) -> None:
        self.leases[key] = self.leases[key].model_copy(update=fields)


def _key(node: PoolNode, lease: Lease) -> Key:
    return node.instance_id, lease.transfer_id, lease.relay_id


def _of(relay: Node) -> Key:
    return relay.instance_id, relay.transfer_id, relay.node_id
