"""`validate request`, `approve`, `run L3` and `promote`: sign-off with real signatures, runs and refs."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path, PurePosixPath

from headway.adapters.git_history import GitHistory
from headway.adapters.git_refs import move, refuse_checked_out, stands_at
from headway.adapters.ssh_signatures import NAMESPACE, SshSignatures
from headway.core.config_tiers import SuiteConfig
from headway.core.errors import HeadwayError
from headway.core.events_validate_tiers import (
    Promoted,
    SignoffApproved,
    SignoffRan,
    SignoffRefused,
    SignoffRequested,
    SignoffRevoked,
)
from headway.core.gates import PASSED, NotDecided, Refused, Verdict
from headway.core.journey import drive
from headway.core.names import Digest, Sha, StreamId
from headway.core.ports.signatures import NotVerified, Signatures, Verified
from headway.core.ports.workspace import CloneRequest
from headway.core.reasons import Reason
from headway.validate.booking import report_of, run_here
from headway.validate.environment import suite_key
from headway.validate.known import SuiteKey
from headway.validate.overview import Overview, Request
from headway.validate.promotion import promotion_journey
from headway.validate.signoff import (
    difference,
    judge_signature,
    may_approve,
    may_promote,
    may_run,
    quote,
    request_id,
    signed_for,
    statement,
)
from headway.validate.suite_run import run_suite
from headway.wiring.validate_room import Answer, Asked, Room, opened
from headway.wiring.validate_watch import limited, overview_of

REQUEST_SCHEMA, APPROVE_SCHEMA = "headway.signoff_request/1", "headway.signoff_approval/1"
RUN_SCHEMA, PROMOTE_SCHEMA = "headway.signoff_run/1", "headway.promotion/1"
REVOKED_KEYS = "revoked_signers"
"""Beside `allowed_signers` on trunk, where there is one: keys as `ssh-keygen` reads them."""


def request(asked: Asked, suite_name: str, revision: str, by: str, reason: str, out: Path | None) -> Answer:
    """Ask for an L3 run: a quote, and the statement that an approver signs (also written to `out`)."""
    with opened(asked) as room:
        suite, commit = room.suite(suite_name), room.commit(revision)
        key, seen = _key(room, suite), overview_of(room)
        cost = quote(suite, key.suite, seen.past(suite.name))
        hours = timedelta(hours=room.config.tiers.signoff.valid_hours)
        expires = (room.clock.now() + hours).isoformat(timespec="seconds")
        number = str(len(seen.requests))
        name = request_id((room.config.fork.id, suite.name, commit, key.suite, expires, number))
        text = statement(name, room.config.fork.id, suite.name, key.suite, commit, cost.gpu_hours, expires)
        room.append(
            SignoffRequested(
                name, suite.name, key.suite, commit, cost.gpu_hours, cost.past_runs, expires, by, reason,
                room.state.blobs.put(text),
            )
        )  # fmt: skip
        if out is not None:
            _write(out, text)
        sign = f"ssh-keygen -Y sign -f KEY -n {NAMESPACE} {out or 'STATEMENT'}"
        return Answer(
            {
                "schema": REQUEST_SCHEMA,
                "request": name,
                "suite": suite.name,
                "revision": commit,
                "quote_gpu_hours": cost.gpu_hours,
                "past_runs": cost.past_runs,
                "expires": expires,
                "owners": list(suite.owners),
                "statement": text.decode(),
                "sign": sign,
            },
            room.notes,
        )


def approve(
    asked: Asked,
    name: str,
    by: str,
    signature: Path | None,
    key: Path | None,
    handed: Path | None,
    signatures: Signatures | None = None,
) -> Answer:
    """Take a listed approver's signature of a request's statement, or refuse it; either is recorded."""
    ssh = signatures or SshSignatures()
    with opened(asked) as room:
        seen = overview_of(room)
        one = _request(seen, name)
        text = room.text(one.asked.statement)
        changed = difference(text, _read(handed)) if handed is not None else ""
        signed = ssh.sign(text, key) if key is not None else _read(signature) if signature is not None else b""
        verdict = may_approve(one, room.clock.now(), _definition(room, one))
        found: Verified | NotVerified = NotVerified("nothing was signed", of_these_bytes=False)
        if verdict.kind == "passed":
            allowed, revoked = _signers(room)
            found = ssh.verify(text, signed, by, allowed, revoked)
            others = () if isinstance(found, Verified) or found.of_these_bytes else _also(room, ssh, seen, signed)
            told = signed_for({n: r.asked for n, r in seen.requests.items()}, others, name)
            verdict = judge_signature(one, found, told, changed)
        if isinstance(verdict, Refused):
            room.append(SignoffRefused(name, by, verdict.reason.value, room.state.blobs.put(verdict.message)))
            return Answer(_refusal(APPROVE_SCHEMA, verdict), room.notes)
        assert isinstance(found, Verified)
        room.append(SignoffApproved(name, by, found.key, room.state.blobs.put(signed)))
        said = {"request": name, "by": by, "key": found.key, "suite": one.asked.suite, "revision": one.asked.revision}
        return Answer({"schema": APPROVE_SCHEMA, "verdict": "passed", **said}, room.notes)


def revoke(asked: Asked, name: str, by: str, reason: str) -> Answer:
    """Take a request, and its approval, back."""
    with opened(asked) as room:
        _request(overview_of(room), name)
        room.append(SignoffRevoked(name, by, reason))
        return Answer({"schema": APPROVE_SCHEMA, "verdict": "passed", "request": name, "revoked": True}, room.notes)


def run_l3(asked: Asked, name: str, say: Callable[[str], None]) -> Answer:
    """Run what was approved, within its GPU-hours. The approval is used up whatever comes out."""
    with opened(asked) as room:
        one = _request(overview_of(room), name)
        verdict = may_run(one, room.clock.now(), _definition(room, one))
        if isinstance(verdict, Refused):
            return Answer(_refusal(RUN_SCHEMA, verdict), room.notes)
        suite, wanted = room.suite(one.asked.suite), one.asked
        assert suite.steps is not None
        seconds = wanted.quote_gpu_hours * 3600 / suite.gpus if suite.gpus else None
        steps = limited(suite.steps, seconds) if seconds else suite.steps
        say(f"L3 {suite.name} on {wanted.revision[:12]}: at most {wanted.quote_gpu_hours:g} GPU-hours …")
        started = room.clock.now()
        clone = CloneRequest(room.repository.top, wanted.revision, (), steps.cache)
        with room.ports.workspaces.checkout(clone) as checkout:
            result = run_suite(steps, checkout, room.ports)
        took = (room.clock.now() - started).total_seconds()
        purpose = f"request {name} {wanted.revision[:12]}"
        of = run_here(suite, _key(room, suite), purpose, f"request-{name}", started.isoformat(), took)
        report = report_of(suite, result, room.state.blobs, of)
        over = seconds is not None and result.trouble == "timed_out"
        ran = SignoffRan(name, wanted.revision, report.green, report.gpu_hours, report.results)
        room.append(report, ran)
        message = f"It was stopped when its {wanted.quote_gpu_hours:g} GPU-hours were spent." if over else result.detail
        return Answer(
            {
                "schema": RUN_SCHEMA,
                "verdict": "passed" if report.green else "refused",
                "reason": "" if report.green else "budget" if over else "tests_failed",
                "message": message or ("" if report.green else "The suite is red."),
                "next": "" if report.green else "Mend it, and request L3 on the mended revision.",
                "request": name,
                "revision": wanted.revision,
                "counts": dict(result.counts),
                "failed": sorted(result.failed()),
                "metrics": {metric.name: metric.value for metric in result.metrics},
                "gpu_hours": report.gpu_hours,
                "quote_gpu_hours": wanted.quote_gpu_hours,
            },
            room.notes,
        )


def promote(asked: Asked, revision: str, by: str) -> Answer:
    """Move the stable branch to a revision whose tiers are green and whose L3 is signed and green."""
    with opened(asked) as room:
        settings, commit = room.config.tiers.signoff, room.commit(revision)
        verdict, signed = may_promote(overview_of(room), settings.needs, commit)
        git, ref = room.repository.git, f"refs/heads/{settings.stable}"
        was = stands_at(git, ref)
        if verdict.kind == "passed" and was is not None:
            verdict = _forward(room, was, commit, settings.stable)
        if isinstance(verdict, Refused | NotDecided):
            return Answer(_refusal(PROMOTE_SCHEMA, verdict), room.notes)
        refuse_checked_out(git, ref)
        wanted = Promoted(ref, commit, was or "", signed, by)
        if was != commit:
            home = StreamId(f"{room.home}.promote")
            journey = promotion_journey(
                home, room.home, wanted, lambda name: stands_at(git, name), lambda n, new, old: move(git, n, new, old)
            )
            drive(journey, room.state.log)
        return Answer({"schema": PROMOTE_SCHEMA, "verdict": "passed", **asdict(wanted)}, room.notes)


def _forward(room: Room, was: Sha, commit: Sha, stable: str) -> Verdict:
    if GitHistory(room.repository.git).merge_base(was, commit) == was:
        return PASSED
    return Refused(
        Reason.OTHER_REVISION,
        f"{stable} stands at {was[:12]}, which is no ancestor of {commit[:12]}.",
        "Stable only goes forward; move it back by hand, and say why, if that is meant.",
    )


def _request(seen: Overview, name: str) -> Request:
    if name not in seen.requests:
        raise HeadwayError(f"There is no request {name!r}.", "`headway validate show` lists the requests.")
    return seen.requests[name]


def _key(room: Room, suite: SuiteConfig) -> SuiteKey:
    assert suite.steps is not None
    return suite_key(suite.steps, room.ports.environ)


def _definition(room: Room, one: Request) -> Digest:
    """The suite as it is defined now; of a suite that is gone, nothing that anybody approved."""
    try:
        return _key(room, room.suite(one.asked.suite)).suite
    except HeadwayError:
        return Digest("")


def _signers(room: Room) -> tuple[bytes, bytes]:
    """The lists on trunk; never those of the tree that is to be approved."""
    trunk, path = f"refs/heads/{room.config.fork.trunk}", room.config.tiers.signoff.allowed_signers
    allowed = room.repository.file_at(trunk, path)
    if allowed is None:
        raise HeadwayError(
            f"{room.config.fork.trunk} has no file {path!r}, so nobody may approve.",
            "Commit one line for each approver: NAME KEYTYPE KEY, as for git's gpg.ssh.allowedSignersFile.",
        )
    beside = str(PurePosixPath(path).with_name(REVOKED_KEYS))
    return allowed, room.repository.file_at(trunk, beside) or b""


def _also(room: Room, ssh: Signatures, seen: Overview, signed: bytes) -> tuple[str, ...]:
    """Requests whose statement this signature signs: what is replayed here."""
    found = []
    for name, one in seen.requests.items():
        told = ssh.verify(room.text(one.asked.statement), signed, "nobody", b"")
        if isinstance(told, NotVerified) and told.of_these_bytes:
            found.append(name)
    return tuple(found)


def _refusal(schema: str, verdict: Refused | NotDecided) -> dict[str, object]:
    return {
        "schema": schema,
        "verdict": verdict.kind,
        "reason": verdict.reason.value,
        "message": verdict.message,
        "next": verdict.next,
    }


def _read(path: Path | None) -> bytes:
    if path is None:
        return b""
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise HeadwayError(f"{path} cannot be read: {fault.strerror}.", "Name a file that is there.") from fault
    return content[: 1 << 20]


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as fault:
        raise HeadwayError(f"{path} cannot be written: {fault.strerror}.", "Name another file with --out.") from fault
