"""Prints the Python of the Lambdas' runtime, if it is here and another than this one; else says why there is none."""

import sys

from local.cloud import ASSEMBLY
from local.deploy import runtimes_of
from local.interpreters import OWN, interpreter_of, note


def main() -> None:
    """The program's path on stdout, or a reason on stderr."""
    (runtime,) = runtimes_of(ASSEMBLY)
    if runtime == OWN:
        sys.stderr.write(f"test-runtime: nothing to do: all tests ran under {runtime} already\n")
    elif told := note(runtime):
        sys.stderr.write(f"test-runtime: skipped: {told}\n")
    else:
        sys.stdout.write(f"{interpreter_of(runtime).executable}\n")


if __name__ == "__main__":
    main()
