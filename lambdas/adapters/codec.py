"""JSON values to DynamoDB attributes and back; floats travel as decimal numbers, never as binary ones."""

from collections.abc import Mapping
from typing import Any

Attributes = dict[str, Any]


def encode(value: object) -> Attributes:
    """One attribute value; raises TypeError for what JSON has not."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": repr(value)}
        case str():
            return {"S": value}
        case Mapping():
            return {"M": encode_item(value)}
        case list() | tuple():
            return {"L": [encode(inner) for inner in value]}
        case _:
            raise TypeError(f"cannot store {type(value).__name__}")


def encode_item(item: Mapping[str, object]) -> Attributes:
    """An item, without keys whose value is None."""
    return {key: encode(value) for key, value in item.items() if value is not None}


def decode(attribute: Mapping[str, Any]) -> Any:
    """The JSON value; whole numbers come back as int."""
    ((kind, value),) = attribute.items()
    match kind:
        case "NULL":
            return None
        case "N":
            return _number(value)
        case "M":
            return decode_item(value)
        case "L":
            return [decode(inner) for inner in value]
        case _:
            return value


def decode_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item as a JSON object."""
    return {key: decode(value) for key, value in item.items()}


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
