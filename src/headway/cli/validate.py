"""`headway validate`: run a tier on a revision of the fork."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.core.errors import HeadwayError
from headway.core.reasons import Reason
from headway.wiring import validate as wiring

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)

USER_ERRORS = frozenset({Reason.NO_COMMAND.value})
"""Reasons for which nothing was decided because of what the user wrote: exit 1, not 4."""

STATES = ("passed", "failed", "skipped", "not_run")


@app.callback()
def _group() -> None:
    """Run and judge the fork's tiers."""


@app.command()
def run(
    tier: Annotated[str, typer.Argument(help="The tier: L1.")],
    revision: Annotated[str, typer.Argument(help="A commit, branch or tag of the fork.")] = "HEAD",
    change: Annotated[str, typer.Option(help="The same as REVISION, for CI templates.")] = "",
    base: Annotated[str, typer.Option(help="What fails there too was there before.")] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Run even what the log already knows.")] = False,
    fork: Annotated[Path, typer.Option(help="A checkout of the fork.")] = Path(),
    config: Annotated[Path | None, typer.Option(help="Use this headway.toml, not trunk's.")] = None,
    state: Annotated[Path | None, typer.Option(help="State folder; else HEADWAY_STATE, else the repository's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")] = False,
) -> None:
    """Run L1 on a revision. Exit code 0 passed, 1 refused, 4 could not run."""
    if tier != "L1":
        raise HeadwayError(f"There is no tier {tier!r}.", "Only L1 can be run.")
    ran = wiring.run_l1(
        fork, change or revision, base=base or None, state=state, config=config, fresh=fresh, say=_progress
    )
    for note in ran.notes:
        _progress(note)
    if as_json:
        typer.echo(json.dumps(ran.evidence))
    else:
        typer.echo("\n".join(_lines(ran.evidence)))
    raise typer.Exit(_exit_code(ran.evidence))


def _progress(line: str) -> None:
    typer.echo(line, err=True)


def _exit_code(evidence: dict[str, Any]) -> int:
    if evidence["verdict"] == "could_not_run":
        return 1 if evidence["reason"] in USER_ERRORS else 4
    return 0 if evidence["verdict"] == "passed" else 1


def _lines(evidence: dict[str, Any]) -> list[str]:
    counts = evidence["counts"]
    lines = [f"{s['step']:<6} {s['ended']:<24} {s['seconds']:8.2f} s  {s['output'][:19]}" for s in evidence["steps"]]
    recalled = " (recalled; --fresh runs them again)" if evidence["recalled"] else ""
    lines.append(", ".join(f"{counts[s]} {s.replace('_', ' ')}" for s in STATES) + recalled)
    lines += [f"skipped: {reason} ({count})" for reason, count in evidence["skips"].items()]
    for kind in ("new", "pre_existing", "vanished"):
        lines += [f"{kind}: {test}  {evidence['failures'].get(test, '')}".rstrip() for test in evidence[kind]]
    lines.append(f"sandbox: {', '.join(evidence['sandbox'])}")
    if evidence["verdict"] == "passed":
        return [*lines, "passed"]
    verdict = "refused" if evidence["verdict"] == "refused" else "could not run"
    return [*lines, f"{verdict} ({evidence['reason']}): {evidence['message']}", f"next: {evidence['next']}"]
