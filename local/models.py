"""Descriptions of services, each parsed once for all who read it: that takes up to a tenth of a second."""

from __future__ import annotations

from functools import cache
from typing import Any

from botocore.exceptions import UnknownServiceError
from botocore.loaders import create_loader
from botocore.model import ServiceModel

_loader = create_loader()


def description(service: str) -> dict[str, Any]:
    """What botocore's file says of a service; empty where there is none. Nobody may change it."""
    try:
        return dict(_loader.load_service_model(service, "service-2"))
    except UnknownServiceError:
        return {}


@cache
def service_model(service: str) -> ServiceModel:
    """The model of a service that has a description."""
    return ServiceModel(description(service), service)
