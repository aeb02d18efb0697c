"""`headway sync resolve`: arguments -> one call -> exit code."""

import json
from pathlib import Path
from typing import Annotated

import typer

from headway.core.errors import HeadwayError
from headway.core.ports.git import shown_path
from headway.wiring import resolve as wiring


def resolve(
    change: Annotated[str, typer.Argument(help="An upstream change in conflict: its id or a beginning of it.")],
    go_on: Annotated[bool, typer.Option("--continue", help="Take what was resolved in the folder.")] = False,
    folder: Annotated[Path | None, typer.Option("--dir", help="The folder to work in; else one in the state.")] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="Take the conflicted files, resolved, from this folder.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --continue or --from: only judge it.")] = False,
    fork: Annotated[Path, typer.Option("--fork", help="A checkout of the fork.")] = Path(),
    state: Annotated[Path | None, typer.Option("--state", help="State folder; else HEADWAY_STATE.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")] = False,
) -> None:
    """Open a conflict in a folder of its own, or take the answer: it passes the same rails as everybody's."""
    if not go_on and source is None:
        if dry_run:
            raise HeadwayError("--dry-run judges an answer, and none was given.", "Give --continue or --from as well.")
        opened = wiring.open_conflict(fork, state, change, folder)
        document = {"schema": "headway.resolve/1", "change": opened.change, "folder": str(opened.folder)}
        if as_json:
            typer.echo(json.dumps({**document, "conflicts": [shown_path(path) for path in opened.paths]}))
            return
        typer.echo(f"{opened.change[:12]} is laid out in {opened.folder}, in conflict:")
        for path in opened.paths:
            typer.echo(f"  {shown_path(path)}")
        typer.echo(f"Resolve it there, then: headway sync resolve {opened.change[:12]} --continue")
        return
    answer = wiring.take_answer(fork, state, change, folder, source, dry_run=dry_run)
    if as_json:
        refusals = [{"reason": one.reason, "message": one.message, "next": one.next} for one in answer.refusals]
        said = {"schema": "headway.resolve/1", "change": answer.change, "refusals": refusals, "note": answer.note}
        typer.echo(json.dumps({**said, "accepted": not answer.refusals}))
    elif answer.refusals:
        for one in answer.refusals:
            typer.echo(f"refused({one.reason}): {one.message} {one.next}")
    else:
        typer.echo(f"{answer.change[:12]}: every rail passed; {answer.note}")
    if answer.refusals:
        raise typer.Exit(1)
