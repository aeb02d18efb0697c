"""Does L1 test the tree it is given? Shown before a fork's first landing: known-bad changes must turn it red."""

import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from headway.core.config import L1Config
from headway.core.events_validate import L1Proven
from headway.core.gates import PASSED, NotDecided, Refused, Verdict
from headway.core.ports.executor import Command, Limits
from headway.core.ports.workspace import Checkout, CloneRequest
from headway.core.reasons import Reason
from headway.validate.known import SuiteKey
from headway.validate.known_bad import mutants
from headway.validate.results import SuiteResult
from headway.validate.suite_run import Ports, run_suite, suite_environment

IMPORT_QUESTION = """
import importlib.util, sys
for name in sys.argv[1:]:
    try:
        found = importlib.util.find_spec(name)
    except Exception:
        continue
    if found is not None and (found.origin or found.submodule_search_locations):
        print(name, found.origin or list(found.submodule_search_locations)[0], sep='\\t')
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """`proven` is None unless at least one language's breakage turned L1 red; `verdict` says what that means."""

    verdict: Verdict
    proven: L1Proven | None


def prove_not_blind(l1: L1Config, request: CloneRequest, key: SuiteKey, honest: SuiteResult, ports: Ports) -> Proof:
    """Run L1 on one known-bad change per language of `request.commit`, whose honest result is known.

    Languages with more sources come first, and the first one that L1 sees ends it: `blind_to` are those before it.
    """
    with ports.workspaces.checkout(request) as checkout:
        lines = " ".join(step.run for step in (l1.setup, l1.build, l1.test) if step)
        bad = mutants(checkout.tracked, l1.canary_paths, lambda path: (checkout.path / path).read_bytes(), lines)
    if not bad:
        return Proof(_nothing_to_break(), None)
    sees: list[str] = []
    unseen: list[str] = []
    runs: dict[str, SuiteResult] = {}
    for language, overlay in bad.items():
        with ports.workspaces.checkout(replace(request, overlay=overlay)) as checkout:
            runs[language] = run_suite(l1, checkout, ports)
        undecided = _undecided(language, runs[language])
        if undecided is not None:
            return Proof(undecided, None)
        if turned_red(honest, runs[language]):
            sees.append(language)
            break
        unseen.append(language)
    if not sees:
        return Proof(_blind(l1, request, unseen, bad, ports), None)
    evidence = ports.blobs.put(json.dumps({name: json.loads(run.to_json()) for name, run in runs.items()}))
    return Proof(PASSED, L1Proven(request.commit, key.suite, key.environment, tuple(sees), tuple(unseen), evidence))


def turned_red(honest: SuiteResult, mutant: SuiteResult) -> bool:
    """Redder than the honest run: a suite that is red anyway proves nothing by staying red."""
    if mutant.trouble in ("build_failed", "setup_failed", "nothing_ran", "report_damaged"):
        return mutant.trouble != honest.trouble
    return bool(mutant.failed() - honest.failed())


def _undecided(language: str, run: SuiteResult) -> NotDecided | None:
    reasons = {"timed_out": Reason.TIMED_OUT, "no_command": Reason.NO_COMMAND, "no_compiler": Reason.NO_COMPILER}
    if run.trouble in reasons:
        return NotDecided(
            reasons[run.trouble],
            f"Whether L1 sees a known-bad {language} change could not be found out: {run.detail}",
            "Mend the step, or raise its timeout_seconds.",
        )
    return None


def _nothing_to_break() -> NotDecided:
    return NotDecided(
        Reason.L1_UNPROVEN,
        "No source file was found whose breakage L1 would have to notice.",
        "Name some in `l1.canary_paths` of headway.toml.",
    )


def _blind(
    l1: L1Config, request: CloneRequest, unseen: list[str], bad: "dict[str, object] | object", ports: Ports
) -> Refused:
    with ports.workspaces.checkout(request) as checkout:
        elsewhere = imported_from_elsewhere(l1, checkout, ports)
    if elsewhere:
        name, origin = elsewhere
        cause = (
            f"the tests import {name!r} from {origin}, most likely through an editable install that points elsewhere"
        )
        fix = f"Let `l1.setup` install this tree into a venv of the clone, or drop the editable install of {name!r}."
    else:
        cause = "the tests seem to use an installed copy, or test something else"
        fix = "Let `l1.setup` or `l1.build` build this tree, or name what L1 does test in `l1.canary_paths`."
    broken = " and ".join(unseen)
    return Refused(Reason.L1_BLIND, f"L1 stayed green on a known-bad change ({broken}): {cause}.", fix)


def imported_from_elsewhere(l1: L1Config, checkout: Checkout, ports: Ports) -> tuple[str, str] | None:
    """(package, place) of the first package of the tree that the suite's own Python finds outside the clone."""
    names = sorted(_top_packages(checkout.tracked))
    command = Command(
        argv=("sh", "-c", f'exec "{_python_of(l1)}" -c "$0" "$@"', IMPORT_QUESTION, *names),
        cwd=checkout.path,
        limits=Limits(seconds=60, output_bytes=1 << 20),
        env=suite_environment(l1, ports.environ),
        writable=(checkout.path,),
        hidden=checkout.hidden,
        readable_inside=checkout.readable_inside,
    )
    output = ports.executor.run(command).output.decode("utf-8", "replace") if names else ""
    for line in output.splitlines():
        name, tab, origin = line.partition("\t")
        if tab and name in names and not Path(origin).resolve().is_relative_to(checkout.path.resolve()):
            return name, origin
    return None


def _top_packages(tracked: tuple[str, ...]) -> set[str]:
    """What an install would offer for import: packages at the top or in a source folder, modules in a source folder."""
    found = set()
    for path in tracked:
        parts = path.split("/")
        in_source_folder = parts[0] in ("src", "python", "lib")
        if in_source_folder:
            parts = parts[1:]
        if len(parts) == 2 and parts[1] == "__init__.py" and parts[0] not in ("tests", "test", "docs"):
            found.add(parts[0])
        if len(parts) == 1 and in_source_folder and parts[0].endswith(".py") and parts[0] != "__init__.py":
            found.add(parts[0].removesuffix(".py"))
    return found


def _python_of(l1: L1Config) -> str:
    """The Python that the test step calls by name, else the one next to it on PATH."""
    try:
        words = shlex.split(l1.test.run)
    except ValueError:
        words = []
    for word in words:
        if Path(word).name.startswith("python"):
            return word
    for word in words:
        if Path(word).name in ("pytest", "py.test") and "/" in word:
            return str(Path(word).with_name("python"))
    return "python3"
