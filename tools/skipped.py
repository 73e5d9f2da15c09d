"""Tells what tests did not try on this machine, and why; the tests of both languages note it in one list.

    python -m tools.skipped LIST

With `CPT_SKIPS=refuse` it ends with 1 where root has skipped something: other users cannot have all that tests need.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

EXAMPLES = 2
LONGER = "with make chaos"
"""A test that says so was not left out for want of something."""


def by_reason(lines: Iterable[str]) -> dict[str, list[str]]:
    """Names of tests by the reason that they gave; a line has both with a tab between."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        name, _, why = line.rstrip("\n").partition("\t")
        if why and why != LONGER:
            found[why].add(name)
    return {why: sorted(names) for why, names in sorted(found.items())}


def in_words(skipped: dict[str, list[str]]) -> list[str]:
    """One line for each reason."""
    if not skipped:
        return ["nothing was left out for want of something"]
    words = ["left out here, for want of something:"]
    for why, names in skipped.items():
        more = f" and {len(names) - EXAMPLES} more" if len(names) > EXAMPLES else ""
        words.append(f"  {why}: {', '.join(names[:EXAMPLES])}{more}")
    return words


def main(list_of_skipped: Path) -> int:
    """Print it; returns the exit code."""
    text = list_of_skipped.read_text() if list_of_skipped.exists() else ""
    skipped = by_reason(text.splitlines())
    sys.stdout.write("\n".join([*in_words(skipped), ""]))
    return 1 if skipped and os.environ.get("CPT_SKIPS") == "refuse" and os.geteuid() == 0 else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
