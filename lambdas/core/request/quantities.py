"""Sizes and spans of time as people write them: `8GB`, `1.5 TiB`, `30d`. The counterpart of `words`, which writes them.

Units of sizes are those of SI (1 kB = 1000 B) and of IEC (1 KiB = 1024 B), in letters of either case.
"""

from datetime import datetime
from decimal import Decimal
from re import fullmatch
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from lambdas.core.documents import whole

# No number that these admit has more than 64 bits.
SIZE = r"^([0-9]{1,6}(\.[0-9]{1,6})? ?([kKmMgGtT][iI]?)?[bB]|[0-9]{1,4}(\.[0-9]{1,6})? ?[pP][iI]?[bB])$"
SPAN = r"^[1-9][0-9]{0,8} ?[smhdw]$"
SHORT_SPAN = r"^[1-9][0-9]{0,8}[smhdw]$"
"""Where a moment may stand in its place."""
SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
RIGHT_SIZE = "write bytes as a whole number, or a size with its unit, e.g. 8GB, 500MB, 1.5TiB"
RIGHT_SPAN = "write seconds as a whole number, or a number with its unit, e.g. 90s, 10m, 2h, 7d"
_POWERS = "kmgtp"


def size_bytes(text: str) -> int:
    """Bytes of `8GB` or `1.5 TiB`, a fraction of a byte cut off; raises ValueError if `text` is no size with a unit."""
    if fullmatch(SIZE, text) is None:
        raise ValueError(f"no size: {text}")
    letters = text.lstrip("0123456789. ").lower()
    number = Decimal(text[: -len(letters)].strip())
    base = 1024 if "i" in letters else 1000
    return int(number * base ** (_POWERS.index(letters[0]) + 1 if letters != "b" else 0))


def span_seconds(text: str) -> int:
    """Seconds of `90s`, `2h` or `30d`; raises ValueError if `text` is no span of time."""
    if fullmatch(SPAN, text) is None:
        raise ValueError(f"no span of time: {text}")
    return int(text[:-1]) * SECONDS[text[-1]]


def moment_or_span(text: str, right: str) -> str:
    """`text`, if it is a time with its zone or a span; else raises PydanticCustomError with what would be `right`."""
    if fullmatch(SHORT_SPAN, text) is None:
        try:
            zoned = datetime.fromisoformat(text).tzinfo is not None
        except ValueError:
            zoned = False
        if not zoned:
            raise PydanticCustomError("moment", right)
    return text


def _size(value: object) -> object:
    if not isinstance(value, str):
        return whole(value)
    try:
        return size_bytes(value)
    except ValueError:
        raise PydanticCustomError("size", RIGHT_SIZE) from None


def _span(value: object) -> object:
    if not isinstance(value, str):
        return whole(value)
    try:
        return span_seconds(value)
    except ValueError:
        raise PydanticCustomError("span", RIGHT_SPAN) from None


SizeBytes = Annotated[int, BeforeValidator(_size), Field(ge=0)]
Seconds = Annotated[int, BeforeValidator(_span)]
