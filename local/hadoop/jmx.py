"""What daemons of Hadoop say of themselves by HTTP."""

from __future__ import annotations

import http.client
import json
from typing import Any

from local.hadoop.machine import Machine

TIMEOUT_SECONDS = 2


def named(machine: Machine, service: str, bean: str) -> dict[str, Any] | None:
    """A bean of the daemon of a machine, by the last of its ports; None while the daemon does not answer."""
    return machine.call(lambda: _asked(machine, f"/jmx?qry=Hadoop:service={service},name={bean}"))


def _asked(machine: Machine, path: str) -> dict[str, Any] | None:
    connection = http.client.HTTPConnection(machine.address, machine.ports[-1], timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", path)
        beans = json.load(connection.getresponse())["beans"]
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()
    return dict(beans[0]) if beans else None
