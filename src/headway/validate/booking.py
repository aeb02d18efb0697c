"""What runs cost, and what a tier's budgets leave: seconds of wall time, and GPU-hours while GPUs were held. Pure."""

from dataclasses import dataclass
from typing import Literal

from headway.core.config_tiers import SuiteConfig, TierConfig
from headway.core.events_validate_tiers import SuiteReported
from headway.core.names import Digest
from headway.core.ports.blobs import BlobStore
from headway.validate.known import SuiteKey
from headway.validate.results import SuiteResult
from headway.validate.trunk_watch import TierRun

HOUR = 3600.0
ELSEWHERE = SuiteKey(Digest("0" * 64), Digest("0" * 64))
"""Of a suite that runs elsewhere: neither its definition nor its environment is known."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall seconds and GPU-hours."""

    seconds: float
    gpu_hours: float


def gpu_hours(suite: SuiteConfig, seconds: float) -> float:
    """The suite's GPUs, held for so many seconds."""
    return round(suite.gpus * seconds / HOUR, 6)


def suites_cost(run: TierRun) -> Cost:
    """Of this run's own suites; reports of other pipelines cost nothing here."""
    mine = [report for report in run.reported.values() if report.purpose]
    return Cost(sum(one.seconds for one in mine), sum(one.gpu_hours for one in mine))


def looking_cost(run: TierRun) -> Cost:
    """Of triage and searches."""
    looked, searched = run.findings.values(), run.answered.values()
    return Cost(
        sum(one.seconds for one in looked) + sum(one.seconds for one in searched),
        sum(one.gpu_hours for one in looked) + sum(one.gpu_hours for one in searched),
    )


def suite_seconds_left(tier: TierConfig, run: TierRun, suite: SuiteConfig) -> float | None:
    """What the tier's budgets leave for one suite; None: no limit."""
    spent, limits = suites_cost(run), []
    if tier.budget_seconds is not None:
        limits.append(tier.budget_seconds - spent.seconds)
    if tier.gpu_hours is not None and suite.gpus:
        limits.append((tier.gpu_hours - spent.gpu_hours) * HOUR / suite.gpus)
    return min(limits, default=None)


def looking_seconds_left(tier: TierConfig, run: TierRun, suite: SuiteConfig) -> float:
    """What is left for looking into failures of one suite."""
    spent = looking_cost(run)
    left = tier.culprit_seconds - spent.seconds
    if tier.culprit_gpu_hours is not None and suite.gpus:
        left = min(left, (tier.culprit_gpu_hours - spent.gpu_hours) * HOUR / suite.gpus)
    return left


@dataclass(frozen=True, slots=True)
class Provenance:
    """Which run a report is of, and how that is known; the fields are those of `SuiteReported`."""

    run: str
    started: str
    bound: Literal["run", "report", "claimed"]
    seconds: float
    gpu_hours: float
    purpose: str = ""
    key: SuiteKey = ELSEWHERE


def report_of(suite: SuiteConfig, result: SuiteResult, blobs: BlobStore, of: Provenance) -> SuiteReported:
    """The one report of a run, made here or handed in; the whole result becomes a blob."""
    counts = result.counts
    return SuiteReported(
        suite=suite.name,
        revision=result.commit,
        tree=result.tree,
        purpose=of.purpose,
        run=of.run,
        started=of.started,
        bound=of.bound,
        definition=of.key.suite,
        environment=of.key.environment,
        harness=result.harness,
        trouble=result.trouble,
        passed=counts["passed"],
        failed=counts["failed"],
        skipped=counts["skipped"],
        not_run=counts["not_run"],
        metrics=len(result.metrics),
        seconds=round(of.seconds, 3),
        gpu_hours=of.gpu_hours,
        results=blobs.put(result.to_json()),
    )


def run_here(suite: SuiteConfig, key: SuiteKey, purpose: str, run: str, started: str, seconds: float) -> Provenance:
    """Of a run that was made here, and held the suite's GPUs for so many seconds."""
    return Provenance(run, started, "run", seconds, gpu_hours(suite, seconds), purpose, key)
