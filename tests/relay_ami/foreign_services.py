"""S3 over HTTPS, a metadata service and a name server, as a machine with its own network sees them.

Run inside a network namespace: `python -m tests.relay_ami.foreign_services CERTIFICATE NAME STATE`. It prints a line of
JSON with the ports, then obeys lines: `answer`, `refuse` (SERVFAIL) or `silent` says what the name server does then,
and `asked` is answered once it was asked since.
Another one, at 127.0.0.2, always answers.
"""

import asyncio
import json
import socket
import ssl
import sys
import threading
from pathlib import Path

import dnslib
from dnslib.server import DNSHandler, DNSServer

from local.caps import Caps
from local.cloud import LocalCloud
from local.config import LocalConfig
from local.instances.imds import MetadataServer
from local.instances.model import Instance

BUCKET = "cpt-control-123456789012-us-west-2"
KEYS = {
    "Code": "Success",
    "Type": "AWS-HMAC",
    "AccessKeyId": "ASIAFOREIGN",
    "SecretAccessKey": "secret",
    "Token": "token",
    "Expiration": "2099-01-01T00:00:00Z",
}

INSTANCE = Instance(
    instance_id="i-0f0e1a0000000000a",
    account="000000000000",
    region="us-west-2",
    zone="us-west-2a",
    instance_type="c6in.large",
    image_id="ami-0f0e1a00",
    number=1,
    private_address="127.0.0.1",
    public_address="127.0.0.1",
    role="ends",
    profile_arn=None,
    caps=Caps(),
    home=Path("/nowhere"),
    launch_number=1,
)


class Names:
    """Knows one name."""

    def __init__(self, name: str) -> None:
        self.name, self.mode, self.asked = name, "answer", threading.Event()

    def resolve(self, request: dnslib.DNSRecord, handler: DNSHandler) -> dnslib.DNSRecord:
        """What a resolver of a VPC says."""
        reply = request.reply()
        self.asked.set()
        if self.mode == "silent":
            raise TimeoutError
        if self.mode == "refuse":
            reply.header.rcode = dnslib.RCODE.SERVFAIL
        elif str(request.q.qname).rstrip(".") != self.name:
            reply.header.rcode = dnslib.RCODE.NXDOMAIN
        elif request.q.qtype == dnslib.QTYPE.A:
            reply.add_answer(dnslib.RR(self.name, rdata=dnslib.A("127.0.0.1"), ttl=0))
        return reply


async def main(certificate: str, name: str, state: Path) -> None:
    """Serve until standard input ends."""
    names = Names(name)
    for tcp in (False, True):
        DNSServer(names, address="127.0.0.1", port=53, tcp=tcp, logger=Quiet()).start_thread()
        DNSServer(Names(name), address="127.0.0.2", port=53, tcp=tcp, logger=Quiet()).start_thread()
    listener = socket.create_server(("127.0.0.1", 0))
    MetadataServer(INSTANCE, listener, lambda _: KEYS)
    with LocalCloud(LocalConfig(port=0, iam=False), state, None) as cloud:
        port = int(cloud.endpoint.rsplit(":", 1)[1])
        cloud.client("s3", INSTANCE.region).create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": INSTANCE.region}
        )
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
        server = await asyncio.start_server(lambda *ends: forward(port, *ends), "127.0.0.1", 0, ssl=context)
        ports = {"https": server.sockets[0].getsockname()[1], "metadata": listener.getsockname()[1]}
        say(json.dumps(ports))
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip() == "asked":
                await asyncio.to_thread(names.asked.wait)
            else:
                names.mode = line.strip()
                names.asked.clear()
            say("ok")


def say(line: str) -> None:
    """Answer whoever started this."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def forward(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass a connection on to the emulator, which speaks no TLS."""
    inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
        target.close()

    await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer), return_exceptions=True)


class Quiet:
    """A log that nobody reads."""

    def __getattr__(self, name: str) -> object:
        return lambda *_: None


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
