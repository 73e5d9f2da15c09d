"""Estimates of transfers whose ends are on file systems of AWS's, from the survey's document on."""

from typing import Any

import pytest

from lambdas.core.errors import BudgetTooSmall
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.survey.served import Told
from lambdas.core.survey.survey import Survey
from lambdas.core.survey.whereabouts import FileSystem, Whereabouts
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.handlers.states.estimate_transfer import EstimateInput, estimate_transfer
from tests.lambdas.builders import IRELAND, WEST, survey, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.many import many

GB = 10**9
EFS, OTHER = "fs-0123456789abcdef0", "fs-0fedcba9876543210"
ELASTIC = Told("elastic")


def mounted(source: str, kind: str = "nfs4") -> FileSystem:
    return FileSystem(kind=kind, mount_point="/mnt", id=source.replace(":", "%3A"))


def of_efs(file_system_id: str, region: str) -> FileSystem:
    return mounted(f"{file_system_id}.efs.{region}.amazonaws.com:/")


def seen(source: FileSystem | None = None, destination: FileSystem | None = None, **sizes: Any) -> Survey:
    """Both ends on these; `sizes` as of `builders.survey`."""
    found = survey(**{"size": 100 * GB, **sizes})
    way = found.destination.ways[0].model_copy(update={"file_system": destination})
    ways = found.destination.ways[0].model_copy(update={"file_system": source})
    places = [Whereabouts(path="/data/set", ways=[ways])]
    return found.model_copy(
        update={
            "source": found.source.model_copy(update={"places": places, "read_mb_s": 300.0}),
            "destination": found.destination.model_copy(update={"ways": [way], "write_mb_s": 300.0}),
        }
    )


def estimated(cloud: Cloud, known: Survey, **changes: Any) -> Estimate:
    return estimate_transfer(EstimateInput(transfer=transfer(**changes), survey=known), cloud.world)


def test_without_the_setting_nothing_is_asked_and_the_estimate_has_a_range_and_says_so() -> None:
    cloud = Cloud()
    cloud.file_systems[WEST].known[EFS] = ELASTIC
    found = estimated(cloud, seen(source=of_efs(EFS, WEST)))
    assert cloud.file_systems[WEST].asked == []
    assert found.figures.file_systems is not None
    assert (found.figures.file_systems.least, found.figures.file_systems.greatest > 0.06) == (0, True)
    assert f"EFS {EFS}: its mode and limits are not known; the setting readFileSystems lets them be read" in found.notes
    plain = estimated(Cloud(), seen())
    assert plain.figures.file_systems is None
    more = found.row(0).cost_usd - plain.row(0).cost_usd
    assert more == pytest.approx(100 * found.figures.file_systems.greatest * found.figures.sent_share, rel=0.01)


def test_with_it_each_end_is_asked_in_its_own_region_and_a_row_says_what_limits() -> None:
    cloud = Cloud(read_file_systems=True)
    cloud.file_systems[WEST].known[EFS] = ELASTIC
    cloud.file_systems[IRELAND].known[OTHER] = Told("provisioned", 10.0)
    found = estimated(cloud, seen(of_efs(EFS, WEST), of_efs(OTHER, IRELAND)))
    assert (cloud.file_systems[WEST].asked, cloud.file_systems[IRELAND].asked) == ([EFS], [OTHER])
    assert found.row(0).limit == "the destination's file system takes at most 10.0 MB/s"
    assert not [note for note in found.notes if "not known; the setting" in note]


def test_a_file_system_of_another_region_and_a_tunnel_are_asked_for_nowhere() -> None:
    cloud = Cloud(read_file_systems=True)
    found = estimated(cloud, seen(of_efs(EFS, "sa-east-1"), mounted("127.0.0.1:/")))
    assert (cloud.file_systems[WEST].asked, cloud.file_systems[IRELAND].asked) == ([], [])
    assert found.figures.file_systems is not None
    assert found.figures.destination_mount is not None


def test_what_the_survey_saw_of_a_served_disk_is_none_of_ebs() -> None:
    cloud = Cloud()
    cloud.instance_types[WEST].known["m5.large"] = TypeFacts(
        "m5.large", 2, "x86_64", 10.0, 10.0, 81.25, 593.75, False, frozenset()
    )
    served, volume = (estimated(cloud, seen(source=one)) for one in (of_efs(EFS, WEST), None))
    assert served.figures.source_disk is not None
    assert volume.figures.source_disk is not None
    assert (served.figures.source_disk.value, served.figures.source_disk.origin) == (300.0, "measured")
    assert volume.figures.source_disk.origin == "published"


def test_a_budget_that_does_not_bear_the_file_systems_charge_is_refused_with_what_would_do() -> None:
    cloud = Cloud(read_file_systems=True)
    cloud.file_systems[WEST].known[EFS] = ELASTIC
    enough = estimated(cloud, seen(of_efs(EFS, WEST)), relays={"pairs": 0}).row(0).most_usd
    plain = estimated(Cloud(), seen(), relays={"pairs": 0}).row(0).most_usd
    assert enough > plain + 100 * 0.03
    with pytest.raises(BudgetTooSmall):
        estimated(cloud, seen(of_efs(EFS, WEST)), relays={"pairs": 0}, objective={"maxCostUsd": round(plain + 1, 2)})
    estimated(cloud, seen(of_efs(EFS, WEST)), relays={"pairs": 0}, objective={"maxCostUsd": round(enough + 1, 2)})


def test_all_machines_of_an_end_count() -> None:
    cloud = Cloud(read_file_systems=True)
    cloud.file_systems[WEST].known[EFS] = Told("bursting", standard_bytes=2**40)
    accepted = many(2, 1)
    found = estimate_transfer(EstimateInput(transfer=accepted, survey=seen(of_efs(EFS, WEST))), cloud.world)
    assert found.figures.source_mount is not None
    assert found.figures.source_mount.value == pytest.approx(2 * 500 * 1.048576)
    assert found.figures.source_mount.note.endswith("2 machines")


def test_a_server_that_may_be_anybodys_is_told_of() -> None:
    found = estimated(Cloud(), seen(mounted("10.0.0.7:/set")))
    assert "what the file server 10.0.0.7 charges is not known, and in no row" in found.notes
    assert found.figures.file_systems is None
