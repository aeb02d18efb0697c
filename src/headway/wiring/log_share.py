"""`headway log push` and `pull`: the log as a ref of a git remote, for machines whose disks are thrown away.

A push is a compare-and-swap of `refs/headway/log`. Two machines that both wrote are told so; nothing is merged.
"""

import os
from pathlib import Path

from headway.adapters.log_ref import LOG_REF, LogRef, Standing, compared
from headway.adapters.state_place import git_common_dir, state_of_folder
from headway.core.errors import HeadwayError
from headway.wiring.state import open_state


def push_log(option: Path | None, remote: str, *, dry_run: bool = False) -> str:
    """Send what the remote does not have. Raises HeadwayError where the remote's log is not a beginning of ours."""
    root = state_of_folder(Path.cwd(), option, os.environ)
    with open_state(root, read_only=True) as state:
        ref = LogRef(root, _owner(), remote)
        there = ref.fetched()
        standing = compared(state.log.read_all(), ref.records(there))
        _refuse_parted(standing, ref.remote.name)
        if standing.there > standing.here:
            raise HeadwayError(
                f"The log on {ref.remote.name} has {standing.there - standing.here} records that this one lacks.",
                f"Run `headway log pull {ref.remote.name}` first.",
            )
        new = standing.here - standing.there
        if new == 0:
            return f"{ref.remote.name} has all {standing.here} records already."
        if dry_run:
            return f"Would push {new} records to {ref.remote.name} ({LOG_REF})."
        blobs = (state.blobs.path_of(blob) for blob in state.blobs.all_ids())
        commit = ref.compose(state.log.read_all(), blobs, root / "blobs", there)
        ref.remote.push(commit, LOG_REF, there)
    return f"Pushed {new} records to {ref.remote.name} ({LOG_REF} at {commit[:12]})."


def pull_log(option: Path | None, remote: str, *, dry_run: bool = False) -> str:
    """Take over what the remote has beyond ours; a state folder that is not there yet is made."""
    root = state_of_folder(Path.cwd(), option, os.environ)
    ref = LogRef(root, _owner(), remote)
    there = ref.fetched()
    if there is None:
        return f"{ref.remote.name} has no log yet."
    with open_state(root) as state, state.lock():
        standing = compared(state.log.read_all(), ref.records(there))
        _refuse_parted(standing, ref.remote.name)
        if standing.there <= standing.here:
            ahead = standing.here - standing.there
            more = f"; {ahead} records here are not there yet" if ahead else ""
            return f"Nothing new on {ref.remote.name}: {standing.there} records{more}."
        new = standing.there - standing.here
        if dry_run:
            return f"Would take {new} records from {ref.remote.name}."
        brought = ref.bring_blobs(there, root / "blobs")
        last = state.log.last_position()
        state.log.take_over([record for record in ref.records(there) if record.position > last])
    return f"Took {new} records and {brought} blobs from {ref.remote.name}."


def _owner() -> Path | None:
    return Path.cwd() if git_common_dir(Path.cwd()) is not None else None


def _refuse_parted(standing: Standing, name: str) -> None:
    if standing.parts_at:
        raise HeadwayError(
            f"The log here and the one on {name} part at position {standing.parts_at}: two machines wrote it after "
            "the same pull.",
            "Keep one: move this state folder away and pull, or delete refs/headway/log there and push. What the other "
            "one landed is found again by `headway sync adopt`.",
        )
