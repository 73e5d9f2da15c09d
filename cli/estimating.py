"""`cpt estimate`: what each choice would take and cost. Starts nothing; with figures given it needs no AWS either."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from cli.aws import home
from cli.calls import call, refuse
from cli.exit_codes import ExitCode
from cli.given import ALL_MODELS, Given
from cli.options import AsJson, Local
from cli.quantities import OptionError, size_bytes
from cli.render import comparison_table, estimate_table, make_console
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
        Path | None, typer.Argument(help="Transfer request, a JSON file.", exists=True, dir_okay=False)
    ] = None,
    *,
    size: Annotated[str | None, typer.Option(help="How much is to be moved, e.g. 8GB or 1.5TiB.")] = None,
    files: Annotated[
        int | None, typer.Option(min=1, help="In so many files, beside a request: small ones take longer.")
    ] = None,
    vi: Annotated[str | None, _figure("v_i: between machines of one region.")] = None,
    ve: Annotated[str | None, _figure("v_e: between the ends, from region to region.")] = None,
    tv: Annotated[str | None, _figure("T_v: until relays serve.")] = None,
    ve_pair: Annotated[str | None, _figure("v_e of each relay pair (default: --ve).")] = None,
    v_src: Annotated[str | None, _figure("What the source sends in all (default: --vi).")] = None,
    v_dst: Annotated[str | None, _figure("What the destination receives in all (default: --vi).")] = None,
    vs: Annotated[str | None, _figure("v_s: split and merge on disk (default: no limit).")] = None,
    pre_test: Annotated[str | None, _figure("T_pt of the model pre-tested (default: 60).")] = None,
    export: Annotated[str | None, _figure("Out of HDFS, for the model hdfs (default: 0).")] = None,
    import_: Annotated[str | None, _figure("Into HDFS, for the model hdfs (default: 0).", "--import")] = None,
    price_hour: Annotated[str | None, _figure("Price of one relay's hour (default: 0).")] = None,
    egress: Annotated[str | None, _figure("Price of a GB out of the region (default: 0).")] = None,
    pairs: Annotated[str | None, _choice("Which rows, e.g. 3 or 0..8 (default: 0..8).")] = None,
    model: Annotated[str | None, _choice(f"Compare models instead: all, {', '.join(ALL_MODELS)}.")] = None,
    minimise: Annotated[str | None, _choice("time, cost, energy or balanced (default: balanced).")] = None,
    value_of_time: Annotated[str | None, _choice("Dollars that an hour less is worth (default: 10).")] = None,
    max_cost: Annotated[str | None, _choice("Dollars for all, e.g. 5.")] = None,
    deadline: Annotated[str | None, _choice("Seconds, or a time to come, e.g. 2026-11-22T06:00Z.")] = None,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Say what each number of relay pairs would take and cost, and which to use.

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
            _from_figures(size_bytes(size), given, as_json=as_json)
        else:
            given.refuse_beside(str(request))
            document = {"request": read_request(request), "sizeBytes": size_bytes(size)}
            document |= {"files": files} if files else {}
            answer = call(home(local=local), "estimate-request", document)
            _show(answer, estimate_table(answer), as_json=as_json)
    except OptionError as error:
        typer.echo(f"cpt: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    except AskPerson as error:
        refuse(type(error).__name__, given.in_options(str(error)))


def _from_figures(size: int, given: Given, *, as_json: bool) -> None:
    figures, models = given.figures(), given.models()
    if not given.priced:
        typer.echo("cpt: no price was given (--price-hour, --egress): no cost is counted", err=True)
    if models:
        given.refuse_choice_beside_models()
        compared = compare(size, figures, models, given.pairs(for_models=models)).to_document()
        _show(compared, comparison_table(compared), as_json=as_json)
    else:
        recommended = recommend(size, figures, given.pairs(), given.objective()).to_document()
        _show(recommended, estimate_table(recommended), as_json=as_json)


def _show(document: dict[str, Any], table: RenderableType, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(document))
    else:
        make_console().print(table)
