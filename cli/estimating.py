"""`cpt estimate`: what each choice would take and cost. Starts nothing; with figures given it needs no AWS either."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from cli.aws import home
from cli.calls import call, refuse
from cli.console import make_console, say
from cli.estimate_view import comparison_table, estimate_table
from cli.exit_codes import ExitCode
from cli.given import ALL_MODELS, Given
from cli.options import AsJson, Local
from cli.quantities import OptionError, size_bytes
from cli.request_file import read_request
from lambdas.core.errors import AskPerson
from lambdas.core.estimate.model_table import compare, recommend

EXAMPLES = (
    "cpt estimate request.json --size 8GB · "
    "cpt estimate --size 8GB --vi 90 --ve 15 --tv 90 --pairs 0..8 --model all --price-hour 0.023 --egress 0.02"
)


def _figure(text: str, *names: str) -> Any:
    return typer.Option(*names, metavar="NUMBER", help=text, rich_help_panel="Figures given: MB/s, seconds, dollars")


def _choice(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel="Figures given: what is shown, and what to choose by")


def estimate(
    request: Annotated[
        Path | None, typer.Argument(help="JSON file of the transfer request.", exists=True, dir_okay=False)
    ] = None,
    *,
    size: Annotated[
        str | None, typer.Option(help="Size of the data, e.g. 8GB or 1.5TiB. Without a unit it is bytes.")
    ] = None,
    files: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of files, if a request file is given. Many small files take longer than one large file."
        ),
    ] = None,
    vi: Annotated[str | None, _figure("v_i: rate between two machines of one region.")] = None,
    ve: Annotated[str | None, _figure("v_e: rate from the source to the destination, from region to region.")] = None,
    tv: Annotated[str | None, _figure("T_v: seconds until relays carry data.")] = None,
    ve_pair: Annotated[str | None, _figure("v_e: rate of each relay pair (default: --ve).")] = None,
    v_src: Annotated[
        str | None, _figure("Rate that the source sends at on all paths together (default: --vi).")
    ] = None,
    v_dst: Annotated[
        str | None, _figure("Rate that the destination receives at on all paths together (default: --vi).")
    ] = None,
    vs: Annotated[str | None, _figure("v_s: rate of splitting and merging on disk (default: no limit).")] = None,
    pre_test: Annotated[
        str | None, _figure("T_pt: seconds of the pre-test, in the model pre-tested (default: 60).")
    ] = None,
    export: Annotated[str | None, _figure("Seconds to copy out of HDFS, in the model hdfs (default: 0).")] = None,
    import_: Annotated[
        str | None, _figure("Seconds to copy into HDFS, in the model hdfs (default: 0).", "--import")
    ] = None,
    price_hour: Annotated[str | None, _figure("Dollars for an hour of one relay (default: 0).")] = None,
    egress: Annotated[str | None, _figure("Dollars for a GB that leaves the region (default: 0).")] = None,
    pairs: Annotated[str | None, _choice("Numbers of relay pairs to show, e.g. 3 or 0..8 (default: 0..8).")] = None,
    model: Annotated[str | None, _choice(f"Compare models instead: all, {', '.join(ALL_MODELS)}.")] = None,
    minimise: Annotated[str | None, _choice("Choose by time, cost, energy or balanced (default: balanced).")] = None,
    value_of_time: Annotated[str | None, _choice("Value of one hour less, in dollars (default: 10).")] = None,
    max_cost: Annotated[str | None, _choice("Budget for the whole transfer in dollars, e.g. 5.")] = None,
    deadline: Annotated[str | None, _choice("Deadline: seconds from now, or a time, e.g. 2026-11-22T06:00Z.")] = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Estimate time and cost for each number of relay pairs, and recommend one.

    Nothing is started. With a request file the deployment is asked; with figures given no AWS is needed.
    """
    figures = {
        "--vi": vi,
        "--ve": ve,
        "--tv": tv,
        "--ve-pair": ve_pair,
        "--v-src": v_src,
        "--v-dst": v_dst,
        "--vs": vs,
        "--pre-test": pre_test,
        "--export": export,
        "--import": import_,
        "--price-hour": price_hour,
        "--egress": egress,
    }
    choices = {
        "--pairs": pairs,
        "--model": model,
        "--minimise": minimise,
        "--value-of-time": value_of_time,
        "--max-cost": max_cost,
        "--deadline": deadline,
    }
    given = Given({name: value for name, value in {**figures, **choices}.items() if value is not None})
    try:
        if size is None:
            raise OptionError("--size", "(missing)", "say how much is to be moved, e.g. 8GB: nothing is scanned")
        if request is None and files is not None:
            raise OptionError("--files", str(files), "what figures say of the ends holds for files of any size")
        if request is None:
            _from_figures(_size(size), given, as_json=as_json)
        else:
            given.refuse_beside(str(request))
            document = {"request": read_request(request), "sizeBytes": _size(size)}
            document |= {"files": files} if files else {}
            answer = call(home(local=local), "estimate-request", document)
            _show(answer, estimate_table(answer), as_json=as_json)
    except OptionError as error:
        say(f"cpt: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    except AskPerson as error:
        refuse(type(error).__name__, given.in_options(str(error)))


def _size(text: str) -> int:
    """Bytes; says what a number without a unit was taken for."""
    count = size_bytes(text)
    if text.isdecimal():
        say(f"cpt: --size {text}: taken as bytes, since it has no unit; for gigabytes write {text}GB", err=True)
    return count


def _from_figures(size: int, given: Given, *, as_json: bool) -> None:
    figures, models = given.figures(), given.models()
    given.refuse_pre_test_without(models)
    if not given.priced:
        say("cpt: no price was given (--price-hour, --egress): costs below leave out relays and traffic", err=True)
    if models:
        given.refuse_choice_beside_models()
        compared = compare(size, figures, models, given.pairs(for_models=models)).to_document()
        _show(compared, comparison_table(compared), as_json=as_json)
    else:
        recommended = recommend(size, figures, given.pairs(), given.objective()).to_document()
        _show(recommended, estimate_table(recommended), as_json=as_json)


def _show(document: dict[str, Any], table: RenderableType, *, as_json: bool) -> None:
    if as_json:
        say(json.dumps(document))
    else:
        make_console().print(table)
