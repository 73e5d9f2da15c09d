"""What was confirmed goes last; what is still there is told, and a removal that broke off is tried again."""

import json
from typing import Any

import pytest

from lambdas.adapters.records import CommandResult
from lambdas.core.errors import DeletionIncomplete, DeletionInterrupted, TransferFenced
from lambdas.core.record import transfer_life
from lambdas.core.request.deletion import Deleted, Remaining
from lambdas.core.seats.epochs import first_epoch, start_of
from lambdas.handlers.states.delete_extras import delete_extras
from lambdas.handlers.states.make_way import make_way
from lambdas.operations.removal import RemovalInput, SurveyedExtras
from tests.lambdas.builders import DESTINATION_ID, ENDS, IRELAND, paths, plan, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.intake.test_extras import DIGEST, extras
from tests.lambdas.machines import failed, printed

WHERE = f"s3://cpt-control-123456789012-us-west-2/{ENDS}"
DONE = {"schemaVersion": 1, "daemonVersion": "0.1.0", "entries": 4, "gone": 0, "bytes": 300}
ALL = {**DONE, "remaining": {}, "remainingParts": 0}


def moved(result: CommandResult) -> Cloud:
    """Everything has arrived; the destination's daemon answers so."""
    cloud = Cloud(control_bucket="cpt-control-123456789012-us-west-2")
    cloud.transfers.create(transfer())
    cloud.transfers.change(transfer(), transfer_life.note(paths=paths(), plan=plan()))
    cloud.transfers.change(transfer(), transfer_life.COUNT_ATTEMPT)
    cloud.commands[IRELAND].scripts["delete"] = lambda _: result
    return cloud


def run(cloud: Cloud) -> Deleted:
    return delete_extras(RemovalInput(transfer=transfer(), survey=SurveyedExtras(extras=extras())), cloud.world)


def noted(cloud: Cloud) -> Deleted | None:
    record = cloud.transfers.get("first")
    assert record is not None
    return record.deleted


def test_the_destination_is_told_the_list_its_digest_and_the_directory_that_it_is_of() -> None:
    cloud = moved(printed(ALL))
    expected = Deleted(entries=4, bytes=300, where=f"{WHERE}extras/1/")
    assert run(cloud) == expected == noted(cloud)
    ((document, machine, command),) = cloud.commands[IRELAND].sent
    assert (document, machine) == ("delete", DESTINATION_ID)
    assert command is not None
    told = {name: command[name] for name in ("folder", "parts", "digest", "directory", "end", "epoch")}
    assert told == {
        "folder": "extras/1/",
        "parts": 1,
        "digest": DIGEST,
        "directory": "1:2",
        "end": {"kind": "machine", "path": "/restore"},
        "epoch": first_epoch(1),
    }


def test_before_anything_moves_only_what_is_in_the_way_goes_by_an_order_that_the_first_receiver_makes_void() -> None:
    cloud = Cloud(control_bucket="cpt-control-123456789012-us-west-2")
    cloud.transfers.create(transfer())
    cloud.transfers.change(transfer(), transfer_life.note(paths=paths(), plan=plan()))
    cloud.commands[IRELAND].scripts["delete"] = lambda _: printed(ALL)
    asked = RemovalInput(transfer=transfer(), survey=SurveyedExtras(extras=extras(in_the_way=2)))
    assert make_way(asked, cloud.world).entries == 4
    assert noted(cloud) is None, "the report tells them with all others, once those are gone too"
    cloud.transfers.change(transfer(), transfer_life.COUNT_ATTEMPT)
    cloud.commands[IRELAND].scripts["delete"] = lambda _: printed({**ALL, "remaining": {"not-empty": 1}})
    cloud.objects.put(f"{ENDS}remaining/1/part-00000.ndjson", b'{"path":"d","reason":"not-empty"}\n')
    with pytest.raises(DeletionIncomplete):
        make_way(asked, cloud.world)
    assert noted(cloud) is not None
    ((_, _, before), (_, _, again)) = cloud.commands[IRELAND].sent
    assert before is not None
    assert again is not None
    assert (before["inTheWay"], before["epoch"], again["epoch"]) == (True, 1, first_epoch(1))
    assert start_of(before["epoch"]) < 1


def test_what_is_still_there_is_counted_named_and_noted() -> None:
    rest: dict[str, Any] = {"remaining": {"changed": 1, "not-empty": 6}, "remainingParts": 1}
    cloud = moved(printed({**DONE, **rest}))
    lines = ['{"path":"set/new","reason":"changed"}', *['{"path":"set/d","reason":"not-empty","message":"m"}'] * 6]
    cloud.objects.put(f"{ENDS}remaining/1/part-00000.ndjson", "\n".join(lines).encode() + b"\n")
    with pytest.raises(DeletionIncomplete) as error:
        run(cloud)
    said = str(error.value)
    for word in ("of 11 confirmed extras at /restore 7 are still there (1 changed, 6 not-empty)", "set/new (changed)"):
        assert word in said
    assert said.count("set/d (not-empty: m)") == 4
    assert said.endswith(f"and 2 more; all: {WHERE}remaining/1/")
    remaining = Remaining(counts={"changed": 1, "not-empty": 6}, where=f"{WHERE}remaining/1/")
    assert noted(cloud) == Deleted(entries=4, bytes=300, where=f"{WHERE}extras/1/", remaining=remaining)


def test_a_removal_that_broke_off_is_tried_again_and_says_how_it_broke_off() -> None:
    cloud = moved(failed("killed", "Failed"))
    with pytest.raises(
        DeletionInterrupted, match=r"removing 4 entries .* delete on i-\w+ \(eu-west-1\) ended with Fail"
    ):
        run(cloud)
    assert noted(cloud) is None
    cloud.commands[IRELAND].scripts["delete"] = lambda _: printed({**ALL, "gone": 3})
    assert run(cloud).entries == 4


def test_nothing_is_removed_once_the_transfer_is_taken_down() -> None:
    cloud = moved(printed(ALL))
    cloud.transfers.change(transfer(), transfer_life.FENCE)
    with pytest.raises(TransferFenced):
        run(cloud)
    assert cloud.commands[IRELAND].sent == []


def test_what_became_of_each_extra_is_listed_beside_the_report() -> None:
    cloud = moved(printed({**DONE, "remaining": {"changed": 1}, "remainingParts": 1}))
    listed = [{"path": path, "kind": "file", "size": 3, "mtimeNs": 1} for path in ("a", "b")]
    lines = b"".join(json.dumps(line).encode() + b"\n" for line in listed)
    cloud.objects.put(f"{ENDS}extras/1/part-00000.ndjson", lines)
    cloud.objects.put(f"{ENDS}remaining/1/part-00000.ndjson", b'{"path": "b", "reason": "changed"}\n')
    with pytest.raises(DeletionIncomplete):
        run(cloud)
    found = cloud.objects.objects["transfers/first/entries/1/extras-00000.ndjson"].splitlines()
    assert [json.loads(line) for line in found] == [
        {"path": "a", "outcome": "deleted", "kind": "file", "bytes": 3},
        {"path": "b", "outcome": "refused", "kind": "file", "bytes": 3, "reason": "changed"},
        {"end": True, "entries": 2, "complete": True},
    ]
