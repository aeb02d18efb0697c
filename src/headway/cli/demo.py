"""`headway demo`: arguments -> one call -> exit code."""

import json
from pathlib import Path
from typing import Annotated

import typer

from headway.core.errors import CouldNotRun
from headway.demo.story import tell

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def demo(
    folder: Annotated[
        Path | None, typer.Option("--dir", help="A new folder; default: one under the temporary directory.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="End with one line of JSON on stdout.")] = False,
) -> int:
    """Build a small upstream and a diverged fork; sync, validate and tune; be killed on the way; account for it."""

    def say(line: str) -> None:
        typer.echo(line, err=as_json)

    account = tell(folder, say)
    if as_json:
        typer.echo(json.dumps(account))
    return CouldNotRun.exit_code if account["could_not_run"] else 0
