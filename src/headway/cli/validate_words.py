"""What `headway validate` prints for people; scripts read the documents of `--json`."""

import getpass
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.core.reasons import Reason
from headway.wiring.validate_room import Answer

USER_ERRORS = frozenset({Reason.NO_COMMAND.value})
"""Reasons for which nothing was decided because of what the user wrote: exit 1, not 4."""
STATES = ("passed", "failed", "skipped", "not_run")

RevisionArgument = Annotated[str, typer.Argument(help="A commit, branch or tag of the fork.")]
ForkOption = Annotated[Path, typer.Option("--fork", help="A checkout of the fork.")]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="Use this headway.toml, not trunk's.")]
StateOption = Annotated[
    Path | None, typer.Option("--state", help="State folder; else HEADWAY_STATE, else the repository's.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")]

Evidence = dict[str, Any]


def show(answer: Answer, lines: Callable[[Evidence], list[str]], as_json: bool) -> None:
    """The answer on stdout, notes about the config on stderr."""
    for note in answer.notes:
        progress(note)
    typer.echo(json.dumps(answer.evidence) if as_json else "\n".join(lines(answer.evidence)))


def progress(line: str) -> None:
    """A line about work under way, on stderr."""
    typer.echo(line, err=True)


def user() -> str:
    """The name that is recorded where none is given."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def exit_code(evidence: Evidence) -> int:
    """Of a document with a verdict."""
    if evidence["verdict"] == "could_not_run":
        return 1 if evidence["reason"] in USER_ERRORS else 4
    return 0 if evidence["verdict"] in ("passed", "taken") else 1


def l1_lines(evidence: Evidence) -> list[str]:
    """`validate run L1`."""
    lines = [f"{s['step']:<6} {s['ended']:<24} {s['seconds']:8.2f} s  {s['output'][:19]}" for s in evidence["steps"]]
    recalled = " (recalled; --fresh runs them again)" if evidence["recalled"] else ""
    lines.append(counts_line(evidence["counts"]) + recalled)
    lines += [f"skipped: {reason} ({count})" for reason, count in evidence["skips"].items()]
    for kind in ("new", "regressed_flakiness", "flaky", "infrastructure", "pre_existing", "vanished"):
        lines += [f"{kind}: {test}  {evidence['failures'].get(test, '')}".rstrip() for test in evidence[kind]]
    lines += [f"waived: {test}  ({by})" for test, by in evidence["waived"].items()]
    lines.append(f"sandbox: {', '.join(evidence['sandbox'])}")
    if evidence["verdict"] == "passed":
        return [*lines, "passed"]
    return [*lines, *refusal_lines(evidence)]


def refusal_lines(evidence: Evidence) -> list[str]:
    """Why not, and what to do."""
    verdict = "refused" if evidence["verdict"] == "refused" else "could not run"
    return [f"{verdict} ({evidence['reason']}): {evidence['message']}", f"next: {evidence['next']}"]


def canary_lines(evidence: Evidence) -> list[str]:
    """`validate canary`."""
    said = {True: "caught", False: "MISSED", None: "could not run"}
    lines = [f"{said[one['caught']]:<13} {one['kind']:<8} {one['name']}  {one['by']}" for one in evidence["canaries"]]
    if evidence["mutants"]:
        lines.append(f"{evidence['mutants_caught']} of {evidence['mutants']} mutants caught")
    missed = len(evidence["missed"])
    return [*lines, f"{missed} missed that had to be caught" if missed else "every canary that had to be caught was"]


def culprit_lines(evidence: Evidence) -> list[str]:
    """`validate culprit`."""
    lines = [f"{evidence['answer'].replace('_', ' ')}: {evidence['why']}"]
    lines += [f"suspect {commit}" for commit in evidence["suspects"]]
    return [*lines, f"posterior {evidence['posterior']:.3f} after {evidence['runs']} runs"]


def census_lines(evidence: Evidence) -> list[str]:
    """`validate census`."""
    lines = [counts_line(evidence["counts"]) + f" by {evidence['harness']}; {evidence['expected']} expected"]
    lines += [
        f"{found['cause'] or found['kind']}: {found['subject']}  {found['reason']}" for found in evidence["findings"]
    ]
    if evidence["accepted"]:
        return [*lines, f"accepted: from now on {sum(evidence['floors'].values())} tests are the floor"]
    return [*lines, "complete" if not evidence["findings"] else f"{len(evidence['findings'])} holes"]


def ingest_lines(evidence: Evidence) -> list[str]:
    """`validate ingest`."""
    if evidence["verdict"] != "taken":
        return refusal_lines(evidence)
    again = " (known already)" if evidence["already_known"] else ""
    bound = {"report": "by its own words", "claimed": "as claimed"}[evidence["bound"]]
    lines = [f"{evidence['suite']} on {evidence['revision'][:12]}, {bound}, run {evidence['run']}{again}"]
    lines.append(counts_line(evidence["counts"]) + f", {evidence['metrics']} measurements, by {evidence['harness']}")
    lines += [evidence["detail"]] if evidence["detail"] else []
    lines += [f"failed: {test}" for test in evidence["failed"]]
    return [*lines, *(f"missing: {one['subject']}  {one['reason']}" for one in evidence["missing"])]


def quorum_lines(evidence: Evidence) -> list[str]:
    """`validate quorum`."""
    lines = []
    for one in evidence["quorums"]:
        lines += [f"{one['quorum']} {name}: {counts_line(counts)}" for name, counts in one["suites"].items()]
        for found in one["disagreements"]:
            said = ", ".join(f"{name} {state.replace('_', ' ')}" for name, state in found["said"].items())
            lines.append(f"{one['quorum']} {found['kind'].replace('_', ' ')}: {found['test']}  ({said})")
        count = len(one["disagreements"])
        lines.append(f"{one['quorum']}: {count} disagreements" if count else f"{one['quorum']}: they agree")
    return lines


def counts_line(counts: dict[str, int]) -> str:
    """`3 passed, 0 failed, 1 skipped, 0 not run`."""
    return ", ".join(f"{counts[state]} {state.replace('_', ' ')}" for state in STATES)


def tier_lines(evidence: Evidence) -> list[str]:
    """A run of a tier."""
    lines = []
    for name, one in evidence["suites"].items():
        counts = f"{one['passed']} passed, {one['failed']} failed, {one['metrics']} measurements"
        lines.append(f"{name}: {counts} {one['trouble']}".rstrip())
    lines += [f"{name}: left out, {why}" for name, why in evidence["left_out"].items()]
    for one in evidence["findings"]:
        lines.append(f"{one['signature']} {one['suite']} {one['subject']}: {one['cause']}, {one['why']}")
        suspects = ", ".join(commit[:12] for commit in one["suspects"])
        lines += [f"  {one['answer'].replace('_', ' ')} {suspects}".rstrip()] if one["answer"] else []
        lines += [f"  {one['issue']}"] if one["issue"] else []
    spent = f", {evidence['gpu_hours']:.3f} GPU-hours" if evidence["gpu_hours"] else ""
    return [*lines, f"{evidence['tier']} on {evidence['revision'][:12]}: {evidence['verdict']}{spent}"]


def watched_lines(evidence: Evidence) -> list[str]:
    """One thing that `validate watch` did."""
    if "canaries" in evidence:
        return [f"canaries of {evidence['suite']}:", *canary_lines(evidence)]
    return tier_lines(evidence)


def watched_red(evidence: Evidence) -> bool:
    """Whether it is bad news."""
    return bool(evidence["missed"]) if "canaries" in evidence else evidence["verdict"] != "green"


def overview_lines(evidence: Evidence) -> list[str]:
    """`validate show`."""
    lines = [f"ALARM {alarm}" for alarm in evidence["alarms"]]
    for one in evidence["tiers"]:
        on = f" on {one['revision'][:12]} at {one['at']}" if "revision" in one else ""
        lines.append(f"tier {one['tier']}: {one['verdict']}{on}{', running' if one['running'] else ''}")
    for one in evidence["harnesses"]:
        caught = f"{one['detection_rate']:.0%} of {one['mutants']}" if one["mutants"] else "none of 0"
        missed = f"{one['missed']} of {one['flown']} canaries missed"
        lines.append(f"harness {one['suite']}: {caught} mutants caught, {missed}")
    for one in evidence["waivers"]:
        until = f"until {one['until']} ({one['state']}), used {one['used']} times"
        lines.append(f"waiver {one['tests']}: {one['by']} {until}")
    lines += [_failure_line(one) for one in evidence["failures"]]
    for one in evidence["requests"]:
        lines.append(f"request {one['request']} {one['suite']} on {one['revision'][:12]}: {one['state']}")
    if evidence["stable"]:
        lines.append(f"stable: {evidence['stable']['revision'][:12]}, by {evidence['stable']['by']}")
    lines += [f"{hours:10.3f} GPU-hours  {name}" for name, hours in evidence["gpu_hours"].items()]
    return lines or ["no tier is declared in headway.toml; what L1 alone did: `headway log show --stream validation`"]


def _failure_line(one: Evidence) -> str:
    suspects = ", ".join(commit[:12] for commit in one["suspects"])
    answer = f", {one['answer'].replace('_', ' ')} {suspects}".rstrip() if one["answer"] else ""
    return f"failure {one['signature']} {one['suite']} {one['subject']}: {one['cause']}{answer} {one['issue']}".rstrip()


def about_lines(evidence: Evidence) -> list[str]:
    """`validate show` of one thing: its document, a field a line."""
    shown = {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in evidence.items()}
    return [f"{name}: {value}" for name, value in shown.items()]


def request_lines(evidence: Evidence) -> list[str]:
    """`validate request`."""
    past = evidence["past_runs"]
    basis = f"from {past} past runs" if past else "the most its limits allow; no past run is known"
    lines = [f"request {evidence['request']}: {evidence['quote_gpu_hours']:g} GPU-hours ({basis})", ""]
    until = f"to be signed until {evidence['expires']}: {evidence['sign']}"
    return [*lines, *evidence["statement"].splitlines(), "", until]


def approval_lines(evidence: Evidence) -> list[str]:
    """`validate approve`."""
    if evidence["verdict"] != "passed":
        return refusal_lines(evidence)
    if evidence.get("revoked"):
        return [f"{evidence['request']} is revoked"]
    return [f"{evidence['request']} is approved by {evidence['by']} ({evidence['key']})"]


def l3_lines(evidence: Evidence) -> list[str]:
    """`validate run L3`."""
    if "counts" not in evidence:
        return refusal_lines(evidence)
    lines = [counts_line(evidence["counts"]), *(f"failed: {test}" for test in evidence["failed"])]
    lines += [f"{name} {value:g}" for name, value in evidence["metrics"].items()]
    lines.append(f"{evidence['gpu_hours']:g} of {evidence['quote_gpu_hours']:g} GPU-hours")
    return [*lines, *(["passed"] if evidence["verdict"] == "passed" else refusal_lines(evidence))]


def promotion_lines(evidence: Evidence) -> list[str]:
    """`validate promote`."""
    if evidence["verdict"] != "passed":
        return refusal_lines(evidence)
    was = f" (was {evidence['was'][:12]})" if evidence["was"] else ""
    return [f"{evidence['ref']} stands at {evidence['revision'][:12]}{was}"]


def fix_lines(evidence: Evidence) -> list[str]:
    """`validate fix`."""
    if evidence["verdict"] != "passed":
        return refusal_lines(evidence)
    return [
        f"{evidence['branch']} holds a fix that passed ({evidence['commit'][:12]})",
        f"it says: {evidence['hypothesis']}",
    ]
