"""The index and the page of the laboratory, made of the records that are kept and of nothing else."""

import sys
from collections.abc import Sequence
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from pydantic import TypeAdapter

from bench.lab.experiment import Experiment
from bench.lab.record import KEPT, Claim, Record, Verdict, kept
from bench.lab.registry import EXPERIMENTS
from bench.plots import Plot
from bench.results import Result

INDEX, PAGE, PLOTS = Path("docs/laboratory.md"), Path("docs/laboratory.html"), Path("docs/figures")
TEMPLATES = Path(__file__).with_name("templates")
PAPERS = {
    "CPT": "Boey, Cloud-to-cloud data transfer parallelization framework, 2019",
    "GEO": "Tudoran and others, Bridging Data in the Clouds, 2014",
    "TaaS": "Tudoran and others, Transfer as a Service, 2014",
    "RCD": "Nikam and Sarvankar, Big Data Transfers Using Recursive Chunk Division",
    "GREEN": "Georgiou, Implementing Green IT approach for transferring Big Data over Parallel Data Link",
    "ours": "what this project adds",
}


def text(name: str, experiments: Sequence[Experiment] = EXPERIMENTS) -> str:
    """Fill a template with all records."""
    found = {record.figure: record for record in kept()}
    figures = [(figure, experiment) for experiment in experiments for figure in experiment.figures]
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=select_autoescape(["html"]),
    )
    environment.filters["number"] = number
    return environment.get_template(name).render(
        records=[found[figure.name] for figure, _ in figures if figure.name in found],
        missing=[(figure, experiment) for figure, experiment in figures if figure.name not in found],
        contradicted=[(r, c) for f, _ in figures if (r := found.get(f.name)) for c in r.claims if c.contradicted],
        papers=PAPERS,
        kept=KEPT,
        measured=measured,
        pairs=lambda record: zip_longest(record.claims, record.verdicts),
        plot=plot_name,
        bounds=bounds,
        Verdict=Verdict,
    )


def number(value: float) -> str:
    """Four digits that say something."""
    if value != value or value in (float("inf"), float("-inf")):
        return "never" if value == float("inf") else "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def bounds(claim: Claim) -> str:
    """What the claim asks of its row."""
    least = "" if claim.least is None else f", at least {number(claim.least)}"
    return least + ("" if claim.most is None else f", at most {number(claim.most)}")


def measured(record: Record, case: str) -> Result:
    """The row of a record."""
    return next(row for row in record.rows if row.case == case)


def plot_name(record: Record, place: int) -> str:
    """The file of one of its plots."""
    return f"lab-{record.figure.replace('.', '-')}{f'-{place}' if place else ''}"


def digest(record: Record, place: int) -> str:
    """Of what a plot shows; the drawn file names it."""
    return sha256(TypeAdapter(Plot).dump_json(record.plots[place])).hexdigest()


def main() -> int:
    """Write both, and draw the plots."""
    from bench.drawing import draw  # its library is there for `make lab` and `make figures` alone

    for record in kept():
        for place, plot in enumerate(record.plots):
            draw(plot, plot_name(record, place), digest(record, place))
    INDEX.write_text(text("laboratory.md.j2"))
    PAGE.write_text(text("laboratory.html.j2"))
    print(f"{INDEX}, {PAGE}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
