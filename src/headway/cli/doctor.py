"""`headway doctor`: what this machine can do, and what to install."""

import json
from typing import Annotated

import typer

from headway.wiring import doctor as wiring

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False) -> None:
    """Look for everything headway can use. Exit code 0, or 4 if something that every verb needs is absent."""
    findings = wiring.findings()
    if as_json:
        typer.echo(json.dumps({"schema": "headway.doctor/1", "findings": findings}))
    else:
        for one in findings:
            typer.echo(f"{'yes' if one['ok'] else 'no ':3} {one['name']:12} {one['found'] or one['install']}"
                       f"  [{one['needed_for']}]")  # fmt: skip
    missing = [one["name"] for one in findings if one["needed_for"] == "every verb" and not one["ok"]]
    raise typer.Exit(4 if missing else 0)
