"""The direct path carries 20 MB/s; nobody has measured these machines."""

from dataclasses import replace
from typing import Any

import pytest

from lambdas.core.chunks.progress import LaneProgress
from lambdas.core.estimate.figures import Figure
from lambdas.core.estimate.first_contact import LOOK_SECONDS, RelayDecision, Sight
from lambdas.core.estimate.rows import build_rows
from lambdas.core.places.machines import TransitRegion
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Estimated, TransferRecord
from lambdas.handlers.states.await_relays import AwaitInput, await_relays
from lambdas.handlers.states.decide_relays import DecideInput, decide_relays
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.operations.estimate import deciding
from tests.lambdas.builders import IRELAND, SHARED, WEST, delivered, estimate, figure, plan, profile, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import spawned, states
from tests.lambdas.handlers.test_routes import FRANKFURT, use

SIZE = 100 * 10**9
MB = 10**6


def undecided(size: int = SIZE, **changes: Any) -> Cloud:
    """Data begins to flow when the state does."""
    cloud = spawned(0, **changes)
    cloud.profiles.profiles["t3.small", transfer().region_pair] = profile(20.0, 160.0, 5.0)
    chosen = estimate(0, size=size).model_copy(update={"on_the_way": "never measured"})
    cloud.transfers.change(transfer(), transfer_life.note(plan=plan(size=size), estimate=chosen))
    return cloud


def flow(cloud: Cloud, **rates: float) -> dict[str, float]:
    """The sender reports MB/s by path each two seconds from now; whoever changes the answer changes what it reports."""
    began = cloud.clock.now()

    def report() -> None:
        lanes = [LaneProgress(path_id=p.replace("_", "-"), lane=0, bytes=0, rate=rate) for p, rate in rates.items()]
        said = {"at": cloud.clock.now(), "first_byte_at": began, "lanes": lanes, "bytes": 0}
        cloud.agents.progresses[SHARED, "s0"] = progress(1).model_copy(update=said)

    for at in range(0, 60, 2):
        cloud.clock.at(at, report)
    return rates


def decide(cloud: Cloud) -> Any:
    return decide_relays(DecideInput(transfer=transfer()), cloud.world)


def record(cloud: Cloud) -> TransferRecord:
    found = cloud.transfers.get("first")
    assert found is not None
    return found


def decisions(cloud: Cloud) -> list[RelayDecision]:
    return record(cloud).decisions


def test_relays_are_decided_where_several_measured_how_long_they_take_to_start() -> None:
    cloud = undecided()
    subject = "t3.small", transfer().region_pair
    for seconds in (9.0, 10.0, 11.0):
        cloud.profiles.profiles[subject] = cloud.profiles.profiles[subject].refined("spawn", seconds, 1.0)
    flow(cloud, direct=20.0)
    found = decide(cloud)
    assert found.chosen_pairs > 0
    assert found.figures.spawn.least > 9.0


def test_relays_are_decided_by_the_first_reports_that_agree() -> None:
    cloud = undecided()
    began = cloud.clock.now()
    flow(cloud, direct=20.0)
    found = decide(cloud)
    assert found.chosen_pairs > 0
    assert found.on_the_way == "never measured"
    assert found.figures.direct.value == 20.0
    assert cloud.clock.now() - began < LOOK_SECONDS / 2
    (one,) = decisions(cloud)
    assert (one.served, one.pairs, one.direct) == (0, found.chosen_pairs, 20.0)
    assert one.reason.startswith("the direct path carries 20.0 MB/s; ")
    (kind, told), *_ = cloud.events.put_events
    assert (kind, told["pairs"]) == ("Relays Decided", one.pairs)


def test_what_file_systems_charge_and_bear_is_not_forgotten() -> None:
    cloud = undecided()
    before = record(cloud).estimate
    assert before is not None
    told = {"file_systems": figure(0.09, "assumed"), "destination_file_system": figure(104.9, "published")}
    known = before.model_copy(update={"figures": before.figures.model_copy(update=told)})
    cloud.transfers.change(transfer(), transfer_life.note(estimate=known))
    flow(cloud, direct=20.0)
    found = decide(cloud)
    assert found.figures.file_systems == told["file_systems"]
    assert found.figures.destination_file_system == told["destination_file_system"]
    assert found.row(0).cost_usd >= SIZE / 1e9 * 0.09


def test_a_transfer_that_is_all_but_done_gets_none() -> None:
    cloud = undecided(size=130 * MB)
    flow(cloud, direct=20.0)
    found = decide(cloud)
    assert (found.chosen_pairs, found.on_the_way) == (0, None)
    assert "relays do not help" in decisions(cloud)[0].reason


def test_nothing_is_decided_for_a_transfer_that_has_ended_or_sends_nothing() -> None:
    ended, silent = undecided(), undecided()
    ended.transfers.change(transfer(), transfer_life.finish(delivered()))
    for cloud in (ended, silent):
        assert decide(cloud).on_the_way is None
        assert decisions(cloud) == []
    assert silent.clock.now() - ended.clock.now() == pytest.approx(120, abs=2)


def test_unsteady_reports_are_decided_by_their_mean_after_the_last_second() -> None:
    cloud = undecided()
    began = cloud.clock.now()
    rates = flow(cloud, direct=10.0)
    for at in range(1, 60, 4):
        cloud.clock.at(at, lambda: rates.update(direct=30.0))
        cloud.clock.at(at + 2, lambda: rates.update(direct=10.0))
    decide(cloud)
    assert cloud.clock.now() - began == pytest.approx(LOOK_SECONDS, abs=2)
    assert 15 < decisions(cloud)[0].direct < 25


def served(pairs: int = 1, **rates: float) -> Cloud:
    """A first decision for `pairs`, which have joined; then the paths carry `rates`."""
    like, cloud = undecided(), undecided()
    flow(like, direct=20.0)
    chosen = decide(like).having(pairs).model_copy(update={"chosen_pairs": pairs, "pre_test": False})
    taken = decisions(like)[0].model_copy(update={"pairs": pairs})
    reported = flow(cloud, direct=20.0)
    cloud.clock.sleep(like.clock.now() - cloud.clock.now())
    cloud.transfers.change(transfer(), transfer_life.note(decisions=[taken.to_document()], estimate=chosen))
    spawn_relays(SpawnInput(transfer=transfer(), estimate=chosen), cloud.world)
    await_relays(AwaitInput(transfer=transfer()), cloud.world)
    reported.clear()
    reported.update(rates)
    cloud.clock.sleep(4)
    return cloud


def test_relays_that_help_bring_more_and_only_those_are_launched() -> None:
    cloud = served(1, direct=20.0, pair_1=20.0)
    found = decide(cloud)
    last = decisions(cloud)[-1]
    assert (last.served, last.last_slot, last.total) == (1, 1, 40.0)
    assert last.pairs > 1
    assert found.on_the_way is not None
    answer = spawn_relays(SpawnInput(transfer=transfer(), estimate=found), cloud.world)
    assert answer["spawned"] == last.pairs - 1
    slots = sorted(node.slot for node in cloud.nodes.of("first") if node.stage == 0)
    assert slots == list(range(1, last.pairs + 1))


def test_relays_that_do_not_help_are_released_and_the_transfer_goes_on() -> None:
    cloud = served(1, direct=10.0, pair_1=10.0)
    found = decide(cloud)
    assert (found.chosen_pairs, found.on_the_way) == (0, None)
    assert "relays do not help: 1 pair and the direct path carry 20.0 MB/s" in decisions(cloud)[-1].reason
    assert set(states(cloud).values()) == {"LOST"}
    assert cloud.alive() == []
    assert record(cloud).running


def test_ends_that_are_full_get_no_more_relays_and_keep_those_that_helped() -> None:
    cloud = served(2, direct=12.0, pair_1=12.0, pair_2=12.0)
    found = decide(cloud)
    assert (found.chosen_pairs, found.on_the_way) == (2, None)
    assert "the end machines are full" in decisions(cloud)[-1].reason
    assert found.figures.ends == 36.0
    assert set(states(cloud).values()) == {"JOINED"}


@pytest.mark.parametrize(
    ("third", "words"), [([], "so they stay as they are"), ([FRANKFURT], "planned again each minute")]
)
def test_routes_are_said_to_be_planned_again_only_where_they_are(third: list[str], words: str) -> None:
    cloud = served(1, direct=20.0, pair_1=20.0)
    now = record(cloud)
    assert now.estimate is not None
    unequal = [use(0, [WEST, IRELAND], [1, 2])]
    rows = [row.model_copy(update={"planned": unequal}) if row.pairs == 1 else row for row in now.estimate.rows]
    there = [TransitRegion(region=region, vpc_id="vpc-transit") for region in third]
    seen = Sight(at=cloud.clock.now(), after=10.0, direct=20.0, pairs=1, total=40.0)
    kept = now.model_copy(
        update={
            "estimate": now.estimate.model_copy(update={"rows": rows}),
            "transfer": now.transfer.model_copy(update={"transit": there}),
        }
    )
    assert isinstance(kept, Estimated)
    deciding.decide_again(cloud.world, kept, seen)
    assert decisions(cloud)[-1].reason.endswith(words)


def test_a_number_of_pairs_between_two_rows_gets_its_own() -> None:
    """Of 16 pairs 9 came, and the ends are full; the estimate has rows of 8 and of 16 pairs."""
    cloud = served(9, direct=6.0, **{f"pair_{slot}": 6.0 for slot in range(1, 10)})
    known = record(cloud).estimate
    assert known is not None
    rows = [row for row in build_rows(SIZE, 16, known.figures) if row.pairs <= 8 or row.pairs == 16]
    chosen = known.model_copy(update={"rows": rows, "chosen_pairs": 16})
    cloud.transfers.change(transfer(), transfer_life.note(estimate=chosen))
    found = decide(cloud)
    assert (found.chosen_pairs, found.chosen.pairs) == (9, 9)
    assert [row.pairs for row in found.rows] == [*range(10), 16]
    assert found.row(8).cost_usd < found.chosen.cost_usd < found.row(16).cost_usd


def test_pairs_that_carry_less_than_expected_become_more_than_there_were_rows() -> None:
    """Eight were expected to fill the ends; they carry 3 MB/s each, and the deployment allows 16."""
    cloud = served(8, direct=20.0, **{f"pair_{slot}": 3.0 for slot in range(1, 9)})
    known = record(cloud).estimate
    assert known is not None
    assert known.rows[-1].pairs == 8
    world = replace(cloud.world, env=replace(cloud.world.env, max_pairs=16))
    found = decide_relays(DecideInput(transfer=transfer()), world)
    last = decisions(cloud)[-1]
    assert (last.served, last.pairs) == (8, 16)
    assert (found.chosen_pairs, found.rows[-1].pairs) == (16, 16)


def test_a_budget_bears_what_is_launched_later_too() -> None:
    cloud = undecided(objective={"maxCostUsd": 2.2})
    flow(cloud, direct=20.0)
    found = decide(cloud)
    rows = {row.pairs: row.cost_usd for row in found.rows}
    assert rows[found.chosen_pairs] < 2.2


@pytest.mark.parametrize(("file_systems", "more"), [(None, True), (figure(0.09, "assumed"), False)])
def test_no_more_relays_are_wanted_where_file_systems_use_up_what_the_rest_may_cost(
    file_systems: Figure | None, more: bool
) -> None:
    cloud = served(1, direct=20.0, pair_1=20.0)
    before = record(cloud)
    assert before.estimate is not None
    priced = before.estimate.figures.model_copy(update={"file_systems": file_systems})
    objective = before.transfer.request.objective.model_copy(update={"max_cost_usd": 6.0})
    request = before.transfer.request.model_copy(update={"objective": objective})
    accepted = before.transfer.model_copy(update={"request": request})
    cloud.transfers.change(
        transfer(), transfer_life.note(estimate=before.estimate.model_copy(update={"figures": priced}))
    )
    kept = record(cloud).model_copy(update={"transfer": accepted})
    assert isinstance(kept, Estimated)
    deciding.decide_again(cloud.world, kept, Sight(at=9.0, after=9.0, direct=20.0, total=40.0, pairs=1))
    assert (decisions(cloud)[-1].pairs > 1) is more, decisions(cloud)[-1].reason


def test_nothing_is_decided_once_the_sender_has_sent_all() -> None:
    """Lanes that wait for their last acknowledgements carry nothing, which is no reason against relays."""
    cloud = served(2, direct=0.0, pair_1=0.0, pair_2=0.0)
    before = record(cloud)
    said = cloud.agents.progresses[SHARED, "s0"]
    planned = before.plan.bytes if before.plan else 0
    done = said.model_copy(update={"moved_bytes": planned, "bytes": planned - MB})
    cloud.agents.progress = lambda *_: done  # type: ignore[method-assign]
    found = decide(cloud)
    assert found.on_the_way is None
    assert record(cloud) == before
    assert set(states(cloud).values()) == {"JOINED"}


def test_row_that_was_chosen_first_is_kept_whatever_it_becomes() -> None:
    cloud = served(1, direct=20.0, pair_1=20.0)
    first = decisions(cloud)[0]
    chosen = record(cloud).estimate
    assert chosen is not None
    assert (chosen.chosen_pairs, chosen.first_choice) == (first.pairs, None)
    more = decide(cloud)
    assert more.chosen_pairs > 1
    assert more.first_choice == chosen.row(1) == more.chosen_first
    kept = record(cloud).estimate
    assert kept is not None
    assert kept.chosen_first == chosen.row(1)
