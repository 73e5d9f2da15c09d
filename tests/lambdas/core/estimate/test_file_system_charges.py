"""What file systems of AWS's charge for each GB, with the sums worked out."""

from dataclasses import replace

import pytest

from lambdas.core.estimate.file_system_charges import Load
from lambdas.core.estimate.rows import build_row
from lambdas.core.survey.served import Told
from tests.lambdas.builders import figures
from tests.lambdas.core.estimate.test_file_systems import EFS, ELASTIC, FSX, IRISH, LARGE, charged, found, on


def test_elastic_charges_for_each_gb_that_is_read_and_written_by_region() -> None:
    assert charged(on("source", EFS, ELASTIC)) == (30.0, 30.0)
    assert charged(on("destination", EFS, ELASTIC)) == (60.0, 60.0)
    assert charged(on("source", EFS, ELASTIC), on("destination", IRISH, ELASTIC)) == (100.0, 100.0)
    elsewhere = replace(EFS, region="sa-east-1")
    assert charged(on("source", elsewhere, ELASTIC)) == (30.0, 48.6)
    assert charged(on("destination", elsewhere, ELASTIC)) == (60.0, 113.4)


def test_what_is_read_back_is_charged_again_and_small_files_as_larger_ones_with_their_metadata() -> None:
    assert charged(on("destination", EFS, ELASTIC), load=replace(LARGE, rereads=True)) == (90.0, 90.0)
    # 10 KiB each: 3.2 times the data, or 4.2, and 4 or 10 calls of 4 KiB.
    small = Load(100 * 10 * 1024, 100)
    assert charged(on("source", EFS, ELASTIC), load=small) == pytest.approx((96.0, 30 * (4.2 + 1.6)))
    assert charged(on("destination", EFS, ELASTIC), load=small) == pytest.approx((192.0, 60 * (4.2 + 4.0)))


@pytest.mark.parametrize("told", [Told("bursting"), Told("provisioned", 100.0), Told("bursting", one_zone=True)])
def test_other_modes_charge_nothing_but_for_files_of_colder_classes(told: Told) -> None:
    assert found(on("source", EFS, told), on("destination", EFS, told)).file_systems is None
    assert charged(on("source", EFS, replace(told, infrequent_bytes=1))) == (0.0, 10.0)
    assert charged(on("source", EFS, replace(told, infrequent_bytes=1, archive_bytes=1))) == (0.0, 30.0)
    assert charged(on("destination", EFS, replace(told, infrequent_bytes=1))) == (0.0, 0.0)


def test_fsx_charges_nothing_for_a_gb() -> None:
    assert found(on("source", FSX), on("destination", FSX, Told("capacity", 500.0))).file_systems is None


def test_nothing_to_move_costs_nothing_and_breaks_nothing() -> None:
    empty = Load(0, 7)
    assert charged(on("destination", EFS, ELASTIC), load=empty) == (60.0, 60.0)
    assert build_row(0, 0, found(on("source"), load=empty)).cost_usd == build_row(0, 0, figures()).cost_usd
