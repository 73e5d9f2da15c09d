"""Starts by objects that people add: one item of the table of arrivals, each change of which is a version."""

from lambdas.adapters.dynamodb import Table
from lambdas.core.intake.added_starts import AddedStarts

# People who add starts may write this partition and no other (infra/lib/names.ts).
_KEY = {"collection": "added-starts", "item": "all"}
_DOCUMENT = "document"


class DynamoAddedStarts:
    """AddedStartsStore over DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self) -> AddedStarts:
        """See AddedStartsStore."""
        item = self._table.get(**_KEY)
        if item is None:
            return AddedStarts()
        return AddedStarts.model_validate_json(str(item[_DOCUMENT]), by_alias=True, by_name=False)

    def put(self, starts: AddedStarts) -> bool:
        """See AddedStartsStore."""
        item = {**_KEY, "version": starts.version, _DOCUMENT: starts.to_json()}
        if starts.version == 1:
            return self._table.put(item, "attribute_not_exists(#version)", {"#version": "version"})
        return self._table.put(item, "#version = :before", {"#version": "version"}, before=starts.version - 1)
