"""Where an owner's repository keeps its things, and a fingerprint of what only the owner may change."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from headway.adapters import processes
from headway.core.config import CONFIG_NAME
from headway.core.errors import HeadwayError
from headway.core.ports.workspace import OwnerFingerprint

_FILES = ("config", "config.worktree", "objects/info/alternates", "info/attributes", "info/grafts", "shallow")


@dataclass(frozen=True, slots=True)
class OwnerPlaces:
    """Absolute folders of one repository; `work_tree` is None for a bare one."""

    common: Path
    objects: Path
    object_format: str
    work_tree: Path | None

    def packed_tags(self) -> str:
        """The owner's tags as lines of a packed-refs file."""
        form = "--format=%(objectname) %(refname)%(if)%(*objectname)%(then)%0a^%(*objectname)%(end)"
        tags = _git(self.common, "for-each-ref", "--sort=refname", form, "refs/tags").text
        return f"{tags}\n" if tags else ""


def places_of(owner: Path) -> OwnerPlaces:
    """Ask git. Raises HeadwayError if `owner` is no repository."""
    asked = ("rev-parse", "--path-format=absolute", "--git-common-dir", "--git-path", "objects")
    found = processes.run(("git", "-C", str(owner), *asked, "--show-object-format"), ok=None)
    if found.code != 0:
        raise HeadwayError(f"{owner} is not a git repository.", "Name a folder that git knows.")
    common, objects, object_format = found.text.splitlines()
    top = processes.run(("git", "-C", str(owner), "rev-parse", "--show-toplevel"), ok=None)
    return OwnerPlaces(Path(common), Path(objects), object_format, Path(top.text) if top.code == 0 else None)


def state_of(places: OwnerPlaces) -> OwnerFingerprint:
    """Refs, the heads of every linked worktree, config, hooks, and headway.toml, each by value or digest."""
    facts: dict[str, str] = {}
    for line in _git(places.common, "for-each-ref", "--format=%(refname) %(objectname) %(symref)").text.splitlines():
        name, _, value = line.partition(" ")
        facts[f"ref {name}"] = value.strip()
    heads = [places.common / "HEAD", *places.common.glob("worktrees/*/HEAD")]
    for head in heads:
        facts[f"head {head.parent.name}"] = head.read_text().strip() if head.exists() else "absent"
    named = {f"file {name}": places.common / name for name in _FILES}
    named |= {f"hook {hook.name}": hook for hook in (places.common / "hooks").glob("*")}
    if places.work_tree is not None:
        named[CONFIG_NAME] = places.work_tree / CONFIG_NAME
    for name, path in named.items():
        if path.is_file():
            facts[name] = f"{hashlib.sha256(path.read_bytes()).hexdigest()[:16]} mode {path.stat().st_mode & 0o777:o}"
    return OwnerFingerprint(facts)


def _git(common: Path, *args: str) -> processes.Ran:
    return processes.run(("git", f"--git-dir={common}", *args))
