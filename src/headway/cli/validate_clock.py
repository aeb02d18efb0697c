"""`headway validate watch | show`, and sign-off: `request | approve | promote`."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli import validate_words as words
from headway.cli.validate_words import ConfigOption, ForkOption, JsonOption, StateOption
from headway.core.config_tiers import L1_SUITE
from headway.core.errors import HeadwayError
from headway.wiring import validate_fix, validate_signoff, validate_watch
from headway.wiring.validate_room import Asked

HERE = Path()
ByOption = Annotated[str, typer.Option(help="Who does it; the user's name if not given.")]


def watch(
    once: Annotated[bool, typer.Option("--once", help="Run what is due and end: for a scheduled CI job.")] = False,
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run tiers and canaries on trunk when they are due. With --once, exit code 1 if any is red."""
    answers = validate_watch.watch(Asked(fork, state, config), once, words.progress)
    for answer in answers:
        words.show(answer, words.watched_lines, as_json)
    if not answers and not as_json:
        typer.echo("nothing is due")
    raise typer.Exit(1 if any(words.watched_red(answer.evidence) for answer in answers) else 0)


def show(
    about: Annotated[str, typer.Argument(help="A failure's signature or a request; none: everything.")] = "",
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tiers, the clock, harnesses, waivers, failures, requests, GPU-hours. Exit code 1 if there is an alarm."""
    answer = validate_watch.show(Asked(fork, state, config), about)
    words.show(answer, words.about_lines if about else words.overview_lines, as_json)
    raise typer.Exit(1 if answer.evidence.get("alarms") else 0)


def fix(
    signature: Annotated[str, typer.Argument(help="The failure, as `validate show` names it.")],
    command: Annotated[str, typer.Option(help="A coding-agent CLI; `{request}` becomes the request's file.")] = "",
    model: Annotated[str, typer.Option(help="Or a model, as provider:name.")] = "",
    seconds: Annotated[float, typer.Option(min=1, help="For one proposal.")] = 600.0,
    tries: Annotated[int, typer.Option(min=1, max=10, help="Proposals, each told why the last was refused.")] = 2,
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let an agent propose a fix; one that passes rails, L1 and the failing tests becomes a branch. Exit 1: refused."""
    with validate_fix.fixing_agent(command, model) as agent:
        answer = validate_fix.propose_fix(Asked(fork, state, config), signature, agent, seconds, tries, words.progress)
    words.show(answer, words.fix_lines, as_json)
    raise typer.Exit(words.exit_code(answer.evidence))


def request(
    suite: Annotated[str, typer.Argument(help="The suite, as headway.toml names it.")] = L1_SUITE,
    revision: words.RevisionArgument = "HEAD",
    reason: Annotated[str, typer.Option(help="Why it is needed.")] = "",
    by: ByOption = "",
    out: Annotated[Path | None, typer.Option(help="Write the statement to be signed to this file.")] = None,
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask for an L3 run: prints a quote in GPU-hours, and what an approver has to sign."""
    answer = validate_signoff.request(Asked(fork, state, config), suite, revision, by or words.user(), reason, out)
    words.show(answer, words.request_lines, as_json)


def approve(
    request: Annotated[str, typer.Argument(help="The request.")],
    by: Annotated[str, typer.Option(help="The approver, as the list of allowed signers names them.")],
    signature: Annotated[Path | None, typer.Option(help="The signature of the request's statement.")] = None,
    key: Annotated[Path | None, typer.Option(help="Or a private key to sign it with now.")] = None,
    statement: Annotated[Path | None, typer.Option(help="What was signed, to be compared byte by byte.")] = None,
    revoke: Annotated[str, typer.Option(help="Instead take the request back, for this reason.")] = "",
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a listed approver's SSH signature, bound to request, suite, revision and quote. Exit code 1: refused."""
    asked = Asked(fork, state, config)
    if revoke:
        answer = validate_signoff.revoke(asked, request, by, revoke)
    elif (signature is None) == (key is None):
        raise HeadwayError("Exactly one of --signature and --key is needed.", "Sign the statement, or give a key.")
    else:
        answer = validate_signoff.approve(asked, request, by, signature, key, statement)
    words.show(answer, words.approval_lines, as_json)
    raise typer.Exit(words.exit_code(answer.evidence))


def promote(
    revision: words.RevisionArgument = "HEAD",
    by: ByOption = "",
    fork: ForkOption = HERE,
    config: ConfigOption = None,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move the stable branch to a revision with a green L2 and a signed, green L3. Exit code 1: refused."""
    answer = validate_signoff.promote(Asked(fork, state, config), revision, by or words.user())
    words.show(answer, words.promotion_lines, as_json)
    raise typer.Exit(words.exit_code(answer.evidence))
