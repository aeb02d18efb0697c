"""`headway init` and `headway sync`: arguments -> one call -> exit code."""

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.replay import replay
from headway.cli.resolve import resolve
from headway.cli.writing import write_to
from headway.core.errors import HeadwayError
from headway.core.quantities import seconds_of
from headway.sync.graph import svg_of
from headway.sync.report import REPORT_SCHEMA
from headway.sync.status import Status
from headway.sync.streams import table_lines
from headway.wiring import plan as plan_wiring
from headway.wiring import sync as wiring
from headway.wiring import sync_init as init_wiring
from headway.wiring import sync_people as people
from headway.wiring import sync_report as report_wiring
from headway.wiring import watch as watch_wiring

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
init_app = typer.Typer(add_completion=False, rich_markup_mode=None)

ForkOption = Annotated[Path, typer.Option("--fork", help="A checkout of the fork.")]
StateOption = Annotated[
    Path | None, typer.Option("--state", help="State folder; else HEADWAY_STATE or the fork's own.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
HERE = Path()

app.command()(replay)
app.command()(resolve)


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
    dry_run: DryRunOption = False,
    fork: ForkOption = HERE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Begin to follow upstream: find the merge base, read what was taken before, write headway.toml."""
    answers = init_wiring.default_answers(fork, upstream, branch)
    answers = replace(
        answers,
        trunk=trunk or answers.trunk,
        fork_id=fork_id or answers.fork_id,
        setup=setup,
        build=build,
        test=test,
        junit=tuple(junit or ()),
    )
    if dry_run:
        _print_lines(init_wiring.preview(fork, answers), None, as_json=False)
        return
    _print_status(init_wiring.init(fork, answers, state), as_json)


@app.command()
def plan(
    limit: Annotated[int, typer.Option(min=0, help="Only the oldest N pending changes (0: all).")] = 0,
    fetch: Annotated[bool, typer.Option("--fetch/--no-fetch", help="Refresh upstream first.")] = True,
    graph: Annotated[Path | None, typer.Option("--graph", help="Write the dependencies as a picture (SVG).")] = None,
    calibration: Annotated[
        bool, typer.Option("--calibration", help="Instead: the risk score against what happened to answered changes.")
    ] = False,
    fork: ForkOption = HERE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List pending upstream changes with trial picks made in memory, and what a run would do with each."""
    if calibration:
        measured = plan_wiring.calibration(fork, state)
        for line in [json.dumps(measured.to_json())] if as_json else measured.lines():
            typer.echo(line)
        return
    found, trouble = plan_wiring.plan(fork, state, limit, fetch=fetch, tell=_count)
    rows = found.rows
    if graph is not None:
        write_to(graph, svg_of(rows), "--graph")
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
    dry_run: DryRunOption = False,
    watch: Annotated[str, typer.Option("--watch", metavar="30m", help="Go on for ever, a turn every 30m.")] = "",
    fork: ForkOption = HERE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take pending changes in order: land what is green, record one disposition for each, defer the rest."""
    if dry_run:
        plan(limit=limit, fetch=True, fork=fork, state=state, as_json=as_json)
        return
    if watch:
        if limit or as_json:
            raise HeadwayError("--watch goes on for ever: it takes neither --limit nor --json.", "Leave them out.")
        raise typer.Exit(watch_wiring.watch(fork, state, seconds_of(watch), _progress))
    _print_status(wiring.run(fork, state, limit, tell=_progress), as_json)


@app.command()
def pick(
    change: Annotated[str, typer.Argument(help="An upstream change: its id or a beginning of it.")],
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    dry_run: DryRunOption = False,
    fork: ForkOption = HERE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take one change ahead of all others, with what it needs; days behind do not move."""
    lines, found = people.pick(fork, state, change, reason, dry_run=dry_run)
    _print_lines(lines, found, as_json)


@app.command()
def undo(
    landing: Annotated[str, typer.Argument(help="A commit that headway landed, or a beginning of its id.")],
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    later: Annotated[bool, typer.Option("--later", help="Defer its changes, so that no run takes them again.")] = False,
    dry_run: DryRunOption = False,
    fork: ForkOption = HERE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a landing back by revert commits, if L1 is green without it; its changes are pending again."""
    lines, found = people.undo_landing(fork, state, landing, reason, later=later, dry_run=dry_run)
    _print_lines(lines, found, as_json)


@app.command()
def adopt(
    dry_run: DryRunOption = False, fork: ForkOption = HERE, state: StateOption = None, as_json: JsonOption = False
) -> None:
    """Read the fork's own history again: what was taken from upstream, what was taken back."""
    _print_status(wiring.adopt(fork, state, dry_run=dry_run), as_json)


@app.command()
def status(fork: ForkOption = HERE, state: StateOption = None, as_json: JsonOption = False) -> None:
    """Where the fork stands, and the proof that the accounting closes. Exit code 1 if it does not, or stands still."""
    found = wiring.status(fork, state)
    _print_status(found, as_json)
    if found.alarm is not None:
        raise typer.Exit(1)


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
    dry_run: DryRunOption = False,
    fork: ForkOption = HERE,
    state: StateOption = None,
) -> None:
    """Answer for one change: not at all, now whatever the rules say, or later."""
    for line in people.decide(fork, state, (change,), ("decide", verdict, reason), dry_run=dry_run):
        typer.echo(line)


@app.command()
def retry(
    changes: Annotated[list[str] | None, typer.Argument(help="Deferred changes; none: all of them.")] = None,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "",
    dry_run: DryRunOption = False,
    fork: ForkOption = HERE,
    state: StateOption = None,
) -> None:
    """Put deferred changes back among the pending ones."""
    done = people.decide(fork, state, tuple(changes or ()), ("retry", "", reason), dry_run=dry_run)
    for line in done or ["nothing is deferred"]:
        typer.echo(line)


@app.command()
def report(
    out: Annotated[Path | None, typer.Option("--out", help="A folder for one Markdown file each.")] = None,
    prose: Annotated[
        bool, typer.Option("--prose", help="Let the agent of `[agent]` say in words what is new.")
    ] = False,
    fork: ForkOption = HERE,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Markdown for each bundle and each deferral: what landed together, who was thrown out, what waits and why."""
    pages = report_wiring.report(fork, state, out, prose=prose, tell=_progress)
    if as_json:
        found = [{"name": page.name, "markdown": page.markdown} for page in pages]
        typer.echo(json.dumps({"schema": REPORT_SCHEMA, "documents": found}))
    elif out is not None:
        typer.echo(f"{len(pages)} documents in {out}")
    else:
        typer.echo("\n".join(page.markdown for page in pages) if pages else "nothing has landed, nothing is deferred")


def _print_lines(lines: list[str], found: Status | None, as_json: bool) -> None:
    """Lines go to stdout, or with `--json` to stderr, so that stdout stays one document."""
    for line in lines:
        typer.echo(line, err=as_json)
    if found is not None and as_json:
        _print_status(found, as_json)


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
