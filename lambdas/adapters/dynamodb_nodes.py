"""The node table."""

from collections.abc import Mapping
from typing import Any

from lambdas.adapters.dynamodb import Table
from lambdas.core.fleet.node_life import Change
from lambdas.core.fleet.relay_node import Node
from lambdas.core.transfer.record_format import with_stage

# The second one is of the release before; it is read until the first one is built.
INSTANCE_INDEXES = ("of-instance", "by-instance")


def _node(item: Mapping[str, Any]) -> Node:
    return Node.from_document(with_stage(item))


class DynamoNodeStore:
    """NodeStore over DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def put(self, node: Node) -> bool:
        """See NodeStore."""
        return self._table.put(node.to_document(), "attribute_not_exists(nodeId)")

    def of(self, transfer_id: str) -> list[Node]:
        """See NodeStore."""
        return [_node(item) for item in self._table.query("transferId = :id", id=transfer_id)]

    def forget(self, transfer_id: str) -> None:
        """See NodeStore."""
        for node in self.of(transfer_id):
            self._table.delete(transferId=transfer_id, nodeId=node.node_id)

    def by_instance(self, instance_id: str) -> list[Node]:
        """See NodeStore."""
        found = self._table.query_first("instanceId = :id", INSTANCE_INDEXES, id=instance_id)
        items = (self._table.get(transferId=item["transferId"], nodeId=item["nodeId"]) for item in found)
        return [_node(item) for item in items if item]

    def change(self, node: Node, change: Change) -> Node | None:
        """See NodeStore."""
        document = node.model_copy(update=change.values).to_document()
        fields = {Node.model_fields[name].alias or name for name in change.values}
        values = {field: document[field] for field in sorted(fields) if field in document}
        if change.rule.target:
            values["state"] = change.rule.target
        allowed = {f"from{i}": before for i, before in enumerate(sorted(change.rule.sources))}
        item = self._table.update(
            {"transferId": node.transfer_id, "nodeId": node.node_id},
            "SET " + ", ".join(f"#{field} = :{field}" for field in values),
            f"#state IN ({', '.join(f':{name}' for name in allowed)})",
            {"#state": "state", **{f"#{field}": field for field in values}},
            **values,
            **allowed,
        )
        return _node(item) if item else None
