from lambdas.handlers.states.resolve_measured_paths import resolve_measured_paths
from lambdas.handlers.states.resolve_paths import ResolveInput
from tests.lambdas.builders import IRELAND, WEST, transfer
from tests.lambdas.cloud import Cloud


def test_the_direct_path_is_opened_and_proved_before_it_is_measured() -> None:
    cloud, accepted = Cloud(), transfer(profile="measure")
    cloud.transfers.create(accepted)
    found = resolve_measured_paths(ResolveInput(transfer=accepted), cloud.world)
    assert (found.inter_region, found.receiver_address) == ("public", "54.1.0.1:4601")
    assert [cloud.commands[region].sent[0][0] for region in (WEST, IRELAND)] == ["probe", "probe"]
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.paths == found
