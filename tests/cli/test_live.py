"""The part of `cpt watch` that is drawn anew."""

import json

from rich.console import Console

from cli.live import live_view
from lambdas.core.watch.transfer_state import Lane, TransferState, state_of
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


def test_where_an_end_has_several_machines_each_has_its_share_its_rate_and_its_last_word() -> None:
    def seats(letter: str, region: str) -> list[dict[str, object]]:
        return [
            {"seatId": f"{letter}{n}", "machine": {"region": region, "instanceId": f"i-{letter}{n}"}} for n in (0, 1)
        ]

    many = records(source=seats("s", "us-west-2"), destination=seats("r", "eu-west-1"))
    many["progress#s1"] = {"document": json.dumps({"bytes": 100_000_000, "rateMBps": 10.25, "lanes": []})}
    many["progress#r1"] = {"document": json.dumps({"bytes": 400_000_000, "rateMBps": 40.0, "lanes": []})}
    failure = {"type": "Transfer Failed", "seat": "s1", "error": "SenderError", "cause": "a disk is gone"}
    many["outcome#s1"] = {"document": json.dumps(failure)}
    retired = [{"seatId": "s1", "epoch": 65536, "isGone": True}]
    many["membership"] = {"membership": json.dumps({"paths": [{"pathId": "direct"}], "retired": retired})}
    found = lines(state_of("nightly", many, []))
    assert found[2].startswith("400 MB of 600 MB   40.0 MB/s   5.0 s left")
    first, other, silent, receiver = (line.split() for line in found[-4:])
    assert first == ["s0", "i-s0", "█" * 18, "75", "%", "29.8", "MB/s", "sends"]
    assert other[:2] == ["s1", "i-s1"]
    assert other[3:] == ["25", "%", "10.2", "MB/s", *["given", "up:", "SenderError:", "a", "disk", "is", "gone"]]
    assert silent == ["r0", "i-r0", "0", "%", "0.0", "MB/s", *["not", "heard", "of", "yet"]]
    assert receiver == ["r1", "i-r1", "█" * 24, "100", "%", "40.0", "MB/s", "receives"]


def test_what_the_sender_that_finishes_counts_of_the_others_does_not_count_twice() -> None:
    finishing = records()
    finishing["progress#s1"] = {"document": json.dumps({"bytes": 600_000_000, "rateMBps": 0.0, "lanes": []})}
    assert lines(state_of("nightly", finishing, []))[2].startswith("600 MB of 600 MB")
