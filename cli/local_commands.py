"""`cpt local`: an AWS on this machine."""

import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from cli.aws import home
from cli.console import say
from cli.exit_codes import ExitCode
from cli.quantities import OptionError
from local.assets import AssetError
from local.cloud import ASSEMBLY, LocalCloud, LocalCloudError, down, namespaces_available, status
from local.config import ConfigError, LocalConfig, load_config
from local.deploy import DeployError

STATE = Path(".local")
app = typer.Typer(
    no_args_is_help=True, help="An AWS on this machine: run the synthesized templates without an account."
)


@app.command()
def up(
    *,
    config: Annotated[Path | None, typer.Option(help="TOML file; see docs/local-cloud.md.")] = None,
    instances: Annotated[
        str | None, typer.Option(help="process or netns; default: netns as root, else process.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port of the AWS endpoint; 0 picks a free one.")] = None,
    deploy: Annotated[bool, typer.Option(help="Deploy cdk.out; without it, use `npx cdk deploy`.")] = True,
) -> None:
    """Start the local cloud and deploy cdk.out to it; it runs until `cpt local down`."""
    try:
        settings = load_config(config)
    except ConfigError as error:
        say(f"cpt: {error}", err=True)
        raise typer.Exit(2) from error
    chosen: dict[str, object] = {"port": port, "instances": instances}
    if instances is None and config is None:
        chosen["instances"] = "netns" if namespaces_available() else "process"
    try:
        settings = LocalConfig.model_validate(
            {
                **settings.model_dump(by_alias=True, exclude_unset=True),
                **{k: v for k, v in chosen.items() if v is not None},
            }
        )
    except ValidationError as error:
        wrong = error.errors()[0]
        option = f"--{wrong['loc'][0]} {wrong['input']}: " if wrong["loc"] else ""  # absent: a check of several keys
        words = wrong["msg"].removeprefix("Value error, ")
        say(f"cpt: {option}{words[0].lower()}{words[1:]}", err=True)
        raise typer.Exit(2) from error
    cloud = LocalCloud(settings, STATE, ASSEMBLY if deploy else None)
    try:
        cloud.start()
    except (LocalCloudError, DeployError, AssetError) as error:
        say(f"cpt: {error}", err=True)
        raise typer.Exit(1) from error
    for line in cloud.notes():
        say(f"note: {line}", err=True)
    say(f"the local cloud answers at {cloud.endpoint}; for any AWS client:")
    say("  export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_ENDPOINT_URL=" + cloud.endpoint)
    if deploy:
        say(f"  its dashboard, in a browser: {cloud.endpoint}/_local/dashboard")


@app.command()
def vm(
    name: Annotated[str, typer.Argument(help="Name tag of the VM.")],
    region: Annotated[str, typer.Option(help="Region to launch it in.")],
    instance_type: Annotated[str, typer.Option(help="EC2 instance type.")] = "t3.small",
) -> None:
    """Launch a VM that can be a source or a destination; prints its instance id."""
    home(local=True)
    cloud = LocalCloud.attach(STATE)
    if region not in cloud.config.regions:
        error = OptionError("--region", region, f"write one of {', '.join(cloud.config.regions)}")
        say(f"cpt: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE)
    say(cloud.launch_vm(region, name, instance_type))


@app.command()
def request(
    source: Annotated[
        str, typer.Argument(help="File or directory of this machine to move; with a slash at its end, what it holds.")
    ],
    destination: Annotated[Path, typer.Argument(help="Directory of this machine that it arrives in.")],
) -> None:
    """Launch a source and a destination VM, one region apart; prints the request that moves the data between them."""
    if not Path(source).exists():
        say(f"cpt: {OptionError('SOURCE', source, 'name a file or directory that exists')}", err=True)
        raise typer.Exit(ExitCode.USAGE)
    near = home(local=True).region
    cloud = LocalCloud.attach(STATE)
    path = str(Path(source).absolute())
    if source.endswith("/") and path != "/":
        path += "/"
    far = next(region for region in cloud.config.regions if region != near)
    document = {
        "source": {"instanceId": cloud.launch_vm(near, "source"), "region": near, "paths": [path]},
        "destination": {
            "instanceId": cloud.launch_vm(far, "destination"),
            "region": far,
            "path": str(destination.absolute()),
        },
    }
    say(json.dumps(document, indent=2))


@app.command(name="down")
def down_() -> None:
    """Stop the local cloud; leaves no process, namespace or instance."""
    down(STATE)


@app.command(name="status")
def status_() -> None:
    """Tell whether it runs, as JSON."""
    say(json.dumps(status(STATE)))
