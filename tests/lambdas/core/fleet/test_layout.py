"""Which machines a path joins, with several at an end."""

from itertools import product

import pytest

from lambdas.core.fleet import pairing
from lambdas.core.fleet.layout import Layout, is_direct
from lambdas.core.fleet.membership import Retired, TransferPath
from tests.lambdas.builders import node, paths, route, transfer
from tests.lambdas.many import many


def retired(*seat_ids: str) -> list[Retired]:
    return [Retired(seat_id=seat_id, epoch=65536, is_gone=True) for seat_id in seat_ids]


def ends(found: list[TransferPath]) -> list[tuple[str, str, str]]:
    return [(path.path_id, path.sender or "s0", path.to or "r0") for path in found]


def test_one_and_one_has_the_direct_path_of_ever() -> None:
    (path,) = Layout.of(transfer()).direct_paths(paths(), 2)
    assert path.to_document() == {
        "pathId": "direct",
        "generation": 0,
        "hops": [],
        "receiver": "54.1.0.1:4601",
        "lanes": 2,
    }


def test_two_and_three_are_joined_by_three_paths() -> None:
    found = Layout.of(many(2, 3)).direct_paths(paths(), 2)
    assert ends(found) == [("direct", "s0", "r0"), ("direct-1", "s1", "r1"), ("direct-2", "s0", "r2")]
    assert [path.receiver for path in found] == ["54.1.0.1:4601", "54.1.0.2:4601", "54.1.0.3:4601"]
    assert [path.generation for path in found] == [0, 0, 0]


@pytest.mark.parametrize(("senders", "receivers"), list(product(range(1, 7), range(1, 7))))
def test_every_machine_has_a_path_whoever_was_retired(senders: int, receivers: int) -> None:
    """Each seat but the last of its side may go, in any order."""
    accepted = many(senders, receivers)
    gone: list[str] = []
    for seat_id in [f"s{at}" for at in range(senders - 1)] + [f"r{at}" for at in range(1, receivers)]:
        layout = Layout.of(accepted, retired(*gone))
        found = layout.direct_paths(paths(), 1)
        used = {seat for _, sender, receiver in ends(found) for seat in (sender, receiver)}
        assert used == {*layout.living_senders, *layout.living_receivers}
        assert not used & set(gone)
        gone.append(seat_id)


def test_path_whose_ends_change_gets_a_new_generation_and_another_one_keeps_its_own() -> None:
    accepted = many(3, 3)
    before = Layout.of(accepted).direct_paths(paths(), 1)
    after = Layout.of(accepted, retired("s2")).direct_paths(paths(), 1)
    assert ends(after) == [("direct", "s0", "r0"), ("direct-1", "s1", "r1"), ("direct-2", "s0", "r2")]
    assert [path.generation for path in before] == [0, 0, 0]
    assert [path.generation for path in after] == [0, 0, 1]


def test_no_path_has_one_generation_with_two_pairs_of_ends() -> None:
    accepted, seen = many(3, 2), dict[tuple[str, int], tuple[str, str]]()
    for gone in ((), ("s0",), ("s0", "r0"), ("s0", "r0", "s1")):
        for path in Layout.of(accepted, retired(*gone)).direct_paths(paths(), 1):
            joined = (path.sender or "s0", path.to or "r0")
            assert seen.setdefault((path.path_id, path.generation), joined) == joined


def test_pairs_are_laid_out_by_their_slots_so_that_another_pair_changes_nothing() -> None:
    layout = Layout.of(many(2, 2))
    nodes = [node(stage, slot, state="JOINED") for stage in (0, 1) for slot in (1, 2, 3)]
    found = pairing.relay_paths(route(), nodes, paths(), 1, layout=layout)
    assert ends(found) == [("pair-1", "s0", "r0"), ("pair-2", "s1", "r1"), ("pair-3", "s0", "r0")]
    without = pairing.relay_paths(route(), [one for one in nodes if one.slot != 1], paths(), 1, layout=layout)
    assert ends(without) == [("pair-2", "s1", "r1"), ("pair-3", "s0", "r0")]
    assert [path.receiver for path in found] == ["10.11.0.1:4601", "10.11.0.2:4601", "10.11.0.1:4601"]


def test_rounds_of_proof_have_no_machine_twice_and_every_path_once() -> None:
    for senders, receivers in product(range(1, 6), range(1, 6)):
        layout = Layout.of(many(senders, receivers))
        rounds = layout.rounds()
        for joints in rounds:
            used = [seat for joint in joints for seat in (joint.sender, joint.receiver)]
            assert len(set(used)) == len(used)
        assert [joint for joints in rounds for joint in joints] == [layout.joint(at) for at in range(layout.count)]


def test_a_direct_path_is_known_by_its_id() -> None:
    assert [
        is_direct(path_id) for path_id in ("direct", "direct-1", "direct-12", "pair-1", "direct-", "route-2-1")
    ] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
