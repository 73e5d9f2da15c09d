from lambdas.core.fleet.membership import RELAY_PORT
from lambdas.core.record.transfer_record import Estimated
from lambdas.operations.fleet.measured_hops import measured_hops
from lambdas.operations.fleet.relay_start import hops_of_route
from tests.lambdas.builders import paths
from tests.lambdas.fleet import spawned


def test_the_source_reaches_the_last_relay_of_a_pair_and_no_other_beside_the_hops() -> None:
    cloud = spawned(1, pre_test=True, profile="measure")
    record = cloud.transfers.get("first")
    assert isinstance(record, Estimated)
    for node in cloud.nodes.of("first"):
        booted = node.model_copy(update={"private_address": "10.0.0.9", "public_address": "54.9.0.9"})
        hops = hops_of_route(record, booted, [])
        more = [one for one in measured_hops(record, booted, []) if one not in hops]
        direct = [("relay", paths().source_address, RELAY_PORT)] if node.stage == 1 else []
        assert [(one.group, one.address, one.port) for one in more] == direct
