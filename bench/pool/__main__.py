"""`python -m bench.pool`: how long plans of a pool take. The simulated week is `python -m bench.pool.week`."""

import argparse
import sys
from random import Random
from secrets import randbelow

from bench.pool import plan
from bench.results import publish, say


def main() -> int:
    """Plan, and write the results."""
    parser = argparse.ArgumentParser(prog="bench-pool")
    parser.add_argument("--seed", type=int, default=randbelow(2**32), help="of everything that is drawn")
    seed: int = parser.parse_args().seed
    say(f"seed {seed}")
    return publish("pool-plan", plan.rows(Random(seed)), f"python -m bench.pool --seed {seed}")


if __name__ == "__main__":
    sys.exit(main())
