"""`make lab`: repeats figures of the papers, and keeps what was measured."""

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.data_plane import isolation
from bench.data_plane.bench import Bench
from bench.data_plane.network import NetworkError
from bench.data_plane.process import BenchError
from bench.lab.experiment import Experiment, Found, Lab
from bench.lab.record import KEPT, Record
from bench.lab.registry import EXPERIMENTS, chosen
from bench.machine import unmet
from bench.results import say, versions

LABORATORY = Path("relay-ami/relay/target/release/cpt-laboratory")
MACHINE = {"processors": str(os.cpu_count())}
FAILURES = (BenchError, NetworkError, OSError, ValueError, KeyError)


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for, each experiment in a world of its own."""
    options = parse(arguments)
    if options.figure == "list":
        show()
        return 0
    try:
        experiments = chosen(options.figure.split(",") if options.figure else [])
    except ValueError as error:
        say(f"lab: {error}")
        return 2
    if isolation.inside():
        work = isolation.prepare()
        named(work / "hosts")
        return run(experiments[0], Bench(LABORATORY.resolve(), work, 1, options.smoke), options)
    status = 0
    for one in experiments:
        say(f"{', '.join(figure.name for figure in one.figures)}: at most {one.minutes:g} minutes")
        if problems := lacking(one):
            status = 2
            for problem in problems:
                say(f"  {problem}")
        elif one.isolated:
            own = ["--figure", one.name, "--seed", str(options.seed), *(["--smoke"] if options.smoke else [])]
            status = isolation.enter(own, "bench.lab") or status
        else:
            status = run(one, Bench(LABORATORY.resolve(), Path("bench/out"), 1, options.smoke), options) or status
    return status


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="make lab FIGURE= ARGS=", description=__doc__)
    parser.add_argument("--figure", default="", help="one or several with commas, or list; all by default")
    parser.add_argument("--seed", type=int, default=1, help="of everything that is drawn (1)")
    parser.add_argument(
        "--smoke", action="store_true", help="little of each: its numbers mean nothing and are not kept"
    )
    return parser.parse_args(arguments)


def named(hosts: Path) -> None:
    """Give both ends of a long path a name in this world: GridFTP's server asks for it, and no resolver is here."""
    hosts.write_text(f"127.0.0.1 localhost\n10.0.0.1 sender\n10.1.0.1 receiver {platform.node()}\n")
    subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)


def show() -> None:
    """All figures: name, paper, title, minutes of the run that has it."""
    for one in EXPERIMENTS:
        for figure in one.figures:
            print(f"{figure.name:<14} {figure.paper:<6} {one.minutes:>4g} min  {figure.title}")


def lacking(experiment: Experiment) -> list[str]:
    """Why it cannot run here."""
    found = unmet() if experiment.isolated else []
    if experiment.daemon and not LABORATORY.exists():
        found.append(f"{LABORATORY} is missing: make lab builds it")
    return found


def run(experiment: Experiment, bench: Bench, options: argparse.Namespace) -> int:
    """Measure, and keep a record for each figure beside the log; 1 where it could not be measured."""
    log = KEPT / f"{experiment.name}.log"
    with logged(log, keep=not options.smoke) as done:
        say(f"{experiment.name}: seed {options.seed}, {os.cpu_count()} processors")
        began = time.monotonic()
        try:
            found = experiment.measure(Lab(bench, options.seed, options.smoke))
        except FAILURES as error:
            say(f"  {experiment.name} could not be measured: {type(error).__name__}: {error}")
            return 1
        seconds = time.monotonic() - began
        if options.smoke:
            say(f"  {experiment.name}: smoke, {seconds:.1f} s")
            return 0
        for record in records(experiment, found, options.seed, seconds, log):
            record.keep()
            say(f"  {record.figure}: {record.verdict_text}")
            for row in record.rows:
                say(f"    {row.case}: {row.measured:.3f} {row.unit} {row.note}")
        done()
    return 0


def records(
    experiment: Experiment, found: Mapping[str, Found], seed: int, seconds: float, log: Path
) -> Iterator[Record]:
    """One for each figure."""
    for figure in experiment.figures:
        of_figure = found[figure.name]
        yield Record(
            figure=figure.name,
            paper=figure.paper,
            title=figure.title,
            claims=list(figure.claims),
            rows=list(of_figure.rows),
            plots=list(of_figure.plots),
            note=of_figure.note,
            invalid=list(of_figure.invalid),
            command=f"make lab FIGURE={figure.name} ARGS='--seed {seed}'",
            seconds=round(seconds, 1),
            seed=seed,
            log=log.name,
            versions={**{tool: version for tool, version in versions().items() if tool != "kernel"}, **MACHINE},
        )


@contextmanager
def logged(path: Path, *, keep: bool) -> Iterator[Callable[[], None]]:
    """What is said goes to a file too, which takes the place of an earlier one once what this yields is called."""
    if not keep:
        yield lambda: None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    before, fresh = sys.stderr, path.with_suffix(".new")
    with fresh.open("w") as file:
        sys.stderr = Both(before, file)
        try:
            yield partial(os.replace, fresh, path)
        finally:
            sys.stderr = before
            fresh.unlink(missing_ok=True)


class Both:
    """Standard error, and a file beside it."""

    def __init__(self, *sinks: object) -> None:
        self._sinks = sinks

    def write(self, text: str) -> int:
        """Write to both."""
        for sink in self._sinks:
            sink.write(text)  # type: ignore[attr-defined]
        return len(text)

    def flush(self) -> None:
        """Flush both."""
        for sink in self._sinks:
            sink.flush()  # type: ignore[attr-defined]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
