"""Our own events on the bus."""

import json
from typing import TYPE_CHECKING, Any

from lambdas.core.documents import SCHEMA_VERSION
from lambdas.core.errors import Throttled
from lambdas.core.visible import visible_values

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

SOURCE = "cpt.control"


class EventBus:
    """Events over EventBridge."""

    def __init__(self, client: "EventBridgeClient", bus: str) -> None:
        self._client = client
        self._bus = bus

    def tell_pool(self, transfer_id: str) -> None:
        """See Events."""
        self.put("Pool Leased", {"transferId": transfer_id})

    def put(self, kind: str, detail: dict[str, Any]) -> None:
        """See Events."""
        body = json.dumps({"schemaVersion": SCHEMA_VERSION, "type": kind, **visible_values(detail)})
        entry = {"Source": SOURCE, "DetailType": kind, "Detail": body, "EventBusName": self._bus}
        answer = self._client.put_events(Entries=[entry])  # type: ignore[list-item]
        if answer["FailedEntryCount"]:
            raise Throttled(f"the bus {self._bus} refused '{kind}': {answer['Entries'][0].get('ErrorMessage')}")
