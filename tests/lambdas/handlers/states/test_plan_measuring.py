from lambdas.core.chunks.transfer_plan import TransferPlan
from lambdas.core.record import transfer_life
from lambdas.handlers.states.plan_measuring import PlanInput, plan_measuring
from tests.lambdas.builders import ENDS, SHARED, paths, transfer
from tests.lambdas.cloud import Cloud


def test_where_nothing_is_moved_but_measured_there_is_neither_chunk_nor_path() -> None:
    cloud, accepted = Cloud(), transfer(profile="measure")
    cloud.transfers.create(accepted)
    cloud.transfers.change(transfer(), transfer_life.note(paths=paths()))
    found = plan_measuring(PlanInput(transfer=accepted), cloud.world)
    assert (found.chunks, found.bytes, found.files, found.manifest_parts, found.listing) == (0, 0, 0, [], None)
    first = cloud.agents.membership(SHARED)
    assert first is not None
    assert first.paths == []
    assert TransferPlan.model_validate_json(cloud.objects.objects[f"{ENDS}plan.json"]) == found
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.plan == found
