"""Items are copied as data.

Emulator: copies each item that it reads or writes, several times, by way of `copy.deepcopy`, a seventh of all that it
does in a transfer. An item is JSON: `marshal` copies it some eight times as fast.
"""

from __future__ import annotations

import copy
import marshal
from types import SimpleNamespace
from typing import Any

from local.patches.replace import override
from local.patches.upstream import dynamodb


def install() -> None:
    """Replace the copies of the emulator's DynamoDB."""
    override(dynamodb, copy=SimpleNamespace(copy=copy.copy, deepcopy=copied))


def copied(value: Any) -> Any:
    """A deep copy of anything."""
    try:
        return marshal.loads(marshal.dumps(value))  # noqa: S302 - of this process's own bytes
    except ValueError:  # a class of its own
        return copy.deepcopy(value)
