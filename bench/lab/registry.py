"""All experiments, in the order of the papers."""

from collections.abc import Sequence

from bench.lab import bench_figures, cells, geo_nodes, green, network, simulation, thesis_models, thesis_speedup
from bench.lab.experiment import Experiment

EXPERIMENTS: Sequence[Experiment] = (
    network.EXPERIMENT,
    thesis_models.EXPERIMENT,
    thesis_speedup.EXPERIMENT,
    *bench_figures.EXPERIMENTS,
    *geo_nodes.EXPERIMENTS,
    *cells.experiments(),
    simulation.EXPERIMENT,
    *green.EXPERIMENTS,
)


def chosen(names: Sequence[str]) -> list[Experiment]:
    """The experiments that measure these figures; all without a name. Raises ValueError where one is not known."""
    known = {figure.name: experiment for experiment in EXPERIMENTS for figure in experiment.figures}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"FIGURE is {', '.join(unknown)}; it must be one of {', '.join(known)}, or list")
    return [one for one in EXPERIMENTS if not names or any(known[name] is one for name in names)]
