"""Decide Wave: what comes next under a label, by how the last execution has ended; moves nothing itself."""

from typing import Any

from lambdas.adapters.world import World
from lambdas.core.documents import Document, Handover, TransferId
from lambdas.core.errors import TransferRunning
from lambdas.core.request.request import Limits
from lambdas.core.waves.asked import WavesRequest
from lambdas.core.waves.deciding import after, begin, next_request
from lambdas.core.waves.waves import Ended, Waves
from lambdas.runtime.handler import task_state


class WaveInput(Handover):
    """Input of the state; `asked` is raw. `waves` and `ended` are null before the first step."""

    asked: Any
    execution_arn: str
    waves: Waves | None = None
    ended: Ended | None = None


class NextExecution(Document):
    """An execution of `cpt-transfer` that is to be started."""

    name: TransferId
    request: dict[str, Any]


class WaveDecision(Document):
    """Output of the state; without `next` there is nothing to start any more."""

    waves: Waves
    next: NextExecution | None = None


def decide_wave(event: WaveInput, world: World) -> WaveDecision:
    """The next step, noted under the label; raises InvalidRequest, or TransferRunning where the label is taken."""
    env = world.env
    asked = WavesRequest.read(event.asked, Limits(env.regions, env.max_pairs, env.instance_types, env.max_cost_usd))
    now = world.clock.now()
    if event.waves is None or event.ended is None:
        waves = _begun(asked, event.execution_arn, world, now)
    else:
        waves = _noted(after(asked, event.waves, event.ended, now), world)
    if waves.status != "RUNNING":
        told = {"label": waves.label, "executionArn": waves.execution_arn, "status": waves.status}
        world.events.put("Waves Ended", {**told, "cause": waves.said, "spentUsd": waves.spent_usd})
    request = next_request(asked, waves)
    following = NextExecution(name=waves.steps[-1].name, request=request) if request is not None else None
    return WaveDecision(waves=waves, next=following)


def _begun(asked: WavesRequest, execution_arn: str, world: World, now: float) -> Waves:
    """The label is this execution's from here on, if nobody else's still runs under it."""
    known = world.waves.of(asked.label)
    if known is not None and known.execution_arn == execution_arn:
        return known  # begun by a call whose answer was lost
    if known is not None and known.status == "RUNNING" and world.executions.status(known.execution_arn) == "RUNNING":
        raise TransferRunning(_taken(asked.label, known.execution_arn))
    return _noted(begin(asked, execution_arn, known, now), world)


def _noted(waves: Waves, world: World) -> Waves:
    """As they are in the table; who calls again after an answer that was lost finds them there."""
    if world.waves.write(waves):
        return waves
    known = world.waves.of(waves.label)
    if known is None or (known.execution_arn, known.version) != (waves.execution_arn, waves.version):
        raise TransferRunning(_taken(waves.label, known.execution_arn if known else "another execution"))
    return known


def _taken(label: str, holder: str) -> str:
    return f"$.label: waves run under {label!r} already: {holder}; wait until they have ended, or choose another label"


handler = task_state("Decide Wave", WaveInput, decide_wave)
