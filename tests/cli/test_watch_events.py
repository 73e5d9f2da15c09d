"""What `cpt watch` tells, from the records alone."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from cli.watch_events import (
    ApprovalRequired,
    Ended,
    Estimated,
    LimitChanged,
    Progressed,
    RelayChanged,
    RelaysDecided,
    StageEntered,
    Untold,
    WatchEvent,
    happened,
    in_words,
    progress,
)
from lambdas.core.watch.transfer_state import TransferState, state_of
from tests.cli.transfers import records, relay

CONTRACTS = Path(__file__).parents[2] / "contracts"
SCHEMA = Draft202012Validator(json.loads((CONTRACTS / "watch-event.schema.json").read_text()))
MODELS: dict[str, type[WatchEvent]] = {
    "Stage Entered": StageEntered,
    "Limit Changed": LimitChanged,
    "Relays Decided": RelaysDecided,
    "Relay Joined": RelayChanged,
    "Relay Left": RelayChanged,
    "Estimated": Estimated,
    "Approval Required": ApprovalRequired,
    "Progress": Progressed,
    "Transfer Ended": Ended,
}
NODES = [
    relay("source-1-0", "LOST", 1002.0, joinedAt=1008.0, endedAt=1020.0, reason="spot interruption"),
    relay("source-1-1", "JOINED", 1021.0, joinedAt=1027.0),
    relay("destination-1-0", "TERMINATED", 1002.5, endedAt=1030.0),
]


def state() -> TransferState:
    return state_of("nightly", records(), [*NODES])


@pytest.mark.parametrize("path", sorted((CONTRACTS / "examples/good/watch-event").glob("*.json")), ids=lambda p: p.stem)
def test_good_example_is_read_and_written_back(path: Path) -> None:
    document = json.loads(path.read_text())
    assert MODELS[document["type"]].from_document(document).to_document() == document


def test_whoever_comes_late_is_told_all_of_it_in_order() -> None:
    told = [event.words() for event in happened(state())]
    assert told == [
        "Validate Request",
        "relay source-1-0 launched: c6in.large in us-west-2",
        "relay destination-1-0 launched: c6in.large in us-west-2",
        "Start Transfer",
        "relay source-1-0 joined",
        "relay source-1-0 left: spot interruption",
        "relay source-1-1 launched: c6in.large in us-west-2",
        "relay source-1-1 joined",
        "relay destination-1-0 left",
        "3 pairs, 16.0 s, $0.0246: worth it",
    ]


def test_relays_that_do_the_same_together_share_a_line() -> None:
    nodes = [relay(f"source-{n}-0", "JOINED", 1002.0 + n / 10, joinedAt=1008.0 + n) for n in (1, 2, 3)]
    told = [words for _, words in in_words(happened(state_of("nightly", records(), [*nodes])))]
    assert told[1:] == [
        "relays source-1-0, source-2-0, source-3-0 launched: c6in.large in us-west-2",
        "Start Transfer",
        "relays source-1-0, source-2-0, source-3-0 joined",
        "3 pairs, 16.0 s, $0.0246: worth it",
    ]


def test_the_estimate_is_told_where_it_was_made() -> None:
    stages = {"Estimate Transfer": {"enteredAt": 1001.0}, "Plan Chunks": {"enteredAt": 1002.0}}
    told = happened(state_of("nightly", records(stages=stages), []))
    assert [event.type for event in told] == ["Stage Entered", "Estimated", "Stage Entered"]


def test_changes_of_the_limit_are_told_at_their_times() -> None:
    limited = records()
    changes = [{"at": 1009.5, "mbps": 400}, {"at": 1010.5}]
    limited["transfer"]["bandwidth"] = {"lowestMbps": 400, "changes": changes}
    told = [(event.type, event.words()) for event in happened(state_of("nightly", limited, [*NODES]))]
    joined = told.index(("Relay Joined", "relay source-1-0 joined"))
    assert told[joined + 1 : joined + 3] == [
        ("Limit Changed", "limit 400 Mbit/s (50 MB/s)"),
        ("Limit Changed", "limit lifted"),
    ]


def test_nothing_is_told_twice() -> None:
    untold = Untold()
    assert len(list(untold.of(happened(state())))) == 10
    assert list(untold.of(happened(state()))) == []
    later = state_of("nightly", records(), [*NODES, relay("source-1-2", "SPAWNED", 1040.0)])
    assert [event.words() for event in untold.of(happened(later))] == [
        "relay source-1-2 launched: c6in.large in us-west-2"
    ]


def test_every_event_fits_the_contract() -> None:
    found = progress(state())
    assert found is not None
    for event in [*happened(state()), found]:
        SCHEMA.validate(event.to_document())


def test_progress_has_bytes_rate_time_money_and_lanes() -> None:
    found = progress(state())
    assert found is not None
    assert (found.bytes, found.total_bytes, found.rate, found.spent) == (300_000_000, 600_000_000, 29.75, 0.0123)
    assert found.seconds_left == pytest.approx(300 / 29.75)
    assert found.words() == "   300 MB of 600 MB    29.8 MB/s    10.1 s left  $0.0123 so far  direct 10.2, pair-1 19.5"


def test_progress_says_what_limits_it() -> None:
    limited = records()
    limited["membership"] = {"membership": json.dumps({"paths": [], "bandwidthLimitMbps": 20})}
    found = progress(state_of("nightly", limited, []))
    assert found is not None
    assert "29.8 MB/s (limit 2.5 MB/s)" in found.words()
    SCHEMA.validate(found.to_document())


def test_there_is_no_progress_before_the_first_byte() -> None:
    early = records()
    del early["progress#s0"]
    assert progress(state_of("nightly", early, [])) is None


def test_a_transfer_that_waits_says_for_what() -> None:
    stages = {"Await Approval": {"enteredAt": 1001, "leftAt": 1001.5}}
    told = happened(state_of("nightly", records(stages=stages), []))
    assert told[-1].words() == "nightly waits for approval: cpt approve nightly [--pairs N], or cpt reject nightly"


def test_a_transfer_without_a_record_has_no_events() -> None:
    assert happened(state_of("nightly", {}, [])) == []
