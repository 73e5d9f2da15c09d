"""`make demo`: the main job on this machine, from the synthesized template, checked by other people's tools."""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli import terminal
from cli.aws import Aws
from cli.console import Text, make_console
from cli.demo_data import make_tree
from cli.figures import tell_figures
from cli.render import report_view
from cli.reporting import read_report, save_page
from cli.settings import configuration
from cli.watching import watch_execution
from lambdas.core.words import duration
from local.cloud import LocalCloud, namespaces_available
from local.config import LocalConfig

ROOT = Path(".local/demo")
END_TYPE = "t3.small"
CAPS = {"interRegionMBps": 20.0, "intraRegionMBps": 160.0}
BOOT_SECONDS = 5.0
SPAWN_SECONDS = BOOT_SECONDS + 6  # T_v told to the estimate: six relays fetch and start the daemon on two cores
TOTAL_BYTES = 600_000_000

console = make_console()


def main() -> int:
    """Run the demo; 0 when source and destination are the same tree and nothing is left running."""
    terminal.prepare()
    arguments = _arguments()
    if not Path("cdk.json").exists():
        raise SystemExit("demo: run it in the checkout, by `make demo`")
    source, destination = _directories(arguments)
    mode = arguments.instances or ("netns" if namespaces_available() else "process")
    config = LocalConfig.model_validate(
        {"port": arguments.port, "instances": mode, "caps": CAPS, "bootSeconds": BOOT_SECONDS}
    )
    how = "network namespaces" if mode == "netns" else "processes"
    console.print(
        Text("Local cloud", style="bold"),
        f"VMs are {how}; {CAPS['interRegionMBps']:.0f} MB/s out of the region, "
        f"{CAPS['intraRegionMBps']:.0f} MB/s inside; boot {BOOT_SECONDS:.0f} s",
    )
    began = time.monotonic()
    with LocalCloud(config, Path(".local")) as cloud:
        console.print(f"  {cloud.endpoint}, the synthesized templates deployed in {duration(time.monotonic() - began)}")
        for line in cloud.notes():
            console.print(f"  note: {line}")
        succeeded = _transfer(cloud, source, destination, arguments)
    console.print("Local cloud stopped.")
    return 0 if succeeded and _same_trees(source, destination / source.name) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo ARGS=…", description=__doc__)
    parser.add_argument(
        "--source", type=Path, help="directory to move (default: about 600 MB of real and generated files)"
    )
    parser.add_argument("--destination", type=Path, help="directory to move it into (default: inside the checkout)")
    parser.add_argument("--pairs", default="3", help="relay pairs, or auto (default: 3)")
    parser.add_argument("--instances", choices=["process", "netns"], help="default: netns as root, else process")
    parser.add_argument("--port", type=int, default=0, help="port of the local AWS endpoint (default: a free one)")
    arguments = parser.parse_args()
    if arguments.pairs != "auto" and not arguments.pairs.isdigit():
        parser.error(f"--pairs {arguments.pairs}: a number from 0 on, or auto")
    if arguments.source and not arguments.source.is_dir():
        parser.error(f"--source {arguments.source}: not a directory")
    if arguments.source and _inside(arguments.source, ROOT):
        parser.error(f"--source {arguments.source}: {ROOT} is emptied by each demo; name a directory outside it")
    if arguments.source and arguments.destination and _inside(arguments.destination, arguments.source):
        parser.error(f"--destination {arguments.destination}: lies inside the source; name a directory outside it")
    return arguments


def _inside(path: Path, directory: Path) -> bool:
    return path.resolve().is_relative_to(directory.resolve())


def _directories(arguments: argparse.Namespace) -> tuple[Path, Path]:
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir(parents=True)
    destination: Path = (arguments.destination or ROOT / "destination").absolute()
    if arguments.source:
        return arguments.source.absolute(), destination
    source = (ROOT / "source").absolute()
    make_tree(source, TOTAL_BYTES, Path("node_modules"))
    return source, destination


def _transfer(cloud: LocalCloud, source: Path, destination: Path, arguments: argparse.Namespace) -> bool:
    settings = configuration()
    home = settings["homeRegion"]
    other = next(region for region in settings["regions"] if region != home)
    aws = Aws(home, settings.get("name", "cpt"), cloud.endpoint)
    tell_figures(aws, f"{home}>{other}", [END_TYPE, *settings["instanceTypes"]], CAPS, SPAWN_SECONDS)
    request = {
        "source": {"instanceId": cloud.launch_vm(home, "source", END_TYPE), "region": home, "paths": [str(source)]},
        "destination": {
            "instanceId": cloud.launch_vm(other, "destination", END_TYPE),
            "region": other,
            "path": str(destination),
        },
        "relays": {"pairs": "auto" if arguments.pairs == "auto" else int(arguments.pairs)},
        "preTest": False,
    }
    return carry_out(cloud, aws, request, f"{source} → {destination}, VM {home} → VM {other}")


def carry_out(cloud: LocalCloud, aws: Aws, request: Mapping[str, Any], told: str) -> bool:
    """Start a transfer, watch it, tell its report; whether it succeeded and no relay is left. `told`: it, in words."""
    console.print(Text("Transfer", style="bold"), told)
    machine = next(
        item["stateMachineArn"]
        for item in aws.client("stepfunctions").list_state_machines()["stateMachines"]
        if item["name"] == f"{aws.deployment}-transfer"
    )
    started = aws.client("stepfunctions").start_execution(
        stateMachineArn=machine, name="demo", input=json.dumps(request)
    )
    execution = watch_execution(aws, started["executionArn"])
    report = read_report(aws, execution)
    if "stages" not in report:
        console.print(Text(f"{report['status']}: {report.get('error')}: {report.get('cause')}", style="red"))
        return False
    console.print(report_view(report))
    (ROOT / "report.json").write_text(json.dumps(report, indent=2))
    save_page(aws, execution, report, ROOT / "report.html")
    left = cloud.live_relays()
    console.print(
        f"Relays left running: {len(left)}. Report: {ROOT / 'report.json'}; as a page: {ROOT / 'report.html'}"
    )
    return report["status"] == "SUCCEEDED" and not left


def _same_trees(source: Path, destination: Path) -> bool:
    """Compare by `diff -r` and by the operating system's sha256sum over all regular files."""
    began = time.monotonic()
    differ = subprocess.run(
        ["diff", "-r", "--no-dereference", source, destination], capture_output=True, text=True, errors="replace"
    )
    if differ.returncode != 0:
        console.print(Text(f"diff -r: {differ.stdout[:2000]}{differ.stderr[:2000]}", style="red"))
        return False
    sums = [_sha256_of_tree(tree) for tree in (source, destination)]
    same = sums[0] == sums[1]
    console.print(
        f"Checked independently in {duration(time.monotonic() - began)}: diff -r finds no difference, "
        f"sha256sum of all files {'agrees' if same else 'differs'} ({sums[0][:16]}…)"
    )
    return same


def _sha256_of_tree(tree: Path) -> str:
    listing = subprocess.run(
        "find . -type f -print0 | sort -z | xargs -0 -r sha256sum",
        shell=True,
        cwd=tree,
        check=True,
        capture_output=True,
    ).stdout
    return hashlib.sha256(listing).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
