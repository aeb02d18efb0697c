"""Canaries: known-bad changes that the harness must turn red. Hand-written ones and one broken source per language must
all be caught; of generated mutants (some change nothing) the rate is published, and may have a floor."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from headway.core.config import CanaryRule, L1Config
from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.events_validate import CanariesFlown
from headway.core.names import Sha
from headway.core.ports.workspace import Checkout, CloneRequest
from headway.validate import mutants
from headway.validate.blindness import turned_red
from headway.validate.environment import suite_key
from headway.validate.known import KnownResults
from headway.validate.known_bad import mutants as broken_sources
from headway.validate.results import SuiteResult
from headway.validate.suite_run import Ports, run_suite
from headway.validate.suite_runs import SuiteRuns

CANARY_SCHEMA = "headway.canary/1"
CanaryKind = Literal["written", "language", "mutant"]


@dataclass(frozen=True, slots=True)
class Canary:
    """One known-bad change, as contents of tracked files."""

    name: str
    kind: CanaryKind
    overlay: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Flown:
    """What became of one canary. `caught` is None where the run was stopped by the machine, not by the change."""

    name: str
    kind: CanaryKind
    caught: bool | None
    by: str


def fly_canaries(
    l1: L1Config,
    written: tuple[CanaryRule, ...],
    owner: Path,
    revision: Sha,
    ports: Ports,
    known: KnownResults,
    mutants_wanted: int,
    seed: int,
) -> tuple[Event, ...]:
    """The events of one flight, `CanariesFlown` last. Raises HeadwayError for a canary that does not fit the tree."""
    runs = SuiteRuns(l1, owner, (), ports, known, suite_key(l1, ports.environ))
    honest = runs.result_of(revision)
    request = CloneRequest(owner, revision, (), l1.cache)
    with ports.workspaces.checkout(request) as checkout:
        canaries = _canaries(l1, written, checkout, mutants_wanted, seed)
    flown = [_fly(canary, l1, request, honest, ports) for canary in canaries]
    decided = [one for one in flown if one.caught is not None]
    generated = [one for one in decided if one.kind == "mutant"]
    missed = [one for one in decided if not one.caught and one.kind != "mutant"]
    caught = sum(bool(one.caught) for one in generated)
    evidence = runs.keep(
        {
            "schema": CANARY_SCHEMA,
            "revision": revision,
            "honest": dict(honest.counts),
            "canaries": [asdict(one) for one in flown],
            "missed": [one.name for one in missed],
            "mutants": len(generated),
            "mutants_caught": caught,
            "detection_rate": caught / len(generated) if generated else None,
            "undecided": [one.name for one in flown if one.caught is None],
        }
    )
    flight = CanariesFlown(revision, len(flown), len(missed), len(generated), caught, evidence)
    return (*runs.events, flight)


def _canaries(
    l1: L1Config, written: tuple[CanaryRule, ...], checkout: Checkout, mutants_wanted: int, seed: int
) -> list[Canary]:
    def read(path: str) -> bytes:
        return (checkout.path / path).read_bytes()

    found = [_written(rule, checkout, read(rule.path) if rule.path in checkout.tracked else None) for rule in written]
    commands = " ".join(step.run for step in (l1.setup, l1.build, l1.test) if step)
    broken = broken_sources(checkout.tracked, l1.canary_paths, read, commands)
    # one language that L1 does not see is no miss: L1 may be meant for the other; the first is what it is for
    found += [Canary(f"broken {name}", "language", overlay) for name, overlay in list(broken.items())[:1]]
    for mutant in mutants.sample(checkout.tracked, read, mutants_wanted, seed):
        name = f"{mutant.path}:{mutant.line} {mutant.what}"
        found.append(Canary(name, "mutant", {mutant.path: mutant.content}))
    return found


def _written(rule: CanaryRule, checkout: Checkout, content: bytes | None) -> Canary:
    if content is None or rule.find.encode() not in content:
        raise HeadwayError(
            f"The canary {rule.name!r} does not fit {checkout.commit[:12]}: {rule.path} has no {rule.find!r}.",
            "Renew its `find` in headway.toml; a canary that cannot fly proves nothing.",
        )
    return Canary(rule.name, "written", {rule.path: content.replace(rule.find.encode(), rule.replace.encode(), 1)})


def _fly(canary: Canary, l1: L1Config, request: CloneRequest, honest: SuiteResult, ports: Ports) -> Flown:
    with ports.workspaces.checkout(replace(request, overlay=canary.overlay)) as checkout:
        result = run_suite(l1, checkout, ports)
    if result.trouble in ("no_command", "no_compiler", "setup_failed") and result.trouble != honest.trouble:
        return Flown(canary.name, canary.kind, None, result.detail)
    if result.trouble:
        # an endless loop is a change of meaning too: it did not get past unnoticed
        return Flown(canary.name, canary.kind, result.trouble != honest.trouble, result.trouble.replace("_", " "))
    red = turned_red(honest, result)
    by = sorted(result.failed() - honest.failed())
    return Flown(canary.name, canary.kind, red, f"{by[0]} and {len(by) - 1} more" if len(by) > 1 else "".join(by))
