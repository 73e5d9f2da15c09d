"""Instance metadata service of one instance: IMDSv2 only, as the launch template requires."""

from __future__ import annotations

import json
import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from local.instances.model import Instance

log = logging.getLogger("local.imds")

TOKEN_SECONDS_MAX = 21600  # AWS: six hours
Credentials = Callable[[Instance], dict[str, str] | None]


class MetadataServer:
    """Serves `/latest/…` of one instance on a listening socket until `close`."""

    def __init__(self, instance: Instance, listener: socket.socket, credentials: Credentials) -> None:
        self._tokens: dict[str, float] = {}
        self._instance = instance
        self._credentials = credentials
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self) -> None:
                outer._put(self)

            def do_GET(self) -> None:
                outer._get(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                log.debug("%s: " + format, instance.instance_id, *args)

        self._server = ThreadingHTTPServer(("", 0), Handler, bind_and_activate=False)
        self._server.socket.close()
        self._server.socket = listener
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name=f"imds-{instance.instance_id}", daemon=True
        ).start()

    def close(self) -> None:
        """Stop serving and close the socket."""
        self._server.shutdown()
        self._server.server_close()

    def _put(self, request: BaseHTTPRequestHandler) -> None:
        if request.path != "/latest/api/token":
            return _answer(request, 404, "Not Found")
        seconds = request.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        if not seconds.isdigit() or not 1 <= int(seconds) <= TOKEN_SECONDS_MAX:
            return _answer(request, 400, "Bad Request")
        token = secrets.token_urlsafe(42)
        self._tokens[token] = time.monotonic() + int(seconds)
        return _answer(request, 200, token, {"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": seconds})

    def _get(self, request: BaseHTTPRequestHandler) -> None:
        token = request.headers.get("X-aws-ec2-metadata-token", "")
        if self._tokens.get(token, 0) < time.monotonic():
            return _answer(request, 401, "Unauthorized")
        text = self._text(request.path.split("?")[0].rstrip("/"))
        return _answer(request, 404, "Not Found") if text is None else _answer(request, 200, text)

    def _text(self, path: str) -> str | None:
        instance = self._instance
        role = instance.role
        if path.startswith("/latest/meta-data/iam/security-credentials/"):
            found = self._credentials(instance) if role and path.endswith(f"/{role}") else None
            return json.dumps(found) if found else None
        if path == "/latest/dynamic/instance-identity/document":
            return json.dumps(_identity(instance))
        return {
            "/latest/meta-data/ami-id": instance.image_id,
            "/latest/meta-data/instance-id": instance.instance_id,
            "/latest/meta-data/instance-type": instance.instance_type,
            "/latest/meta-data/local-ipv4": instance.private_address,
            "/latest/meta-data/public-ipv4": instance.public_address,
            "/latest/meta-data/placement/region": instance.region,
            "/latest/meta-data/placement/availability-zone": instance.zone,
            "/latest/meta-data/iam/security-credentials": role,
            "/latest/meta-data/iam/info": instance.profile_arn
            and json.dumps({"Code": "Success", "InstanceProfileArn": instance.profile_arn}),
        }.get(path)


def _identity(instance: Instance) -> dict[str, str]:
    return {
        "accountId": instance.account,
        "architecture": "x86_64",
        "availabilityZone": instance.zone,
        "imageId": instance.image_id,
        "instanceId": instance.instance_id,
        "instanceType": instance.instance_type,
        "privateIp": instance.private_address,
        "region": instance.region,
        "version": "2017-09-30",
    }


def _answer(request: BaseHTTPRequestHandler, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    body = text.encode()
    request.send_response(status)
    for name, value in {"Content-Type": "text/plain", "Content-Length": str(len(body)), **(headers or {})}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)
