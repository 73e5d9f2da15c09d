"""The tables of docs/troubleshooting.md, drawn from contracts/failures.json.

python -m tests.docs.failure_tables
"""

import re
from collections.abc import Iterator

from lambdas.core.failures import FAILURES
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "troubleshooting.md"
_TABLE = re.compile(r"(<!-- failures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def drawn(page: str) -> str:
    """`page` with each part between `<!-- failures: SECTION -->` and `<!-- end -->` drawn anew."""
    return _TABLE.sub(lambda part: "\n".join([part[1], *_table(part[2]), "", part[3]]), page)


def _table(section: str) -> Iterator[str]:
    yield "| error | what it means | what to do | code |"
    yield "| --- | --- | --- | --- |"
    for name, failure in FAILURES.items():
        if failure.section == section:
            yield f"| `{name}` | {failure.meaning} | {failure.advice} | {failure.exit_code} |"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text()))
