"""Nulls in what people write."""

from typing import Any

from lambdas.core.errors import InvalidRequest


def without_nulls(raw: object) -> Any:
    """Refuse null where the schema has no null: an absent key is the way to take a default."""
    nulls = list(_nulls(raw, "$"))
    if nulls:
        raise InvalidRequest([f"{path}: null is not allowed; leave the key out to take its default" for path in nulls])
    return raw


def _nulls(value: object, path: str) -> list[str]:
    if value is None:
        return [path]
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in _nulls(inner, f"{path}.{key}")]
    if isinstance(value, list):
        return [found for i, inner in enumerate(value) for found in _nulls(inner, f"{path}[{i}]")]
    return []
