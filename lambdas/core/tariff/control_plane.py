"""What a transfer asks of the control plane, counted from the state machine and the daemons, and what that costs."""

from dataclasses import dataclass
from math import ceil

from lambdas.core.tariff.prices import PriceBook, What

# As `make bench-cost` counts them on the local cloud, and two that ask whether archived objects are to be restored.
# With relays three more than a fleet that is no guess passes: a decision about relays on the way.
STATES, STATES_WITH_RELAYS = 32, 41
TASKS, TASKS_WITH_RELAYS = 15, 20
# EC2 tells of each machine's states, and functions hear it: most are a cold start and a look at a table.
REQUESTS_PER_RELAY, REACTION_SECONDS = 4, 0.5
LAMBDA_GB = 0.5
# Of all tasks but Await Relays, which lasts until the relays are there.
TASK_SECONDS = 1.0
# A chunk is written pending and delivered, its range leased; Verify Transfer and Write Report read pages of them.
WRITES_PER_CHUNK, READS_PER_CHUNK = 2.2, 0.4
# Units, one per KB written and per 4 KB read. Record, plan, membership, tokens, stages: some twenty writes, of which
# those of the record, with its estimate, count several KB, and as many in its index. Then progress of both ends.
WRITES, WRITES_WITH_RELAYS, WRITES_PER_SECOND = 300, 430, 0.5
READS, READS_WITH_RELAYS = 90, 170
# The meter's look each minute writes the record.
WRITES_PER_BEAT = 30
# A relay's item changes eight times, and has an index. Whoever waits for relays reads them, and what they install.
WRITES_PER_RELAY, READS_PER_RELAY, GETS_PER_RELAY = 20, 30, 5
# Both ends look at membership and fence.
READS_PER_SECOND = 3.0
# Listing, manifests, plan, digests of both ends, report.
PUTS, GETS = 10, 20
# A listing's first object has 100 lines, each other one twice as many, up to 50 000. Each has a manifest; the planner
# and both ends read them.
FIRST_PART_LINES, PART_LINES = 100, 50_000
PUTS_PER_PART, GETS_PER_PART, GB_SECONDS_PER_ENTRY = 3, 5, 1.5e-4
EVENTS = 3
HEARTBEAT_SECONDS = 60
# Watch Relays looks twice a minute, half a minute apart, in a function of half the usual size.
WATCH_GB_SECONDS = 0.25 * 31
WATCH_WRITES, WATCH_READS = 2, 10


@dataclass(frozen=True)
class Calls:
    """Numbers of requests; `lambda_gb_seconds` of compute."""

    transitions: int
    requests: int
    lambda_gb_seconds: float
    writes: int
    reads: int
    events: int = EVENTS
    puts: int = PUTS
    gets: int = GETS


def calls(chunks: int, pairs: int, seconds: float, spawn_seconds: float, entries: int = 0) -> Calls:
    """Of a transfer of `entries` files in `chunks` chunks through `pairs` pairs that takes `seconds`."""
    tasks = TASKS_WITH_RELAYS if pairs else TASKS
    beats = ceil(seconds / HEARTBEAT_SECONDS)
    waits = min(spawn_seconds, seconds) if pairs else 0.0
    watched = beats if pairs else 0
    more_parts = listing_parts(entries) - 1
    return Calls(
        transitions=STATES_WITH_RELAYS if pairs else STATES,
        requests=tasks + beats + watched + REQUESTS_PER_RELAY * 2 * pairs,
        lambda_gb_seconds=LAMBDA_GB * (TASK_SECONDS * (tasks + beats) + waits)
        + LAMBDA_GB * REACTION_SECONDS * REQUESTS_PER_RELAY * 2 * pairs
        + WATCH_GB_SECONDS * watched
        + GB_SECONDS_PER_ENTRY * entries,
        writes=ceil((WRITES_WITH_RELAYS if pairs else WRITES) + WRITES_PER_CHUNK * chunks + WRITES_PER_SECOND * seconds)
        + WRITES_PER_BEAT * beats
        + WRITES_PER_RELAY * 2 * pairs
        + WATCH_WRITES * watched,
        puts=PUTS + PUTS_PER_PART * more_parts,
        gets=GETS + GETS_PER_PART * more_parts + GETS_PER_RELAY * 2 * pairs,
        reads=ceil((READS_WITH_RELAYS if pairs else READS) + READS_PER_CHUNK * chunks + READS_PER_SECOND * seconds)
        + READS_PER_RELAY * 2 * pairs
        + WATCH_READS * watched,
    )


def listing_parts(entries: int) -> int:
    """Return the number of objects that hold a listing of `entries` lines; an empty listing has one too."""
    parts, full, left = 1, FIRST_PART_LINES, entries - FIRST_PART_LINES
    while left > 0 and full < PART_LINES:
        full = min(2 * full, PART_LINES)
        parts, left = parts + 1, left - full
    return parts + ceil(max(left, 0) / PART_LINES)


def dollars(made: Calls) -> float:
    """What they cost by the embedded table, which is all that is ever asked for these prices."""
    units: dict[What, float] = {
        "state-transition": made.transitions,
        "lambda-request": made.requests,
        "lambda-gb-second": made.lambda_gb_seconds,
        "table-write": made.writes,
        "table-read": made.reads,
        "event": made.events,
        "object-put": made.puts,
        "object-get": made.gets,
    }
    return sum(count * PriceBook().unit(what, "").usd for what, count in units.items())
