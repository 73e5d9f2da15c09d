"""The series that `make figures` draws, and the plots that the docs show."""

import re
from pathlib import Path

import pytest

from bench.figures.hdfs import hdfs_figures
from bench.figures.series import Figure, thesis_figures

ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs" / "models.md").read_text()
FIGURES = {figure.number: figure for figure in thesis_figures()}


def at(figure: Figure, panel: int, label: str, x: float) -> float:
    lines = {line.label: line for line in figure.panels[panel][1]}
    return lines[label].y[list(figure.x).index(x)]


def test_all_figures_of_the_models_are_drawn() -> None:
    assert list(FIGURES) == [f"4.{number}" for number in range(3, 17)]


@pytest.mark.parametrize(
    ("number", "model", "seconds"),
    [("4.3", "basic", (953.25, 786.58, 703.25)), ("4.4", "pipelined", (752.14, 529.91, 418.80))],
)
def test_time_at_10_gb_is_that_of_the_check_values(number: str, model: str, seconds: tuple[float, ...]) -> None:
    figure = FIGURES[number]
    found = [at(figure, 0, f"{model}, p = {pairs}", 10.0) for pairs in (2, 4, 8)]
    assert found == pytest.approx(seconds, abs=0.005)
    assert at(figure, 0, "sequential", 10.0) == pytest.approx(666.67, abs=0.005)


def test_our_side_has_the_same_parameters() -> None:
    # 1350 MB go directly in the first 90 s, then five paths carry 75 MB/s.
    assert at(FIGURES["4.5"], 1, "zero-wait, p = 4", 10.0) == pytest.approx(90 + (10_000 - 1350) / 75)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=list(FIGURES))
def test_every_line_has_a_value_per_place_and_the_caption_names_the_parameters(figure: Figure) -> None:
    assert all(len(line.y) == len(figure.x) for _, lines in figure.panels for line in lines)
    assert "T_v = 90 s" in figure.caption
    assert ("$" in figure.caption) == ("dollar" in figure.y_label)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=list(FIGURES))
def test_docs_name_the_parameters_of_every_figure(figure: Figure) -> None:
    assert f"{figure.caption}." in DOCS


def test_docs_show_every_plot_and_no_other() -> None:
    shown = set(re.findall(r"figures/([a-z0-9-]+\.svg)", DOCS))
    numbers = [*FIGURES, *(plot.number for plot in hdfs_figures())]
    drawn = {f"figure-{number.replace('.', '-')}.svg" for number in numbers} | {"sample-integration.svg"}
    others = {
        path.name for kind in ("routes", "hdfs", "lab") for path in (ROOT / "docs" / "figures").glob(f"{kind}-*.svg")
    }
    assert shown == drawn == {path.name for path in (ROOT / "docs" / "figures").iterdir()} - others


@pytest.mark.parametrize("plot", sorted((ROOT / "docs" / "figures").glob("hdfs-*.svg")), ids=lambda path: path.name)
def test_the_comparison_shows_each_plot_beside_distcp(plot: Path) -> None:
    assert f"figures/{plot.name}" in (ROOT / "docs" / "comparison.md").read_text()


@pytest.mark.parametrize("plot", sorted((ROOT / "docs" / "figures").glob("routes-*.svg")), ids=lambda path: path.name)
def test_note_shows_each_plot_of_routes(plot: Path) -> None:
    notes = (note.read_text() for note in (ROOT / "docs" / "design").glob("*.md"))
    assert any(f"figures/{plot.name}" in note for note in notes)


def test_docs_list_every_contradiction_that_a_test_holds() -> None:
    names = ("test_published.py", "test_hdfs_outcomes.py")
    tests = "".join(Path(__file__).with_name(name).read_text() for name in names)
    held = re.findall(r"def (test_text_of_\w+)", tests)
    listed = re.findall(r"`(test_text_of_\w+)`", DOCS)
    assert sorted(held) == sorted(listed)
