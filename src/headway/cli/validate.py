"""`headway validate`: run a tier on a revision of the fork, take its census."""

import getpass
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.core.errors import HeadwayError
from headway.core.reasons import Reason
from headway.validate.culprit import Rules
from headway.wiring import validate as wiring

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)

USER_ERRORS = frozenset({Reason.NO_COMMAND.value})
"""Reasons for which nothing was decided because of what the user wrote: exit 1, not 4."""

STATES = ("passed", "failed", "skipped", "not_run")


@app.callback()
def _group() -> None:
    """Run and judge the fork's tiers."""


ForkOption = Annotated[Path, typer.Option("--fork", help="A checkout of the fork.")]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="Use this headway.toml, not trunk's.")]
StateOption = Annotated[
    Path | None, typer.Option("--state", help="State folder; else HEADWAY_STATE, else the repository's.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")]


@app.command()
def run(
    tier: Annotated[str, typer.Argument(help="The tier: L1.")],
    revision: Annotated[str, typer.Argument(help="A commit, branch or tag of the fork.")] = "HEAD",
    change: Annotated[str, typer.Option(help="The same as REVISION, for CI templates.")] = "",
    base: Annotated[str, typer.Option(help="What fails there too was there before.")] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Run even what the log already knows.")] = False,
    fork: ForkOption = Path(),
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run L1 on a revision. Exit code 0 passed, 1 refused, 4 could not run."""
    if tier != "L1":
        raise HeadwayError(f"There is no tier {tier!r}.", "Only L1 can be run.")
    asked = wiring.Asked(fork, state, config, fresh)
    answer = wiring.run_l1(asked, change or revision, base or None, _progress)
    _show(answer, _lines, as_json)
    raise typer.Exit(_exit_code(answer.evidence))


@app.command()
def census(
    revision: Annotated[str, typer.Argument(help="A commit, branch or tag of the fork.")] = "HEAD",
    accept: Annotated[str, typer.Option(help="Make this run the ratchet, for this reason.")] = "",
    by: Annotated[str, typer.Option(help="Who accepts; the user's name if not given.")] = "",
    fork: ForkOption = Path(),
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which tests a run did not cover. Exit code 1 if any hole is neither allowed nor accepted."""
    asked = wiring.Asked(fork, state, config)
    answer = wiring.run_census(asked, revision, accept, by or _user(), _progress)
    _show(answer, _census_lines, as_json)
    raise typer.Exit(1 if answer.evidence["findings"] and not accept else 0)


@app.command()
def canary(
    revision: Annotated[str, typer.Argument(help="A commit, branch or tag of the fork.")] = "HEAD",
    mutants: Annotated[int, typer.Option(min=0, max=1000, help="Generated mutants of the fork's Python.")] = 8,
    seed: Annotated[int, typer.Option(help="Chooses the mutants.")] = 0,
    at_least: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of mutants that must be caught.")] = 0.0,
    fork: ForkOption = Path(),
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the suite known-bad changes. Exit code 1 if one that must be caught is not."""
    asked = wiring.Asked(fork, state, config, mutants=mutants, seed=seed)
    answer = wiring.run_canaries(asked, revision, _progress)
    _show(answer, _canary_lines, as_json)
    rate = answer.evidence["detection_rate"]
    raise typer.Exit(1 if answer.evidence["missed"] or (rate is not None and rate < at_least) else 0)


def _canary_lines(evidence: dict[str, Any]) -> list[str]:
    said = {True: "caught", False: "MISSED", None: "could not run"}
    lines = [f"{said[one['caught']]:<13} {one['kind']:<8} {one['name']}  {one['by']}" for one in evidence["canaries"]]
    if evidence["mutants"]:
        lines.append(f"{evidence['mutants_caught']} of {evidence['mutants']} mutants caught")
    missed = len(evidence["missed"])
    return [*lines, f"{missed} missed that had to be caught" if missed else "every canary that had to be caught was"]


@app.command()
def culprit(
    good: Annotated[str, typer.Option(help="A revision where the test was fine.")],
    test: Annotated[str, typer.Option(help="The test, as `validate run` names it.")] = "",
    bad: Annotated[str, typer.Option(help="A revision where it is red.")] = "HEAD",
    command: Annotated[str, typer.Option(help="Ask this command instead: 0 passed, 125 cannot be tested.")] = "",
    confidence: Annotated[float, typer.Option(min=0.5, max=0.999, help="Posterior that is asked of an answer.")] = 0.95,
    max_runs: Annotated[int, typer.Option(min=1, help="Give up after so many runs.")] = 300,
    fork: ForkOption = Path(),
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the commit that made a test red, however rarely it fails. Exit code 0: found; 1: flake or undecided."""
    if bool(test) == bool(command):
        raise HeadwayError("One of --test and --command is needed, not both.", "Name the test, or give a command.")
    rules = Rules(confidence=confidence, max_runs=max_runs)
    asked = wiring.Asked(fork, state, config)
    answer = wiring.run_culprit(asked, (good, bad, test, command), rules, _progress)
    _show(answer, _culprit_lines, as_json)
    raise typer.Exit({"culprit": 0, "born_red": 0, "infrastructure": 4}.get(answer.evidence["answer"], 1))


def _culprit_lines(evidence: dict[str, Any]) -> list[str]:
    lines = [f"{evidence['answer'].replace('_', ' ')}: {evidence['why']}"]
    lines += [f"suspect {commit}" for commit in evidence["suspects"]]
    return [*lines, f"posterior {evidence['posterior']:.3f} after {evidence['runs']} runs"]


def _show(answer: wiring.Answer, lines: Callable[[dict[str, Any]], list[str]], as_json: bool) -> None:
    for note in answer.notes:
        _progress(note)
    typer.echo(json.dumps(answer.evidence) if as_json else "\n".join(lines(answer.evidence)))


def _census_lines(evidence: dict[str, Any]) -> list[str]:
    lines = [_counts(evidence["counts"]) + f" by {evidence['harness']}; {evidence['expected']} expected"]
    lines += [
        f"{found['cause'] or found['kind']}: {found['subject']}  {found['reason']}" for found in evidence["findings"]
    ]
    if evidence["accepted"]:
        return [*lines, f"accepted: from now on {sum(evidence['floors'].values())} tests are the floor"]
    return [*lines, "complete" if not evidence["findings"] else f"{len(evidence['findings'])} holes"]


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[state]} {state.replace('_', ' ')}" for state in STATES)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


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
    lines.append(_counts(counts) + recalled)
    lines += [f"skipped: {reason} ({count})" for reason, count in evidence["skips"].items()]
    for kind in ("new", "regressed_flakiness", "flaky", "infrastructure", "pre_existing", "vanished"):
        lines += [f"{kind}: {test}  {evidence['failures'].get(test, '')}".rstrip() for test in evidence[kind]]
    lines.append(f"sandbox: {', '.join(evidence['sandbox'])}")
    if evidence["verdict"] == "passed":
        return [*lines, "passed"]
    verdict = "refused" if evidence["verdict"] == "refused" else "could not run"
    return [*lines, f"{verdict} ({evidence['reason']}): {evidence['message']}", f"next: {evidence['next']}"]
