"""`headway init` and `headway sync`: arguments -> one call -> exit code."""

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.replay import replay
from headway.sync.graph import svg_of
from headway.sync.status import Status
from headway.sync.streams import table_lines
from headway.wiring import plan as plan_wiring
from headway.wiring import sync as wiring

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
init_app = typer.Typer(add_completion=False, rich_markup_mode=None)

ForkOption = Annotated[Path, typer.Option("--fork", help="A checkout of the fork.")]
StateOption = Annotated[
    Path | None, typer.Option("--state", help="State folder; else HEADWAY_STATE or the fork's own.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")]
HERE = Path()

app.command()(replay)


@init_app.command()
def init(
    upstream: Annotated[str, typer.Option(help="The project followed: a path or URL.")],
    branch: Annotated[str, typer.Option(help="Upstream's branch; else the one its HEAD names.")] = "",
    trunk: Annotated[str, typer.Option(help="The fork's main branch; else the one checked out.")] = "",
    fork_id: Annotated[str, typer.Option("--id", help="Name of the fork's ledger; else the folder's name.")] = "",
    setup: Annotated[str, typer.Option(help="L1's setup step, a line for `sh -c`.")] = "",
    build: Annotated[str, typer.Option(help="L1's build step.")] = "",
    test: Annotated[str, typer.Option(help="L1's test step; without it `run` lands nothing.")] = "",
    junit: Annotated[list[str] | None, typer.Option(help="Glob of JUnit XML files that the tests write.")] = None,
    fork: ForkOption = HERE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Begin to follow upstream: find the merge base, read what was taken before, write headway.toml."""
    answers = wiring.default_answers(fork, upstream, branch)
    answers = replace(
        answers,
        trunk=trunk or answers.trunk,
        fork_id=fork_id or answers.fork_id,
        setup=setup,
        build=build,
        test=test,
        junit=tuple(junit or ()),
    )
    _print_status(wiring.init(fork, answers, state), as_json)


@app.command()
def plan(
    limit: Annotated[int, typer.Option(min=0, help="Only the oldest N pending changes (0: all).")] = 0,
    fetch: Annotated[bool, typer.Option("--fetch/--no-fetch", help="Refresh upstream first.")] = True,
    graph: Annotated[Path | None, typer.Option("--graph", help="Write the dependencies as a picture (SVG).")] = None,
    fork: ForkOption = HERE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List pending upstream changes with trial picks made in memory, and what a run would do with each."""
    found, trouble = plan_wiring.plan(fork, state, limit, fetch=fetch, tell=_count)
    rows = found.rows
    if graph is not None:
        graph.write_text(svg_of(rows))
    counts = Counter(row.forecast["would"] for row in rows)
    if as_json:
        source = "partial" if trouble else "complete"
        document = {"schema": "headway.plan/1", "source": source, "pending": [row.to_json() for row in rows]}
        streams = [{"stream": one.name, "members": list(one.members)} for one in found.streams]
        typer.echo(json.dumps({**document, "streams": streams, "counts": dict(counts)}))
    else:
        for line in table_lines(rows):
            typer.echo(line)
        summary = ", ".join(f"{count} {would}" for would, count in counts.most_common())
        typer.echo(f"{len(rows)} pending: {summary}" if rows else _nothing_pending(trouble is not None))
    if trouble is not None:
        raise trouble


@app.command()
def run(
    limit: Annotated[int, typer.Option(min=0, help="At most N changes in this run (0: all).")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    fork: ForkOption = HERE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take pending changes in order: land what is green, record one disposition for each, defer the rest."""
    if dry_run:
        plan(limit=limit, fetch=True, fork=fork, state=state, as_json=as_json)
        return
    _print_status(wiring.run(fork, state, limit, tell=_progress), as_json)


@app.command()
def adopt(fork: ForkOption = HERE, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Read the fork's own history again: what was taken from upstream, what was taken back."""
    _print_status(wiring.adopt(fork, state), as_json)


@app.command()
def status(fork: ForkOption = HERE, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Days behind, commits behind, backlog, pin, frontier, and the proof that the accounting closes."""
    _print_status(wiring.status(fork, state), as_json)


@app.command()
def show(
    change: Annotated[str, typer.Argument(help="An upstream change: its id or a beginning of it.")],
    fork: ForkOption = HERE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """One change's whole journey, its answer and the evidence."""
    found = wiring.show(fork, state, change)
    if as_json:
        typer.echo(json.dumps(found.to_json()))
    else:
        for line in found.lines():
            typer.echo(line)


@app.command()
def decide(
    change: Annotated[str, typer.Argument(help="An upstream change.")],
    verdict: Annotated[str, typer.Argument(help="wont_port, pick or later.")],
    reason: Annotated[str, typer.Option(help="Why, for the record.")],
    fork: ForkOption = HERE,
    state: StateOption = None,
) -> None:
    """Answer for one change: not at all, now whatever the rules say, or later."""
    for line in wiring.decide(fork, state, (change,), ("decide", verdict, reason)):
        typer.echo(line)


@app.command()
def retry(
    changes: Annotated[list[str] | None, typer.Argument(help="Deferred changes; none: all of them.")] = None,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    fork: ForkOption = HERE,
    state: StateOption = None,
) -> None:
    """Put deferred changes back among the pending ones."""
    done = wiring.decide(fork, state, tuple(changes or ()), ("retry", "", reason))
    for line in done or ["nothing is deferred"]:
        typer.echo(line)


def _print_status(found: Status, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found.to_json()))
    else:
        for line in found.lines():
            typer.echo(line)
    if not found.closure.closed:
        sys.stderr.write(
            "headway: the accounting does not close; `headway log verify` tells whether the log is whole\n"
        )
        raise typer.Exit(1)


def _progress(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _count(done: int) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r{done} tried", nl=False, err=True)


def _nothing_pending(partial: bool) -> str:
    return "nothing pending among what is known" if partial else "nothing pending"
