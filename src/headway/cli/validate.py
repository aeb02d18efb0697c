"""`headway validate`: run a tier on a revision of the fork, hold harnesses to account, find culprits."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from headway.cli import validate_clock as clock
from headway.cli import validate_words as words
from headway.cli.validate_series import series
from headway.cli.validate_static import static
from headway.cli.validate_words import ConfigOption, ForkOption, JsonOption, RevisionArgument, StateOption
from headway.cli.writing import append_to
from headway.core.config_tiers import L1_SUITE
from headway.core.errors import HeadwayError
from headway.validate.culprit import Rules
from headway.validate.summary import as_markdown
from headway.wiring import validate as wiring
from headway.wiring import validate_culprit, validate_reports, validate_signoff, validate_watch
from headway.wiring.validate_room import Asked

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)
HERE = Path()

for verb in (static, series, clock.watch, clock.show, clock.fix, clock.request, clock.approve, clock.promote):
    app.command()(verb)


@app.callback()
def _group() -> None:
    """Run and judge the fork's tiers."""


@app.command()
def run(
    tier: Annotated[str, typer.Argument(help="L1, L3, or a [[tier]] of headway.toml.")],
    revision: RevisionArgument = "HEAD",
    change: Annotated[str, typer.Option(help="The same as REVISION, for CI templates.")] = "",
    base: Annotated[str, typer.Option(help="What fails there too was there before.")] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Run even what the log already knows.")] = False,
    request: Annotated[str, typer.Option(help="Of L3: the approved request.")] = "",
    summary: Annotated[Path | None, typer.Option(help="Append the attribution to this file, as Markdown.")] = None,
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run L1 on a revision, a tier on trunk, or an approved L3. Exit code 0 passed, 1 refused, 4 could not run."""
    asked = Asked(fork, state, config, fresh)
    if tier != "L1":
        _run_another(tier, asked, request, as_json)
    answer = wiring.run_l1(asked, change or revision, base or None, words.progress)
    if summary is not None:
        append_to(summary, as_markdown(answer.evidence), "--summary")
    words.show(answer, words.l1_lines, as_json)
    raise typer.Exit(words.exit_code(answer.evidence))


def _run_another(tier: str, asked: Asked, request: str, as_json: bool) -> NoReturn:
    if tier == "L3":
        if not request:
            raise HeadwayError("L3 runs what was approved.", "Name it with --request; `validate request` makes one.")
        answer = validate_signoff.run_l3(asked, request, words.progress)
        words.show(answer, words.l3_lines, as_json)
        raise typer.Exit(words.exit_code(answer.evidence))
    answer = validate_watch.run_tier(asked, tier, words.progress)
    words.show(answer, words.tier_lines, as_json)
    raise typer.Exit({"green": 0, "red": 1}.get(answer.evidence["verdict"], 4))


@app.command()
def census(
    revision: RevisionArgument = "HEAD",
    accept: Annotated[str, typer.Option(help="Make this run the ratchet, for this reason.")] = "",
    by: Annotated[str, typer.Option(help="Who accepts; the user's name if not given.")] = "",
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which tests a run did not cover. Exit code 1 if any hole is neither allowed nor accepted."""
    answer = wiring.run_census(Asked(fork, state, config), revision, accept, by or words.user(), words.progress)
    words.show(answer, words.census_lines, as_json)
    raise typer.Exit(1 if answer.evidence["findings"] and not accept else 0)


@app.command()
def canary(
    revision: RevisionArgument = "HEAD",
    mutants: Annotated[int, typer.Option(min=0, max=1000, help="Generated mutants of the fork's Python.")] = 8,
    seed: Annotated[int, typer.Option(help="Chooses the mutants.")] = 0,
    at_least: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of mutants that must be caught.")] = 0.0,
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the suite known-bad changes. Exit code 1 if one that must be caught is not."""
    answer = wiring.run_canaries(Asked(fork, state, config, mutants=mutants, seed=seed), revision, words.progress)
    words.show(answer, words.canary_lines, as_json)
    rate = answer.evidence["detection_rate"]
    raise typer.Exit(1 if answer.evidence["missed"] or (rate is not None and rate < at_least) else 0)


@app.command()
def culprit(
    good: Annotated[str, typer.Option(help="A revision where it was fine.")],
    test: Annotated[str, typer.Option(help="The test, as `validate run` names it.")] = "",
    bad: Annotated[str, typer.Option(help="A revision where it is red or slow.")] = "HEAD",
    command: Annotated[str, typer.Option(help="Ask this command instead: 0 passed, 125 cannot be tested.")] = "",
    metric: Annotated[str, typer.Option(help="A metric of the suite, where its value got worse.")] = "",
    limit: Annotated[float | None, typer.Option(help="Value that is too bad; else half way between the ends.")] = None,
    suite: Annotated[str, typer.Option(help="The suite that is run; `l1` is the [l1] section.")] = L1_SUITE,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.999, help="Posterior that is asked of an answer.")] = 0.95,
    max_runs: Annotated[int, typer.Option(min=1, help="Give up after so many runs.")] = 300,
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the commit that made a test red or a metric worse. Exit code 0: found; 1: flake or undecided."""
    if sum(map(bool, (test, command, metric))) != 1:
        raise HeadwayError(
            "Exactly one of --test, --command and --metric is needed.",
            "Name the test or metric, or give a command.",
        )
    rules = Rules(confidence=confidence, max_runs=max_runs)
    wanted = validate_culprit.AskedCulprit(good, bad, test, command, metric, limit, suite)
    answer = validate_culprit.run_culprit(Asked(fork, state, config), wanted, rules, words.progress)
    words.show(answer, words.culprit_lines, as_json)
    raise typer.Exit({"culprit": 0, "born_red": 0, "infrastructure": 4}.get(answer.evidence["answer"], 1))


@app.command()
def ingest(
    files: Annotated[list[Path], typer.Argument(help="Reports of one run: JUnit, reportlog, lit JSON, measurements.")],
    suite: Annotated[str, typer.Option(help="The suite of headway.toml that they are of.")],
    revision: Annotated[str, typer.Option(help="The revision that was run.")],
    run_id: Annotated[str, typer.Option("--run", help="The run's id at its source.")],
    started: Annotated[str, typer.Option(help="When the run began (ISO 8601, UTC); else the report's own time.")] = "",
    form: Annotated[str, typer.Option(help="junit, reportlog, lit or metrics; else told from the content.")] = "",
    gpu_hours: Annotated[float, typer.Option(min=0.0, help="GPU-hours that the run took.")] = 0.0,
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in what a pipeline elsewhere reports. Exit code 1: refused, or tests are missing that ran before."""
    handed = validate_reports.Handed(tuple(files), suite, revision, run_id, started, form, gpu_hours)
    answer = validate_reports.run_ingest(Asked(fork, state, config), handed)
    words.show(answer, words.ingest_lines, as_json)
    raise typer.Exit(1 if answer.evidence.get("missing") else words.exit_code(answer.evidence))


@app.command()
def quorum(
    revision: RevisionArgument = "HEAD",
    name: Annotated[str, typer.Option(help="One [[quorum]] of headway.toml; else all.")] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Run even what the log already knows.")] = False,
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold two or more harnesses over the same tests together. Exit code 1 where they disagree."""
    answer = validate_reports.run_quorum(Asked(fork, state, config, fresh), name, revision, words.progress)
    words.show(answer, words.quorum_lines, as_json)
    raise typer.Exit(1 if any(one["disagreements"] for one in answer.evidence["quorums"]) else 0)


@app.command()
def waive(
    tests: Annotated[str, typer.Argument(help="The tests, a glob over identities.")],
    reason: Annotated[str, typer.Option(help="Why their failing is unrelated.")],
    until: Annotated[str, typer.Option(help="The last day, as in 2026-01-31.")],
    by: Annotated[str, typer.Option(help="Who answers for it; the user's name if not given.")] = "",
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer, for a limited time, for new failures being unrelated; counted in `validate show`."""
    answer = validate_reports.grant_waiver(Asked(fork, state, config), tests, by or words.user(), reason, until)
    words.show(answer, lambda said: [f"{said['by']} answers for {said['tests']} until {said['until']}"], as_json)
