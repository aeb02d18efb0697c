"""L3: what it will cost, what exactly is approved, and every reason for which an approval does not count. Pure.

An approval is an SSH signature of the request's statement: a few lines that name the request, the suite as it is
defined, the revision, the quote and the last moment. Any other bytes are another statement.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from headway.core.config_tiers import SuiteConfig
from headway.core.events_validate_tiers import SignoffRequested, SuiteReported
from headway.core.gates import PASSED, Refused, Verdict
from headway.core.names import Digest, Sha
from headway.core.ports.signatures import NotVerified, Verified
from headway.core.reasons import Reason
from headway.validate.overview import Overview, Request

HEADLINE = "headway sign-off 1"
MARGIN = 1.25
"""A quote is the median of past runs and a quarter more: GPUs are slower on some days."""


@dataclass(frozen=True, slots=True)
class Quote:
    """GPU-hours, and how many past runs of the suite as it is defined now they come from (0: the most it can take)."""

    gpu_hours: float
    past_runs: int


def quote(suite: SuiteConfig, definition: Digest, past: Iterable[SuiteReported]) -> Quote:
    """What a run will take, by whole runs of the same definition; without any, by the limits of its steps."""
    assert suite.steps is not None
    hours = [one.gpu_hours for one in past if one.definition == definition and not one.trouble]
    if hours:
        return Quote(round(median(hours) * MARGIN, 4), len(hours))
    limits = sum(step.timeout_seconds for step in (suite.steps.setup, suite.steps.build, suite.steps.test) if step)
    return Quote(round(suite.gpus * limits / 3600, 4), 0)


def request_id(parts: Sequence[str]) -> str:
    """Ten hex digits; `parts` hold something that no earlier request had."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


def statement(
    request: str, fork: str, suite: str, definition: Digest, revision: Sha, hours: float, expires: str
) -> bytes:
    """The bytes to sign: lines of ASCII, each ended by a line feed."""
    fields = {
        "request": request,
        "fork": fork,
        "suite": suite,
        "definition": definition,
        "revision": revision,
        "gpu-hours": f"{hours:.4f}",
        "expires": expires,
    }
    return "".join(f"{line}\n" for line in (HEADLINE, *(f"{k}: {v}" for k, v in fields.items()))).encode()


def difference(expected: bytes, handed: bytes) -> str:
    """What was changed in a statement, as one clause; "" if nothing."""
    if handed == expected:
        return ""
    if handed.replace(b"\r\n", b"\n") == expected:
        return "its lines end as on Windows (carriage returns)"
    for ours, theirs in zip(expected.splitlines(), handed.splitlines(), strict=False):
        if ours != theirs:
            name = ours.partition(b":")[0].decode()
            return f"its line {name!r} reads {theirs.decode('utf-8', 'replace')!r}, not {ours.decode()!r}"
    return "it is cut off or has more at its end"


def may_approve(request: Request, now: datetime, definition: Digest) -> Verdict:
    """Whether this request can be approved at all, before any signature is looked at."""
    asked = request.asked
    if request.revoked is not None:
        return Refused(
            Reason.REVOKED, f"The request {asked.request} was revoked by {request.revoked.by}.", "Request it anew."
        )
    if request.ran is not None:
        return Refused(
            Reason.REPLAYED, f"The approval of {asked.request} was used: its run took place.", "Request another run."
        )
    if now > datetime.fromisoformat(asked.expires):
        return Refused(Reason.EXPIRED, f"The request {asked.request} expired at {asked.expires}.", "Request it anew.")
    if definition != asked.definition:
        return Refused(
            Reason.NOT_APPROVED,
            f"The suite {asked.suite} is defined otherwise than when {asked.request} was requested.",
            "Request it anew: an approval is of one suite as it is.",
        )
    return PASSED


def judge_signature(
    request: Request, found: Verified | NotVerified, also_good_for: str, handed_difference: str
) -> Verdict:
    """The verdict on a signature. `also_good_for`: another request whose statement it signs, "" if none."""
    asked = request.asked
    if handed_difference:
        return Refused(
            Reason.EDITED,
            f"What was handed in is not the statement of {asked.request}: {handed_difference}.",
            "Sign the statement byte by byte as `validate request` wrote it.",
        )
    if isinstance(found, Verified):
        return PASSED
    if found.revoked:
        return Refused(Reason.REVOKED, f"The approval is not accepted: {found.why}.", "Sign with a key that is valid.")
    if also_good_for:
        return Refused(
            Reason.REPLAYED,
            f"The signature is of another request ({also_good_for}), not of {asked.request}.",
            "Every request is signed for itself.",
        )
    return Refused(
        Reason.BAD_SIGNATURE,
        f"The signature does not approve {asked.request}: {found.why}.",
        "Let a listed approver sign this request's statement.",
    )


def may_run(request: Request, now: datetime, definition: Digest) -> Verdict:
    """Whether the approved run may begin."""
    verdict = may_approve(request, now, definition)
    if verdict.kind == "passed" and request.approved is None:
        return Refused(
            Reason.NOT_APPROVED,
            f"Nobody has approved {request.asked.request}.",
            "`headway validate approve` takes a listed approver's signature.",
        )
    return verdict


def may_promote(seen: Overview, needs: Sequence[str], revision: Sha) -> tuple[Verdict, str]:
    """(verdict, the request whose signature counts). Every tier green and a signed, green L3 on exactly `revision`."""
    for tier in needs:
        if not seen.green_on(tier, revision):
            ended = seen.ended.get(tier)
            stands = f"its last run was {ended[1].verdict} on {ended[1].revision[:12]}" if ended else "it never ran"
            return Refused(
                Reason.NOT_GREEN, f"{tier} is not green on {revision[:12]}: {stands}.", f"Run {tier} on it first."
            ), ""
    mine = [one for one in seen.requests.values() if one.asked.revision == revision and one.ran is not None]
    red = next((one for one in mine if one.ran is not None and not one.ran.green), None)
    if red is not None:
        return Refused(
            Reason.NOT_GREEN,
            f"The L3 run of {red.asked.suite} on {revision[:12]} (request {red.asked.request}) was red.",
            "Mend it, and request it on the mended revision.",
        ), ""
    signed = next((one for one in mine if one.approved is not None and one.revoked is None), None)
    if signed is None:
        return Refused(
            Reason.NOT_APPROVED,
            f"No signed L3 run is known of {revision[:12]}.",
            "An approval is of one revision; request L3 on this one.",
        ), ""
    return PASSED, signed.asked.request


def signed_for(requests: Mapping[str, SignoffRequested], signs: Iterable[str], this: str) -> str:
    """The first other request among `signs`, in words; "" if none."""
    other = next((name for name in signs if name != this), None)
    return f"{other} of {requests[other].revision[:12]}" if other else ""
