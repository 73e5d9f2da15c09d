"""What a transfer asks of the control plane, counted from the state machine and the daemons, and what that costs."""

from dataclasses import dataclass
from math import ceil

from lambdas.core.tariff.prices import PriceBook, What

# As `make bench-estimate` counts them on the local cloud.
STATES, STATES_WITH_RELAYS = 22, 26
TASKS, TASKS_WITH_RELAYS = 11, 14
LAMBDA_GB = 0.5
# Of all tasks but Await Relays, which lasts until the relays are there.
TASK_SECONDS = 1.0
# A chunk is written pending and delivered, its range leased; Verify Transfer and Write Report read pages of them.
WRITES_PER_CHUNK, READS_PER_CHUNK = 2.2, 0.5
# Record, plan, membership, tokens, stages; then progress of both ends every two seconds.
WRITES, WRITES_PER_SECOND = 20, 1
# Both ends look at membership and fence.
READS_PER_SECOND = 1.5
# Listing, manifests, plan, digests of both ends, report.
PUTS, GETS = 7, 10
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


def calls(chunks: int, pairs: int, seconds: float, spawn_seconds: float) -> Calls:
    """Of a transfer of `chunks` chunks through `pairs` pairs that takes `seconds`."""
    tasks = TASKS_WITH_RELAYS if pairs else TASKS
    beats = ceil(seconds / HEARTBEAT_SECONDS)
    waits = min(spawn_seconds, seconds) if pairs else 0.0
    watched = beats if pairs else 0
    return Calls(
        transitions=STATES_WITH_RELAYS if pairs else STATES,
        requests=tasks + beats + watched,
        lambda_gb_seconds=LAMBDA_GB * (TASK_SECONDS * (tasks + beats) + waits) + WATCH_GB_SECONDS * watched,
        writes=ceil(WRITES + WRITES_PER_CHUNK * chunks + WRITES_PER_SECOND * seconds) + WATCH_WRITES * watched,
        reads=ceil(READS_PER_CHUNK * chunks + READS_PER_SECOND * seconds) + WATCH_READS * watched,
    )


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
