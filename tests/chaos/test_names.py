"""A name server that fails in the middle of a transfer and comes back."""

import subprocess
import sys
from pathlib import Path

import pytest

from local.cloud import namespaces_available
from tests.chaos.extent import only_full
from tests.paths import ROOT

# The machine's own file of name servers is another one for whatever runs in there.
ENTER = 'ip link set lo up && mount --bind "$1" "$(realpath /etc/resolv.conf)" && exec "$2" -m "$3" "$4"'


@only_full
@pytest.mark.skipif(not namespaces_available(), reason="namespaces need root, iproute2 and nftables")
def test_names_that_fail_for_seconds_cost_no_attempt_of_a_chunk(tmp_path: Path) -> None:
    servers = tmp_path / "resolv.conf"
    servers.write_text("nameserver 127.0.0.1\n")
    inside = [str(servers), sys.executable, "tests.chaos.named_endpoints", str(tmp_path)]
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", ENTER, "sh", *inside],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
