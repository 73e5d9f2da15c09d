"""docs/limits.md, "A hundred transfers at once": each figure as the code and the facts have it."""

from math import ceil

import pytest

from cli.doctor.functions import OF_A_TRANSFER, OF_ALL
from lambdas.core.chunks.plan import LARGEST_AUTO_MIB, MIB
from lambdas.core.fleet import launch_queue
from lambdas.core.tariff import fallback_prices as prices
from lambdas.core.tariff.control_plane import Calls, calls, dollars
from local.facts import fact
from tests.paths import ROOT

TRANSFERS, PAIRS, SECONDS, SPAWN_SECONDS, GIGABYTES = 100, 2, 600, 40, 100
RELAY = "c6in.large"
VCPUS = 2
# From the record's 12.7 KB, about thirty writes of the stages in the first minute.
RECORD_UNITS, FIRST_WRITES = 13, 30
PAGE = " ".join((ROOT / "docs" / "limits.md").read_text().partition("## A hundred transfers at once")[2].split())


@pytest.fixture(scope="module")
def made() -> Calls:
    """The control plane's calls of one of them."""
    return calls(ceil(GIGABYTES * 1e9 / (LARGEST_AUTO_MIB * MIB)), PAIRS, SECONDS, SPAWN_SECONDS)


def told(*words: str) -> None:
    for one in words:
        assert one in PAGE


def spaced(number: float) -> str:
    """`3 900`."""
    return f"{number:,.0f}".replace(",", " ")


def test_quotas() -> None:
    relays, rules = TRANSFERS * PAIRS, fact("security-group-rules")
    last = (TRANSFERS - launch_queue.BURST) / launch_queue.CALLS_PER_SECOND
    told(
        f"| {TRANSFERS * (1 + PAIRS)} of {rules} | {rules // (1 + PAIRS)} transfers |",
        f"| {relays * VCPUS} vCPUs in each region |",
        f"| {TRANSFERS * OF_A_TRANSFER + OF_ALL} of {spaced(fact('lambda-concurrency'))} |",
        f"the last call after {last:.0f} s",
    )


def test_calls(made: Calls) -> None:
    writes, first_writes = TRANSFERS * made.writes / SECONDS, TRANSFERS * RECORD_UNITS * FIRST_WRITES / 60
    told(
        f"{spaced(TRANSFERS * made.transitions)} transitions",
        f"{writes:.0f} units a second of {spaced(fact('dynamodb-new-table-writes'))}",
        f"{first_writes:.0f} units a second of {spaced(fact('dynamodb-partition-writes'))}",
    )


def test_dollars(made: Calls) -> None:
    hours = (SECONDS + SPAWN_SECONDS) / 3600
    regions = ("us-west-2", "eu-west-1")
    an_hour = sum(prices.instance_hour(RELAY, region) or 0 for region in regions) + 2 * prices.PUBLIC_ADDRESS_HOUR
    told(
        f"egress ${TRANSFERS * GIGABYTES * prices.EGRESS_GB['us-west-2']:.0f}",
        f"relays ${TRANSFERS * PAIRS * an_hour * hours:.1f}",
        f"control plane ${TRANSFERS * dollars(made):.2f}",
    )
