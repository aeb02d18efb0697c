"""Static fingerprints held against each other: pure, from values. Real compilers are in test_static.py."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import ptx_loops, triton_static
from headway.adapters.kernel_list import KernelListError, parse_kernel_list
from headway.core.errors import HeadwayError
from headway.core.fingerprint import Fingerprint
from headway.validate.harness.metric_report import parse_metrics
from headway.validate.static.compare import DEFAULTS, Threshold, compare, compare_each, verdict
from headway.validate.static.listing import Compiled, Side, canonical, side_from_json
from headway.validate.static.report import junit, lines, metric_lines, report


def compiled(name: str = "k", registers: int = 64, stores: int = 0, opcodes: dict[str, int] | None = None) -> Compiled:
    counts = opcodes or {"HGMMA.64x128x16.F32": 8, "LDG.E": 4}
    families = {"tensor core": counts.get("HGMMA.64x128x16.F32", 0), "global memory": counts.get("LDG.E", 0)}
    found = Fingerprint(name, registers, 49152, 0, stores, 0, {k: v for k, v in families.items() if v}, 1)
    text = json.dumps([registers, stores, counts])
    return Compiled(name, 90, "compiled", "", found, counts, 4, "p" + text, "s" + text)


def side(label: str, *kernels: Compiled, trouble: str = "") -> Side:
    return Side(label, {"triton": label}, trouble, kernels)


def test_the_same_twice_is_the_same() -> None:
    found = compare(side("a", compiled()), side("b", compiled()))
    assert [row.state for row in found.rows] == ["same"]
    assert verdict([side("a", compiled()), side("b", compiled())], [found]) == "passed"


def test_what_passes_a_threshold_is_worse_and_the_rest_is_named() -> None:
    (row,) = compare(side("a", compiled()), side("b", compiled(registers=96, stores=16))).rows
    assert (row.state, row.worse) == ("worse", ("registers 64 -> 96", "spill stores 0 -> 16"))
    (row,) = compare(side("a", compiled()), side("b", compiled(registers=66))).rows
    assert (row.state, row.changed) == ("changed", ("registers 64 -> 66",))


def test_registers_that_take_up_what_was_spilled_are_not_worse() -> None:
    (row,) = compare(side("a", compiled(registers=32, stores=64)), side("b", compiled(registers=255))).rows
    assert (row.state, row.worse) == ("changed", ())


def test_tensor_core_instructions_that_vanish_are_worse() -> None:
    (row,) = compare(side("a", compiled()), side("b", compiled(opcodes={"FFMA": 512, "LDG.E": 4}))).rows
    assert row.state == "worse" and "tensor core 8 -> 0" in row.worse
    assert row.opcodes == ("FFMA 0 -> 512", "HGMMA.64x128x16.F32 8 -> 0")


def test_both_parts_of_a_threshold_must_be_passed() -> None:
    bar = Threshold(8, 10)
    assert [bar.passed_by(100, now) for now in (108, 109, 110, 111)] == [False, False, False, True]
    assert [bar.passed_by(20, now) for now in (28, 29)] == [False, True]
    assert Threshold(0, 50, fewer=True).passed_by(8, 3) and not Threshold(0, 50, fewer=True).passed_by(8, 4)


def test_could_not_run_is_neither_and_decides_nothing() -> None:
    unable = Compiled("k", 90, "could_not_run", "no ptxas")
    for before, after in (([unable], [compiled()]), ([compiled()], [unable])):
        sides = [side("a", *before), side("b", *after)]
        (row,) = compare(*sides).rows
        assert row.state == "could_not_run" and "no ptxas" in row.message
        assert verdict(sides, [compare(*sides)]) == "could_not_run"
    assert verdict([side("a", trouble="no triton")], []) == "could_not_run"
    assert verdict([], []) == "could_not_run"


def test_a_kernel_that_stops_compiling_is_refused_and_one_that_never_did_is_not_news() -> None:
    broken = Compiled("k", 90, "failed", "CompilationError")
    sides = [side("a", compiled()), side("b", broken)]
    assert [row.state for row in compare(*sides).rows] == ["failed"]
    assert verdict(sides, [compare(*sides)]) == "refused"
    assert [row.state for row in compare(side("a", broken), side("b", broken)).rows] == ["same"]
    assert [row.state for row in compare(side("a", broken), side("b", compiled())).rows] == ["compiles_again"]
    assert verdict([side("a", broken)], []) == "refused"


def test_new_and_removed_kernels_are_named() -> None:
    rows = compare(side("a", compiled("old")), side("b", compiled("new"))).rows
    assert [(row.name, row.state) for row in rows] == [("new/sm_90", "added"), ("old/sm_90", "removed")]


def test_each_side_is_held_against_the_one_before_or_the_base() -> None:
    sides = [side(name, compiled()) for name in "abc"]
    assert [(one.before, one.after) for one in compare_each(sides, "", DEFAULTS)] == [("a", "b"), ("b", "c")]
    assert [(one.before, one.after) for one in compare_each(sides, "b", DEFAULTS)] == [("b", "a"), ("b", "c")]


def test_a_report_can_be_read_back_and_a_damaged_one_is_one_sentence() -> None:
    one = side("a", compiled(), Compiled("k", 100, "could_not_run", "unknown"))
    whole = report([one], [])
    assert side_from_json(json.loads(canonical(whole))["sides"][0]) == one
    with pytest.raises(HeadwayError, match="damaged"):
        side_from_json({"label": "a", "toolchain": {}, "trouble": "", "kernels": [{"kernel": "k"}]})


def test_suites_read_junit_and_measurements() -> None:
    unable = Compiled("k", 100, "could_not_run", 'no "ptxas" <here>')
    sides = [side("a", compiled(), unable), side("b", compiled(registers=128), unable)]
    comparisons = compare_each(sides, "", DEFAULTS)
    cases = ElementTree.fromstring(junit(sides, comparisons)).findall("testcase")
    told = {(one.get("classname"), one.get("name")): [inner.tag for inner in one] for one in cases}
    assert told == {
        ("static.a", "k/sm_90"): [],
        ("static.a", "k/sm_100"): ["skipped"],
        ("static.b", "k/sm_90"): ["failure"],
        ("static.b", "k/sm_100"): ["skipped"],
    }
    metrics = parse_metrics(metric_lines(sides).encode(), "m")
    assert isinstance(metrics, list)
    assert {one.name: (one.value, one.unit) for one in metrics}["k/sm_90/registers"] == (128.0, "count")
    assert "worse   k/sm_90  registers 64 -> 128" in "\n".join(lines(sides, comparisons))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kernel = 3", "kernel"),
        ("[[kernel]]\nname = 'a'", "kernel.0.file"),
        ("[[kernel]]\nname = 'a/b'\nfile = 'f'\nfunction = 'g'\narguments = {}", "kernel.0.name"),
        ("[[kernel]]\nname = 'a'\nfile = '/etc/passwd'\nfunction = 'g'\narguments = {}", "kernel.0.file"),
        ("archs = ['hopper']\n[[kernel]]\nname = 'a'\nfile = 'f'\nfunction = 'g'\narguments = {}", "archs.0"),
        ("[[kernel]]\nname = 'a'\nfile = 'f'\nfunction = 'g'\narguments = {}\n" * 2, "two kernels called 'a'"),
        ("not toml", "not valid TOML"),
    ],
)
def test_a_malformed_list_is_one_sentence_with_its_place(text: str, said: str) -> None:
    with pytest.raises(KernelListError, match=said):
        parse_kernel_list(text.encode(), "kernels.toml")


def test_the_shipped_list_names_files_that_exist() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "kernels.toml"
    found = parse_kernel_list(path.read_bytes(), "kernels.toml")
    assert len(found.kernels) >= 8 and found.archs == (80, 90, 100)
    assert all((path.parent / str(one["file"])).is_file() for one in found.kernels)


def test_the_benchmark_shows_a_saved_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unable = Compiled("j", 90, "could_not_run", "no ptxas")
    sides = [side("3.6", compiled(), unable), side("3.7", compiled(registers=128, stores=8), unable)]
    (tmp_path / "report.json").write_text(canonical(report(sides, [])))
    code = triton_static.main(["--report", str(tmp_path / "report.json")])
    said = capsys.readouterr().out
    assert code == 4
    assert "| k/sm_90 | 64 / 12       | 128 +8 B / 12 |" in said
    assert "could not run: j/sm_90 by 3.6: no ptxas" in said
    assert "worse: 3.6 -> 3.7: k/sm_90: registers 64 -> 128; spill stores 0 -> 8" in said
    assert triton_static.main(["--envs", str(tmp_path)]) == 4


def test_what_a_loop_keeps_alive_is_counted() -> None:
    ptx = """
.visible .entry k()
{
	mov.b64 	%rd1, 0;
	mov.b32 	{%r1, %r2}, %rd1;
	mov.b32 	%r9, 7;
	setp.eq.s32 	%p1, %r1, 0;
$L__BB0_1:
	add.s64 	%rd1, %rd1, 8;
	add.s32 	%r3, %r2, 1;
	@%p1 bra 	$L__BB0_1;
	ret;
}
"""
    (row,) = ptx_loops.loops(ptx)
    assert (row["64 bit"], row["32 bit"], row["predicates"], row["registers"]) == (1, 1, 1, 3)
