"""The pool's table.

What is written for a node lies under its ARN, so that its role reaches that and nothing else; nodes themselves lie
under their region, where no node reads.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from lambdas.adapters.dynamodb import Table
from lambdas.core.fleet.relay_node import Node
from lambdas.core.pool.lease_share import LeaseShare, node_of_key
from lambdas.core.pool.pool_life import Change
from lambdas.core.pool.pool_node import Lease, LeaseLimit, PoolNode
from lambdas.core.pool.size import Need
from lambdas.core.transfer.partition import machine_arn

_KEYS = frozenset({"machine", "record"})
_LEASE, _NODE, _LOOK, _SHARES = "lease#", "node#", "look", "shares#"
# What a node writes, and nobody else: whoever has its machine may write anything there.
_SAID = frozenset({"listeningAt", "failed", "stoppedAt", "applied", "bytes"})
# An earlier run of the transfer may have had a lease of the same name.
_NOTHING_RUNS = "attribute_not_exists(machine) OR attribute_exists(stoppedAt)"
_ITS_LEASE = "attribute_exists(#record) AND attribute_not_exists(endedAt)"


class DynamoPoolStore:
    """PoolStore over DynamoDB; `beside`: an ARN in the account of the nodes."""

    def __init__(self, table: Table, beside: str) -> None:
        self._table = table
        self._beside = beside

    def nodes(self, region: str) -> list[PoolNode]:
        """See PoolStore."""
        found = self._table.query(
            "machine = :region AND begins_with(#record, :node)",
            names={"#record": "record"},
            region=_pool(region),
            node=_NODE,
        )
        return [PoolNode.from_document(_without_keys(item)) for item in found]

    def put(self, node: PoolNode) -> bool:
        """See PoolStore."""
        return self._table.put({**_node_key(node), **node.to_document()}, "attribute_not_exists(machine)")

    def change(self, node: PoolNode, change: Change) -> PoolNode | None:
        """See PoolStore."""
        expression, condition, names, values = _changing(node, change)
        item = self._table.update(_node_key(node), expression, condition, names, **values)
        return PoolNode.from_document(_without_keys(item)) if item else None

    def forget(self, node: PoolNode) -> None:
        """See PoolStore."""
        for item in self._table.query("machine = :machine", machine=self._machine(node)):
            self._table.delete(machine=item["machine"], record=item["record"])
        self._table.delete(**_node_key(node))

    def standing(self, node: PoolNode) -> tuple[list[Lease], float | None]:
        """See PoolStore."""
        items = list(self._table.query("machine = :machine", machine=self._machine(node)))
        leases = [lease for item in items if item["record"].startswith(_LEASE) and (lease := _lease(item))]
        said = next((item.get("saidAt") for item in items if item["record"] == "said"), None)
        return leases, float(said) if isinstance(said, int | float) else None

    def lease(self, relay: Node) -> Lease | None:
        """See PoolStore."""
        item = self._table.get(**self._relay_key(relay))
        return _lease(item) if item else None

    def give(self, node: PoolNode, change: Change, lease: Lease) -> bool:
        """See PoolStore."""
        expression, condition, names, values = _changing(node, change)
        return self._table.together(
            self._table.updating(_node_key(node), expression, condition, names, **values),
            self._table.putting({**self._lease_key(node, lease), **lease.to_document()}, _NOTHING_RUNS),
        )

    def take_back(self, node: PoolNode, change: Change | None, lease: Lease, now: float) -> bool:
        """See PoolStore."""
        key, expression, names = self._lease_key(node, lease), "SET endedAt = :now", {"#record": "record"}
        if change is None:
            return self._table.update(key, expression, _ITS_LEASE, names, now=now) is not None
        changed, condition, fields, values = _changing(node, change)
        return self._table.together(
            self._table.updating(_node_key(node), changed, condition, fields, **values),
            self._table.updating(key, expression, _ITS_LEASE, names, now=now),
        )

    def command(self, relay: Node, command: str) -> bool:
        """See PoolStore."""
        names = {"#record": "record", "#command": "command"}
        told = self._table.update(self._relay_key(relay), "SET #command = :command", _ITS_LEASE, names, command=command)
        return told is not None

    def renew(self, node: PoolNode, lease: Lease, until: float) -> None:
        """See PoolStore."""
        names = {"#record": "record", "#until": "until"}
        self._table.update(self._lease_key(node, lease), "SET #until = :until", _ITS_LEASE, names, until=until)

    def limit(self, node: PoolNode, lease: Lease, limit: LeaseLimit, guarantee_mb_s: float) -> None:
        """See PoolStore."""
        names = {"#record": "record", "#limit": "limit", "#guarantee": "guaranteeMBps"}
        expression = "SET #limit = :limit, #guarantee = :guarantee"
        values = {"limit": limit.to_document(), "guarantee": guarantee_mb_s}
        self._table.update(self._lease_key(node, lease), expression, _ITS_LEASE, names, **values)

    def shares(self, region: str) -> dict[str, LeaseShare]:
        """See PoolStore."""
        items = self._shares(region)
        return {key: LeaseShare.from_document(dict(one)) for item in items for key, one in item["leases"].items()}

    def put_shares(self, region: str, shares: Mapping[str, LeaseShare]) -> None:
        """See PoolStore."""
        by_node: dict[str, dict[str, object]] = {}
        for key, share in shares.items():
            by_node.setdefault(node_of_key(key), {})[key] = share.to_document()
        for item in self._shares(region):
            if item["record"].removeprefix(_SHARES) not in by_node:
                self._table.delete(machine=item["machine"], record=item["record"])
        # An item of each node: one of all would have room for a thousand leases.
        for node_id, leases in by_node.items():
            self._table.put({"machine": _pool(region), "record": f"{_SHARES}{node_id}", "leases": leases})

    def forget_lease(self, node: PoolNode, lease: Lease) -> None:
        """See PoolStore."""
        self._table.delete(**self._lease_key(node, lease))

    def keep_alive(self, node: PoolNode, until: float) -> None:
        """See PoolStore."""
        self._table.put({"machine": self._machine(node), "record": "keepalive", "until": until})

    def begin_look(self, region: str, now: float, until: float) -> bool:
        """See PoolStore."""
        free, names = "attribute_not_exists(machine) OR #until <= :now", {"#until": "until"}
        key = {"machine": _pool(region), "record": _LOOK}
        if self._table.put({**key, "until": until}, free, names, now=now):
            return True
        self._table.update(key, "SET again = :yes", "#until > :now", names, yes=True, now=now)
        return False

    def is_called_again(self, region: str, until: float) -> bool:
        """See PoolStore."""
        key, names = {"machine": _pool(region), "record": _LOOK}, {"#until": "until"}
        called = "#until = :until AND attribute_exists(again)"
        return self._table.update(key, "REMOVE again", called, names, until=until) is not None

    def end_look(self, region: str, until: float) -> None:
        """See PoolStore."""
        key, names = {"machine": _pool(region), "record": _LOOK}, {"#until": "until"}
        self._table.update(key, "SET #until = :never", "#until = :until", names, until=until, never=0)

    def needs(self, region: str) -> list[Need]:
        """See PoolStore."""
        item = self._table.get(machine=_pool(region), record="needs") or {}
        return [Need.from_document(dict(need)) for need in item.get("needs", [])]

    def put_needs(self, region: str, needs: Sequence[Need]) -> None:
        """See PoolStore."""
        self._table.put({"machine": _pool(region), "record": "needs", "needs": [need.to_document() for need in needs]})

    def _shares(self, region: str) -> list[dict[str, Any]]:
        condition, names = "machine = :region AND begins_with(#record, :shares)", {"#record": "record"}
        return list(self._table.query(condition, names=names, region=_pool(region), shares=_SHARES))

    def _machine(self, node: PoolNode) -> str:
        return machine_arn(self._beside, node.region, node.instance_id)

    def _lease_key(self, node: PoolNode, lease: Lease) -> dict[str, str]:
        return {"machine": self._machine(node), "record": f"{_LEASE}{lease.transfer_id}#{lease.relay_id}"}

    def _relay_key(self, relay: Node) -> dict[str, str]:
        machine = machine_arn(self._beside, relay.region, relay.instance_id)
        return {"machine": machine, "record": f"{_LEASE}{relay.transfer_id}#{relay.node_id}"}


def _pool(region: str) -> str:
    return f"pool#{region}"


def _node_key(node: PoolNode) -> dict[str, str]:
    return {"machine": _pool(node.region), "record": f"{_NODE}{node.node_id}"}


def _without_keys(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in _KEYS}


def _lease(item: Mapping[str, Any]) -> Lease | None:
    """The lease, without what its node says where that makes no sense; None of an item that its node alone has made."""
    document = _without_keys(item)
    for known in (document, {name: value for name, value in document.items() if name not in _SAID}):
        try:
            return Lease.from_document(known)
        except ValidationError:
            continue
    return None


def _changing(node: PoolNode, change: Change) -> tuple[str, str, dict[str, str], dict[str, Any]]:
    """Expression, condition, names and values of a change: what becomes None is removed."""
    document = node.model_copy(update=change.values).to_document()
    fields = sorted(PoolNode.model_fields[name].alias or name for name in change.values)
    values = {field: document[field] for field in fields if field in document}
    if change.rule.target:
        values["state"] = change.rule.target
    removed = [field for field in fields if field not in values]
    expression = "SET " + ", ".join(f"#{field} = :{field}" for field in values)
    expression += (" REMOVE " + ", ".join(f"#{field}" for field in removed)) if removed else ""
    allowed = {f"from{i}": before for i, before in enumerate(sorted(change.rule.sources))}
    condition = f"#state IN ({', '.join(f':{name}' for name in allowed)})"
    names = {"#state": "state", **{f"#{field}": field for field in (*values, *removed)}}
    least, most = change.rule.leases
    bounds: dict[str, Any] = {"least": least, "most": most}
    names["#leases"] = "leases"
    condition += " AND #leases BETWEEN :least AND :most"
    if change.before is not None:
        names["#epoch"] = "epoch"
        bounds |= {"leasesBefore": change.before[0], "epochBefore": change.before[1]}
        condition += " AND #leases = :leasesBefore AND #epoch = :epochBefore"
    return expression, condition, names, {**values, **allowed, **bounds}
