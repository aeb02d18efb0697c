"""`headway validate series`: measurements over time."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli import validate_words as words
from headway.cli.validate_words import ConfigOption, ForkOption, JsonOption, StateOption
from headway.wiring.validate_room import Asked
from headway.wiring.validate_series import show_series

HERE = Path()


def series(
    pattern: Annotated[str, typer.Argument(help="Metrics with names like this (glob).")] = "*",
    suite: Annotated[str, typer.Option(help="Of this suite only.")] = "",
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show measurements over time, where their level changed, and what the series themselves say about why."""
    words.show(show_series(Asked(fork, state, config), suite, pattern), lines, as_json)


def lines(evidence: dict[str, Any]) -> list[str]:
    """For people: a line for each series, and one for each change."""
    said = []
    for one in evidence["series"]:
        newest = f", newest {one['newest'][-1][2]:.6g} {one['unit']}" if one["newest"] else ""
        said.append(f"{one['suite']} {one['metric']}: {one['points']} values{newest}")
        for change in one["changes"]:
            size = f" ({(change['after'] / change['before'] - 1) * 100:+.1f} %)" if change["before"] else ""
            what = f"{'worse' if change['worse'] else 'better'} by a {change['kind']}"
            said.append(
                f"  {what}: {change['before']:.6g} -> {change['after']:.6g}{size}, after {change['good'][:12]}, by "
                f"{change['bad'][:12]}; {change['hint']}: {change['why']}"
            )
    return said or ["no suite has reported a measurement"]
