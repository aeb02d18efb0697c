"""One suite, once, in one clone: setup, build, test, then what the tests left behind. It judges nothing."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.core.config import L1Config, StepConfig
from headway.core.ports.blobs import BlobStore
from headway.core.ports.executor import Command, Executor, Limits, Outcome
from headway.core.ports.workspace import Checkout, Workspaces
from headway.validate import reports
from headway.validate.harness import lit_report, pytest_report
from headway.validate.harness.metric_report import read_metrics
from headway.validate.results import Named, StepEnd, StepName, SuiteResult, Trouble

OUTPUT_BYTES = 4 << 20
PROCESSES = 4096
COMPILERS = ("cc", "gcc", "g++", "c++", "clang", "clang++", "nvcc", "hipcc", "ld", "cmake", "ninja", "make", "meson")

_NOT_FOUND = re.compile(
    rb"(?:^|[\s:'\"`])([\w.+/-]+): (?:command )?not found$"
    rb"|([\w.+/-]+): No such file or directory$"
    rb"|command '([\w.+/-]+)' failed: No such file",
    re.MULTILINE,
)
_SHELL_NOT_FOUND, _SHELL_NOT_EXECUTABLE = 127, 126


@dataclass(frozen=True, slots=True)
class Ports:
    """What a tier needs of the world. `environ` is headway's own environment; suites see what is allowed of it."""

    executor: Executor
    workspaces: Workspaces
    blobs: BlobStore
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Harness:
    """A way to run tests that tells more than JUnit: its additions to the test step's environment, and its report."""

    environment: Callable[[Mapping[str, str], Path], dict[str, str]]
    read: Callable[[Path, Collection[str]], Named | reports.Damaged]
    report_globs: tuple[str, ...]
    readable: tuple[Path, ...] = ()


HARNESSES: dict[str, Harness] = {
    "pytest": Harness(
        pytest_report.environment, pytest_report.read_pytest, pytest_report.REPORT_GLOBS, (pytest_report.PLUGIN_FOLDER,)
    ),
    "lit": Harness(lit_report.environment, lit_report.read_lit, lit_report.REPORT_GLOBS),
}
"""The visible registry of what `l1.harness` can say."""


def suite_environment(l1: L1Config, environ: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of the suite: allowed names of ours, then what the config sets."""
    return {**{name: environ[name] for name in l1.env if name in environ}, **l1.set_env}


def run_suite(l1: L1Config, checkout: Checkout, ports: Ports) -> SuiteResult:
    """Run the steps in order, stop at the first that fails, read the reports. Never raises for what a step does."""
    ends: list[StepEnd] = []
    sandbox: tuple[str, ...] = ()
    globs = (*l1.junit, *l1.metrics, *(HARNESSES[l1.harness].report_globs if l1.harness else ()))
    reports.remove_stale_reports(checkout.path, globs)
    steps: tuple[tuple[StepName, StepConfig | None], ...] = (
        ("setup", l1.setup),
        ("build", l1.build),
        ("test", l1.test),
    )
    for name, config in steps:
        if config is None:
            continue
        outcome = ports.executor.run(_command(l1, name, config, checkout, ports.environ))
        sandbox = outcome.sandbox
        ends.append(_end_of(name, config, outcome, ports.blobs))
        trouble = _trouble(name, outcome)
        if trouble:
            detail = _detail(name, config, ends[-1], outcome)
            return SuiteResult(checkout.commit, checkout.tree, trouble, detail, (), tuple(ends), sandbox)
    (tests, folded), trouble, detail = _tests(l1, checkout, outcome)
    metrics = read_metrics(checkout.path, l1.metrics) if l1.metrics else ()
    if isinstance(metrics, reports.Damaged):
        # a red suite may well have measured nothing: that it is red is what counts then
        red = trouble or any(test.state == "failed" for test in tests)
        trouble, detail = (trouble, detail) if red else ("report_damaged", f"The test step ended, but {metrics.what}.")
        metrics = ()
    said_by = l1.harness or ("junit" if l1.junit else "counts" if l1.count_pattern else "exit")
    return SuiteResult(
        checkout.commit, checkout.tree, trouble, detail, tests, tuple(ends), sandbox, said_by, metrics, folded
    )


def _command(l1: L1Config, name: StepName, step: StepConfig, checkout: Checkout, environ: Mapping[str, str]) -> Command:
    env = suite_environment(l1, environ)
    harness = HARNESSES[l1.harness] if l1.harness and name == "test" else None
    return Command(
        argv=("sh", "-c", step.run),
        cwd=checkout.path,
        limits=Limits(step.timeout_seconds, output_bytes=OUTPUT_BYTES, processes=PROCESSES),
        env=harness.environment(env, checkout.path) if harness else env,
        writable=(checkout.path,),
        hidden=checkout.hidden,
        readable_inside=(*checkout.readable_inside, *(harness.readable if harness else ())),
        network=step.network,
    )


def _end_of(name: StepName, config: StepConfig, outcome: Outcome, blobs: BlobStore) -> StepEnd:
    if outcome.not_started is not None:
        ended = f"not started: {outcome.not_started}"
    elif outcome.timed_out:
        ended = f"timed out after {config.timeout_seconds:g} s"
    elif outcome.died is not None:
        ended = f"died of {outcome.died}"
    else:
        ended = f"exit {outcome.exit}"
    return StepEnd(name, outcome.exit, ended, round(outcome.resources.wall_seconds, 3), blobs.put(outcome.output))


def _trouble(name: StepName, outcome: Outcome) -> Trouble:
    """What keeps a step from being judged by its tests; "" for a test step that came to an end of its own."""
    shell_gave_up = outcome.exit in (_SHELL_NOT_FOUND, _SHELL_NOT_EXECUTABLE)
    # what a test prints about missing programs is its own business, as long as it comes to an end
    if outcome.exit not in (0, None) and (name != "test" or shell_gave_up):
        missing = missing_program(outcome)
        if missing in COMPILERS:
            return "no_compiler"
        if missing and shell_gave_up:
            return "no_command"
    if outcome.timed_out:
        return "timed_out"
    if outcome.died is not None or outcome.not_started is not None:
        return "died"
    if name != "test" and outcome.exit != 0:
        return "setup_failed" if name == "setup" else "build_failed"
    return ""


def missing_program(outcome: Outcome) -> str:
    """The base name of a program that was called and is not there, as shells, make and Python's builders put it."""
    found = _NOT_FOUND.findall(outcome.output[-20_000:])
    if not found:
        return ""
    name: str = next(part for part in found[-1] if part).decode("utf-8", "replace")
    return name.rpartition("/")[2]


def _detail(name: StepName, config: StepConfig, end: StepEnd, outcome: Outcome) -> str:
    missing = missing_program(outcome)
    named = f" ({missing!r} is not there)" if missing else ""
    return f"The {name} step `{config.run}`: {end.ended}{named}."


def _tests(l1: L1Config, checkout: Checkout, outcome: Outcome) -> tuple[Named, Trouble, str]:
    assert outcome.exit is not None
    read = _read(l1, checkout, outcome, outcome.exit)
    if isinstance(read, reports.Damaged):
        return Named(()), "report_damaged", f"The test step ended with exit {outcome.exit}, but {read.what}."
    if not any(test.state in ("passed", "failed") for test in read.tests):
        return read, "nothing_ran", f"The test step ended with exit {outcome.exit} without having run a single test."
    return Named(reports.with_exit_code(read.tests, outcome.exit), read.folded), "", ""


def _read(l1: L1Config, checkout: Checkout, outcome: Outcome, code: int) -> Named | reports.Damaged:
    if l1.harness:
        return HARNESSES[l1.harness].read(checkout.path, checkout.tracked)
    if l1.junit:
        read = reports.read_junit(checkout.path, l1.junit, frozenset(checkout.tracked))
        return read if isinstance(read, reports.Damaged) else Named(read)
    if l1.count_pattern:
        read = reports.by_counts(outcome.output, l1.count_pattern, code)
        return read if isinstance(read, reports.Damaged) else Named(read)
    return Named(reports.by_exit_code(code))
