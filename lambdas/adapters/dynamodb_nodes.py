"""The node table."""

from collections.abc import Iterable

from lambdas.adapters.dynamodb import Table
from lambdas.core.fleet.relay_node import Node, NodeState

INSTANCE_INDEX = "by-instance"


class DynamoNodeStore:
    """NodeStore over DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def put(self, node: Node) -> bool:
        """See NodeStore."""
        return self._table.put(node.to_document(), "attribute_not_exists(nodeId)")

    def of(self, transfer_id: str) -> list[Node]:
        """See NodeStore."""
        return [Node.from_document(item) for item in self._table.query("transferId = :id", id=transfer_id)]

    def forget(self, transfer_id: str) -> None:
        """See NodeStore."""
        for node in self.of(transfer_id):
            self._table.delete(transferId=transfer_id, nodeId=node.node_id)

    def by_instance(self, instance_id: str) -> list[Node]:
        """See NodeStore."""
        found = self._table.query("instanceId = :id", index=INSTANCE_INDEX, id=instance_id)
        items = (self._table.get(transferId=item["transferId"], nodeId=item["nodeId"]) for item in found)
        return [Node.from_document(item) for item in items if item]

    def move(self, node: Node, state: NodeState, expected: Iterable[NodeState], **changes: object) -> Node | None:
        """See NodeStore; `changes` are the node's fields by their Python names."""
        document = node.model_copy(update=changes).to_document()
        fields = {Node.model_fields[name].alias or name for name in changes}
        values = {"state": state, **{field: document[field] for field in fields if field in document}}
        allowed = {f"from{i}": before for i, before in enumerate(expected)}
        item = self._table.update(
            {"transferId": node.transfer_id, "nodeId": node.node_id},
            "SET " + ", ".join(f"#{field} = :{field}" for field in values),
            f"#state IN ({', '.join(f':{name}' for name in allowed)})",
            {f"#{field}": field for field in values},
            **values,
            **allowed,
        )
        return Node.from_document(item) if item else None
