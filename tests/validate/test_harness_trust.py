"""Harnesses are not believed: seven ways to lose tests silently, each named with the lost identities on the first run;
and twenty honest reshuffles that are no alarm. Real pytest, real xdist, real lit."""

import os
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from headway.core.config import L1Config, StepConfig
from headway.core.gates import Passed, Refused
from headway.core.names import Sha, TreeId
from headway.core.reasons import Reason
from headway.validate.census import Inventory, compare, losses, silent_skips, some_silent_skips
from headway.validate.harness.pytest_report import PLUGIN_FOLDER, environment, read_pytest
from headway.validate.quorum import reconcile
from headway.validate.reports import Damaged, read_junit
from headway.validate.results import SuiteResult, result_from_json
from tests.validate.suites import Fork, new_fork

Files = dict[str, str | bytes | None]
SUITE: Files = {
    "engine/__init__.py": "def add(a, b): return a + b\n",
    "tests/checks.py": None,
    "tests/__init__.py": None,
    "run_checks.py": None,
    "tests/test_ops.py": (
        "import engine\n\ndef test_add():\n    assert engine.add(2, 2) == 4\n\ndef test_env():\n    pass\n"
    ),
    "tests/test_params.py": (
        "import pytest\n\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_n(n):\n    assert n\n\n"
        "class TestGroup:\n    def test_in(self):\n        pass\n"
    ),
}
PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider -p no:randomly"
EVERYTHING = {
    "tests/test_ops.py::test_add", "tests/test_ops.py::test_env", "tests/test_params.py::test_n[1]",
    "tests/test_params.py::test_n[2]", "tests/test_params.py::test_n[3]", "tests/test_params.py::TestGroup::test_in",
}  # fmt: skip


def l1(command: str = PYTEST, harness: str = "pytest") -> L1Config:
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the fork's own choice, and quicker
    return L1Config(test=StepConfig(command, timeout_seconds=100), harness=harness, set_env=env)  # type: ignore[arg-type]


@pytest.fixture
def fork(tmp_path: Path) -> Fork:
    fork = new_fork(tmp_path)
    fork.base = fork.repo.commit("pytest suite", SUITE)
    return fork


def in_fork(fork: Fork, files: Files, command: str = PYTEST, harness: str = "pytest") -> SuiteResult:
    return fork.check(fork.change(f"x {len(fork.repo.made)}", files), l1=l1(command, harness)).change


class Folder:
    """A suite in a plain folder; pytest runs in a forked child of this very process, which has imported it already."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = 0

    def run(self, files: Files, *commands: str) -> SuiteResult:
        self.runs += 1
        clone = self.root / str(self.runs)
        for name, text in {**SUITE, **files}.items():
            if text is not None:
                (clone / name).parent.mkdir(parents=True, exist_ok=True)
                (clone / name).write_text(str(text))
        for command in commands or ("",):
            if "xdist" in command:  # its workers get the sys.path that xdist saw when it was first imported
                argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *shlex.split(command)]
                subprocess.run(argv, cwd=clone, env=_environment(clone), capture_output=True)
                continue
            child = os.fork()
            if child == 0:
                _become_pytest(clone, command)
            os.waitpid(child, 0)
        tracked = sorted(str(path.relative_to(clone)) for path in clone.rglob("*.py"))
        read = read_pytest(clone, tracked)
        assert not isinstance(read, Damaged), read
        return SuiteResult(Sha(""), TreeId(""), "", "", read.tests, (), (), "pytest", folded=read.folded)


def _environment(clone: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return environment({**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, clone)


def _become_pytest(clone: Path, command: str) -> None:
    try:
        os.chdir(clone)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        kept = _environment(clone)
        os.environ.clear()
        os.environ.update(kept)
        sys.path[:0] = [str(clone), str(PLUGIN_FOLDER)]
        pytest.main(["-q", "-p", "no:cacheprovider", *shlex.split(command)])
    finally:
        os._exit(0)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def lost(result: SuiteResult) -> dict[str, str]:
    return {finding.subject: finding.cause for finding in silent_skips(result)}


def test_the_plugin_sees_everything_that_ran(fork: Fork) -> None:
    """End to end: loaded by the executor's environment into the fork's own pytest, in the sandbox."""
    result = in_fork(fork, {"note": "1"})
    assert set(result.ran()) == EVERYTHING and result.green and lost(result) == {}


def test_way_1_a_run_that_ends_early_with_exit_0(folder: Folder) -> None:
    early = "import os\n\ndef test_leaves():\n    os._exit(0)\n\ndef test_never():\n    assert 0\n"
    result = folder.run({"tests/test_early.py": early})
    assert "tests/test_early.py::test_leaves" in result.failed(), "it was at work when the run ended"
    assert lost(result) == {
        "tests/test_early.py::test_never": "ended_early",
        **{test: "ended_early" for test in EVERYTHING},
    }


def test_way_2_a_greedy_k(folder: Folder) -> None:
    slow = str(SUITE["tests/test_ops.py"]) + "\ndef test_env_slow():\n    assert 0\n"
    result = folder.run({"tests/test_ops.py": slow}, '-k "not test_env"')
    assert lost(result) == {
        "tests/test_ops.py::test_env": "deselected",
        "tests/test_ops.py::test_env_slow": "deselected",
    }
    [reason] = {test.reason for test in result.tests if test.cause == "deselected"}
    assert reason == "deselected by -k 'not test_env'"


def test_way_3_a_shadowed_name(folder: Folder) -> None:
    twice = str(SUITE["tests/test_ops.py"]) + "\ndef test_add():\n    pass\n"
    result = folder.run({"tests/test_ops.py": twice})
    assert lost(result) == {"tests/test_ops.py::test_add (line 3)": "shadowed"}


def test_way_4_importorskip_of_a_whole_module(folder: Folder) -> None:
    gone = "import pytest\npytest.importorskip('no_such_module_at_all')\n" + str(SUITE["tests/test_ops.py"])
    result = folder.run({"tests/test_ops.py": gone})
    assert lost(result) == {
        "tests/test_ops.py": "module_skipped",
        "tests/test_ops.py::test_add": "module_skipped",
        "tests/test_ops.py::test_env": "module_skipped",
    }


def test_way_5_a_collection_error_hides_a_files_tests(folder: Folder) -> None:
    broken = "import no_such_module_at_all\n" + str(SUITE["tests/test_ops.py"])
    result = folder.run({"tests/test_ops.py": broken}, "--continue-on-collection-errors")
    assert "tests/test_ops.py" in result.failed()
    assert lost(result) == {
        "tests/test_ops.py::test_add": "collection_failed",
        "tests/test_ops.py::test_env": "collection_failed",
    }


LIT: Files = {
    "lit/lit.cfg.py": (
        "import lit.formats, os\nconfig.name = 'toy'\nconfig.test_format = lit.formats.ShTest()\n"
        "config.suffixes = ['.mlir']\nconfig.test_source_root = os.path.dirname(__file__)\n"
        "config.test_exec_root = os.environ['TMPDIR']\nconfig.available_features.add('nvidia')\n"
    ),
    "lit/a.mlir": "// REQUIRES: nvidia\n// RUN: true\n",
    "lit/sub/b.mlir": "// REQUIRES: nvidia\n// RUN: true\n",
}
LIT_COMMAND = f"{Path(sys.executable).with_name('lit')} -q lit"
needs_lit = pytest.mark.skipif(not Path(sys.executable).with_name("lit").exists(), reason="lit is not installed")


@needs_lit
def test_way_6_a_lit_suite_that_is_all_unsupported(fork: Fork) -> None:
    assert in_fork(fork, LIT, LIT_COMMAND, "lit").ran() == {"lit/a.mlir", "lit/sub/b.mlir"}
    featureless = str(LIT["lit/lit.cfg.py"]).replace("config.available_features.add('nvidia')", "")
    answer = fork.check(fork.change("no feature", {"lit/lit.cfg.py": featureless}), l1=l1(LIT_COMMAND, "lit"))
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.NOTHING_RAN
    assert lost(answer.change) == {"lit/a.mlir": "unsupported", "lit/sub/b.mlir": "unsupported"}
    assert answer.change.tests[0].reason == "Test requires the following unavailable features: nvidia"


@needs_lit
def test_lit_leaves_no_trace_of_what_a_filter_removes_and_is_found_out(fork: Fork) -> None:
    result = in_fork(fork, {**LIT, "lit/c.mlir": "// RUN: true\n"}, f"{LIT_COMMAND} --filter a", "lit")
    assert lost(result) == {"lit/c.mlir": "not_collected"}, "the same folder and suffix as a test that ran"


def test_way_7_a_file_that_the_run_never_looks_at(folder: Folder) -> None:
    result = folder.run({}, "tests/test_ops.py")
    assert lost(result) == {
        "tests/test_params.py::test_n": "not_collected",
        "tests/test_params.py::TestGroup::test_in": "not_collected",
    }


def test_what_the_base_ran_and_the_change_silently_does_not_refuses_the_change(fork: Fork) -> None:
    skipped = str(SUITE["tests/test_ops.py"]).replace(
        "def test_env", "import pytest\n\n@pytest.mark.skip('later')\ndef test_env"
    )
    answer = fork.check(fork.change("skip", {"tests/test_ops.py": skipped}), l1=l1())
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.CENSUS_SHRANK
    assert "tests/test_ops.py::test_env" in answer.verdict.message and "later" in answer.verdict.message


def test_a_test_whose_source_the_change_deletes_is_named_and_not_refused(fork: Fork) -> None:
    shorter = str(SUITE["tests/test_ops.py"]).partition("def test_env")[0]
    answer = fork.check(fork.change("drop", {"tests/test_ops.py": shorter}), l1=l1())
    assert answer.verdict == Passed()
    assert answer.attribution.vanished == ("tests/test_ops.py::test_env",)


OPS, PARAMS = str(SUITE["tests/test_ops.py"]), str(SUITE["tests/test_params.py"])
RESHUFFLES: dict[str, tuple[Files, tuple[str, ...]]] = {
    "nothing": ({}, ()),
    "renamed file": ({"tests/test_ops.py": None, "tests/test_operations.py": OPS}, ()),
    "renamed folder": ({"tests/test_ops.py": None, "tests/unit/test_ops.py": OPS}, ()),
    "split file": (
        {"tests/test_ops.py": OPS.partition("def test_env")[0], "tests/test_env.py": "def test_env(): pass\n"}, ()
    ),
    "merged files": ({"tests/test_ops.py": None, "tests/test_params.py": PARAMS + "\n" + OPS}, ()),
    "parameter order": ({"tests/test_params.py": PARAMS.replace("[1, 2, 3]", "[3, 1, 2]")}, ()),
    "parameter values": ({"tests/test_params.py": PARAMS.replace("[1, 2, 3]", "[10, 20, 30]")}, ()),
    "more parameters": ({"tests/test_params.py": PARAMS.replace("[1, 2, 3]", "[1, 2, 3, 4]")}, ()),
    "parameter ids": ({"tests/test_params.py": PARAMS.replace("[1, 2, 3]", "[1, 2, 3], ids=['a', 'b', 'c']")}, ()),
    "new test": ({"tests/test_ops.py": OPS + "\ndef test_new(): pass\n"}, ()),
    "new file": ({"tests/test_new.py": "def test_new(): pass\n"}, ()),
    "test order": ({"tests/test_ops.py": "import engine\n\ndef test_env(): pass\n\ndef test_add(): pass\n"}, ()),
    "reformatted": ({"tests/test_ops.py": OPS.replace("\n\n", "\n\n\n")}, ()),
    "decorated": (
        {"tests/test_ops.py": OPS.replace("def test_env", "import functools\n@functools.cache\ndef test_env")}, ()
    ),
    "expected failure": (
        {"tests/test_ops.py": OPS + "\nimport pytest\n@pytest.mark.xfail\ndef test_x(): assert 0\n"}, ()
    ),
    "xdist": ({}, ("-p xdist -n 2",)),
    "xdist loadfile": ({}, ("-p xdist -n 2 --dist loadfile",)),
    "other root": ({}, ("tests",)),
    "verbose": ({}, ("-vv -ra",)),
    "two runs": ({}, ("tests/test_ops.py", "tests/test_params.py")),
}  # fmt: skip


@pytest.fixture(scope="module")
def honest_base(tmp_path_factory: pytest.TempPathFactory) -> SuiteResult:
    return Folder(tmp_path_factory.mktemp("base")).run({})


@pytest.mark.parametrize("name", RESHUFFLES)
def test_twenty_honest_reshuffles_are_no_alarm(name: str, folder: Folder, honest_base: SuiteResult) -> None:
    assert len(RESHUFFLES) == 20
    files, commands = RESHUFFLES[name]
    result = folder.run(files, *commands)
    assert result.green, result.tests
    assert losses(honest_base, result) == () and silent_skips(result) == ()


def test_a_parametrisation_that_shrinks_still_shows(folder: Folder) -> None:
    base = folder.run({})
    fewer = folder.run({"tests/test_params.py": PARAMS.replace("[1, 2, 3]", "[7]")})
    assert [(found.kind, found.subject) for found in losses(base, fewer)] == [
        ("vanished", "tests/test_params.py::test_n[2]"),
        ("vanished", "tests/test_params.py::test_n[3]"),
    ]


def test_a_pytest_that_a_test_starts_itself_is_not_taken_for_the_run(folder: Folder) -> None:
    """In a process of its own with the same environment, and within ours, as pytester does it."""
    inner = (
        "import subprocess, sys, pytest\n\ndef test_outer(tmp_path):\n"
        "    (tmp_path / 'test_inner.py').write_text('def test_inner(): assert 0')\n"
        "    assert subprocess.run([sys.executable, '-m', 'pytest', '-q', str(tmp_path)]).returncode == 1\n"
        "    assert pytest.main([str(tmp_path)]) == 1\n"
    )
    result = folder.run({"tests/test_ops.py": inner}, "tests/test_ops.py")
    assert result.ran() == {"tests/test_ops.py::test_outer"} and not result.failed()


@needs_lit
def test_two_harnesses_over_one_suite_are_reconciled(fork: Fork) -> None:
    """Harness B lacks the feature: everything is UNSUPPORTED there, which lit counts as success."""
    a = in_fork(fork, LIT, LIT_COMMAND, "lit")
    blind = f"{LIT_COMMAND} -D nothing && sed -i s/nvidia/none/ lit/lit.cfg.py && {LIT_COMMAND}"
    b = fork.check(fork.repo.head(), l1=l1(blind, "lit")).change
    said = reconcile({"A": a, "B": b})
    assert [(d.test, d.kind, dict(d.said)) for d in said] == [
        ("lit/a.mlir", "not_run_there", {"A": "passed", "B": "skipped"}),
        ("lit/sub/b.mlir", "not_run_there", {"A": "passed", "B": "skipped"}),
    ]


LOSE = "import os\nLOSE = os.environ.get('LOSE')\n"
WAYS: dict[str, tuple[Files, str, dict[str, str]]] = {
    "early exit": (
        {"tests/test_early.py": LOSE + "def test_leaves():\n    LOSE and os._exit(0)\n\ndef test_never(): pass\n"},
        "",
        dict.fromkeys(
            ["tests/test_early.py::test_never", "tests/test_ops.py::test_add", "tests/test_params.py::test_n[1]"],
            "not_run_there",
        ),
    ),
    "greedy -k": ({}, '-k "not test_env"', {"tests/test_ops.py::test_env": "not_run_there"}),
    "shadowed name": (
        {"tests/test_ops.py": LOSE + "def test_add(): assert 0\nif LOSE:\n    def test_add(): pass\n"},
        "",
        {"tests/test_ops.py::test_add": "different_outcome"},
    ),
    "importorskip": (
        {"tests/test_ops.py": LOSE + "import pytest\nif LOSE: pytest.importorskip('no_such_module')\n" + OPS},
        "",
        dict.fromkeys(["tests/test_ops.py::test_add", "tests/test_ops.py::test_env"], "not_run_there"),
    ),
    "collection error": (
        {"tests/test_ops.py": LOSE + "if LOSE: import no_such_module\n" + OPS},
        "--continue-on-collection-errors",
        dict.fromkeys(["tests/test_ops.py::test_add", "tests/test_ops.py::test_env"], "not_run_there"),
    ),
    "missing file": (
        {},
        "tests/test_ops.py",
        dict.fromkeys(["tests/test_params.py::test_n[2]", "tests/test_params.py::TestGroup::test_in"], "not_run_there"),
    ),
}


@pytest.mark.parametrize("harness", ["pytest", "junit"])
@pytest.mark.parametrize("way", WAYS)
def test_each_way_is_named_when_two_harnesses_disagree(
    way: str, harness: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runs everything, B loses tests silently; way 6 (lit) is below. Plain JUnit has no trace of most of them."""
    files, command, wanted = WAYS[way]
    whole = folder.run(files)
    monkeypatch.setenv("LOSE", "1")
    other = folder.run(files, f"{command} --junitxml=report.xml")
    if harness == "junit":
        clone = folder.root / str(folder.runs)
        read = read_junit(clone, ("report.xml",), {str(path.relative_to(clone)) for path in clone.rglob("*.py")})
        if way == "early exit":
            assert isinstance(read, Damaged), "pytest writes its XML at the end, which never came"
            return
        assert not isinstance(read, Damaged)
        other = SuiteResult(Sha(""), TreeId(""), "", "", read, (), (), "junit")
    found = {one.test: one.kind for one in reconcile({"A": whole, "B": other})}
    assert wanted.items() <= found.items()


def test_a_flood_of_deselected_tests_is_kept_as_one_and_every_identity_comes_back(folder: Folder) -> None:
    many = "import pytest\n\n@pytest.mark.parametrize('n', range(300))\ndef test_stress(n):\n    pass\n"
    whole = folder.run({"tests/test_stress.py": many})
    part = folder.run({"tests/test_stress.py": many}, "-k 'not stress'")
    names = {f"tests/test_stress.py::test_stress[{n}]" for n in range(300)}
    [fold] = part.folded
    assert (fold.count, fold.cause, set(fold.names.split("\n"))) == (300, "deselected", names)
    assert part.counts["not_run"] == 300 and not names & {test.id for test in part.tests}
    assert result_from_json(part.to_json()) == part
    assert {found.subject for found in silent_skips(part)} == names
    assert {(found.subject, found.cause) for found in losses(whole, part)} == {(name, "deselected") for name in names}
    shown, count = some_silent_skips(part, 20)
    assert len(shown) == 20 and count == 300 and {found.subject for found in shown} <= names
    assert {found.subject for found in compare(Inventory.of(whole), part, (), date.max)} == {
        *names,
        "tests/test_stress.py",
    }
    assert lost(folder.run({"tests/test_stress.py": many}, "-k 'not stress'", "-k stress")) == {}, (
        "another pytest ran them"
    )
