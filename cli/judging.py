"""The judgement of a request before it is sent: what Validate Request would refuse costs neither time nor a name."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import ClientError
from pydantic import ValidationError

from cli.aws import ANY_FUNCTION, Aws
from cli.calls import refuse
from lambdas.adapters.environment import Environment, MissingVariableError, spread
from lambdas.adapters.throttling import is_denied
from lambdas.core.documents import Document
from lambdas.core.errors import InvalidRequest
from lambdas.core.intake.starts import MAX_REQUEST_BYTES
from lambdas.core.request.problems import describe
from lambdas.core.request.relays_request import MAX_REQUEST_PAIRS
from lambdas.core.request.request import Limits, parse_request
from lambdas.core.waves.asked import WavesRequest


def judge(aws: Aws, document: dict[str, Any]) -> None:
    """End the command where the request is wrong, or larger than an execution's input may be."""
    _judge(aws, document, parse_request)


def judge_waves(aws: Aws, document: dict[str, Any]) -> None:
    """The same of what is asked of waves."""
    _judge(aws, document, WavesRequest.read)


def judge_input(model: type[Document], document: dict[str, Any]) -> None:
    """End the command where what a function is to be sent, or a table to be asked for, has the wrong form."""
    try:
        model.from_document(document)
    except ValidationError as error:
        refuse(InvalidRequest.__name__, str(InvalidRequest(describe(error))))


def _judge(aws: Aws, document: dict[str, Any], read: Callable[[object, Limits], object]) -> None:
    try:
        size = len(json.dumps(document).encode())
        if size > MAX_REQUEST_BYTES:
            raise InvalidRequest(
                f"$: the request has {size:,} bytes, and Step Functions takes {MAX_REQUEST_BYTES:,} at most; "
                "write shorter rules, or put the paths into a list on the source and name that in $.select.pathsFrom"
            )
        read(document, limits(environment(aws), document))
    except InvalidRequest as error:
        refuse(type(error).__name__, str(error))


def limits(known: Environment | None, document: dict[str, Any]) -> Limits:
    """What the deployment allows; where its settings cannot be read here, all that some deployment may allow."""
    if known is None:
        return Limits(frozenset(_texts(document)), MAX_REQUEST_PAIRS, ())
    return Limits(known.regions, known.max_pairs, known.instance_types, known.max_cost_usd)


def environment(aws: Aws) -> Environment | None:
    """The settings of the deployment's functions; None where they cannot be read here."""
    try:
        function = aws.client("lambda").get_function_configuration(FunctionName=f"{aws.deployment}-{ANY_FUNCTION}")
        return Environment.from_env(spread(function["Environment"]["Variables"]))
    except (ClientError, MissingVariableError) as error:
        # The caller need not have this permission. A deployment that is absent is told by the start itself, and one
        # of another version has other variables: in each case Validate Request still judges all of it.
        if not (isinstance(error, MissingVariableError) or is_denied(error) or _is_absent(error)):
            raise
        return None


def _is_absent(error: ClientError) -> bool:
    return str(error.response["Error"]["Code"]) == "ResourceNotFoundException"


def _texts(value: object) -> Iterator[str]:
    """All strings of the request: whichever of them is a region passes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
