"""The profile table as a whole: read to be kept, and written back without losing what was measured since."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import ValidationError

from lambdas.adapters.codec import decode_item
from lambdas.adapters.dynamodb import Table
from lambdas.core.errors import InvalidRequest, WriteConflict
from lambdas.core.estimate.profile_entry import ProfileEntry
from lambdas.core.request.problems import describe

Restored = Literal["added", "replaced", "kept"]
_ATTEMPTS = 8


class ProfileBackup:
    """Over DynamoDB."""

    def __init__(self, client: Any, table: str) -> None:
        self._client, self._table = client, Table(client, table)

    def entries(self) -> Iterator[ProfileEntry]:
        """All items; raises InvalidRequest for one that no import would take."""
        pages = self._client.get_paginator("scan").paginate(TableName=self._table.name, ConsistentRead=True)
        for item in (item for page in pages for item in page["Items"]):
            yield _entry(decode_item(item))

    def restore(self, entry: ProfileEntry, *, overwrite: bool) -> Restored:
        """Write it where the table has none, or an older one; whatever transfers write meanwhile is looked at again."""
        for _ in range(_ATTEMPTS):
            item = self._table.get(subject=entry.subject, regionPair=entry.region_pair)
            if item is None:
                if self._table.put(entry.to_document(), "attribute_not_exists(subject)"):
                    return "added"
                continue
            stored = _entry(item)
            wanted = entry.over(stored, overwrite=overwrite)
            if wanted is None:
                return "kept"
            if self._replace(item, wanted):
                return "replaced"
        raise WriteConflict(f"the profile of {entry.subject} ({entry.region_pair}) changed {_ATTEMPTS} times meanwhile")

    def _replace(self, item: dict[str, Any], wanted: ProfileEntry) -> bool:
        document = wanted.to_document()
        # Operators write `configured` without a version.
        names = {"#metrics": "metrics", "#version": "version", "#configured": "configured"}
        conditions, values = [], {}
        for name in ("version", "configured"):
            if name in item:
                conditions.append(f"#{name} = :read_{name}")
                values[f"read_{name}"] = item[name]
            else:
                conditions.append(f"attribute_not_exists(#{name})")
        written = self._table.update(
            {"subject": wanted.subject, "regionPair": wanted.region_pair},
            "SET #metrics = :metrics, #version = :next, #configured = :configured",
            " AND ".join(conditions),
            names,
            metrics=document["metrics"],
            configured=document["configured"],
            next=wanted.version + 1,
            **values,
        )
        return written is not None


def _entry(item: dict[str, Any]) -> ProfileEntry:
    try:
        return ProfileEntry.from_document(item)
    except ValidationError as error:
        about = f"{item.get('subject')} on {item.get('regionPair')}"
        raise InvalidRequest([f"the table's item of {about}: {problem}" for problem in describe(error)]) from None
