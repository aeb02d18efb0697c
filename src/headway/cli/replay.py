"""`headway sync replay`: arguments -> one call -> exit code."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from headway.sync.replay import lines_for_people
from headway.wiring import replay as wiring


def replay(
    repo: Annotated[Path, typer.Option("--repo", help="A repository that holds the fork's and upstream's commits.")],
    cases: Annotated[Path, typer.Option("--cases", help="TSV: fork_commit, upstream_commit and/or base.")],
    out: Annotated[Path, typer.Option("--out", help="JSONL, one row a case; a run that was killed goes on with it.")],
    jobs: Annotated[int, typer.Option(min=1, help="Processes that replay.")] = 1,
    objects: Annotated[
        Path | None, typer.Option("--objects", help="Keep the objects of accepted trees here (an object directory).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")] = False,
) -> None:
    """Replay picks that the fork once made, blind, with ladder and rails; compare each with what landed."""
    summary = wiring.replay(wiring.Order(repo, cases, out, jobs, objects), _progress).to_json()
    if as_json:
        typer.echo(json.dumps(summary))
        return
    for line in lines_for_people(summary):
        typer.echo(line)


def _progress(done: int, of: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == of else ""
        typer.echo(f"\r{done}/{of}", nl=False, err=True)
        typer.echo(end, nl=False, err=True)
    elif done % 100 == 0 or done == of:
        typer.echo(f"{done}/{of}", err=True)
