"""Options that several commands have."""

from typing import Annotated

import typer

Local = Annotated[bool, typer.Option("--local", help="Use the local cloud of this checkout.")]
AsJson = Annotated[bool, typer.Option("--json", help="For scripts: one JSON document a line.")]
