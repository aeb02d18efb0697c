"""`headway log`: look at, prove, export and tidy the event log of a state folder."""

import getpass
import json
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.core.log_lines import line_of, object_of
from headway.core.upkeep import CheckReport
from headway.wiring import log as wiring
from headway.wiring import log_share as share

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)

StateOption = Annotated[
    Path | None, typer.Option("--state", help="State folder; else HEADWAY_STATE, ./.headway or the repository's own.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")]


@app.command()
def show(
    stream: Annotated[str, typer.Option(help="Only streams whose id begins so.")] = "",
    since: Annotated[str, typer.Option(help="Only records since then: 2h, 30d, or a UTC date or time.")] = "",
    last: Annotated[int, typer.Option(min=0, help="Only the newest N records (0: all).")] = 0,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the log, one line per event, oldest first."""
    records = wiring.log_records(state, stream=stream, since=since, last=last)
    if as_json:
        typer.echo(json.dumps({"schema": "headway.log-show/1", "records": [object_of(r) for r in records]}))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 200
    for record in records:
        typer.echo(line_of(record, width))


@app.command()
def blob(
    name: Annotated[str, typer.Argument(metavar="ID", help="sha256:… as events and evidence name it.")],
    state: StateOption = None,
) -> None:
    """Print what an id in the log stands for: evidence, a step's output, a context. Byte for byte."""
    typer.echo(wiring.blob_content(state, name), nl=False)


@app.command()
def verify(
    set_aside: Annotated[bool, typer.Option("--set-aside", help="Move what is damaged aside, then go on.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Prove every record, chain and blob; exit code 1 names what is damaged."""
    moved = wiring.set_log_damage_aside(state) if set_aside else None
    report = wiring.check_log_state(state)
    if as_json:
        typer.echo(json.dumps(_verify_json(report, moved)))
    else:
        for line in moved or ():
            typer.echo(line)
        typer.echo(_verdict(report))
    if report.problems:
        raise typer.Exit(1)


@app.command()
def export(
    output: Annotated[Path | None, typer.Option(help="Write to this file (whole or not at all), not stdout.")] = None,
    state: StateOption = None,
) -> None:
    """Write every record as one JSON object a line: enough to recount everything and to prove the chain again."""
    wiring.export_log(state, output)


@app.command()
def gc(
    older_than: Annotated[str, typer.Option(help="With --bulky: last named this long ago or more, e.g. 30d.")] = "",
    bulky: Annotated[str, typer.Option(help="With --older-than: stored size at least this, e.g. 1MiB.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go and remove nothing.")] = False,
    state: StateOption = None,
) -> None:
    """Remove blobs that no event names (older than an hour); with a policy also old bulky ones, and record which."""
    for line in wiring.collect_log_garbage(state, older_than=older_than, bulky=bulky, dry_run=dry_run):
        typer.echo(line)


@app.command()
def redact(
    blob: Annotated[str, typer.Argument(help="The blob's id, or a beginning of it that is unique.")],
    reason: Annotated[str, typer.Option(help="Why, for the record.")],
    by: Annotated[str, typer.Option(help="Who decided; the user's name if not given.")] = "",
    state: StateOption = None,
) -> None:
    """Remove a blob's content for good and record who did it and why; the chain still verifies."""
    typer.echo(f"Redacted {wiring.redact_blob(state, blob, by=by or _user(), reason=reason)}.")


RemoteArgument = Annotated[str, typer.Argument(help="A git remote's name, a path or a URL.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]


@app.command()
def push(remote: RemoteArgument = "origin", dry_run: DryRunOption = False, state: StateOption = None) -> None:
    """Keep the log as `refs/headway/log` of a remote; refused where somebody else pushed since the last pull."""
    typer.echo(share.push_log(state, remote, dry_run=dry_run))


@app.command()
def pull(remote: RemoteArgument = "origin", dry_run: DryRunOption = False, state: StateOption = None) -> None:
    """Take the log over from a remote, where it continues this one (or this one is empty)."""
    typer.echo(share.pull_log(state, remote, dry_run=dry_run))


def _verdict(report: CheckReport) -> str:
    blobs = ", ".join(f"{count} {state}" for state, count in report.blobs.items() if count) or "none"
    aside = f", {report.set_aside} set aside earlier" if report.set_aside else ""
    lines = [problem.message for problem in report.problems]
    verdict = f"{len(lines)} problems" if len(lines) != 1 else "1 problem"
    lines.append(
        f"{verdict if report.problems else 'whole'}: {report.records} records in {report.streams} streams{aside};"
        f" blobs: {blobs}."
    )
    return "\n".join(lines)


def _verify_json(report: CheckReport, moved: list[str] | None) -> dict[str, Any]:
    return {
        "schema": "headway.log-verify/1",
        "ok": not report.problems,
        "records": report.records,
        "streams": report.streams,
        "last_position": report.last_position,
        "set_aside": report.set_aside,
        "set_aside_now": moved or [],
        "blobs": dict(report.blobs),
        "problems": [
            {
                "kind": p.kind,
                "message": p.message,
                "stream": p.stream,
                "version": p.version,
                "position": p.position,
                "blob": p.blob,
            }
            for p in report.problems
        ],
    }


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
