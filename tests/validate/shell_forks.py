"""A fork whose suites are a few lines of shell: every file of `checks/` is a test, `cost` is what is measured."""

from dataclasses import dataclass
from pathlib import Path

from headway.adapters.folder_forge import FolderForge
from headway.core.names import Sha
from tests.sync.repos import Repo, new_repo

RUN = r"""
red=0
{ echo '<testsuite>'
  for check in checks/*; do
    name=$(basename "$check")
    if said=$(sh "$check" 2>&1); then echo "<testcase classname='checks' name='$name'/>"
    else red=1; echo "<testcase classname='checks' name='$name'><failure message='$said'/></testcase>"; fi
  done
  echo '</testsuite>'; } > report.xml
exit $red
"""
MEASURE = "sed 's/^/engine_time /; s/$/ s/' cost > speed.txt\n"
FILES: dict[str, str | bytes | None] = {
    "run.sh": RUN,
    "measure.sh": MEASURE,
    "engine.sh": "double() { echo $(( $1 * 2 )); }\n",
    "cost": "1.00\n",
    "checks/doubles": '. ./engine.sh; [ "$(double 3)" = 6 ] || { echo "double returned wrong product"; exit 1; }\n',
    "checks/sees": ". ./engine.sh; double 1 > /dev/null\n",
}
TOML = """
[upstream]
url = "../upstream"
[fork]
id = "toy"
[l1]
test = "sh run.sh"
junit = ["report.xml"]
canary_paths = ["engine.sh"]
[forge]
kind = "folder"
repository = "../forge"
[[suite]]
name = "unit"
test = "sh run.sh"
junit = ["report.xml"]
canary_paths = ["engine.sh"]
owners = ["@ann", "@org/compilers"]
[[suite]]
name = "speed"
test = "sh measure.sh"
metrics = ["speed.txt"]
canary_paths = ["engine.sh"]
method_paths = ["measure.sh"]
gpus = 8
[[tier]]
name = "L2"
suites = ["unit", "speed"]
every = "24h"
culprit_budget = "10m"
"""
WRONG = "double() { echo $(( $1 * 3 )); }\n"


@dataclass
class ShellFork:
    """The fork and its forge."""

    repo: Repo
    forge: FolderForge

    def commit(self, subject: str, files: dict[str, str | bytes | None]) -> Sha:
        return self.repo.commit(subject, files)

    def issues(self) -> list[dict]:
        return list(self.forge.rows()["issues"].values())


def new_shell_fork(folder: Path, toml: str = TOML, files: dict[str, str | bytes | None] | None = None) -> ShellFork:
    repo = new_repo(folder / "fork", "Fork Owner")
    repo.commit("base", {**FILES, "headway.toml": toml, **(files or {})})
    return ShellFork(repo, FolderForge.create(folder / "forge"))
