"""Estimates from figures that somebody gives: the recommendation, and every model by name beside the others."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Annotated, Literal

from pydantic import Field

from lambdas.core.documents import Count, Document
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.estimate.figures import EndFigures, Figure
from lambdas.core.estimate.pair_choice import choose
from lambdas.core.estimate.rows import build_row
from lambdas.core.estimate.steps import beside
from lambdas.core.estimate.type_choice import Offer, rank
from lambdas.core.models.models import MODELS, Ends, ModelName, Pair, Parameters, sequential, speedup
from lambdas.core.request.request import Objective
from lambdas.core.tariff import cost

WITHOUT_RELAYS: tuple[ModelName, ...] = ("sequential", "zero-wait")
"""Models that have a time for p = 0; sequential has no other."""

Rate = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]


class GivenFigures(Document):
    """MB/s, seconds, dollars: v_i and v_e as the dissertation has them, for ends and pairs apart; no v_s: no disk."""

    intra: Rate = Field(alias="intraMBps")
    inter: Rate = Field(alias="interMBps")
    pair_inter: Rate = Field(alias="pairInterMBps")
    source: Rate = Field(alias="sourceMBps")
    destination: Rate = Field(alias="destinationMBps")
    split: Rate | None = Field(default=None, alias="splitMBps")
    spawn_seconds: NotNegative
    pre_test_seconds: NotNegative = 0.0
    export_seconds: NotNegative = 0.0
    import_seconds: NotNegative = 0.0
    relay_hour_usd: NotNegative
    egress_usd_per_gb: NotNegative = Field(alias="egressUsdPerGB")

    def parameters(self, size_bytes: int, pairs: int) -> Parameters:
        """Return these figures as the models' parameters: sizes in MB, rates in MB/s."""
        return Parameters(
            size_bytes / 1e6,
            Ends(self.inter, self.source, self.destination),
            (Pair(self.pair_inter, self.intra, self.spawn_seconds),) * pairs,
            split=self.split or inf,
            pre_test_seconds=self.pre_test_seconds,
            export_seconds=self.export_seconds,
            import_seconds=self.import_seconds,
        )


class ModelRow(Document):
    """One model at one p: seconds, dollars, speedup against sequential, and the step that takes the longest."""

    model: ModelName
    pairs: Count
    seconds: NotNegative
    speedup: NotNegative
    cost_usd: NotNegative
    limit: str


class Comparison(Document):
    """Contract `comparison`."""

    schema_version: Literal[1] = 1
    bytes: Count
    rows: list[ModelRow] = Field(min_length=1)
    figures: GivenFigures


def recommend(size_bytes: int, given: GivenFigures, pairs: Iterable[int], objective: Objective) -> Estimate:
    """Zero-wait rows for `pairs`, the direct one always among them; raises BudgetTooSmall or DeadlineUnreachable."""
    wanted = {0, *pairs}
    ends = EndFigures(
        source=_figure(given.source),
        destination=_figure(given.destination),
        direct=_figure(given.inter),
        egress=_figure(given.egress_usd_per_gb),
    )
    offer = Offer(
        instance_type="as given",
        pair=_figure(min(given.pair_inter, given.intra)),
        spread=_figure(0.0),
        spawn=_figure(given.spawn_seconds),
        hour=_figure(given.relay_hour_usd),
        most_pairs=max(wanted),
    )
    figures = offer.figures(ends)
    rows = [build_row(size_bytes, count, figures).weighed(objective.value_of_time) for count in sorted(wanted)]
    chosen, reason = choose(rows, "auto", objective, figures)
    if steps := beside(rows, chosen, objective, figures):
        reason += f"; {steps}"
    return Estimate(
        bytes=size_bytes,
        rows=rows,
        chosen_pairs=chosen,
        pre_test=False,
        reason=reason,
        figures=figures,
        instance_type=offer.instance_type,
        candidates=rank(size_bytes, ends, [offer], offer.most_pairs),
        notes=[],
    )


def _figure(value: float) -> Figure:
    return Figure(value=value, origin="configured", note="as given")


def compare(size_bytes: int, given: GivenFigures, names: Sequence[ModelName], pairs: Iterable[int]) -> Comparison:
    """Each model of `names` at each p that it has a time for; there must be one."""
    wanted = sorted(set(pairs))
    direct = sequential(given.parameters(size_bytes, 0))
    rows = [
        _row(name, size_bytes, count, given, direct)
        for name in names
        for count in ([0] if name == "sequential" else wanted)
        if count or name in WITHOUT_RELAYS
    ]
    return Comparison(bytes=size_bytes, rows=rows, figures=given)


def _row(name: ModelName, size_bytes: int, pairs: int, given: GivenFigures, direct: float) -> ModelRow:
    parameters = given.parameters(size_bytes, pairs)
    seconds = MODELS[name](parameters)
    dollars = cost.transfer(size_bytes, pairs, seconds, given.relay_hour_usd, given.egress_usd_per_gb)
    if name == "pre-tested":
        dollars += cost.pre_test(pairs, given.pre_test_seconds, given.relay_hour_usd)
    steps = _steps(name, parameters, seconds)
    return ModelRow(
        model=name,
        pairs=pairs,
        seconds=round(seconds, 3),
        speedup=round(speedup(direct, seconds), 3),
        cost_usd=round(dollars, 6),
        limit=max(steps, key=lambda step: steps[step]),
    )


def _steps(name: ModelName, parameters: Parameters, seconds: float) -> dict[str, float]:
    """What the model's time is made of, seconds by what limits it."""
    size, ends, count = parameters.size, parameters.ends, len(parameters.pairs)
    machines = {
        "what the source machine sends": size / ends.source,
        "what the destination machine receives": size / ends.destination,
    }
    if not count:
        return {"the direct path": size / ends.inter, **machines}
    starting = {"the start of the relays": parameters.spawn_seconds}
    if name == "zero-wait":
        together = size / (ends.inter + sum(pair.rate for pair in parameters.pairs))
        late = starting if seconds <= parameters.spawn_seconds else {}
        return {**late, "the direct path and the pairs together": together, **machines}
    between = {"the paths between the regions": parameters.transfer_seconds}
    if name == "cut-through":
        return {**starting, **between, **machines}
    share = count if name == "pipelined" else 1
    disk = {"basic": 2 * size / parameters.split, "pipelined": size / parameters.split}
    return {
        **starting,
        **between,
        "the hop from the source to the relays": parameters.distribute_seconds / share,
        "the hop from the relays to the destination": parameters.consolidate_seconds / share,
        "split and merge on disk": disk.get(name, 0.0),
        "the pre-test": parameters.pre_test_seconds if name == "pre-tested" else 0.0,
        "export and import": parameters.export_seconds + parameters.import_seconds if name == "hdfs" else 0.0,
    }
