"""Models of services. Emulator: makes a session of botocore for each, and parses the same file up to three times."""

from __future__ import annotations

from functools import cache
from typing import Any

from local.models import description, service_model
from local.patches.replace import override
from local.patches.upstream import iam_actions, responses


def install() -> None:
    """Read them from where everybody does."""

    @cache
    def named_as_here(service: str) -> Any:
        name = responses._BOTOCORE_NAME.get(service, service)
        return service_model(name) if description(name) else None

    override(responses, _service_model=named_as_here)
    override(iam_actions, _load_botocore_model=description)
