"""The table of task tokens."""

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.records import ControlToken

TASK = "start-transfer"
APPROVAL = "await-approval"


class DynamoTokenStore:
    """TokenStore over DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, transfer_id: str) -> ControlToken | None:
        """See TokenStore."""
        item = self._table.get(transferId=transfer_id, task=TASK)
        if item is None:
            return None
        return ControlToken(token=item["token"], start=item["start"])

    def put(self, transfer_id: str, token: str, start: int) -> bool:
        """See TokenStore."""
        written = self._table.update(
            {"transferId": transfer_id, "task": TASK},
            "SET #token = :token, #start = :start",
            "attribute_not_exists(#token) OR #token <> :token",
            {"#token": "token", "#start": "start"},
            token=token,
            start=start,
        )
        return written is not None

    def approval(self, transfer_id: str) -> str | None:
        """See TokenStore."""
        item = self._table.get(transferId=transfer_id, task=APPROVAL)
        return str(item["token"]) if item else None

    def put_approval(self, transfer_id: str, token: str) -> None:
        """See TokenStore."""
        self._table.put({"transferId": transfer_id, "task": APPROVAL, "token": token})

    def delete(self, transfer_id: str) -> None:
        """See TokenStore."""
        self._table.delete(transferId=transfer_id, task=TASK)
        self._table.delete(transferId=transfer_id, task=APPROVAL)
