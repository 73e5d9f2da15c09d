"""Policy variables.

AWS: `${key}` in a Resource or a condition's value stands for a condition key of the request that has one value. A
statement with a variable that the request does not have matches nothing. `${*}`, `${?}` and `${$}` stand for these
characters themselves, also where `*` and `?` alone would stand for others.
Emulator: takes the text as it is.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from local.patches.replace import override
from local.patches.upstream import iam_evaluator

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_LITERALS = {"*": "*", "?": "?", "$": "$"}
# What stands for them in a pattern until that is compiled: no name of a resource has these.
_IN_PATTERNS = {"*": "\ue000", "?": "\ue001", "$": "$"}
_compile = iam_evaluator._fnmatch_compile


class _UnknownError(Exception):
    """A variable that this request has no single value for."""


def install() -> None:
    """Fill in variables before a statement is matched."""
    override(iam_evaluator, _first_match=_first_match, _fnmatch_compile=_compiled)


def _compiled(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """The pattern, in which what stands for a character is that character."""
    if not any(mark in pattern for mark in "\ue000\ue001"):
        found: re.Pattern[str] = _compile(pattern, ignore_case)
        return found
    text = _compile(pattern, ignore_case).pattern.replace("\ue000", r"\*").replace("\ue001", r"\?")
    return re.compile(text, re.IGNORECASE if ignore_case else 0)


def _first_match(context: Any, statements: list[Any], effect: str) -> Any:
    for statement in statements:
        if statement.effect == effect and matches(context, statement):
            return statement
    return None


def matches(context: Any, statement: Any) -> bool:
    """Return whether a statement is about this request."""
    if not iam_evaluator._action_matches(context.action, statement.actions, statement.not_actions):
        return False
    try:
        filled = with_variables(statement, context)
    except _UnknownError:
        return False
    return bool(
        iam_evaluator._resource_matches(context.resource_arn, filled.resources, filled.not_resources)
        and iam_evaluator._conditions_met(filled.conditions, context)
    )


def with_variables(statement: Any, context: Any) -> Any:
    """The statement as this request reads it."""
    return replace(
        statement,
        resources=[_filled(text, context, _IN_PATTERNS) for text in statement.resources],
        not_resources=[_filled(text, context, _IN_PATTERNS) for text in statement.not_resources],
        conditions={
            operator: {key: _values(value, context, _literals_of(operator)) for key, value in keys.items()}
            for operator, keys in statement.conditions.items()
        },
    )


def _literals_of(operator: str) -> dict[str, str]:
    """Operators that compare by patterns, and those that compare texts."""
    by_pattern = any(word in operator.lower() for word in ("like", "arn"))
    return _IN_PATTERNS if by_pattern else _LITERALS


def _values(value: Any, context: Any, literals: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_values(one, context, literals) for one in value]
    return _filled(value, context, literals) if isinstance(value, str) else value


def _filled(text: str, context: Any, literals: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda found: _value(found[1], context, literals), text)


def _value(key: str, context: Any, literals: dict[str, str]) -> str:
    if key in literals:
        return literals[key]
    found = iam_evaluator._resolve_condition_key(key, context)
    if not isinstance(found, str):
        raise _UnknownError(key)
    return found
