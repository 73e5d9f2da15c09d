"""Where the source is, is noted by the first run; later ones of the transfer, or of the mirror, are held to it."""

import pytest

from lambdas.core.errors import DeletionRefused, SurveyProblem
from lambdas.core.record import transfer_life
from lambdas.core.survey.whereabouts import DirectoryWay, FileSystem, Whereabouts
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.operations.intake.sources import check_mirror, check_sources, remember_mirror
from tests.lambdas.builders import ARN, paths, plan, transfer
from tests.lambdas.cloud import Cloud

AGAIN = f"{ARN}-again"


def on(kind: str, identity: str | None = None) -> list[Whereabouts]:
    where = FileSystem(kind=kind, mount_point="/srv", id=identity)
    return [Whereabouts(path="/srv/media", ways=[DirectoryWay(directories=["1:2"], names=[], file_system=where)])]


def resumed(cloud: Cloud) -> AcceptedTransfer:
    cloud.transfers.change(transfer(), transfer_life.note(paths=paths(), plan=plan()))
    cloud.transfers.change(transfer(), transfer_life.close("FAILED"))
    again = transfer(arn=AGAIN, resume=True).model_copy(update={"run": 2})
    assert cloud.transfers.resume(again)
    return again


def test_a_transfer_that_is_resumed_is_held_to_the_file_system_of_its_first_run() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    check_sources(transfer(), on("ext4", "one"), cloud.world)
    again = resumed(cloud)
    check_sources(again, on("ext4", "one"), cloud.world)
    with pytest.raises(SurveyProblem, match=r"was on another file system .*one.* or give this transfer another name"):
        check_sources(again, on("ext4", "two"), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert [noted.file_system.id for noted in record.source_paths or []] == ["one"]


def test_a_mirror_of_another_name_is_held_to_the_last_one_unless_a_person_has_looked() -> None:
    cloud = Cloud()
    for look in (transfer(delete=True, dryRun=True), transfer()):
        remember_mirror(look, on("tmpfs"), cloud.world)
    monday = transfer("monday", delete=True, confirmDelete="without-dry-run")
    check_mirror(monday, on("ext4", "one"), cloud.world)
    remember_mirror(monday, on("ext4", "one"), cloud.world)
    tuesday = monday.model_copy(update={"transfer_id": "tuesday"})
    check_mirror(tuesday, on("ext4", "one"), cloud.world)
    with pytest.raises(DeletionRefused, match=r"was on another file system .* or confirm the digest of a dry run"):
        check_mirror(tuesday, on("ext4", "two"), cloud.world)
    seen = transfer("wednesday", delete=True, confirmDelete="5c" * 32)
    check_mirror(seen, on("ext4", "two"), cloud.world)
    remember_mirror(seen, on("ext4", "two"), cloud.world)
    check_mirror(tuesday, on("ext4", "two"), cloud.world)


def test_where_nothing_is_known_nothing_is_noted() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    check_sources(transfer(), [], cloud.world)
    check_sources(transfer(), on("ext4", "one"), cloud.world)
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.source_paths is not None, "the first that tells"
