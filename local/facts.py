"""Facts of AWS, each with its source and who relies on it: `facts.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("facts.toml")


@cache
def facts() -> dict[str, Any]:
    """Return all facts by name."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def fact(name: str) -> int:
    """The value of one. Raises KeyError."""
    return int(facts()[name]["value"])
