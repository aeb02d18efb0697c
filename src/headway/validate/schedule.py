"""What is due, and what is overdue: a scheduler that died skips everything silently. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from headway.core.config_tiers import TierConfig, TiersConfig
from headway.validate.overview import Overview

State = Literal["waiting", "due", "overdue"]
Kind = Literal["tier", "report", "canary"]


@dataclass(frozen=True, slots=True)
class Appointment:
    """`kind`: a tier's run, a suite's report, a harness's canaries. `last` None: never."""

    kind: Kind
    name: str
    tier: str
    last: datetime | None
    due: datetime | None
    state: State

    @property
    def words(self) -> str:
        """For people."""
        what = {"tier": "the tier", "report": "a report of", "canary": "the canaries of"}[self.kind]
        last = f"the last was at {self.last.isoformat(timespec='seconds')}" if self.last else "there never was one"
        return f"{what} {self.name} is {self.state}: {last}"


def appointments(tiers: TiersConfig, seen: Overview, now: datetime) -> tuple[Appointment, ...]:
    """Everything that a clock rules, in the order of headway.toml."""
    return tuple(appointment for tier in tiers.tiers for appointment in _of_tier(tier, tiers, seen, now))


def due_tiers(tiers: TiersConfig, seen: Overview, now: datetime) -> tuple[TierConfig, ...]:
    """Tiers whose turn it is, and those whose run was interrupted."""
    wanted = {one.name for one in appointments(tiers, seen, now) if one.kind == "tier" and one.state != "waiting"}
    return tuple(tier for tier in tiers.tiers if tier.name in wanted or seen.interrupted(tier.name))


def due_canaries(tiers: TiersConfig, seen: Overview, now: datetime) -> tuple[tuple[TierConfig, str], ...]:
    """(tier, suite) whose harness is to be shown known-bad changes."""
    found = [one for one in appointments(tiers, seen, now) if one.kind == "canary" and one.state != "waiting"]
    return tuple((tiers.tier(one.tier), one.name) for one in found)


def _of_tier(tier: TierConfig, tiers: TiersConfig, seen: Overview, now: datetime) -> Iterator[Appointment]:
    if tier.every_seconds is not None:
        grace = timedelta(seconds=tier.grace_seconds)
        every = timedelta(seconds=tier.every_seconds)
        begun, ended = seen.tier_begun(tier.name), seen.tier_ended(tier.name)
        # due by its beginning, overdue by its end: one that begins and never ends has not been done
        state = _state(begun, ended, every, grace, now)
        yield Appointment("tier", tier.name, tier.name, ended, begun + every if begun else None, state)
        for name in tier.suites:
            last = seen.reported(name)
            yield Appointment("report", name, tier.name, last, None, _state(last, last, every, grace, now))
    if tier.canaries_every_seconds is not None:
        every = timedelta(seconds=tier.canaries_every_seconds)
        for name in tier.suites:
            if not tiers.suite(name).remote:
                last = seen.canaried(name)
                state = _state(last, last, every, every / 2, now)
                yield Appointment("canary", name, tier.name, last, last + every if last else None, state)


def _state(begun: datetime | None, ended: datetime | None, every: timedelta, grace: timedelta, now: datetime) -> State:
    if ended is None or now > ended + every + grace:
        return "overdue"
    return "due" if begun is None or now >= begun + every else "waiting"
