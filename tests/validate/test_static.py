"""`headway validate static` with real compilers: two toolchains, two revisions, and everything that can be absent."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="triton is not installed (pip install headway[kernels])")

from headway.cli.main import exit_code_of

KERNELS = """
import shared_sizes
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0) * factor, mask=at < n)


@triton.jit
def wrong(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.no_such_function(1.0))
"""
LIST = """
archs = ["sm_90"]
path = ["lib"]

[[kernel]]
name = "scale"
file = "kernels.py"
function = "scale"
arguments = { x = "*fp32", y = "*fp32", n = 4096, factor = 2.0 }
constants = { BLOCK = 512 }
options = { num_warps = 4 }
"""
MORE = """
[[kernel]]
name = "wrong"
file = "kernels.py"
function = "wrong"
arguments = { x = "*fp32" }
constants = { BLOCK = 16 }

[[kernel]]
name = "absent"
file = "nothing.py"
function = "f"
arguments = {}

[[kernel]]
name = "unknown"
file = "kernels.py"
function = "scale"
arguments = { x = "*fp32", y = "*fp32", n = 4096, factor = 2.0 }
constants = { BLOCK = 512 }
archs = ["sm_199"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "shared_sizes.py").write_text("WARPS = 4\n")
    (tmp_path / "kernels.toml").write_text(LIST)
    return tmp_path


def wrapper(path: Path, line: str) -> Path:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return path


def static(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, object]]:
    code = exit_code_of(["validate", "static", *map(str, words), "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else {"stderr": err}


@pytest.mark.timeout(600)
def test_the_same_input_gives_the_same_bytes_on_two_toolchains(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: folder / name for name in ("report.json", "junit.xml", "metrics.txt", "listings")}
    code, told = static(
        capsys, folder / "kernels.toml", "--toolchain", f"a={sys.executable}", "--toolchain", f"b={sys.executable}",
        "--save", files["report.json"], "--junit", files["junit.xml"], "--metrics", files["metrics.txt"],
        "--listings", files["listings"],
    )  # fmt: skip
    first, second = told["sides"]
    assert code == 0, told
    assert json.dumps({**first, "label": ""}) == json.dumps({**second, "label": ""})
    assert [row["state"] for row in told["comparisons"][0]["rows"]] == ["same"]
    (kernel,) = first["kernels"]
    assert kernel["registers"] > 0 and kernel["instructions"]["global memory"] > 0
    assert str(folder) not in files["report.json"].read_text()
    assert "<failure" not in files["junit.xml"].read_text()
    assert "scale/sm_90/registers" in files["metrics.txt"].read_text()
    assert ".entry scale" in (files["listings"] / "a" / "scale.sm_90.ptx").read_text()


@pytest.mark.timeout(600)
def test_a_revision_that_makes_a_kernel_worse_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b", *words],
            check=True, capture_output=True,
        )  # fmt: skip

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "before")
    (folder / "kernels.toml").write_text(LIST.replace("BLOCK = 512", "BLOCK = 8192"))
    git("commit", "-qam", "larger blocks")
    (folder / "kernels.toml").write_text("never committed, so never read")
    code, told = static(capsys, folder / "kernels.toml", "--base-revision", "HEAD~1", "--inside")
    (row,) = told["comparisons"][0]["rows"]
    assert (code, told["verdict"], row["state"]) == (1, "refused", "worse")
    assert any(said.startswith("registers") for said in row["worse"])
    assert [side["label"].split(" at ")[0] for side in told["sides"]] == ["here", "here"]


@pytest.mark.timeout(600)
def test_what_cannot_run_is_neither_passed_nor_failed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "kernels.toml").write_text(LIST + MORE)
    broken = folder / "ptxas"
    wrapper(broken, '[ "$1" = --version ] && echo "release 12.8, V12.8.93" && exit 0\necho ptxas is broken >&2; exit 1')
    no_triton = wrapper(folder / "no-triton", f'exec {sys.executable} -S "$@"')
    no_ptxas = wrapper(folder / "no-ptxas", f'TRITON_PTXAS_PATH={broken} exec {sys.executable} "$@"')
    code, told = static(
        capsys, folder / "kernels.toml", "--toolchain", f"good={sys.executable}", "--toolchain", f"none={no_triton}",
        "--toolchain", f"gone={folder / 'gone'}", "--toolchain", f"ptxas={no_ptxas}", "--base", "good",
    )  # fmt: skip
    outcomes = {
        (side["label"], one["kernel"]): (one["outcome"], one.get("message", ""))
        for side in told["sides"]
        for one in side["kernels"]
    }
    assert code == 4 and told["verdict"] == "could_not_run"
    assert outcomes["good", "scale"] == ("compiled", "")
    assert outcomes["good", "wrong"][0] == "failed" and "no_such_function" in outcomes["good", "wrong"][1]
    assert outcomes["good", "absent"] == ("could_not_run", "there is no file nothing.py")
    assert outcomes["good", "unknown"][0] == "could_not_run"
    assert "compiles nothing for sm_199" in outcomes["good", "unknown"][1]
    for label, word in (("none", "triton cannot be imported"), ("gone", "cannot be started"), ("ptxas", "ptxas")):
        outcome, message = outcomes[label, "scale"]
        assert (outcome, word in message, "\n" in message) == ("could_not_run", True, False), message


def test_a_threshold_for_what_is_not_counted_is_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "kernels.toml").write_text(
        LIST.replace("[[kernel]]", "[threshold]\nregister = { least = 1 }\n[[kernel]]")
    )
    code, told = static(capsys, folder / "kernels.toml", "--toolchain", f"a={folder / 'gone'}")
    assert code == 1 and "Is it 'registers'?" in str(told["stderr"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.toml",), "cannot be read"),
        (("kernels.toml", "--toolchain", "3.6"), "names no toolchain"),
        (("kernels.toml", "--only", "nobody*"), "No kernel of the list"),
        (("kernels.toml", "--arch", "hopper"), "is no architecture"),
        (("kernels.toml", "--listings", "/proc/nothing"), "cannot be written"),
        (("kernels.toml", "--revision", "HEAD"), "is not a git repository"),
        (("kernels.toml", "--against", "nothing.json", "--only", "nobody"), "No kernel of the list"),
        (("kernels.toml", "--base", "x", "--only", "none", "--toolchain", "a=b"), "No kernel of the list"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(folder)
    code, told = static(capsys, *words)
    assert code == 1 and said in str(told["stderr"])
