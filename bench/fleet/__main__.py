"""`make bench-fleet`: relays are chosen, lost and late on an emulated network."""

import argparse
import secrets
import sys
from collections.abc import Callable, Sequence
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from bench.fleet import kill, mesh, pre_test, spread, unequal, zero_wait
from bench.fleet.site import CaseError, Options
from bench.machine import unmet
from bench.options import names_among
from bench.results import Result, measured, publish, say
from local.cloud import LocalCloudError

CASES: dict[str, Callable[[Options], list[Result]]] = {
    "pre-test": pre_test.run,
    "spread": spread.run,
    "kill": kill.run,
    "zero-wait": zero_wait.run,
    "mesh": mesh.run,
    "unequal": unequal.run,
}
FAILURES = (CaseError, LocalCloudError, TimeoutError, BotoCoreError, ClientError)


def main(arguments: Sequence[str]) -> int:
    """Run the cases one after the other, publish."""
    options = parse(arguments)
    problems = unmet()
    for problem in problems:
        say(f"bench-fleet: {problem}")
    if problems:
        return 2
    say(f"seed {options.seed}: repeat with --seed {options.seed}")
    given = Options(options.seed, options.quick)
    results = [result for name in options.cases for result in measured(name, partial(CASES[name], given), FAILURES)]
    command = f"python -m bench.fleet --cases {','.join(options.cases)} --seed {options.seed}"
    return publish("fleet", results, command + (" --quick" if options.quick else ""))


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description=__doc__)
    parser.add_argument(
        "--cases", type=names_among(CASES), default=list(CASES), help=f"of {','.join(CASES)}; all by default"
    )
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="of the relays' caps")
    parser.add_argument("--quick", action="store_true", help="little of each: tries the harness, proves nothing")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
