"""A transfer by hand whose daemons die: the harness does about it what the workflow would do."""

import json
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from bench.data_plane.network import Node
from tests.chaos.daemon import PROGRAM, Daemon, until
from tests.chaos.files import differences
from tests.chaos.table import Table
from tests.e2e.files import tree

ENDS = ("sender", "receiver")
RELAYS = ("near", "far")
ROLES = (*ENDS, *RELAYS)
PARTIAL = ".cpt-partial-"
LANES = 2
MB_PER_SECOND = 40
"""What the sender may send, 10⁶ bytes: 50 MB take a second and some, in which six syncs deliver."""
RECONCILE_SECONDS = 0.5
GONE_SECONDS = 5


class Transfer:
    """Sender, receiver and a pair of relays, under way."""

    def __init__(
        self,
        work: Path,
        source: Path,
        hosts: Mapping[str, Node],
        wrappers: Mapping[str, Sequence[str]],
        attempts: int,
        patience: float,
    ) -> None:
        self.source, self.destination = source, work / "destination"
        self.control, self.done = work / "control", [f"{attempts} attempts"]
        self._attempts, self._patience = attempts, patience
        self._generation, self._looked = 0, 0.0
        self._seen = dict.fromkeys(ENDS, 0.0)
        rates = work / "rates.json"
        rates.write_text(json.dumps([{"cidr": "0.0.0.0/0", "megabytesPerSecond": MB_PER_SECOND}]))
        subprocess.run(
            [PROGRAM, "plan", "--control-dir", self.control, "--chunk-mib", "1", f"{source}/"],
            check=True,
            capture_output=True,
        )
        self.table = Table(self.control)
        self.daemons = {role: Daemon(role, work, rates, hosts.get(role), wrappers.get(role, ())) for role in ROLES}
        self._addresses = {role: daemon.address for role, daemon in self.daemons.items()}

    def start(self) -> None:
        """Receiver, sender, relays, and the membership that names them."""
        for role in ("receiver", "sender"):
            self._start(role)
        self._join(RELAYS)

    def wait_until(self, what: str, holds: Callable[[], bool]) -> bool:
        """Wait for something; False if the transfer has ended by then."""
        until(f"{what}, {self.done}", lambda: holds() or self._is_over, self._look)
        return not self._is_over

    def wait_until_delivered(self, chunks: int) -> bool:
        """Wait until so many chunks are; False if the transfer has ended by then."""
        return self.wait_until(f"{chunks} delivered", lambda: self.table.delivered() >= chunks)

    def kill_and_start_again(self, role: str) -> None:
        """SIGKILL, then what the workflow does: an end goes on as the next epoch, a relay gets a successor."""
        self.daemons[role].kill()
        self.done.append(f"{role} killed at {self.table.delivered()} of {self.table.chunks}")
        self.check_nothing_half()
        if role in ENDS:
            self._start(role)
        else:
            self._join([role])

    def finish(self) -> dict[str, Any]:
        """Wait for the last event, then stop what still runs, as teardown does; the event."""
        until(f"end, {self.done}", lambda: self._is_over, self._look)
        ending = self.table.ending() or {}
        code = (4 if "skipped" in ending else 0) if ending["type"] == "Transfer Delivered" else 1
        assert self.daemons["sender"].wait() == code, self.daemons["sender"].story()
        receiver = self.daemons["receiver"]
        assert (receiver.stop() if receiver.code is None else receiver.code) == 0, receiver.story()
        return ending

    def fence(self) -> list[int | None]:
        """Stop it as teardown does where it cannot reach the machines; the exit codes of both ends."""
        self.table.put_record("transfer", {"fenced": True})
        return [self.daemons[role].wait() for role in ENDS]

    def check_arrived(self) -> None:
        """It ends, the tree is the same, nothing else lies there, and the counts are those that one counts oneself."""
        ending = self.finish()
        assert ending["type"] == "Transfer Delivered", (ending, self.done)
        arrived = tree(self.destination)
        assert differences(arrived, tree(self.source)) == {}, self.done
        counted = {
            "bytes": sum(len(content) for kind, *_, content in arrived.values() if kind == "file"),
            "files": len(arrived),
            "chunks": self.table.chunks,
        }
        assert {name: ending[name] for name in counted} == counted, self.done

    def check_arrived_but(
        self, before: Mapping[bytes, Any], suspects: Collection[bytes], reasons: Collection[str]
    ) -> set[bytes]:
        """It ends; of the tree `before` exactly those entries are absent that were left out, all of them suspects,
        for these reasons; their names.
        """
        ending, skipped = self.finish(), self.table.skipped()
        missing = {unquote_to_bytes(item["path"]) for item in skipped}
        assert missing <= set(suspects), (skipped, self.done)
        assert {item["reason"] for item in skipped} <= set(reasons), (skipped, self.done)
        assert (ending["type"], ending.get("skipped", 0)) == ("Transfer Delivered", len(skipped)), (ending, self.done)
        wanted = {name: before[name] for name in before.keys() - missing}
        assert differences(tree(self.destination), wanted) == {}, self.done
        return missing

    def check_nothing_half(self) -> None:
        """Every file that stands under its final name is whole."""
        for path in self.destination.rglob("*"):
            name = path.relative_to(self.destination)
            if path.is_file() and not path.is_symlink() and not name.parts[0].startswith(PARTIAL):
                assert path.read_bytes() == (self.source / name).read_bytes(), f"{name}: {self.done}"

    @property
    def _is_over(self) -> bool:
        return self.table.ending() is not None

    def _look(self) -> None:
        """Twice a second, what the reconciler looks at: undecided chunks, and ends that ended before the transfer.

        Usually the receiver has just ended and the sender is about to, unless it died before it heard so.
        """
        now = time.monotonic()
        if now < self._looked + RECONCILE_SECONDS:
            return
        self._looked = now
        self.table.decide_what_nobody_decided()
        for role in ENDS:
            if self.daemons[role].code is None:
                self._seen[role] = now
            elif now > self._seen[role] + GONE_SECONDS and not self._is_over:
                assert self.daemons[role].code == 0, self.daemons[role].story()
                self._start(role)

    def _start(self, role: str) -> None:
        directory = ["--control-dir", str(self.control)]
        listen = ["--listen", self._addresses[role]]
        if role == "sender":
            key = ["--route-key", str(self.control / "sender.key")]  # a relay serves the key that it was started with
            limits = ["--attempts", str(self._attempts), "--patience", str(self._patience)]
            self.daemons[role].start(["send", *directory, *key, *limits])
        elif role == "receiver":
            ready = self.daemons[role].start(["receive", *directory, *listen, str(self.destination)])
            self._addresses[role] = ready["address"]  # its successor's too
        else:
            # A relay's successor is another machine.
            listen = ["--listen", self.daemons[role].address]
            self._addresses[role] = self.daemons[role].start(["relay", *directory, *listen])["address"]

    def _join(self, relays: Sequence[str]) -> None:
        """Let these relays be succeeded, and tell the sender."""
        for role in relays:
            self.daemons[role].kill()
            self._start(role)
        self._generation += 1
        hops = [{"nodeId": role, "address": self._addresses[role]} for role in RELAYS]
        common = {"receiver": self._addresses["receiver"], "lanes": LANES}
        direct = {"pathId": "direct", "generation": 0, "hops": [], **common}
        pair = {"pathId": "pair-1", "generation": self._generation, "hops": hops, **common}
        membership = {"schemaVersion": 1, "version": self._generation, "paths": [direct, pair], "probes": []}
        self.table.put_record("membership", membership)


@contextmanager
def under_way(
    work: Path,
    source: Path,
    hosts: Mapping[str, Node] | None = None,
    *,
    wrappers: Mapping[str, Sequence[str]] | None = None,
    attempts: int = 1000,
    patience: float = 60,
) -> Iterator[Transfer]:
    """A transfer that has started; afterwards no daemon is left.

    `hosts`: where each daemon runs; `wrappers`: the command that starts it. `attempts`: of a chunk; many, where every
    fault passes.
    """
    transfer = Transfer(work, source, hosts or {}, wrappers or {}, attempts, patience)
    try:
        transfer.start()
        yield transfer
    except BaseException as error:
        error.add_note("\n".join(daemon.story() for daemon in transfer.daemons.values()))
        raise
    finally:
        for daemon in transfer.daemons.values():
            daemon.kill()
