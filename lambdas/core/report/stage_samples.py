"""What a finished transfer tells about the stages around its data, and about its estimate."""

from lambdas.core.estimate.whole_time import TRANSFERS
from lambdas.core.learning.sample import Sample
from lambdas.core.record.transfer_record import TransferRecord

# Of a shorter one the last chunk alone is more than a tenth.
LEAST_ESTIMATE_SECONDS = 10.0
# Stages that take as long as people or other transfers do, and those where data moved before the listing was whole.
_WAITING = frozenset({"Await Approval", "Await Price", "Extend Plan"})


def stage_samples(record: TransferRecord, first: float, last: float, now: float) -> list[Sample]:
    """Samples of a transfer that succeeded; `first` and `last` payload byte and `now`, its report: Unix seconds."""
    if record.status not in ("SUCCEEDED", "SUCCEEDED_WITH_SKIPS") or not record.transfer.errand.teaches_stages:
        return []
    found = [Sample(TRANSFERS, "closing", now - last)]
    estimated = record.stages.get("Estimate Transfer", {}).get("leftAt")
    waited = _WAITING & record.stages.keys() or record.transfer.request.when_busy == "wait"
    if estimated is not None and not waited:
        found.append(Sample(TRANSFERS, "survey", estimated - record.transfer.execution_started_at))
        found.append(Sample(TRANSFERS, "planning", first - estimated))
    estimate = record.estimate
    # People who change limits or pause, and a budget that ends the relays, are no error of the estimate.
    as_estimated = record.bandwidth is None and record.budget is None and record.pause is None and not record.shared
    if estimate is not None and as_estimated:
        seconds = estimate.chosen_first.seconds
        if seconds >= LEAST_ESTIMATE_SECONDS:
            found.append(Sample(TRANSFERS, "accuracy", (last - first) / seconds))
    return [sample for sample in found if sample.value > 0]
