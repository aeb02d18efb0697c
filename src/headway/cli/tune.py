"""`headway tune`: start, watch and steer campaigns, and put single candidates through the gates."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.bench_words import bench_lines
from headway.cli.selftest_words import selftest_code, selftest_json, selftest_lines
from headway.cli.tune_words import (
    Ticker,
    board_lines,
    check_lines,
    end_lines,
    evaluation_json,
    evaluation_lines,
    replay_lines,
)
from headway.core.errors import HeadwayError
from headway.tune.state import Campaign as CampaignState
from headway.wiring import bench as benches
from headway.wiring import lab
from headway.wiring import tune as wiring
from headway.wiring import tune_evaluate as evaluations
from headway.wiring import tune_views as views
from headway.wiring.agents import AGENTS, AgentOptions
from headway.wiring.offline import drive_offline, words

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)

StateOption = Annotated[
    Path | None, typer.Option("--state", help="State folder; else HEADWAY_STATE, else <campaign's folder>/.headway.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")]
Campaign = Annotated[str | None, typer.Argument(help="A campaign's folder or id; else the newest one here.")]
AgentHelp = f"Who proposes: {', '.join(AGENTS)}."
Script = Annotated[Path | None, typer.Option(help="For the agent `script`: one JSON object a line.")]
Model = Annotated[str | None, typer.Option(help="For the agent `model`: provider:name, key in PROVIDER_API_KEY.")]
Reviewer = Annotated[str | None, typer.Option(help="For the agent `model`: another model, whose words are shown.")]
BaseUrl = Annotated[str | None, typer.Option(help="For the agent `model`: a compatible server's address.")]
CommandLine = Annotated[str | None, typer.Option("--command", help="For the agent `command`: a coding CLI.")]
AgentEnv = Annotated[list[str] | None, typer.Option(help="For `command`: a variable it may see. May be repeated.")]
AgentSeconds = Annotated[float | None, typer.Option(min=0.1, help="Limit of one agent call; else 600.")]
Offline = Annotated[
    Path | None, typer.Option(help="Run no worker: write the jobs that are needed, and the worker, into this new tar.")
]
AtOnce = Annotated[
    int, typer.Option(min=1, max=32, help="GPU candidates to compile side by side, or a model's proposals a call.")
]
Attempts = Annotated[int | None, typer.Option(min=1, help="Attempts in all.")]
Calls = Annotated[int | None, typer.Option(min=1, help="Tool calls in all: agent calls, questions, worker jobs.")]
Seconds = Annotated[float | None, typer.Option(min=0, help="Wall-clock seconds used in all; pauses do not count.")]
Tokens = Annotated[int | None, typer.Option(min=1, help="Tokens in all, as the agent's provider counts them.")]
Money = Annotated[float | None, typer.Option(min=0, help="Money in all, in the provider's currency.")]
Detach = Annotated[bool, typer.Option("--detach", help="Run in the background; see attach, stop, show.")]
Stall = Annotated[int | None, typer.Option(min=1, help="Attempts without a promotion after which it ends.")]


@app.command()
def run(
    task: Annotated[str, typer.Argument(help="A task that ships, or a task's folder.")],
    agent: Annotated[str, typer.Option(help=AgentHelp)] = "search",
    script: Script = None,
    model: Model = None,
    base_url: BaseUrl = None,
    reviewer: Reviewer = None,
    command: CommandLine = None,
    agent_env: AgentEnv = None,
    agent_seconds: AgentSeconds = None,
    at_once: AtOnce = 1,
    attempts: Attempts = None,
    calls: Calls = None,
    seconds: Seconds = None,
    tokens: Tokens = None,
    money: Money = None,
    stall: Stall = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the search and of the cases' contents.")] = 1,
    context_budget: Annotated[int, typer.Option(help="Tokens a context may have; at least 8000.")] = 32_000,
    alpha: Annotated[float, typer.Option(min=1e-9, max=0.5, help="Chance of any false promotion in all.")] = 0.03,
    min_gain: Annotated[float, typer.Option(min=0.001, help="Smallest gain the promotion test must find.")] = 0.02,
    prior: Annotated[
        list[str] | None, typer.Option(help="An earlier campaign on this task, offered as evidence. May be repeated.")
    ] = None,
    no_prior: Annotated[bool, typer.Option("--no-prior", help="Do not look for earlier campaigns here.")] = False,
    folder: Annotated[Path | None, typer.Option("--dir", help="The campaign's folder.")] = None,
    state: StateOption = None,
    detach: Detach = False,
    offline: Offline = None,
    as_json: JsonOption = False,
) -> None:
    """Start a campaign and run it until its goal is reached or a budget is spent."""
    chosen = AgentOptions(
        agent, script, model, base_url, command, tuple(agent_env or ()), agent_seconds, at_once, reviewer
    )
    options = wiring.RunOptions(
        chosen,
        attempts,
        calls,
        seconds,
        tokens,
        money,
        stall,
        seed,
        context_budget,
        alpha,
        min_gain,
        tuple(prior or ()),
        not no_prior,
    )
    place = wiring.begin(task, options, folder, state)
    _drive(place, as_json, detach, offline)


@app.command()
def resume(
    campaign: Campaign = None,
    agent: Annotated[str | None, typer.Option(help=f"Another agent from here on. {AgentHelp}")] = None,
    script: Script = None,
    model: Model = None,
    base_url: BaseUrl = None,
    reviewer: Reviewer = None,
    command: CommandLine = None,
    agent_env: AgentEnv = None,
    agent_seconds: AgentSeconds = None,
    at_once: AtOnce = 1,
    attempts: Attempts = None,
    calls: Calls = None,
    seconds: Seconds = None,
    tokens: Tokens = None,
    money: Money = None,
    stall: Stall = None,
    state: StateOption = None,
    detach: Detach = False,
    offline: Offline = None,
    results: Annotated[Path | None, typer.Option(help="A tar of results that came back for --offline jobs.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Go on after a kill, a pause or an end, where given with larger limits or another agent."""
    chosen = None
    if agent is not None:
        chosen = AgentOptions(
            agent, script, model, base_url, command, tuple(agent_env or ()), agent_seconds, at_once, reviewer
        )
    elif any(option is not None for option in (script, model, base_url, command, agent_env, agent_seconds, reviewer)):
        raise HeadwayError("An agent's options were given, and no agent.", "Add --agent NAME.")
    place = wiring.find_campaign(campaign, state)
    limits = {
        "attempts": attempts,
        "calls": calls,
        "seconds": seconds,
        "tokens": tokens,
        "money": money,
        "stall": stall,
    }
    wiring.resume(place, limits, chosen)
    if results is not None and offline is None:
        raise HeadwayError("Results were given, and no tar for the jobs that come next.", "Add --offline jobs.tar.")
    _drive(place, as_json, detach, offline, results)


@app.command()
def show(campaign: Campaign = None, state: StateOption = None, as_json: JsonOption = False) -> None:
    """The scoreboard: where a campaign stands, its best candidates, what was refused and why."""
    board = wiring.board(wiring.find_campaign(campaign, state))
    if as_json:
        _print_json("headway.tune-show/1", board)
        return
    for line in board_lines(board):
        typer.echo(line)


@app.command()
def stop(campaign: Campaign = None, state: StateOption = None) -> None:
    """End a campaign at its next step; `resume` can reopen it."""
    typer.echo(wiring.tell(wiring.find_campaign(campaign, state), "stop"))


@app.command()
def pause(campaign: Campaign = None, state: StateOption = None) -> None:
    """Pause a campaign at its next step; `resume` goes on."""
    typer.echo(wiring.tell(wiring.find_campaign(campaign, state), "pause"))


@app.command()
def context(
    campaign: Campaign = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="The attempt; else the newest.")] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what the agent saw before an attempt, byte for byte."""
    seen = wiring.context_of(wiring.find_campaign(campaign, state), attempt)
    if as_json:
        _print_json("headway.tune-context/1", seen)
    else:
        typer.echo(seen["text"], nl=False)


@app.command()
def attach(campaign: Campaign = None, state: StateOption = None) -> None:
    """Watch a campaign that runs in the background; ^C stops the watching, not the campaign."""
    place = wiring.find_campaign(campaign, state)
    ended = views.attach(place, Ticker(lambda line: typer.echo(line, err=True)).watch)
    for line in end_lines(ended, str(place.folder)):
        typer.echo(line)


@app.command()
def report(
    campaign: Campaign = None,
    output: Annotated[Path | None, typer.Option(help="The file; else report.html in the campaign's folder.")] = None,
    state: StateOption = None,
) -> None:
    """Write one HTML file, self-contained, with everything that happened."""
    typer.echo(views.write_report(wiring.find_campaign(campaign, state), output))


@app.command()
def replay(
    campaign: Campaign = None,
    context_budget: Annotated[
        int | None, typer.Option(help="Render under another budget, and compare nothing.")
    ] = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Render every context again from the log; exit code 1 names each that differs, and why."""
    rows = views.replayed(wiring.find_campaign(campaign, state), context_budget)
    different = [row for row in rows if row.why]
    if as_json:
        _print_json("headway.tune-replay/1", {"contexts": [asdict(row) for row in rows], "different": len(different)})
    else:
        for line in replay_lines(rows, context_budget):
            typer.echo(line)
    raise typer.Exit(1 if different else 0)


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(help="The task's folder; its name becomes the task's id.")],
    function: Annotated[str | None, typer.Option(help="FILE.py:NAME, the function to make faster.")] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", help="An argument with its sizes, like x:N,M; in order.")
    ] = None,
    output: Annotated[str, typer.Option(help="The result with its sizes.")] = "y:N,M",
    sizes: Annotated[list[str] | None, typer.Option("--size", help="A size of the timed case, like N=256.")] = None,
    from_command: Annotated[str | None, typer.Option(help="A command that prints one number, run in the tree.")] = None,
    tree: Annotated[Path, typer.Option(help="With --from-command: the project, which is copied.")] = Path(),
    editable: Annotated[
        list[str] | None, typer.Option(help="With --from-command: what may be edited, like 'src/**/*.py'.")
    ] = None,
    tests: Annotated[
        list[str] | None, typer.Option(help="With --from-command: editable Python tests, which are kept by rule.")
    ] = None,
    guard: Annotated[
        list[str] | None, typer.Option(help="With --from-command: NAME=COMMAND, which must exit 0.")
    ] = None,
    direction: Annotated[str, typer.Option(help="With --from-command: lower or higher is better.")] = "lower",
) -> None:
    """Scaffold a task from a numpy function or a metric command: its folder loads and runs, and is yours to sharpen."""
    if (function is None) == (from_command is None):
        raise HeadwayError("A task is made from one thing.", "Give --function FILE.py:NAME, or --from-command COMMAND.")
    if from_command is not None:
        task = views.new_command_task(folder, from_command, tree, editable or [], tests or [], guard or [], direction)
        typer.echo(f"wrote the task {task.id} around {from_command!r} to {task.folder}")
        typer.echo(f"prove it with `headway tune check {folder}`; sharpen its guards before you trust it")
        return
    assert function is not None
    task = views.new_task(folder, function, inputs or [], output, sizes or [])
    typer.echo(f"wrote the task {task.id} with {len(task.cases)} cases to {task.folder}")
    typer.echo(f"prove it with `headway tune check {folder}`; sharpen reference.py and [[cases]] before you trust it")


@app.command()
def check(
    task: Annotated[str, typer.Argument(help="A task that ships, or a task's folder.")], as_json: JsonOption = False
) -> None:
    """Prove a task: not vacuous, its baseline right, repeatable (exit code 4 if not, now) and slower than physics."""
    found = views.check_json(views.check(task))
    if as_json:
        typer.echo(json.dumps(found))
    else:
        for line in check_lines(found):
            typer.echo(line)
    raise typer.Exit(0 if found["ok"] else 4)


@app.command()
def bench(
    tasks: Annotated[list[str], typer.Argument(help="Tasks that ship, or tasks' folders.")],
    as_json: JsonOption = False,
) -> None:
    """Time shipped kernels against their baselines; exit code 4 if one of the tasks could not be timed here."""
    found = [benches.bench(name) for name in tasks]
    if as_json:
        _print_json("headway.tune-bench/1", {"tasks": [asdict(one) for one in found]})
    else:
        for line in bench_lines(found):
            typer.echo(line)
    raise typer.Exit(4 if any(one.could_not_run for one in found) else 0)


@app.command()
def evaluate(
    task: Annotated[str, typer.Argument(help="A task that ships, or a task's folder.")],
    candidate: Annotated[Path, typer.Argument(help="The candidate's source.")],
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put one candidate through every gate; exit code 0 accepted, 1 refused, 4 could not run."""
    found = evaluations.evaluate(task, candidate, state)
    told = evaluation_json(found)
    if as_json:
        typer.echo(json.dumps(told))
    else:
        for line in evaluation_lines(told):
            typer.echo(line)
    raise typer.Exit({"accepted": 0, "refused": 1}.get(told["verdict"], 4))


@app.command()
def selftest(
    keep: Annotated[Path | None, typer.Option(help="Keep jobs, results and rows in this folder.")] = None,
    only: Annotated[str | None, typer.Option(help="Entries whose id contains this, or of this class.")] = None,
    pairs: Annotated[int, typer.Option(min=2, help="A-B-B-A blocks per timed case.")] = 6,
    as_json: JsonOption = False,
) -> None:
    """Try the known cheats and the honest control group on this machine; exit 0 if all came out as expected."""
    rows = lab.selftest(keep, only, pairs, lambda line: typer.echo(line, err=True))
    told = selftest_json(rows)
    if as_json:
        typer.echo(json.dumps(told))
    else:
        for line in selftest_lines(told):
            typer.echo(line)
    raise typer.Exit(selftest_code(told))


def _drive(
    place: wiring.Place, as_json: bool, detach: bool, offline: Path | None = None, results: Path | None = None
) -> None:
    if detach and offline is not None:
        raise HeadwayError("--detach and --offline exclude each other: offline, nothing runs here.", "Drop one.")
    if detach:
        pid, log = views.detach(place)
        typer.echo(f"campaign {place.id} in {place.folder} runs in the background (pid {pid}; its words: {log})")
        return
    ticker = Ticker(lambda line: typer.echo(line, err=True))
    ticker.say(f"campaign {place.id} in {place.folder}")
    if offline is None:
        state: CampaignState | None = wiring.drive(place, ticker.watch)
        told = []
    else:
        found = drive_offline(place, offline, results, ticker.watch)
        state, told = found.state, words(found, offline)
    if as_json:
        _print_json("headway.tune-show/1", wiring.board(place))
        return
    for line in [*told, *(end_lines(state, str(place.folder)) if state is not None else [])]:
        typer.echo(line)


def _print_json(schema: str, body: dict[str, Any]) -> None:
    typer.echo(json.dumps({"schema": schema, **body}))
