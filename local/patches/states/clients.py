"""Clients of state machines: they act under the machine's role, at the local endpoint.

The engine would call an unauthenticated moto server.
"""

from __future__ import annotations

import threading
from typing import Any

import boto3
from botocore.config import Config

from local.facts import fact
from local.patches.iam.credentials import role_session
from local.patches.replace import replace_everywhere
from local.patches.states.engine import ENGINE, boto_client

LAMBDA_SECONDS = fact("lambda-seconds")  # the longest a Lambda may run; a task's own timeout is the engine's matter


def install(endpoint: str) -> None:
    """Replace the engine's client factory in all its modules."""
    make: Any = boto3.client  # its overloads name every service literally
    clients: dict[tuple[str, str, str | None], Any] = {}
    lock = threading.Lock()

    def client_for(region: str, service: str, state_credentials: Any = None) -> Any:
        role = getattr(state_credentials, "role_arn", None)
        key = (region, service, role)
        with lock:
            if key not in clients:
                keys = role_session(role, "states-execution") if role else {}
                clients[key] = make(
                    service,
                    region_name=region,
                    endpoint_url=endpoint,
                    aws_access_key_id=keys.get("AccessKeyId", "test"),
                    aws_secret_access_key=keys.get("SecretAccessKey", "test"),
                    aws_session_token=keys.get("Token"),
                    config=Config(
                        parameter_validation=False,
                        retries={"total_max_attempts": 1},
                        read_timeout=LAMBDA_SECONDS + 20,
                        max_pool_connections=64,
                    ),
                )
        return clients[key]

    replace_everywhere(ENGINE, boto_client.boto_client_for, client_for)
