"""A transfer whose ends know AWS's endpoints by a name, and a name server that fails in the middle of it.

Run in a network and a mount namespace of its own, whose `/etc/resolv.conf` names 127.0.0.1: `python -m
tests.chaos.named_endpoints WORK`. It ends with 0 where all that is asked of such a transfer is true.
"""

import asyncio
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import dnslib
from dnslib.server import DNSHandler, DNSServer

from local.cloud import LocalCloud
from local.config import LocalConfig
from tests.chaos import account as chaos
from tests.e2e.account import Account
from tests.e2e.files import make_files
from tests.relay_ami.foreign_services import Names, Quiet, forward

NAME, TRANSFER = "aws.cpt.test", "named"
LARGE = 120_000_000  # 24 s at 5 MB/s
# In this order, each until it was asked so often. A lookup asks for two kinds of address, thrice where nobody answers.
FAILURES = {"refuse": 20, "silent": 30}
SECONDS = 60


class CountedNames(Names):
    """Counts what is asked in each mode."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self.counts: Counter[str] = Counter()

    def resolve(self, request: dnslib.DNSRecord, handler: DNSHandler) -> dnslib.DNSRecord:
        """As a resolver of a VPC."""
        self.counts[self.mode] += 1
        return super().resolve(request, handler)

    def has_been_asked(self, mode: str, often: int) -> bool:
        """Whether there were so many questions in a mode."""
        return self.counts[mode] >= often


class Entrance:
    """What the name leads to: it passes connections on to the emulator, and ends them when it is told to."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        starting = asyncio.start_server(self._pass, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.port = int(server.sockets[0].getsockname()[1])

    def cut(self) -> None:
        """End all connections, as AWS's endpoints do with old ones: whoever wants another asks for the name."""
        for writer in list(self._open):
            self._loop.call_soon_threadsafe(writer.transport.abort)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            await forward(self._target, reader, writer)
        finally:
            self._open.discard(writer)


def delivered(account: Account) -> int:
    """Chunks that have arrived."""
    return sum(chunk["state"] == "DELIVERED" for chunk in account.chunks(TRANSFER))


def main(work: Path) -> None:
    """The transfer. Raises AssertionError or TimeoutError."""
    names = CountedNames()
    for tcp in (False, True):
        DNSServer(names, address="127.0.0.1", port=53, tcp=tcp, logger=Quiet()).start_thread()
    with LocalCloud(LocalConfig.model_validate({"port": 0}), work / "state") as cloud:
        account, entrance = Account(cloud, work), Entrance(int(cloud.endpoint.rsplit(":", 1)[1]))
        for machine in (account.source, account.destination):
            environment = cloud.state.instances / machine / "env"  # of its daemons
            told = environment.read_text()
            assert cloud.endpoint in told
            environment.write_text(told.replace(cloud.endpoint, f"http://{NAME}:{entrance.port}"))
        source = make_files(work / "set", large_bytes=LARGE)
        request = account.request(
            f"{source}/", work / "out", relays={"pairs": 0}, chunkSizeMiB=1, bandwidthLimitMbps=40
        )
        arn = account.start(request, TRANSFER)
        cloud.wait_for(lambda: delivered(account) >= 10, SECONDS)
        assert names.counts["answer"] > 0
        for mode, often in FAILURES.items():
            names.mode = mode
            entrance.cut()
            cloud.wait_for(partial(names.has_been_asked, mode, often), SECONDS)
        assert account.describe(arn)["status"] == "RUNNING"
        left = len(account.chunks(TRANSFER)) - delivered(account)
        names.mode = "answer"
        chaos.check_arrived(account, account.wait(arn), TRANSFER, source, work / "out")
        attempts = Counter(int(chunk["attempt"]) for chunk in account.chunks(TRANSFER))
        assert left > 0
        assert set(attempts) == {1}, attempts


if __name__ == "__main__":
    main(Path(sys.argv[1]))
