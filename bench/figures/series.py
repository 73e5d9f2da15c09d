"""The series of the dissertation's Figures 4.3 to 4.16: on the left its model, on the right ours, same parameters."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from bench.figures import published
from bench.figures.published import EGRESS_GB, H1_2XLARGE_HOUR, H1_2XLARGE_PAIR, T2_SMALL_HOUR, T2_SMALL_PAIR
from lambdas.core.models.models import MODELS, ModelName, Parameters
from lambdas.core.tariff import cost
from lambdas.core.tariff.cost import Billing

PAIRS = (2, 4, 8)
SIZES_GB = [0.5 * step for step in range(1, 49)]
SMALL_GB = [0.25 * step for step in range(1, 41)]
LARGE_GB = [2.5 * step for step in range(4, 81)]
RATIOS = [0.5 * step for step in range(2, 41)]
T2 = "t2.small: T_v = 90 s, v_s = 65, v_i = 90, v_e = 15 MB/s"
BILLED = f"{T2}; $0.024 per hour"
PRICED = f"{BILLED}, egress $0.02 per GB"
RATIO = "5 GB, v_e = 10 Mbit/s, v_i = ratio × v_e, T_v = 90 s"
TYPES = (
    "ends h1.2xlarge: v_i = 315, v_e = 30 MB/s; relays h1.2xlarge at $0.468 per hour, or t2.small: v_i = 90, "
    "v_e = 15 MB/s at $0.024; T_v = 90 s, egress $0.02 per GB"
)

Metric = Callable[[ModelName, Parameters], float]
Case = Callable[[float, int], Parameters]
"""From a place on the x axis and a number of pairs."""


@dataclass(frozen=True)
class Line:
    """One curve; lines of one `pairs` share a colour (0: sequential), `style` is matplotlib's."""

    label: str
    y: Sequence[float]
    pairs: int
    style: str = "-"


@dataclass(frozen=True)
class Figure:
    """One plot: panels of (title, lines) over the same `x`; the caption names the parameters."""

    number: str
    title: str
    x_label: str
    y_label: str
    x: Sequence[float]
    panels: Sequence[tuple[str, Sequence[Line]]]
    caption: str


def seconds(model: ModelName, at: Parameters) -> float:
    """T, seconds."""
    return MODELS[model](at)


def throughput(model: ModelName, at: Parameters) -> float:
    """s / T, MB/s."""
    return at.size / seconds(model, at)


def speedup(model: ModelName, at: Parameters) -> float:
    """S = T_seq / T (4.2)."""
    return seconds("sequential", at) / seconds(model, at)


def dollars(
    model: ModelName,
    at: Parameters,
    hour_usd: float = T2_SMALL_HOUR,
    billing: Billing = Billing.PER_SECOND,
    usd_per_gb: float = EGRESS_GB,
) -> float:
    """Eq. 3.5 and 3.7; the sequential transfer has no relays."""
    pairs = 0 if model == "sequential" else len(at.pairs)
    return cost.transfer(at.size * 1e6, pairs, seconds(model, at), hour_usd, usd_per_gb, billing)


def per_dollar(model: ModelName, at: Parameters, hour_usd: float = T2_SMALL_HOUR) -> float:
    """Throughput per cost (4.2.2), MB/s per dollar."""
    return throughput(model, at) / dollars(model, at, hour_usd)


def of_size(gigabytes: float, pairs: int) -> Parameters:
    """Table 4.3's transfer of so many GB (1000 MB)."""
    return published.t2_small(gigabytes * 1000, pairs)


def curves(x: Sequence[float], case: Case, metric: Metric, model: ModelName, label: str, style: str) -> list[Line]:
    """The model with each number of pairs."""
    return [Line(f"{label}, p = {p}", [metric(model, case(at, p)) for at in x], p, style) for p in PAIRS]


def beside(
    x: Sequence[float], metric: Metric, theirs: Iterable[ModelName], ours: Iterable[ModelName], case: Case
) -> list[tuple[str, list[Line]]]:
    """Their models on the left, ours on the right, the sequential transfer in both; a second model is dashed."""
    panels = []
    for title, models in (("Dissertation", theirs), ("CPT", ours)):
        lines = [Line("sequential", [metric("sequential", case(at, 0)) for at in x], 0)]
        for model, style in zip(models, ("-", "--"), strict=False):
            lines += curves(x, case, metric, model, model, style)
        panels.append((title, lines))
    return panels


def by_type(model: ModelName) -> list[Line]:
    """4.15: ends of h1.2xlarge, relays of either type."""
    kinds = (("t2.small", T2_SMALL_PAIR, T2_SMALL_HOUR, "-"), ("h1.2xlarge", H1_2XLARGE_PAIR, H1_2XLARGE_HOUR, "--"))
    lines: list[Line] = []
    for name, pair, hour, style in kinds:
        case = partial(lambda gb, p, relay: published.h1_ends(gb * 1000, p, relay), relay=pair)
        lines += curves(SIZES_GB, case, partial(per_dollar, hour_usd=hour), model, name, style)
    return lines


def by_billing(model: ModelName) -> list[Line]:
    """4.16: what the relays alone cost when their time is rounded up."""
    lines: list[Line] = []
    for billing, style in zip(Billing, ("-", "--", ":"), strict=True):
        metric = partial(dollars, billing=billing, usd_per_gb=0.0)
        lines += curves(LARGE_GB, of_size, metric, model, billing.label, style)
    return lines


def thesis_figures() -> list[Figure]:
    """Figures 4.3 to 4.16, in order."""

    def figure(
        number: str,
        title: str,
        unit: str,
        x: Sequence[float],
        metric: Metric,
        caption: str = PRICED,
        theirs: tuple[ModelName, ...] = ("piped",),
        ours: tuple[ModelName, ...] = ("zero-wait",),
    ) -> Figure:
        over, case = ("v_i / v_e", published.ratio) if x is RATIOS else ("size, GB", of_size)
        return Figure(number, title, over, unit, x, beside(x, metric, theirs, ours, case), caption)

    def split(number: str, title: str, unit: str, x: Sequence[float], by: Callable[[ModelName], list[Line]]) -> Figure:
        panels = [("Dissertation: piped", by("piped")), ("CPT: zero-wait", by("zero-wait"))]
        return Figure(number, title, "size, GB", unit, x, panels, TYPES if by is by_type else BILLED)

    both: tuple[ModelName, ...] = ("zero-wait", "cut-through")
    return [
        figure("4.3", "Time, basic", "seconds", SIZES_GB, seconds, T2, ("basic",)),
        figure("4.4", "Time, pipelined", "seconds", SIZES_GB, seconds, T2, ("pipelined",)),
        figure("4.5", "Time, piped", "seconds", SIZES_GB, seconds, T2),
        figure("4.6", "Time, basic and optimized", "seconds", SIZES_GB, seconds, T2, ("piped", "basic"), both),
        figure("4.7", "Cost, small transfers", "dollars", SMALL_GB, dollars),
        figure("4.8", "Throughput per cost, small transfers", "MB/s per dollar", SMALL_GB, per_dollar),
        figure("4.9", "Throughput, small transfers", "MB/s", SMALL_GB, throughput, T2),
        figure("4.10", "Cost, large transfers", "dollars", LARGE_GB, dollars),
        figure("4.11", "Throughput per cost, large transfers", "MB/s per dollar", LARGE_GB, per_dollar),
        figure("4.12", "Throughput, large transfers", "MB/s", LARGE_GB, throughput, T2),
        figure("4.13", "Speedup by ratio", "speedup", RATIOS, speedup, RATIO),
        figure("4.14", "Cost by ratio", "dollars", RATIOS, dollars, f"{RATIO}; $0.024 per hour, egress $0.02 per GB"),
        split("4.15", "Throughput per cost, by type of relay", "MB/s per dollar", SIZES_GB, by_type),
        split("4.16", "Cost without egress, by billing", "dollars", LARGE_GB, by_billing),
    ]
