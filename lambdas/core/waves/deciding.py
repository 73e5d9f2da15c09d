"""What comes next: a look, a wave, the owner's word, or nothing."""

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from lambdas.core.errors import BudgetTooSmall, InvalidRequest
from lambdas.core.estimate.dry_run import Left
from lambdas.core.transfer.failure import Failure
from lambdas.core.waves.asked import WavesRequest
from lambdas.core.waves.waves import KEPT_STEPS, Ended, Forecast, Outcome, Step, StepKind, WaveReport, Waves
from lambdas.core.words import dollars, duration, many, size

# Of 80 characters: `-cut-over-200` takes 13.
MOST_OF_BASE = 64
# Less than a tenth fewer bytes is no progress: the source changes as fast as waves move it.
PROGRESS = 0.9
# One wave without progress may be an accident, two are not.
MOST_WITHOUT_PROGRESS = 2
LOOK_AGAIN = "look again (mostWaves 0), and cut over with the digest that this reports"


def begin(asked: WavesRequest, execution_arn: str, known: Waves | None, now: float) -> Waves:
    """The waves with their first step; `known`: what was done under the label, which has ended. Raises InvalidRequest.

    Steps about other ends are forgotten.
    """
    earlier = known.steps[-KEPT_STEPS:] if known is not None and known.ends == asked.ends else []
    if asked.cut_over:
        _refuse_cutover(asked, known)
    waves = Waves(
        label=asked.label,
        execution_arn=execution_arn,
        version=known.version + 1 if known else 1,
        ends=asked.ends,
        said="begins",
        confirm=known.confirm if known and earlier else None,
        first=len(earlier),
        steps=earlier,
        spent_usd=round(sum(step.usd or 0.0 for step in earlier), 6),
        began_at=now,
        updated_at=now,
    )
    return _then(waves, "cut-over" if asked.cut_over else "look")


def after(asked: WavesRequest, waves: Waves, ended: Ended, now: float) -> Waves:
    """The waves once their last step has ended, with the next one or with an outcome."""
    *before, last = waves.steps
    waves = waves.model_copy(update={"version": waves.version + 1, "updated_at": now})
    if ended.report is None:
        steps = [*before, last.model_copy(update={"status": "FAILED"})]
        return _failed(waves.model_copy(update={"steps": steps}), last, _failure(ended.error))
    waves = _noted(waves, before, last, ended.report)
    if last.kind == "look":
        return _after_look(asked, waves, ended.report)
    if last.kind == "wave":
        if asked.is_spent(waves.spent):
            said = f"the budget is used up: {_moved(waves.steps[-1])}, {dollars(waves.spent)} by all waves together"
            return _over(waves, "FAILED", said, BudgetTooSmall.__name__)
        return _then(waves, "look")
    return _over(waves, "CUT_OVER", f"cut over: {_moved(waves.steps[-1])}")


def stopped(waves: Waves, status: str, why: str, now: float) -> Waves:
    """The waves of an execution that has ended as `status`, without a decision of its own; `why` for people."""
    steps = [
        step.model_copy(update={"status": "STOPPED"}) if step.status == "RUNNING" else step for step in waves.steps
    ]
    noted = waves.model_copy(update={"version": waves.version + 1, "updated_at": now, "steps": steps})
    said = f"the execution of the waves ended as {why}\nwhat has arrived stays; begin again under the label to go on"
    outcome: Outcome = "STOPPED" if status == "ABORTED" else "FAILED"
    return _over(noted, outcome, said, f"Execution{status.title().replace('_', '')}")


def next_request(asked: WavesRequest, waves: Waves) -> dict[str, Any] | None:
    """The input of the next execution, whose name is its step's; None where there is none."""
    if waves.status != "RUNNING":
        return None
    kind = waves.steps[-1].kind
    made = asked.look if kind == "look" else asked.wave if kind == "wave" else asked.last
    return made(waves.spent)


def _refuse_cutover(asked: WavesRequest, known: Waves | None) -> None:
    """A cutover is of what was looked at under the label, and what it removes is what the latest look has found."""
    if known is None or known.ends != asked.ends or known.looked is None:
        why = f"no look at these ends was made under {asked.label!r}; let waves run first, or look (mostWaves 0)"
        raise InvalidRequest(f"$.cutOver: {why}")
    if asked.request.get("delete") is True and asked.request.get("confirmDelete") != known.confirm:
        raise InvalidRequest(
            f"$.request.confirmDelete: is not of the latest look under {asked.label!r}, whose extras have the digest "
            f"{known.confirm or '(none: it was without delete)'}; see what it would remove, and confirm that one"
        )


def _then(waves: Waves, kind: StepKind) -> Waves:
    """With one step more, which runs."""
    number = sum(step.kind == kind for step in waves.steps) + 1
    base = re.sub(r"[^A-Za-z0-9_-]", "-", waves.execution_arn.rsplit(":", 1)[-1])[:MOST_OF_BASE].lstrip("-_")
    look = waves.looked if kind != "look" else None
    step = Step(kind=kind, number=number, name=f"{base}-{kind}-{number}", forecast=look.forecast if look else None)
    said = "looks at what is left"
    if look is not None and look.forecast is not None:
        who = "the cutover" if kind == "cut-over" else f"wave {number}"
        said = f"{who} moves {_left(look)}, {look.forecast.words}"
    return waves.model_copy(update={"steps": [*waves.steps, step], "said": said})


def _noted(waves: Waves, before: Sequence[Step], last: Step, report: WaveReport) -> Waves:
    """With what the last step's report says."""
    found: dict[str, Any] = {"status": report.status, "usd": report.cost.total, "seconds": report.seconds.total}
    changed: dict[str, Any] = {}
    if last.kind == "look":
        left = _left_of(report)
        found |= {"files": left.files, "bytes": left.bytes, "forecast": _forecast(left, before)}
        deleted = report.dry_run.deleted if report.dry_run else None
        changed["confirm"] = deleted.digest if deleted else None
    else:
        found |= {"files": report.files, "bytes": report.bytes, "data_seconds": report.seconds.transfer}
    steps = [*before, last.model_copy(update=found)]
    spent = round(waves.spent_usd + report.cost.total, 6)
    return waves.model_copy(update={"steps": steps, "spent_usd": spent, **changed})


def _left_of(report: WaveReport) -> Left:
    if report.dry_run is None or report.dry_run.left is None:
        raise InvalidRequest("$.request: its dry run tells no time; waves cannot be planned by it")
    return report.dry_run.left


def _forecast(left: Left, before: Sequence[Step]) -> Forecast:
    """What surrounds the data is as it was in the waves before; until there was one, as transfers between the two
    regions have taught.
    """
    known = [around for step in before if (around := step.around) is not None]
    if not known:
        return Forecast.of(left.whole_seconds, left.whole_seconds_low, left.whole_seconds_high)
    low, high = min(known) + left.seconds_low, max(known) + left.seconds_high
    return Forecast.of(known[-1] + left.seconds, low, high)


def _after_look(asked: WavesRequest, waves: Waves, report: WaveReport) -> Waves:
    look, waves_so_far = waves.steps[-1], [step for step in waves.mine if step.kind == "wave"]
    if look.forecast is None:
        raise InvalidRequest("$.request: its dry run tells no time; waves cannot be planned by it")
    left = f"{_left(look)}, {look.forecast.words}"
    if _is_below(asked, look, look.forecast):
        return _over(waves, "CUT_OVER_NOW", f"cut over now: {left}{_extras(report)}")
    done = f"after {many(len(waves_so_far), 'wave')}" if waves_so_far else "so far"
    if why := _no_more(asked, waves, waves_so_far):
        return _over(waves, "NOT_YET", f"not below the bound of {_bound(asked)} {done}: {left}; {why}{_extras(report)}")
    return _then(waves, "wave")


def _is_below(asked: WavesRequest, look: Step, forecast: Forecast) -> bool:
    if asked.seconds is not None:
        return forecast.seconds <= asked.seconds
    return asked.until_bytes is not None and (look.bytes or 0) <= asked.until_bytes


def _no_more(asked: WavesRequest, waves: Waves, so_far: Sequence[Step]) -> str:
    """Why no other wave is of use; empty where one may be."""
    around = [found for step in waves.steps if (found := step.around) is not None][-2:]
    # A first wave of many files is planned and verified for longer than those that follow.
    if asked.seconds is not None and len(around) == 2 and around[1] >= max(asked.seconds, around[0] * PROGRESS):
        return f"a wave takes {duration(around[1])} for all but the data, so none comes below that; give a wider bound"
    if asked.most_waves == 0:
        return "no wave was asked for"
    looks = [step.bytes or 0 for step in waves.mine if step.kind == "look"]
    stuck = 0
    for earlier, later in pairwise(looks):
        stuck = stuck + 1 if later >= earlier * PROGRESS else 0
    faster = f"the source changes as fast as waves move it ({' → '.join(map(size, looks[-3:]))} left)" if stuck else ""
    if stuck >= MOST_WITHOUT_PROGRESS:
        return f"{faster}: let it change less, give more speed, or cut over with this"
    if len(so_far) >= asked.most_waves:
        return f"{many(asked.most_waves, 'wave was', 'waves were')} asked for{'; ' if faster else ''}{faster}"
    return ""


def _failure(caught: dict[str, Any] | None) -> Failure:
    """The failure of the execution itself, which Step Functions tells inside of the state's cause."""
    try:
        inner = json.loads((caught or {}).get("Cause") or "")
    except ValueError:
        inner = None
    if isinstance(inner, dict) and "Status" in inner:
        status = str(inner["Status"])
        return Failure.from_any({"error": inner.get("Error") or status, "cause": inner.get("Cause") or status}) or (
            Failure(error=status, cause=status)
        )
    return Failure.from_any(caught) or Failure(error="UnknownFailure", cause="the execution said nothing")


def _failed(waves: Waves, step: Step, failure: Failure) -> Waves:
    said = f"{step.name} failed: {failure.error}: {failure.cause}"
    if step.kind == "cut-over":
        said += f"\n{LOOK_AGAIN}"
    elif failure.error == BudgetTooSmall.__name__:
        said += f"\n{dollars(waves.spent)} of the budget was spent before; it is one for all waves together"
    return _over(waves, "FAILED", said, failure.error)


def _over(waves: Waves, status: Outcome, said: str, error: str | None = None) -> Waves:
    return waves.model_copy(update={"status": status, "said": said, "error": error})


def _left(look: Step) -> str:
    return f"{many(look.files or 0, 'file')} ({size(look.bytes or 0)})"


def _moved(step: Step) -> str:
    took = f", {duration(step.seconds)}" if step.seconds is not None else ""
    expected = f" (forecast: {duration(step.forecast.seconds)})" if step.forecast else ""
    return f"{_left(step)} moved{took}{expected}"


def _extras(report: WaveReport) -> str:
    deleted = report.dry_run.deleted if report.dry_run else None
    if deleted is None:
        return ""
    return f"\ndeleted by the cutover: {deleted.words()}; it takes the digest {deleted.digest}"


def _bound(asked: WavesRequest) -> str:
    return duration(float(asked.seconds)) if asked.seconds is not None else size(asked.until_bytes or 0)
