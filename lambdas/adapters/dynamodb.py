"""One DynamoDB table: items in, items out; a lost condition is an answer, not an error."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from lambdas.adapters.codec import decode_item, encode, encode_item
from lambdas.adapters.throttling import is_throttle
from lambdas.core.errors import Throttled

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class Table:
    """Thin wrapper that knows the codec; `key` maps are plain strings."""

    def __init__(self, client: "DynamoDBClient", name: str) -> None:
        self._client = client
        self.name = name

    def get(self, **key: str) -> dict[str, Any] | None:
        """Consistent read."""
        item = self._client.get_item(TableName=self.name, Key=encode_item(key), ConsistentRead=True).get("Item")
        return decode_item(item) if item else None

    def put(
        self,
        item: Mapping[str, object],
        condition: str | None = None,
        names: Mapping[str, str] | None = None,
        **values: object,
    ) -> bool:
        """Write an item; False when the condition does not hold. Values `x` are `:x` in the condition."""
        options: dict[str, Any] = {"TableName": self.name, "Item": encode_item(item)}
        if condition:
            options["ConditionExpression"] = condition
        return self._conditional("put_item", options, values, names or {})

    def update(
        self,
        key: Mapping[str, str],
        expression: str,
        condition: str | None = None,
        names: Mapping[str, str] | None = None,
        **values: object,
    ) -> dict[str, Any] | None:
        """Update an item and return it whole; None when the condition does not hold."""
        options: dict[str, Any] = {
            "TableName": self.name,
            "Key": encode_item(key),
            "UpdateExpression": expression,
            "ReturnValues": "ALL_NEW",
        }
        if condition:
            options["ConditionExpression"] = condition
        found: dict[str, Any] = {}
        held = self._conditional("update_item", options, values, dict(names or {}), found)
        return decode_item(found.get("Attributes", {})) if held else None

    def putting(self, item: Mapping[str, object], condition: str | None = None) -> dict[str, Any]:
        """A write of `together`."""
        put: dict[str, Any] = {"TableName": self.name, "Item": encode_item(item)}
        return {"Put": {**put, "ConditionExpression": condition} if condition else put}

    def updating(
        self,
        key: Mapping[str, str],
        expression: str,
        condition: str,
        names: Mapping[str, str] | None = None,
        **values: object,
    ) -> dict[str, Any]:
        """A write of `together`, with the condition under which all of them are made."""
        update: dict[str, Any] = {
            "TableName": self.name,
            "Key": encode_item(key),
            "UpdateExpression": expression,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": {f":{name}": encode(value) for name, value in values.items()},
        }
        return {"Update": {**update, "ExpressionAttributeNames": dict(names)} if names else update}

    def together(self, *writes: dict[str, Any]) -> bool:
        """Make all of these writes or none; False when a condition does not hold, Throttled also in a conflict."""
        try:
            self._client.transact_write_items(TransactItems=writes)  # type: ignore[arg-type]
        except self._client.exceptions.TransactionCanceledException as error:
            reasons = {reason.get("Code") for reason in error.response.get("CancellationReasons", [])} - {"None"}
            if "ConditionalCheckFailed" in reasons:
                return False
            raise Throttled(f"DynamoDB table {self.name}: {error}") from error
        except ClientError as error:
            if is_throttle(error) or error.response["Error"]["Code"] == "TransactionInProgressException":
                raise Throttled(f"DynamoDB table {self.name}: {error}") from error
            raise
        return True

    def delete(self, **key: str) -> None:
        """Remove an item; an absent one is fine."""
        self._client.delete_item(TableName=self.name, Key=encode_item(key))

    def query(
        self, condition: str, *, index: str | None = None, names: Mapping[str, str] | None = None, **values: object
    ) -> Iterator[dict[str, Any]]:
        """Return all items of a key condition, page by page; consistent unless by index."""
        options: dict[str, Any] = {
            "TableName": self.name,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": {f":{name}": encode(value) for name, value in values.items()},
        }
        if names:
            options["ExpressionAttributeNames"] = dict(names)
        if index:
            options["IndexName"] = index
        else:
            options["ConsistentRead"] = True
        for page in self._client.get_paginator("query").paginate(**options):
            yield from map(decode_item, page["Items"])

    def query_page(self, condition: str, most: int, **values: object) -> list[dict[str, Any]]:
        """Up to `most` items of a key condition, by one read: fewer where they are more than 1 MB."""
        answer = self._client.query(
            TableName=self.name,
            KeyConditionExpression=condition,
            ExpressionAttributeValues={f":{name}": encode(value) for name, value in values.items()},
            ConsistentRead=True,
            Limit=most,
        )
        return [decode_item(item) for item in answer["Items"]]

    def query_first(self, condition: str, indexes: Sequence[str], **values: object) -> list[dict[str, Any]]:
        """Query by the first of `indexes` that can be read.

        A deployment that adds an index replaces functions before the index is built. Until then DynamoDB refuses the
        query, and one of the indexes after it has the same items.
        """
        for index in indexes[:-1]:
            try:
                return list(self.query(condition, index=index, names=None, **values))
            except ClientError as error:
                if not _is_not_built(error):
                    raise
        return list(self.query(condition, index=indexes[-1], names=None, **values))

    def get_batch(self, keys: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Consistent reads of up to 100 different encoded keys: the items that exist, and the keys that are left to
        be asked for again.
        """
        answer: Any = self._client.batch_get_item(RequestItems={self.name: {"Keys": keys, "ConsistentRead": True}})
        found = [decode_item(item) for item in answer.get("Responses", {}).get(self.name, [])]
        left = answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
        return found, [dict(key) for key in left]

    def write_batch(self, items: Iterable[Mapping[str, object]]) -> list[dict[str, Any]]:
        """Put up to 25 items without conditions; returns those that DynamoDB did not take, encoded."""
        requests = [{"PutRequest": {"Item": encode_item(item)}} for item in items]
        return self.write_requests(requests)

    def write_requests(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One BatchWriteItem; returns the unprocessed requests."""
        answer = self._client.batch_write_item(RequestItems={self.name: requests})  # type: ignore[dict-item]
        return [dict(request) for request in answer.get("UnprocessedItems", {}).get(self.name, [])]

    def _conditional(
        self,
        operation: str,
        options: dict[str, Any],
        values: Mapping[str, object],
        names: Mapping[str, str],
        found: dict[str, Any] | None = None,
    ) -> bool:
        if values:
            options["ExpressionAttributeValues"] = {f":{name}": encode(value) for name, value in values.items()}
        if names:
            options["ExpressionAttributeNames"] = dict(names)
        try:
            answer = getattr(self._client, operation)(**options)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                return False
            if is_throttle(error):
                raise Throttled(f"DynamoDB table {self.name}: {error}") from error
            raise
        if found is not None:
            found.update(answer)
        return True


def _is_not_built(error: ClientError) -> bool:
    """Return whether an index is not there, or not built yet; the code says only that the query is not valid."""
    said = error.response["Error"]
    words = ("does not have the specified index", "backfilling global secondary index")
    return said["Code"] == "ValidationException" and any(one in said.get("Message", "") for one in words)
