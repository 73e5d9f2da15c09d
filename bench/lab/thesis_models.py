"""The dissertation's Figures 4.3 to 4.12 with real bytes: time, cost and throughput of t2.small with 2, 4 and 8 pairs.

The dissertation computes them; here the same transfers run at 1:30, and the models are overlaid. Figure 4.4 is left
out: its model lets the source send p times as much as its cap. Figures 4.13 to 4.16 vary a ratio, a type and a way to
bill of these same transfers, in the models alone.
"""

from collections.abc import Callable, Mapping, Sequence

from bench.figures.published import EGRESS_GB, T2_SMALL_HOUR
from bench.lab.experiment import Experiment, Figure, Found, Lab
from bench.lab.grid import BASIC, CPT, EQUATION, SEQUENTIAL, Grid, Seconds, time
from bench.lab.record import Claim
from bench.plots import Plot
from bench.results import Result
from lambdas.core.tariff import cost

GRID = Grid(
    inter=15,
    intra=90,
    spawn_seconds=90,
    split=65,
    gb_bytes=1000**3,
    sizes=(1.5, 5, 20),
    pairs=(2, 4, 8),
    ways=(BASIC, EQUATION, CPT),
)
"""Table 4.3, t2.small. Times are straight lines over the size, so that three sizes have the crossovers."""
CROSSOVERS = {(BASIC, 8): 16.85, (EQUATION, 2): 8.10, (EQUATION, 4): 3.24, (EQUATION, 8): 2.49}
"""GB, by the equations."""


def dollars(seconds: Seconds, way: str, size: float, pairs: int) -> float:
    """Eq. 3.5 and 3.7."""
    return cost.transfer(size * 1e9, pairs, seconds[way, size, pairs], T2_SMALL_HOUR, EGRESS_GB)


def throughput(seconds: Seconds, way: str, size: float, pairs: int) -> float:
    """MB/s."""
    return size * 1000 / seconds[way, size, pairs]


def per_dollar(seconds: Seconds, way: str, size: float, pairs: int) -> float:
    """Throughput per cost (4.2.2)."""
    return throughput(seconds, way, size, pairs) / dollars(seconds, way, size, pairs)


SHOWN: Mapping[str, tuple[str, str, Callable[[Seconds, str, float, int], float], Sequence[str]]] = {
    "4.3": ("Time, basic", "seconds", time, (BASIC,)),
    "4.5": ("Time, piped", "seconds", time, (EQUATION, CPT)),
    "4.6": ("Time, basic and optimized", "seconds", time, (BASIC, EQUATION, CPT)),
    "4.7": ("Cost, small transfers", "dollars", dollars, (EQUATION, CPT)),
    "4.8": ("Throughput per cost, small transfers", "MB/s per dollar", per_dollar, (EQUATION, CPT)),
    "4.9": ("Throughput, small transfers", "MB/s", throughput, (EQUATION, CPT)),
    "4.10": ("Cost, large transfers", "dollars", dollars, (EQUATION, CPT)),
    "4.11": ("Throughput per cost, large transfers", "MB/s per dollar", per_dollar, (EQUATION, CPT)),
    "4.12": ("Throughput, large transfers", "MB/s", throughput, (EQUATION, CPT)),
}


def measure(lab: Lab) -> Mapping[str, Found]:
    """All figures plot the same runs."""
    grid = GRID.few() if lab.smoke else GRID
    seconds = grid.measure(lab)
    found = {}
    for number, (title, label, value, ways) in SHOWN.items():
        own = Grid(**{**vars(grid), "ways": ways})
        rows = [own.off(seconds, way) for way in ways] if value is time else []
        rows += own.crossovers(seconds) if value is time else []
        rows += [
            Result(
                f"{way}: crossover with p = {p} off the equation's",
                100 * (own.wins_from(seconds, way, p) / gb - 1),
                "%",
                note=f"{own.wins_from(seconds, way, p):.2f} and {gb} GB",
            )
            for (way, p), gb in CROSSOVERS.items()
            if value is time and way in ways and p in own.pairs
        ]
        points = [(SEQUENTIAL, size, 0) for size in own.sizes]
        points += [(way, size, p) for way in ways for size in own.sizes for p in own.pairs]
        of_model = own.modelled()
        rows += [
            Result(
                f"{w}: {s:g} GB, p = {p}", value(seconds, w, s, p), label, note=f"model {value(of_model, w, s, p):.4g}"
            )
            for w, s, p in points
        ]
        plot = Plot(number, title, own.panels(value, seconds, label), CAPTION)
        found[f"cpt-{number}"] = Found(rows, [plot], NOTE, lab.invalid)
    return found


CAPTION = (
    "Real bytes at 1:30 in time, on the paper's scale: t2.small, v_e = 15, v_i = 90, v_s = 65 MB/s, T_v = 90 s; $0.024 "
    "an hour, $0.02 a GB. Dotted: the models; CPT beside zero wait."
)
NOTE = (
    "The disk of v_s is a copy that is paced. The sender looks for new paths every quarter of a second, 7.5 s on the "
    "paper's scale; the models have none of it."
)
STORED = "relays hold back their whole share, as the equation says"


def crossover(way: str, pairs: int) -> Claim:
    """Within 15 % of the equation's."""
    return Claim(
        text=f"{way}, {pairs} pairs: faster than a sequential transfer from {CROSSOVERS[way, pairs]} GB",
        row=f"{way}: crossover with p = {pairs} off the equation's",
        least=-15,
        most=15,
        only_if=STORED,
    )


def never(pairs: int) -> Claim:
    """Basic, with few pairs."""
    return Claim(
        text=f"basic, {pairs} pairs: never faster",
        row=f"{BASIC}: wins with p = {pairs} from",
        least=1e9,
        only_if=STORED,
    )


def close(way: str) -> Claim:
    """To the model."""
    return Claim(text=f"{way}: as the model says", row=f"{way}: off the model, p90", most=10, only_if=STORED)


CLAIMS: Mapping[str, Sequence[Claim]] = {
    "4.3": (close(BASIC), crossover(BASIC, 8), never(2), never(4)),
    "4.5": (close(EQUATION), *(crossover(EQUATION, p) for p in (2, 4, 8))),
}
EXPERIMENT = Experiment(
    [Figure(f"cpt-{number}", "CPT", shown[0], CLAIMS.get(number, ())) for number, shown in SHOWN.items()],
    measure,
    minutes=15,
)
