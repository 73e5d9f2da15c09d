"""The daemon's download by the real AWS command line."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from local.instances.tree import aws_command_line

DOCUMENTS = Path(__file__).parents[2] / "infra" / "ssm-documents"
DAEMON = b"#!/bin/sh\n"
# By itself the command line waits for one second.
LATE_SECONDS = 1.5
KEYS = {
    "Code": "Success",
    "AccessKeyId": "AKIA",
    "SecretAccessKey": "secret",
    "Token": "token",
    "Expiration": "2099-01-01T00:00:00Z",
}
METADATA = {
    "/latest/api/token": "token",
    "/latest/meta-data/iam/security-credentials/": "role",
    "/latest/meta-data/iam/security-credentials/role": json.dumps(KEYS),
}


@contextmanager
def services() -> Iterator[str]:
    """A metadata service and S3, at one address."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            if self.path not in METADATA:
                return self.say(200, DAEMON)
            time.sleep(LATE_SECONDS)
            return self.say(200, METADATA[self.path].encode())

        def do_PUT(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def do_HEAD(self) -> None:
            self.answer()

        def say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            headers = {
                "Content-Length": str(len(body)),
                "ETag": '"1"',
                "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT",
            }
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_daemon_is_installed_where_the_metadata_service_is_slow(tmp_path: Path) -> None:
    parts = "".join((DOCUMENTS / name).read_text() for name in ("preamble.sh", "daemon.sh"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/aws").symlink_to(aws_command_line())
    with services() as endpoint:
        done = subprocess.run(
            ["sh", "-c", f"{parts}\ninstall_daemon\ncat $bin"],
            env={
                "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
                "CPT_HOME": str(tmp_path / "home"),
                "SSM_TransferId": "t",
                "AWS_ENDPOINT_URL": endpoint,
                "AWS_EC2_METADATA_SERVICE_ENDPOINT": endpoint,
                "daemon_region": "eu-west-1",
                **{f"daemon_uri_{machine}": "s3://assets/key" for machine in ("x86_64", "arm64")},
                **{f"daemon_sha256_{machine}": sha256(DAEMON).hexdigest() for machine in ("x86_64", "arm64")},
            },
            capture_output=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, DAEMON), done.stderr.decode()
