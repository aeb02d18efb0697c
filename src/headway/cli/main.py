"""The command line: finds the verb group, turns every ending into the right exit code.

0 done and accepted, 1 refused or user error (one sentence), 2 usage, 3 bug (log file named), 4 could not run,
130 interrupted. Verb groups are imported only when asked for, so `--help` stays fast.
"""

import importlib
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from headway import __version__
from headway.core.errors import HeadwayError

VERBS: dict[str, tuple[str, str]] = {
    # verb or group -> (module:typer app, one line for --help)
    "demo": ("headway.cli.demo:app", "Watch all three verbs work on a small fork; two minutes, nothing needed."),
    "init": ("headway.cli.sync:init_app", "Begin to follow an upstream, in a checkout of the fork."),
    "sync": ("headway.cli.sync:app", "Take upstream's changes into the fork, each with one recorded answer."),
    "log": ("headway.cli.log:app", "Look at, prove, export and tidy the event log."),
    "validate": ("headway.cli.validate:app", "Run a tier on a revision of the fork, and judge what failed."),
    "tune": (
        "headway.cli.tune:app",
        "Make something measurably faster, with agents that propose and gates that decide.",
    ),
    "mcp": ("headway.cli.mcp:app", "Let any coding agent drive a campaign, over the Model Context Protocol."),
    "worker": ("headway.cli.worker:app", "Judge kernel candidates from a spool folder, or pack the worker."),
    "doctor": ("headway.cli.doctor:app", "Say what this machine can do, and what to install."),
}
"""The visible registry of everything `headway` can be asked. A verb appears with its code, not before."""


class LazyGroup(TyperGroup):
    """Imports a verb's module when it is called or its own help is asked for."""

    # typer carries its own copy of click, so click's types cannot be named here without reaching into typer.
    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        module, _, attribute = VERBS[cmd_name][0].partition(":")
        command = typer.main.get_command(getattr(importlib.import_module(module), attribute))
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in VERBS.items()])


app = typer.Typer(
    cls=LazyGroup,
    name="headway",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Keep a fork of a compiler in step with upstream, its trunk honest, and its kernels fast.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headway {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def exit_code_of(argv: list[str]) -> int:
    """Run one command line; every ending becomes a code, and what people must know goes to stderr."""
    try:
        outcome: Any = app(argv, prog_name="headway", standalone_mode=False)
    except typer.Exit as ended:
        return ended.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except HeadwayError as refusal:
        typer.echo(f"headway: {refusal}", err=True)
        return refusal.exit_code
    except BrokenPipeError:
        # the reader (head, less) has gone; that is no fault, but Python would complain again at shutdown
        sys.stderr.close()
        return 0
    except Exception as bug:
        if callable(show := getattr(bug, "show", None)):  # click's own usage errors, whichever copy of click
            show()
            return 2
        from headway.cli.bug_report import write_bug_report

        typer.echo(f"headway: a bug: {type(bug).__name__}: {bug}. Details are in {write_bug_report(argv)}", err=True)
        return 3
    return outcome if isinstance(outcome, int) else 0
