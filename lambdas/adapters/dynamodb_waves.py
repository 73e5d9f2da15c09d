"""Waves in the transfers table: one item for each label."""

from lambdas.adapters.dynamodb import Table
from lambdas.core.waves.waves import Waves

# Together, so that one query finds them; no transfer has such an id.
_TOGETHER = "waves#"
# Among so many labels the latest are looked for, by one read.
MOST_LABELS = 200
_KEYS = ("transferId", "record")


class DynamoWaves:
    """WavesStore over DynamoDB; each item is changed under its version."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def of(self, label: str) -> Waves | None:
        """See WavesStore."""
        item = self._table.get(transferId=_TOGETHER, record=label)
        return _waves(item) if item else None

    def latest(self, most: int) -> list[Waves]:
        """See WavesStore."""
        items = self._table.query_page("transferId = :together", MOST_LABELS, together=_TOGETHER)
        return sorted(map(_waves, items), key=lambda waves: waves.updated_at, reverse=True)[:most]

    def write(self, waves: Waves) -> bool:
        """See WavesStore."""
        item = {"transferId": _TOGETHER, "record": waves.label, **waves.to_document()}
        if waves.version == 1:
            return self._table.put(item, "attribute_not_exists(transferId)")
        return self._table.put(item, "version = :before", before=waves.version - 1)


def _waves(item: dict[str, object]) -> Waves:
    return Waves.from_document({key: value for key, value in item.items() if key not in _KEYS})
