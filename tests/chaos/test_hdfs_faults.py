"""The daemon's own tests of what breaks in HDFS and of what it refuses: they have Hadoops of their own."""

import os
import subprocess

from tests.chaos.extent import VARIABLE, only_full
from tests.paths import ROOT

RELAY = ROOT / "relay-ami/relay"
SUITES = [f"port::hdfs_{name}" for name in ("failover", "faults", "lost_answers", "refused", "snapshots")]


@only_full
def test_what_breaks_in_hdfs_costs_no_byte_and_what_it_lacks_is_refused() -> None:
    command = ["./cargo-checked", "test", "--package", "cpt-laboratory", "--test", "all", "--", *SUITES]
    subprocess.run(command, cwd=RELAY, env={**os.environ, VARIABLE: "full"}, check=True)
