"""The operation of AWS that a request is for, its parameters, and its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote

from botocore.awsrequest import HeadersDict
from botocore.parsers import create_parser
from moto.core.model import OperationModel, ServiceModel
from moto.core.parse import PROTOCOL_PARSERS
from werkzeug.datastructures import Headers, MultiDict

from local.conformance.constraints import Constraints, Violation
from local.models import description

# Names under which requests are signed, where botocore's differ.
SIGNED_AS = {
    "elasticfilesystem": "efs",
    "elasticmapreduce": "emr",
    "states": "stepfunctions",
    "servicequotas": "service-quotas",
    "tagging": "resourcegroupstaggingapi",
}


@dataclass(frozen=True)
class Request:
    """A request; `body` is empty where an operation streams it."""

    service: str
    """The service as signed."""
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes = b""


class Service:
    """A service as botocore models it."""

    def __init__(self, name: str) -> None:
        self._model = ServiceModel(description(name), name)
        self.protocol = str(self._model.protocol)
        self._parser = create_parser(self.protocol)
        self._constraints = Constraints()
        self._routes = list(map(Route, self._operations())) if self.protocol.startswith("rest-") else []

    def _operations(self) -> list[OperationModel]:
        return [self._model.operation_model(name) for name in self._model.operation_names]

    def operation(self, request: Request) -> OperationModel | None:
        """The operation; None where the model has no such one."""
        if self._routes:
            asked = dict(_pairs(request))
            ranks = ((route.rank(request, asked), route.operation) for route in self._routes)
            ranked = [(rank, operation) for rank, operation in ranks if rank is not None]
            return max(ranked, key=lambda found: found[0])[1] if ranked else None
        target = request.headers.get("x-amz-target", "").rpartition(".")[2]
        name = target or dict(_pairs(request)).get("Action", "")
        return self._model.operation_model(name) if name in self._model.operation_names else None

    def asked(self, operation: OperationModel, request: Request) -> list[Violation]:
        """Return what is wrong with a request."""
        if operation.input_shape is None:
            return []
        try:
            value = self._value(operation, request)
        except ValueError:  # of a number in a query, say, which the emulator refuses itself
            return []
        return self._constraints.violations(operation.input_shape, value)

    def _value(self, operation: OperationModel, request: Request) -> Any:
        if self.protocol == "json":
            value = json.loads(request.body or b"{}")
        else:
            value = PROTOCOL_PARSERS[self.protocol](operation).parse(
                {
                    "body": request.body,
                    "headers": Headers(request.headers),
                    "method": request.method,
                    "url_path": request.path,
                    "url_params": Route(operation).parts(request) or {},
                    "values": MultiDict(_pairs(request)),
                }
            )
        return value

    def answered(
        self, operation: OperationModel, status: int, headers: Mapping[str, str], body: bytes
    ) -> list[Violation]:
        """Return what is wrong with an answer that is no error."""
        shape = operation.output_shape
        if shape is None:
            return []
        if self.protocol == "json":
            value = json.loads(body or b"{}")
        else:
            answer = {"status_code": status, "headers": HeadersDict(headers), "body": body}
            value = self._parser.parse(answer, shape)
            value.pop("ResponseMetadata", None)
        return self._constraints.violations(shape, value)


class Route:
    """The form of a request in the protocols that name the operation by method, path and query."""

    def __init__(self, operation: OperationModel) -> None:
        self.operation = operation
        trait = operation.http_trait
        self._method, self._fixed = trait.method, trait.query_args
        path = re.sub(r"\\\{(\w+)(\\\+)?\\\}", _group, re.escape(trait.path.rstrip("/") or "/"))
        self._path = re.compile(path + "/?")
        shape: Any = operation.input_shape
        self._query = list(shape.required_query_args) if shape else []
        self._headers = [name.lower() for name in shape.required_headers] if shape else []

    def parts(self, request: Request) -> dict[str, str] | None:
        """Values of the path's parts; None if the request is for something else."""
        found = self._path.fullmatch(request.path)
        return {name: unquote(value) for name, value in found.groupdict().items()} if found else None

    def rank(self, request: Request, asked: Mapping[str, str]) -> tuple[int, int, bool] | None:
        """Return how much of the request the operation explains; None if it is for something else.

        `asked`: what is in its query and form. Of two operations with one form, AWS takes it for the one that is not
        deprecated: PutBucketLifecycle was before Filter.
        """
        if request.method != self._method or self._path.fullmatch(request.path) is None:
            return None
        if any(asked.get(name) != value for name, value in self._fixed.items()):
            return None
        if not (asked.keys() >= set(self._query) and request.headers.keys() >= set(self._headers)):
            return None
        explained = len(self._fixed) + len(self._query) + len(self._headers)
        return explained, -self._path.groups, not self.operation.deprecated


def _group(found: re.Match[str]) -> str:
    return f"(?P<{found[1]}>{'.+' if found[2] else '[^/]+'})"


def _pairs(request: Request) -> list[tuple[str, str]]:
    form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    body = parse_qsl(request.body.decode(), keep_blank_values=True) if form else []
    return parse_qsl(request.query, keep_blank_values=True) + body


@cache
def service_of(signed: str) -> Service | None:
    """The service that a request is signed for; None where botocore has none, or its protocol is not read here."""
    name = SIGNED_AS.get(signed, signed)
    if not description(name):
        return None
    service = Service(name)
    return service if service.protocol in ("json", *PROTOCOL_PARSERS) else None
