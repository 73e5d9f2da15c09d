"""What daemons of Hadoop say of themselves by HTTP."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any

from local.hadoop.machine import Machine

TIMEOUT_SECONDS = 2


def named(machine: Machine, service: str, bean: str, *, by_https: bool = False) -> dict[str, Any] | None:
    """A bean of the daemon of a machine, by the last of its ports; None while the daemon does not answer."""
    return machine.call(lambda: _asked(machine, f"/jmx?qry=Hadoop:service={service},name={bean}", by_https=by_https))


def _asked(machine: Machine, path: str, *, by_https: bool) -> dict[str, Any] | None:
    host, port = machine.address, machine.ports[-1]
    if by_https:
        # The certificate is the test's own, and names no host.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=TIMEOUT_SECONDS, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", path)
        beans = json.load(connection.getresponse())["beans"]
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()
    return dict(beans[0]) if beans else None
