import pytest

from lambdas.core.tariff.energy import ASSUMPTION, MACHINE_WATTS, watt_hours


def test_ratio_of_the_paper_comes_out() -> None:
    # TaaS, Eq. 1 to 3: 5 nodes more for each application, as many pool nodes as applications, 1.2 times as long.
    users, service = watt_hours(2 + 5), watt_hours((2 + 1) * 1.2)
    assert users / service == pytest.approx(1.94, abs=0.01)


def test_a_machine_is_a_node_and_its_share_of_a_switch() -> None:
    assert MACHINE_WATTS == 202.5
    assert watt_hours(3600) == 202.5
    assert ASSUMPTION.startswith("202.5 W a machine")
