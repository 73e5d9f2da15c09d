"""Index and page are what the records say, and each record has its log."""

from pathlib import Path

import pytest

from bench.lab import pages
from bench.lab.record import KEPT, Claim, Record, Verdict, kept
from bench.lab.registry import EXPERIMENTS, chosen
from bench.results import Result

RECORDS = list(kept())
FIGURES = {figure.name: figure for experiment in EXPERIMENTS for figure in experiment.figures}
AGAIN = "python -m bench.lab.pages makes it"


def test_index_and_page_are_made_of_the_records() -> None:
    assert pages.INDEX.read_text() == pages.text("laboratory.md.j2"), AGAIN
    assert pages.PAGE.read_text() == pages.text("laboratory.html.j2"), AGAIN


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.figure)
def test_each_record_has_its_log_and_the_claims_of_today(record: Record) -> None:
    log = (KEPT / record.log).read_text()
    assert f"  {record.figure}: {record.verdict_text}\n" in log
    assert record.claims == list(FIGURES[record.figure].claims)
    assert (KEPT / f"{record.figure}.json").exists()


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.figure)
def test_plots_are_drawn_from_the_record(record: Record) -> None:
    for place in range(len(record.plots)):
        drawn = (pages.PLOTS / f"{pages.plot_name(record, place)}.svg").read_text()
        assert pages.digest(record, place) in drawn, AGAIN


def test_nothing_is_kept_of_what_is_no_figure() -> None:
    plots = {f"{pages.plot_name(record, n)}.svg" for record in RECORDS for n in range(len(record.plots))}
    assert plots == {path.name for path in pages.PLOTS.glob("lab-*.svg")}
    names = {path.stem for path in KEPT.glob("*.log")}
    assert names == {Path(record.log).stem for record in RECORDS}


def row(value: float) -> list[Result]:
    return [Result("rate", value, "x")]


def claim(only_if: str | None = None) -> Claim:
    return Claim(text="it is 2", row="rate", least=1.9, most=2.1, only_if=only_if)


@pytest.mark.parametrize(
    ("one", "value", "verdict"),
    [
        (claim(), 2.0, Verdict.CONFIRMED),
        (claim(), 1.8, Verdict.REFUTED),
        (claim(), 2.2, Verdict.REFUTED),
        (claim(), float("nan"), Verdict.REFUTED),
        (claim("it rains"), 2.0, Verdict.ONLY_IF),
        (claim("it rains"), 3.0, Verdict.REFUTED),
    ],
)
def test_a_claim_holds_in_its_range(one: Claim, value: float, verdict: Verdict) -> None:
    assert one.verdict(row(value)) is verdict


def test_a_claim_about_a_row_that_was_not_measured_is_an_error() -> None:
    with pytest.raises(KeyError, match="about the row 'rate'; measured are speed"):
        claim().verdict([Result("speed", 2, "x")])


def record_of(*claims: Claim, value: float = 2.0, invalid: tuple[str, ...] = ()) -> Record:
    return Record(
        figure="f",
        paper="CPT",
        title="t",
        claims=list(claims),
        rows=row(value),
        invalid=list(invalid),
        command="make lab",
        seconds=1,
        seed=1,
        log="f.log",
        versions={},
    )


def test_the_verdict_of_a_figure_is_that_of_its_claims() -> None:
    low = Claim(text="it is 1", row="rate", most=1)
    assert record_of(claim()).verdict_text == "confirmed"
    assert record_of(low).verdict_text == "refuted"
    assert record_of(claim(), low).verdict_text == "1 of 2 claims confirmed"
    assert record_of(claim(), claim("it rains")).verdict_text == "confirmed only if it rains"
    assert record_of().verdict_text == "nothing is printed"
    assert record_of(claim(), invalid=("a cell",)).verdict_text == "invalid"


def test_records_are_the_same_after_they_were_written() -> None:
    one = record_of(claim(), value=float("inf"))
    assert Record.model_validate_json(one.model_dump_json(by_alias=True)) == one


def test_a_figure_that_is_not_known_is_named_with_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"FIGURE is cpt-9\.9; it must be one of network, cpt-4\.3"):
        chosen(["cpt-9.9"])
    assert [one.name for one in chosen(["cpt-6.2"])] == ["cpt-6.1"]
    assert chosen([]) == list(EXPERIMENTS)


def test_no_figure_is_measured_twice() -> None:
    assert len(FIGURES) == sum(len(one.figures) for one in EXPERIMENTS)
    assert all(experiment.minutes <= 20 for experiment in EXPERIMENTS)
