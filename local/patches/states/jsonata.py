"""JSONata in state machines.

AWS evaluates JSONata with the state's variables bound. The ASL engine writes every variable as text in front of the
expression, strings without escaping (a quote in an error's cause breaks the expression), and expects a Java library to
evaluate it. Here variables travel as JSON between two control characters and are bound as values; the evaluator is
jsonata-python.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import uuid
from typing import Any

from local.patches.replace import replace_everywhere
from local.patches.states.engine import (
    ENGINE,
    JException,
    Jsonata,
    Utils,
    engine_jsonata,
    intrinsic_functions,
    to_json_str,
)

# JSON text holds no control characters, so these two cannot occur inside the values.
_BINDINGS = re.compile("\x01([^\x01\x02]*)\x02")
HASHES = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}


def install() -> None:
    """Replace the engine's encoding and evaluation in all its modules."""
    replace_everywhere(ENGINE, engine_jsonata.encode_jsonata_variable_declarations, encode)
    replace_everywhere(ENGINE, engine_jsonata.eval_jsonata_expression, evaluate)
    for name in FUNCTIONS:  # the engine declares these as text that says "not supported"
        intrinsic_functions._DECLARATION_BY_VARIABLE_REFERENCE.pop(f"${name}", None)


def encode(bindings: dict[str, Any]) -> str:
    """Bindings (`$name` → value) as text that `evaluate` finds in the composed expression."""
    return f"\x01{to_json_str({name[1:]: value for name, value in bindings.items()})}\x02" if bindings else ""


def evaluate(expression: str) -> Any:
    """Value of a composed expression as plain JSON data; None for null and for undefined.

    Raises engine_jsonata.JSONataException, which the engine turns into States.QueryEvaluationError.
    """
    values: dict[str, Any] = {}

    def take(found: re.Match[str]) -> str:
        values.update(json.loads(found.group(1)))
        return ""

    text = _BINDINGS.sub(take, expression)
    try:
        program = Jsonata(text)
        frame = program.create_frame()
        for name, function in FUNCTIONS.items():
            frame.bind(name, Jsonata.JLambda(function))
        for name, value in values.items():
            frame.bind(name, Utils.NULL_VALUE if value is None else value)
        return plain(program.evaluate(None, frame))
    except JException as error:
        raise engine_jsonata.JSONataException("UNKNOWN", f"{error} in {text}") from error


def plain(value: Any) -> Any:
    """Lists, numbers and null of the evaluator as JSON's own; whole floats become integers, as in JavaScript."""
    if value is Utils.NULL_VALUE:
        return None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | range) or (hasattr(value, "__iter__") and not isinstance(value, str)):
        return [plain(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _parse(text: str) -> Any:
    return json.loads(text)


def _hash(text: str, algorithm: str) -> str:
    return hashlib.new(HASHES[algorithm], text.encode()).hexdigest()


def _uuid() -> str:
    return str(uuid.uuid4())


def _random(seed: float | None = None) -> float:
    return random.Random(seed).random()  # noqa: S311 - what $random is for


FUNCTIONS = {"parse": _parse, "hash": _hash, "uuid": _uuid, "random": _random}
