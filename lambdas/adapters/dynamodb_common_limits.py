"""The limits over several transfers: one item of the transfers table, each change of which is a version."""

from lambdas.adapters.dynamodb import Table
from lambdas.core.fleet.common_limit import CommonLimits

# No transfer has such a name.
_KEY = {"transferId": "limits#", "record": "limits"}
_DOCUMENT = "document"


class DynamoCommonLimits:
    """CommonLimitStore over DynamoDB."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self) -> CommonLimits:
        """See CommonLimitStore."""
        item = self._table.get(**_KEY)
        return (
            CommonLimits.model_validate_json(str(item[_DOCUMENT]), by_alias=True, by_name=False)
            if item
            else CommonLimits()
        )

    def put(self, limits: CommonLimits) -> bool:
        """See CommonLimitStore."""
        item = {**_KEY, "version": limits.version, _DOCUMENT: limits.to_json()}
        if limits.version == 1:
            return self._table.put(item, "attribute_not_exists(version)")
        return self._table.put(item, "version = :before", before=limits.version - 1)
