"""`python -m bench.lab.sweep`: which tool, how many streams, which window between two machines of yours?

Nothing moves without --yes: first it says what would be moved, for how many dollars, and what cannot run.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.lab.sweep.plan import (
    STREAMS,
    WINDOWS,
    Combination,
    Machine,
    combinations,
    medians,
    numbers,
    recommended,
    refusal,
)
from bench.lab.sweep.runs import Abstract, Sweep
from bench.lab.sweep.tools import TOOLS, UNTRIED, Machines, missing
from bench.options import count, names_among, positive
from bench.results import Result, publish, say


def main(arguments: Sequence[str]) -> int:
    """Say, and with --yes run."""
    asked = parse(arguments)
    if not asked.source.is_dir() or not any(asked.source.iterdir()):
        raise SystemExit(
            f"sweep: --source is {asked.source}; it must be a folder with files (bench.lab.sweep.testdata makes one)"
        )
    machines = Machines(
        shlex.split(asked.run_in), shlex.split(asked.reach), asked.host, asked.shared, asked.set_buffers
    )
    sweep = Sweep(machines, asked.source.resolve(), asked.to.resolve(), asked.out, asked.comments, asked.timeout)
    wanted = combinations(asked.tools, asked.streams, asked.windows)
    size = sum(sweep.sizes)
    machine = inspect(machines, asked.tools, asked.to)
    refused = {one: why for one in wanted if (why := refusal(one, machine, size))}
    left = [one for one in wanted if one not in refused]
    tell(refused, left, size, asked)
    if not asked.yes:
        say("nothing was moved; --yes moves it")
        return 0
    go(sweep, left, asked.repeat)
    return report(sweep.done(), asked)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m bench.lab.sweep", description=__doc__)
    tools = [*TOOLS, *UNTRIED]
    parser.add_argument("--tools", type=names_among(tools), default=tools, help=f"of {','.join(tools)}")
    parser.add_argument("--streams", type=_numbers, default=list(STREAMS), help="1,2,4 or 1:10")
    parser.add_argument("--windows", type=_numbers, default=list(WINDOWS), help="bytes, in the same way")
    parser.add_argument("--source", type=Path, required=True, help="the folder that is moved")
    parser.add_argument(
        "--to", type=Path, required=True, help="a folder of the other machine; what arrives is below cpt-sweep"
    )
    parser.add_argument("--host", required=True, help="the other machine's address")
    parser.add_argument("--reach", default="", help="what runs a command there: 'ssh host', or 'nsenter --net=… --'")
    parser.add_argument("--run-in", default="", help="the same for this machine, where it is a namespace")
    parser.add_argument("--shared", type=Path, help="a folder that both see, which cpt by hand needs")
    parser.add_argument(
        "--set-buffers", action="store_true", help="set TCP's largest buffers for tools without an option"
    )
    parser.add_argument("--repeat", type=count, default=3, help="runs of each; medians count (3)")
    parser.add_argument("--timeout", type=positive, default=600.0, help="seconds after which a run has failed")
    parser.add_argument("--usd-per-gb", type=float, default=0.0, help="of what leaves this machine (0)")
    parser.add_argument("--comments", default="")
    parser.add_argument(
        "--out", type=Path, default=Path("bench/out/sweep"), help="records; what is whole there is not run again"
    )
    parser.add_argument("--yes", action="store_true", help="move it")
    return parser.parse_args(arguments)


def _numbers(text: str) -> list[int]:
    try:
        return numbers(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def inspect(machines: Machines, tools: Sequence[str], to: Path) -> Machine:
    """What can be known before the first run."""
    available = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    send, receive = (int(Path(f"/proc/sys/net/core/{name}").read_text()) for name in ("wmem_max", "rmem_max"))
    reachable = subprocess.run([*machines.far, "true"], capture_output=True, check=False, timeout=20).returncode == 0
    place = next(one for one in (to, *to.resolve().parents) if one.exists())
    free = shutil.disk_usage(place).free
    by_option = [name for name in tools if name in TOOLS and TOOLS[name].has_windows]
    return Machine(
        int(available.split()[1]) * 1024, send, receive, free, reachable, missing(tools, machines), by_option
    )


def tell(refused: dict[Combination, str], left: Sequence[Combination], size: int, asked: argparse.Namespace) -> None:
    """What would be done, and what not."""
    reasons: dict[str, list[Combination]] = {}
    for one, why in refused.items():
        reasons.setdefault(f"{one.tool}: {why}" if why.startswith("window") else why, []).append(one)
    for why, some in reasons.items():
        say(f"left out, {len(some)} combinations: {why}")
    whole = size * len(left) * asked.repeat
    dollars = whole / 1e9 * asked.usd_per_gb
    say(
        f"{len(left)} combinations, {asked.repeat} times each: {whole / 1e9:.2f} GB, ${dollars:.2f} at "
        f"${asked.usd_per_gb} a GB"
    )


def go(sweep: Sweep, left: Sequence[Combination], repeat: int) -> None:
    """All that are not whole yet, each as often as was asked for."""
    done = [one.combination for one in sweep.done()]
    for one in left:
        for _ in range(repeat - done.count(one)):
            found = sweep.run(one)
            what = (
                f"{found.mb_s:.1f} MB/s"
                if found.completion == "YES"
                else f"{found.completion}: {found.why.splitlines()[0] if found.why else 'less arrived'}"
            )
            say(f"  {one}: {what}")


def report(done: Sequence[Abstract], asked: argparse.Namespace) -> int:
    """Print and keep the table, with what is recommended for each tool."""
    runs = [one.ran for one in done if one.tool in asked.tools]
    rates = medians(runs)
    rows = []
    for one, rate in rates.items():
        own = [run for run in runs if run.combination == one]
        cpu, peak, wh = (
            min(getattr(run, name) for run in own) for name in ("cpu_seconds_per_gb", "peak_bytes", "wh_per_tb")
        )
        rows.append(Result(str(one), rate, "MB/s", note=f"{cpu:.2f} CPU s/GB, {peak / 1e6:.0f} MB, {wh:.1f} Wh/TB"))
    for tool in dict.fromkeys(one.tool for one in rates):
        best = max(rate for one, rate in rates.items() if one.tool == tool)
        one = recommended(rates, tool)
        rows.append(Result(f"recommended: {one}", rates[one] / best, "of the best", 0.95, "higher"))
    return publish("sweep", rows, "python -m bench.lab.sweep") if rows else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main(sys.argv[1:]))
