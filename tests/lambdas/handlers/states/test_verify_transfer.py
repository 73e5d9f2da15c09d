import json

import pytest

from lambdas.core.chunks.chunk import Finish, range_key
from lambdas.core.chunks.transfer_plan import PlanListing, TransferPlan
from lambdas.core.errors import FilesSkipped, VerificationFailed
from lambdas.core.record import transfer_life
from lambdas.core.seats.commands import shared_prefix
from lambdas.core.survey.survey import Unselected
from lambdas.handlers.states.verify_transfer import VerifyInput, verify_transfer
from tests.lambdas.builders import ENDS, PLAN_ID, chunk, delivered, plan, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.many import many


def prepared(sender: dict[int, str], receiver: dict[int, str], states: list[str]) -> tuple[Cloud, VerifyInput]:
    cloud = Cloud()
    # Three entries, all in the first chunk.
    cloud.chunks.put_all(chunk(at, state=state, files=0 if at else 3) for at, state in enumerate(states))
    for seat_id, digests in (("s0", sender), ("r0", receiver)):
        lines = [json.dumps({"entry": entry, "digest": digest}) for entry, digest in digests.items()]
        half = len(lines) // 2
        for part, some in enumerate((lines[:half], lines[half:])):
            key = f"{ENDS}digests/{PLAN_ID}/{seat_id}/part-{part:05d}.ndjson"
            cloud.objects.put(key, "\n".join([*some, ""]).encode())
    return cloud, VerifyInput(transfer=transfer(), plan=plan(chunks=len(states), files=3))


A, B, C, X = (letter * 64 for letter in "abcd")
GOOD = {0: A, 1: B, 5: C}


def test_equal_digests_in_any_order_verify() -> None:
    cloud, event = prepared(GOOD, dict(reversed(GOOD.items())), ["DELIVERED"] * 2)
    assert verify_transfer(event, cloud.world) == {"verified": True, "files": 3}


def test_where_nothing_differs_no_directory_is_listed_as_refused() -> None:
    cloud, event = prepared({}, {}, [])
    cloud.objects.put(f"{ENDS}listing/part-00000.ndjson", b'{"path":"set","kind":"directory","size":0}\n')
    verify_transfer(VerifyInput(transfer=event.transfer, plan=plan(chunks=0, files=0)), cloud.world)
    first, _ = map(json.loads, cloud.objects.objects["transfers/first/entries/1/part-00000.ndjson"].splitlines())
    assert (first["path"], first["outcome"]) == ("set", "equal")


def test_late_checkpoint_is_waited_for() -> None:
    cloud, event = prepared(GOOD, GOOD, ["DELIVERED", "PENDING"])
    cloud.clock.at(3, lambda: cloud.chunks.put_all([chunk(1, state="DELIVERED", files=0)]))
    assert verify_transfer(event, cloud.world)["verified"]


@pytest.mark.parametrize(
    ("receiver", "states", "words"),
    [
        (GOOD, ["DELIVERED", "FAILED"], r"not delivered: 1 \(FAILED, attempt 1\)"),
        ({**GOOD, 1: X}, ["DELIVERED"], r"digests differ: \[1\]"),
        ({0: A, 1: B}, ["DELIVERED"], r"sender only: \[5\]"),
        ({**GOOD, 7: X}, ["DELIVERED"], r"receiver only: \[7\]"),
    ],
)
def test_whatever_differs_is_named(receiver: dict[int, str], states: list[str], words: str) -> None:
    cloud, event = prepared(GOOD, receiver, states)
    with pytest.raises(VerificationFailed, match=words):
        verify_transfer(event, cloud.world)


def test_missing_digests_of_both_ends_do_not_pass() -> None:
    cloud, event = prepared({0: A}, {0: A}, ["DELIVERED"])
    with pytest.raises(VerificationFailed, match="1 entries have digests at both ends, the plan has 3"):
        verify_transfer(event, cloud.world)


def test_items_of_another_plan_do_not_pass() -> None:
    cloud, event = prepared(GOOD, GOOD, ["DELIVERED"])
    cloud.chunks.put_all([chunk(0, state="DELIVERED", files=3, plan_id="0" * 32)])
    with pytest.raises(VerificationFailed, match=f"chunk 0 is of plan {'0' * 32}, not of {PLAN_ID}"):
        verify_transfer(event, cloud.world)


def test_digests_of_another_plan_do_not_pass() -> None:
    cloud, event = prepared(GOOD, GOOD, ["DELIVERED"])
    other = event.plan.model_copy(update={"plan_id": "0" * 32})
    cloud.chunks.put_all([chunk(0, state="DELIVERED", files=3, plan_id="0" * 32)])
    with pytest.raises(VerificationFailed, match="0 entries have digests"):
        verify_transfer(VerifyInput(transfer=event.transfer, plan=other), cloud.world)


def test_files_are_listed_by_name_in_the_order_of_the_listing() -> None:
    cloud, event = prepared(GOOD, GOOD, ["DELIVERED"])
    names = ["set/one", "set/caf%C3%A9", "set", "set/sub", "set/link", "set/%FF"]
    kinds = dict.fromkeys(names, "file") | {"set": "directory", "set/sub": "directory", "set/link": "symlink"}
    for part, some in enumerate((names[:4], names[4:])):
        lines = [{"path": name, "size": len(name), "kind": kinds[name]} for name in some]
        listing = "".join(json.dumps(line) + "\n" for line in lines)
        cloud.objects.put(f"{ENDS}listing/part-{part:05d}.ndjson", listing.encode())
    verify_transfer(event, cloud.world)
    listed = cloud.objects.objects["transfers/first/files/part-00000.ndjson"].splitlines()
    assert [json.loads(line) for line in listed] == [
        {"path": name, "bytes": len(name), "digest": digest}
        for name, digest in (("set/one", A), ("set/caf%C3%A9", B), ("set/%FF", C))
    ]


def test_nothing_is_listed_that_does_not_agree() -> None:
    cloud, event = prepared(GOOD, {**GOOD, 1: X}, ["DELIVERED"])
    cloud.objects.put(f"{ENDS}listing/part-00000.ndjson", b'{"path": "set/one", "size": 3}\n')
    with pytest.raises(VerificationFailed):
        verify_transfer(event, cloud.world)
    assert cloud.objects.keys("transfers/first/files/") == []


SKIPPED = {"entry": 5, "kind": "file", "path": "logs/f150", "reason": "source-changed", "message": "size was 3"}


def with_one_left_out(on_problem: str, *, told: int = 2) -> tuple[Cloud, VerifyInput]:
    """Of four entries, three files and a directory, a file and the directory were left out."""
    cloud, event = prepared({0: A, 1: B}, {0: A, 1: B}, ["DELIVERED"])
    cloud.chunks.put_all([chunk(0, state="DELIVERED", files=4)])
    cloud.transfers.create(transfer())
    cloud.transfers.change(transfer(), transfer_life.note(plan=event.plan))
    cloud.transfers.change(transfer(), transfer_life.finish(delivered(sent_bytes=0, skipped=told)))
    listed = [SKIPPED, {"entry": 7, "kind": "directory", "reason": "destination-conflict"}]
    lines = "".join(json.dumps(line) + "\n" for line in listed)
    key = f"{ENDS}digests/{event.plan.plan_id}/skipped/part-00000.ndjson"
    cloud.objects.put(key, lines.encode())
    return cloud, VerifyInput(transfer=transfer(onProblem=on_problem), plan=event.plan)


def test_files_left_out_fail_the_transfer_and_are_named() -> None:
    cloud, event = with_one_left_out("fail")
    with pytest.raises(FilesSkipped, match=r"2 entries .*: logs/f150 \(source-changed: size was 3\); entry 7"):
        verify_transfer(event, cloud.world)
    assert len(cloud.objects.objects["transfers/first/skipped/part-00000.ndjson"].splitlines()) == 2


def outcomes(cloud: Cloud) -> list[tuple[str, str, str | None]]:
    listed = cloud.objects.objects["transfers/first/entries/1/part-00000.ndjson"].splitlines()
    *found, end = [json.loads(line) for line in listed]
    assert end == {"end": True, "entries": len(found), "complete": True}
    return [(one["path"], one["outcome"], one.get("reason")) for one in found]


def test_every_entry_is_listed_with_what_became_of_it_also_where_that_fails_the_transfer() -> None:
    cloud, event = with_one_left_out("fail")
    kinds = ["file"] * 7 + ["directory"]
    lines = [{"path": f"set/{n}", "size": 1, "kind": kind} for n, kind in enumerate(kinds)]
    cloud.objects.put(f"{ENDS}changed/1/part-00000.ndjson", b"".join(json.dumps(x).encode() + b"\n" for x in lines))
    cloud.objects.put(f"{ENDS}listing/part-00000.ndjson", b'{"path": "old", "size": 2, "kind": "file"}\n')
    cloud.objects.put(f"{ENDS}equal/1/part-00000.ndjson", b'{"entry": 0, "inode": 7, "changedNs": 1}\n')
    cloud.objects.put(f"{ENDS}unselected/part-00000.ndjson", b'{"path": "x", "reason": "excluded", "before": 0}\n')
    unselected = Unselected(counts={"excluded": 1}, where="s3://bucket/unselected/")
    cloud.transfers.change(transfer(), transfer_life.note(unselected=unselected))
    listing = PlanListing(
        parts=1, digest="ab" * 32, planned_folder="changed/1/", planned_parts=1, equal_folder="equal/1/"
    )
    with pytest.raises(FilesSkipped):
        verify_transfer(VerifyInput(transfer=event.transfer, plan=with_listing(event, listing)), cloud.world)
    assert outcomes(cloud) == [
        ("set/0", "sent", None),
        ("set/1", "sent", None),
        *((f"set/{n}", "refused", "not-verified") for n in (2, 3, 4)),
        ("set/5", "refused", "source-changed"),
        ("set/6", "refused", "not-verified"),
        ("set/7", "refused", "destination-conflict"),
        ("old", "equal", None),
        ("x", "skipped", "excluded"),
    ]


def with_listing(event: VerifyInput, listing: PlanListing) -> TransferPlan:
    return event.plan.model_copy(update={"listing": listing})


def test_files_may_be_left_out_where_the_request_says_so_and_then_nothing_is_verified() -> None:
    cloud, event = with_one_left_out("skip")
    assert verify_transfer(event, cloud.world) == {"verified": False, "files": 2, "skipped": 2}


def test_a_list_of_what_was_left_out_that_is_not_whole_verifies_nothing() -> None:
    cloud, event = with_one_left_out("skip", told=3)
    with pytest.raises(VerificationFailed, match="3 entries were left out, 2 are listed"):
        verify_transfer(event, cloud.world)


def test_a_file_that_is_missing_beside_those_that_were_left_out_does_not_pass() -> None:
    cloud, event = with_one_left_out("skip")
    cloud.chunks.put_all([chunk(0, state="DELIVERED", files=5)])
    with pytest.raises(VerificationFailed, match="2 entries have digests at both ends, the plan has 5 and 2 of them"):
        verify_transfer(event, cloud.world)


def test_of_several_machines_the_digests_of_those_that_finished_are_compared() -> None:
    accepted, cloud = many(2, 2), Cloud()
    first = range_key(accepted.partition, 0)
    cloud.chunks.put_all([chunk(0, state="DELIVERED", files=3).model_copy(update={"range_key": first})])
    for seat_id, digests in (("s0", {0: X}), ("s1", GOOD), ("r0", GOOD), ("r1", {0: X}), ("sent", {0: X})):
        lines = [json.dumps({"entry": entry, "digest": digest}) for entry, digest in digests.items()]
        key = f"{shared_prefix(accepted)}digests/{PLAN_ID}/{seat_id}/part-00000.ndjson"
        cloud.objects.put(key, "\n".join(lines).encode())
    event = VerifyInput(transfer=accepted, plan=plan(chunks=1, files=3))
    cloud.chunks.finishes[accepted.partition] = Finish(seat="s1", epoch=1, receiver="r0")
    assert verify_transfer(event, cloud.world)["verified"]
    cloud.chunks.finishes[accepted.partition] = Finish(seat="s1", epoch=1, receiver="r1")
    with pytest.raises(VerificationFailed):
        verify_transfer(event, cloud.world)
