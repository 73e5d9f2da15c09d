"""The judgement of a request before it is sent: what Validate Request would refuse costs neither time nor a name."""

import json
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from cli.aws import Aws
from cli.calls import refuse
from lambdas.adapters.environment import Environment, MissingVariableError, spread
from lambdas.adapters.throttling import is_denied
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.starts import MAX_REQUEST_BYTES
from lambdas.core.request.relays_request import MAX_REQUEST_PAIRS
from lambdas.core.request.request import Limits, parse_request

# Any function will do: they have one environment.
_FUNCTION = "validate-request"


def judge(aws: Aws, document: dict[str, Any]) -> None:
    """End the command where the request is wrong, or larger than an execution's input may be."""
    try:
        size = len(json.dumps(document).encode())
        if size > MAX_REQUEST_BYTES:
            raise InvalidRequest(
                f"$: the request has {size:,} bytes, and Step Functions takes {MAX_REQUEST_BYTES:,} at most; "
                "write shorter rules, or put the paths into a list on the source and name that in $.select.pathsFrom"
            )
        parse_request(document, _limits(aws, document))
    except InvalidRequest as error:
        refuse(type(error).__name__, str(error))


def _limits(aws: Aws, document: dict[str, Any]) -> Limits:
    """What the deployment allows; where its settings cannot be read here, all that some deployment may allow."""
    try:
        function = aws.client("lambda").get_function_configuration(FunctionName=f"{aws.deployment}-{_FUNCTION}")
        known = Environment.from_env(spread(function["Environment"]["Variables"]))
    except (ClientError, MissingVariableError) as error:
        # The caller need not have this permission. A deployment that is absent is told by the start itself, and one
        # of another version has other variables: in each case Validate Request still judges all of it.
        if not (isinstance(error, MissingVariableError) or is_denied(error) or _is_absent(error)):
            raise
        return Limits(frozenset(_texts(document)), MAX_REQUEST_PAIRS, ())
    return Limits(known.regions, known.max_pairs, known.instance_types, known.max_cost_usd)


def _is_absent(error: ClientError) -> bool:
    return str(error.response["Error"]["Code"]) == "ResourceNotFoundException"


def _texts(value: object) -> Iterator[str]:
    """All strings of the request: whichever of them is a region passes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
