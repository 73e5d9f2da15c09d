"""The rules of a shape for a value: type, required members, length, range, pattern and enum.

botocore's own validator knows neither pattern nor enum, nor any maximum.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from botocore.model import Shape

INTEGERS = ("integer", "long", "short", "byte", "bigInteger")
TYPES: dict[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "character": (str,),
    "boolean": (bool,),
    "blob": (str, bytes),
    "float": (int, float),
    "double": (int, float),
    "timestamp": (object,),  # each protocol has its own form
    **dict.fromkeys(INTEGERS, (int,)),
}

Judge = Callable[[Any, str], Iterator["Violation"]]


@dataclass(frozen=True)
class Violation:
    """One value that breaks a rule; `missing` if there is none."""

    path: str
    """`Parameters.commands[]`: no index and no key, so that alike ones are the same."""
    wrong: str
    missing: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.wrong}"


class Constraints:
    """Judges of a service's shapes, each compiled once."""

    def __init__(self) -> None:
        self._judges: dict[str, Judge] = {}

    def violations(self, shape: Shape, value: Any) -> list[Violation]:
        """Return all that is wrong with a value."""
        return list(self._judge(shape)(value, ""))

    def _judge(self, shape: Shape) -> Judge:
        name = shape.name
        if name not in self._judges:
            self._judges[name] = lambda value, path: self._judges[name](value, path)  # shapes may contain themselves
            self._judges[name] = self._compiled(shape)
        return self._judges[name]

    def _compiled(self, shape: Shape) -> Judge:
        if shape.type_name == "structure":
            inner = self._structure(shape)
        elif shape.type_name == "list":
            inner = self._list(shape)
        elif shape.type_name == "map":
            inner = self._map(shape)
        else:
            inner = _scalar(shape)
        if getattr(shape, "is_document_type", False):
            return lambda value, path: iter(())
        kinds, sized = TYPES[shape.type_name], _size(shape)

        def judge(value: Any, path: str) -> Iterator[Violation]:
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds and object not in kinds):
                yield Violation(path, f"{_shown(value)} is no {shape.type_name}")
                return
            if sized is not None:
                yield from sized(value, path)
            yield from inner(value, path)

        return judge

    def _structure(self, shape: Any) -> Judge:
        judges = {name: self._judge(member) for name, member in shape.members.items()}
        required = shape.required_members
        union = bool(getattr(shape, "is_tagged_union", False))

        def judge(value: dict[str, Any], path: str) -> Iterator[Violation]:
            for name in required:
                if value.get(name) is None:
                    yield Violation(f"{path}.{name}".lstrip("."), "is required", missing=True)
            present = [name for name in value if name in judges and value[name] is not None]
            if union and len(present) != 1:
                yield Violation(path, f"is exactly one of {', '.join(judges)}")
            for name in present:
                yield from judges[name](value[name], f"{path}.{name}".lstrip("."))

        return judge

    def _list(self, shape: Any) -> Judge:
        member = self._judge(shape.member)

        def judge(value: list[Any], path: str) -> Iterator[Violation]:
            for item in value:
                yield from member(item, f"{path}[]")

        return judge

    def _map(self, shape: Any) -> Judge:
        of_key, of_value = self._judge(shape.key), self._judge(shape.value)

        def judge(value: dict[str, Any], path: str) -> Iterator[Violation]:
            for key, item in value.items():
                yield from of_key(key, f"{path}{{key}}")
                if item is not None:
                    yield from of_value(item, f"{path}{{}}")

        return judge


def _scalar(shape: Any) -> Judge:
    allowed, pattern = frozenset(shape.metadata.get("enum", ())), _pattern(shape.metadata.get("pattern"))

    def judge(value: Any, path: str) -> Iterator[Violation]:
        if allowed and value not in allowed:
            yield Violation(path, f"{_shown(value)} is not in the enum {shape.name}")
        if pattern is not None and isinstance(value, str) and not pattern.fullmatch(value):
            yield Violation(path, f"{_shown(value)} does not satisfy the pattern {pattern.pattern}")

    return judge


def _size(shape: Shape) -> Judge | None:
    """Return the value of a number, the length of everything else."""
    if "min" not in shape.metadata and "max" not in shape.metadata:
        return None
    least, most = shape.metadata.get("min", float("-inf")), shape.metadata.get("max", float("inf"))

    def judge(value: Any, path: str) -> Iterator[Violation]:
        size = value if isinstance(value, int | float) else len(value)
        what = "value" if isinstance(value, int | float) else "length"
        if not least <= size <= most:
            yield Violation(path, f"its {what} is {size}, and {least} to {most} is allowed")

    return judge


@cache
def _pattern(text: str | None) -> re.Pattern[str] | None:
    """A pattern of the model, written for Java; None where Python has no such class."""
    try:
        return re.compile(text.replace(r"\p{ASCII}", r"\x00-\x7f")) if text else None
    except re.error:
        return None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
