"""`make bench-pool`: a standing pool, planned, simulated, and measured with real bytes."""

import argparse
import sys
from collections.abc import Callable, Sequence
from random import Random
from secrets import randbelow

from botocore.exceptions import BotoCoreError, ClientError

from bench.machine import unmet
from bench.options import count, names_among
from bench.pool import plan
from bench.pool.real import first_byte, large_data, routes, service, shares
from bench.pool.real.site import PoolError
from bench.pool.week import TRANSFERS, simulated
from bench.results import Result, measured, publish, say
from local.cloud import LocalCloudError
from local.instances.netns import NetworkError

FAILURES = (PoolError, LocalCloudError, NetworkError, LookupError, TimeoutError, BotoCoreError, ClientError)
# With real bytes, in network namespaces.
REAL: dict[str, Callable[[], list[Result]]] = {
    **shares.CASES,
    "first-byte": first_byte.first_byte,
    "figures-4-6": routes.figure_four_and_six,
    "figure-5": routes.figure_five,
    "figure-7": service.figure_seven,
    "figure-8": service.figure_eight,
    "figure-9": service.figure_nine,
    "figures-10-13": large_data.figures_ten_to_thirteen,
}
PURE = ("plan", "week")


def main(arguments: Sequence[str]) -> int:
    """Run the cases one after the other, publish."""
    asked = parse(arguments)
    real = [name for name in asked.cases if name in REAL]
    if real and (lacks := unmet()):
        raise SystemExit(f"bench-pool: {'; '.join(lacks)}")
    say(f"seed {asked.seed}")
    cases: dict[str, Callable[[], list[Result]]] = {
        "plan": lambda: plan.rows(Random(asked.seed)),
        "week": lambda: simulated(asked.seed, asked.transfers),
        **REAL,
    }
    results = [row for name in asked.cases for row in measured(name, cases[name], FAILURES)]
    given = f"--cases {','.join(asked.cases)} --seed {asked.seed} --transfers {asked.transfers}"
    return publish("pool", results, f"make bench-pool ARGS='{given}'")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    names = [*PURE, *REAL]
    parser = argparse.ArgumentParser(prog="bench-pool", description=__doc__)
    parser.add_argument("--cases", type=names_among(names), default=names, help=f"of {','.join(names)}")
    parser.add_argument("--seed", type=int, default=randbelow(2**32), help="of everything that is drawn")
    parser.add_argument("--transfers", type=count, default=TRANSFERS, help="of the simulated week")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
