"""`validate show`: the room's state as one document, and its alarms. Pure."""

from collections import Counter
from dataclasses import asdict
from datetime import date, datetime

from headway.core.config_tiers import TiersConfig, Waiver
from headway.validate.overview import Failure, Overview, Request
from headway.validate.schedule import Appointment, appointments
from headway.validate.waivers import granted

SHOW_SCHEMA = "headway.validate/1"


def document(tiers: TiersConfig, seen: Overview, now: datetime) -> dict[str, object]:
    """Everything, newest facts only. `alarms` is not empty where the platform itself is not to be trusted."""
    return {
        "schema": SHOW_SCHEMA,
        "at": now.isoformat(timespec="seconds"),
        "alarms": alarms(tiers, seen, now),
        "tiers": [_tier(tier.name, seen) for tier in tiers.tiers],
        "clock": [_appointment(one) for one in appointments(tiers, seen, now)],
        "suites": [_suite(name, seen) for name in seen.reports if seen.reports[name]],
        "harnesses": [_harness(name, seen) for name in seen.flights if seen.flights[name]],
        "quorums": [{"at": _time(when), **asdict(one)} for when, one in seen.quorums.values()],
        "waivers": waiver_rows(tiers, seen, now.date()),
        "failures": [_failure(one) for one in seen.failures.values() if one.closed is None],
        "closed": sum(one.closed is not None for one in seen.failures.values()),
        "requests": [_request(one, now) for one in seen.requests.values()],
        "stable": asdict(seen.promoted[1]) if seen.promoted else None,
        "gpu_hours": seen.gpu_hours(),
    }


def alarms(tiers: TiersConfig, seen: Overview, now: datetime) -> list[str]:
    """Sentences. A red test is no alarm; a tier, harness or canary that does not do its work is."""
    found = [one.words for one in appointments(tiers, seen, now) if one.state == "overdue"]
    floors = {suite: tier.detection_floor for tier in tiers.tiers for suite in tier.suites}
    for suite, flights in seen.flights.items():
        if not flights:
            continue
        newest = flights[-1][1]
        if newest.missed:
            found.append(f"the harness of {suite} missed {newest.missed} known-bad changes that it had to turn red")
        rate = newest.mutants_caught / newest.mutants if newest.mutants else 1.0
        if rate < floors.get(suite, 0.0):
            found.append(f"the harness of {suite} caught {rate:.0%} of the mutants, and {floors[suite]:.0%} are asked")
    for _, taken in seen.quorums.values():
        if taken.disagreements:
            names = " and ".join(taken.suites)
            found.append(f"{names} disagree about {taken.disagreements} tests (quorum {taken.quorum})")
    for _, ended in seen.ended.values():
        found += [f"{one.suite} of {ended.tier} did not run: {one.message}" for one in seen.left_out[ended.run]]
    return found


def waiver_rows(tiers: TiersConfig, seen: Overview, today: date) -> list[dict[str, object]]:
    """Every waiver with how often L1 passed by it; one past its day is `expired`, one that was used and is not
    declared any more is `gone`."""
    used = Counter((one.waiver, one.by) for _, one in seen.waived)
    rows: list[dict[str, object]] = []
    for waiver in (*tiers.waivers, *granted(seen.waivers)):
        state = "expired" if today > waiver.until else "alive"
        rows.append({**_waiver(waiver), "state": state, "used": used[waiver.tests, waiver.by]})
    declared = {(row["tests"], row["by"]) for row in rows}
    for (tests, by), times in used.items():
        if (tests, by) not in declared:
            rows.append({"tests": tests, "by": by, "reason": "", "until": "", "state": "gone", "used": times})
    return rows


def _appointment(one: Appointment) -> dict[str, object]:
    return {**asdict(one), "last": _time(one.last), "due": _time(one.due)}


def _waiver(waiver: Waiver) -> dict[str, object]:
    return {"tests": waiver.tests, "by": waiver.by, "reason": waiver.reason, "until": waiver.until.isoformat()}


def _tier(name: str, seen: Overview) -> dict[str, object]:
    ended = seen.ended.get(name)
    if ended is None:
        return {"tier": name, "verdict": "never ran", "running": seen.interrupted(name)}
    when, last = ended
    return {**asdict(last), "at": _time(when), "running": seen.interrupted(name)}


def _suite(name: str, seen: Overview) -> dict[str, object]:
    when, one = list(seen.reports[name].values())[-1]
    kept = ("suite", "revision", "run", "bound", "trouble", "passed", "failed", "skipped", "not_run", "metrics")
    return {**{key: value for key, value in asdict(one).items() if key in kept}, "at": _time(when)}


def _harness(name: str, seen: Overview) -> dict[str, object]:
    """The newest flight, and the detection rate over all of them."""
    flights = [one for _, one in seen.flights[name]]
    mutants, caught = sum(one.mutants for one in flights), sum(one.mutants_caught for one in flights)
    newest = flights[-1]
    return {
        "suite": name,
        "at": _time(seen.flights[name][-1][0]),
        "flown": newest.flown,
        "missed": newest.missed,
        "detection_rate": caught / mutants if mutants else None,
        "mutants": mutants,
    }


def _failure(one: Failure) -> dict[str, object]:
    return {
        "signature": one.found.signature,
        "suite": one.found.suite,
        "kind": one.found.kind,
        "subject": one.found.subject,
        "tests": one.found.tests,
        "cause": one.found.cause,
        "good": one.found.good,
        "bad": one.found.bad,
        "first": _time(one.first),
        "last": _time(one.last),
        "times": one.times,
        "answer": one.answer.kind if one.answer else "",
        "suspects": list(one.answer.suspects) if one.answer else [],
        "posterior": one.answer.posterior if one.answer else None,
        "issue": one.issue.url if one.issue else "",
        "fix": one.fix.branch if one.fix else "",
    }


def _request(one: Request, now: datetime) -> dict[str, object]:
    return {
        "request": one.asked.request,
        "suite": one.asked.suite,
        "revision": one.asked.revision,
        "quote_gpu_hours": one.asked.quote_gpu_hours,
        "by": one.asked.by,
        "state": state_of(one, now),
        "approved_by": one.approved.by if one.approved else "",
        "refused": len(one.refusals),
        "gpu_hours": one.ran.gpu_hours if one.ran else 0.0,
    }


def state_of(one: Request, now: datetime) -> str:
    """`requested`, `approved`, `revoked`, `expired`, `green` or `red`."""
    if one.revoked is not None:
        return "revoked"
    if one.ran is not None:
        return "green" if one.ran.green else "red"
    if now > datetime.fromisoformat(one.asked.expires):
        return "expired"
    return "approved" if one.approved else "requested"


def _time(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment else ""
