"""`headway mcp`: any coding agent drives a campaign over the Model Context Protocol."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.tune import Attempts, Campaign, Seconds, Stall, StateOption
from headway.cli.tune_words import Ticker
from headway.wiring import mcp as wiring

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def mcp(
    campaign: Campaign = None,
    task: Annotated[str | None, typer.Option(help="Begin a campaign on this task, unless --dir holds one.")] = None,
    folder: Annotated[Path | None, typer.Option("--dir", help="The campaign's folder.")] = None,
    attempts: Attempts = None,
    seconds: Seconds = None,
    stall: Stall = None,
    http: Annotated[int | None, typer.Option(help="Serve HTTP on this port, at /mcp, instead of stdio.")] = None,
    host: Annotated[str, typer.Option(help="With --http: an address of this machine that others cannot reach.")] = (
        "127.0.0.1"
    ),
    state: StateOption = None,
) -> None:
    """Serve goal, submit, job, profile, ledger, recall, incumbent and budget as tools; gates decide, as ever."""
    if http is not None:
        wiring.check_address(host)
    place = wiring.place_for(campaign, task, folder, state, wiring.Limits(attempts, seconds, stall))
    ticker = Ticker(lambda line: typer.echo(line, err=True))
    ticker.say(f"campaign {place.id} in {place.folder}")
    wiring.serve_campaign(place, ticker.watch, None if http is None else (host, http))
