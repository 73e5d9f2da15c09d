"""The part of `cpt watch` that is drawn anew."""

import json

from rich.console import Console

from cli.live import live_view
from cli.transfer_state import Lane, TransferState, state_of
from tests.cli.transfers import records, relay


def lines(state: TransferState) -> list[str]:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(live_view(state))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_bytes_rate_time_money_lanes_and_relays_are_shown() -> None:
    nodes = [relay(f"source-{n}-0", state, 1002.0) for n, state in enumerate(["JOINED", "JOINED", "READY"], 1)]
    lost = relay("source-4-0", "LOST", 1002.0, endedAt=1009.0)
    head, bar, numbers, direct, pair, relays = lines(state_of("nightly", records(), [*nodes, lost]))
    assert head == "nightly  Start Transfer"
    assert bar.endswith("50 %")
    assert numbers == "300 MB of 600 MB   29.8 MB/s   10.1 s left   $0.0123 spent of $0.0246 estimated"
    assert direct.split() == ["direct", "█" * 13, "10.2", "MB/s", "1", "lane"]
    assert pair.split() == ["pair-1", "█" * 24, "19.5", "MB/s", "1", "lane"]
    assert relays == "relays: 2 carry, 1 start, 1 left"


def test_a_limit_stands_beside_the_rate() -> None:
    limited = records()
    limited["membership"] = {"membership": json.dumps({"paths": [{"pathId": "direct"}], "bandwidthLimitMbps": 20})}
    assert "29.8 MB/s (limit 2.5 MB/s)   10.1 s left" in lines(state_of("nightly", limited, []))[2]


def test_each_lane_of_a_path_has_its_rate() -> None:
    state = TransferState(
        "n", total_bytes=10, paths=("direct",), lanes=(Lane("direct", 0, 10.5), Lane("direct", 1, 9.5))
    )
    assert lines(state)[-1].endswith("20.0 MB/s  2 lanes: 10.5, 9.5")


def test_a_path_that_has_just_joined_says_so() -> None:
    joined = records()
    del joined["progress#s0"]
    assert [line.split()[-3:] for line in lines(state_of("nightly", joined, []))[-2:]] == [["no", "lane", "yet"]] * 2


def test_before_the_plan_there_is_only_the_stage() -> None:
    early = {"transfer": {"status": "ACTIVE", "stages": {"Survey Ends": {"enteredAt": 1000}}}}
    assert lines(state_of("nightly", early, [])) == ["nightly  Survey Ends"]


def test_whoever_waits_for_a_person_says_what_they_have_to_do() -> None:
    waiting = state_of("nightly", {"transfer": {"stages": {"Await Approval": {"enteredAt": 1, "leftAt": 2}}}}, [])
    assert "cpt approve nightly" in lines(waiting)[0]


def test_measuring_is_watched_by_its_stages() -> None:
    state = TransferState("first", stage="Pre-Test Relays, Start Transfer", is_profiling=True, total_bytes=0)
    assert lines(state) == ["first  measuring, nothing is moved: Pre-Test Relays, Start Transfer"]
