"""`make demo-hdfs`: from one real Hadoop to another one, on this machine, by two workers of each."""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli import terminal
from cli.aws import Aws
from cli.console import Text
from cli.demo import BOOT_SECONDS, CAPS, END_TYPE, ROOT, carry_out, console
from cli.settings import configuration
from lambdas.core.words import duration
from local.cloud import LocalCloud, namespaces_available
from local.config import LocalConfig
from local.hadoop.cluster import HadoopCluster
from local.hadoop.errors import HadoopMissingError
from local.hadoop.instances import on_instances
from local.hadoop.runtime import Runtime
from local.hadoop.settings import Options
from local.hadoop.shared_classes import prepare

USER = "demo"
MIB = 1 << 20
FILES, FILE_BYTES = 4, 64 * MIB
BLOCK_MIB = 8
"""Of what is written: parts of 8 MiB, so that each of two workers has some of each file."""


def main() -> int:
    """Run the demo; 0 when what the second Hadoop has is what the first one had, 3 where this machine can have none."""
    terminal.prepare()
    if not Path("cdk.json").exists():
        raise SystemExit("demo-hdfs: run it in the checkout, by `make demo-hdfs`")
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir(parents=True)
    try:
        runtime = prepare()
    except HadoopMissingError as missing:
        console.print(f"demo-hdfs: {missing}")
        return 3
    settings = configuration()
    home = settings["homeRegion"]
    other = next(region for region in settings["regions"] if region != home)
    mode = "netns" if namespaces_available() else "process"
    config = LocalConfig.model_validate({"port": 0, "instances": mode, "caps": CAPS, "bootSeconds": BOOT_SECONDS})
    # Hadoop's shell takes no local path with a blank, and a checkout may lie below one.
    with tempfile.TemporaryDirectory(prefix="cpt-demo-") as work, LocalCloud(config, Path(".local")) as cloud:
        source = _make_files(Path(work, "set"))
        with _hadoop(cloud, runtime, home) as first, _hadoop(cloud, runtime, other) as second:
            (hadoop, workers), (there, workers_there) = first, second
            hadoop.shell("-put", str(source), "/set")
            hadoop.shell("-chown", "-R", USER, "/set")
            request = {
                "source": {"kind": "hdfs", "workers": workers, "region": home, "user": USER, "paths": ["/set"]},
                "destination": {
                    "kind": "hdfs",
                    "workers": workers_there,
                    "region": other,
                    "user": USER,
                    "path": "/copy",
                    "blockSizeMiB": BLOCK_MIB,
                },
                "relays": {"pairs": 0},
                "chunkSizeMiB": BLOCK_MIB,
            }
            aws = Aws(home, settings.get("name", "cpt"), cloud.endpoint)
            succeeded = carry_out(cloud, aws, request, f"hdfs:/set in {home} → hdfs:/copy in {other}, two workers each")
            if not succeeded:
                return 1
            console.print(there.shell("-ls", "/copy/set").rstrip())
            there.shell("-get", "/copy/set", str(Path(work, "got")))
        same = subprocess.run(["diff", "--recursive", source, Path(work, "got")], check=False).returncode == 0
        console.print(f"diff -r of what both have: {'no difference' if same else 'they differ'}")
        return 0 if same else 1


def _make_files(root: Path) -> Path:
    randomness = random.Random(1)
    root.mkdir()
    for number in range(FILES):
        (root / f"large {number}.bin").write_bytes(randomness.randbytes(FILE_BYTES))
    shutil.copytree("docs", root / "docs")
    return root


@contextmanager
def _hadoop(cloud: LocalCloud, runtime: Runtime, region: str) -> Iterator[tuple[HadoopCluster, list[str]]]:
    began = time.monotonic()
    names = ("name node", "worker 1", "worker 2")
    machines = [cloud.launch_vm(region, name, END_TYPE, wait=False) for name in names]
    for machine in machines:
        cloud.wait_online(region, machine)
    options = Options(block_bytes=BLOCK_MIB * MIB)
    with on_instances(runtime, cloud, region, machines[0], machines[1:], options) as cluster:
        cluster.shell("-mkdir", "/copy")
        cluster.shell("-chown", USER, "/copy")
        console.print(
            Text("Hadoop", style="bold"), f"{region}: a name node, two data nodes, {duration(time.monotonic() - began)}"
        )
        yield cluster, machines[1:]


if __name__ == "__main__":
    sys.exit(main())
