"""The program: `headway` and `python -m headway` begin here. Only what ^C needs is imported before it is guarded."""

import signal
import sys


def main(argv: list[str] | None = None) -> None:
    """Run one command line and exit with its code; ^C is 130 from the first import to the last flush."""
    try:
        from headway.cli.main import exit_code_of

        code = exit_code_of(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the answer stands; a second ^C must not change it
    # CPython ends itself by SIGINT, whatever the exit code, if a KeyboardInterrupt ever left code run from a string
    # (dataclasses and pydantic make their methods so) and no other such code has run since
    # (Python/pythonrun.c, run_eval_code_obj)
    exec("")
    sys.exit(code)


if __name__ == "__main__":
    main()
