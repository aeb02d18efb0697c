"""A scheduled tier from the command line: red becomes one issue with its culprit, and green closes it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headway.adapters.clocks import SystemClock
from headway.cli.main import exit_code_of
from tests.validate.plain_executor import PlainExecutor, no_sandbox  # noqa: F401
from tests.validate.shell_forks import FILES, TOML, WRONG, ShellFork, new_shell_fork

pytestmark = pytest.mark.usefixtures("no_sandbox")
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShellFork:
    fork = new_shell_fork(tmp_path)
    monkeypatch.chdir(fork.repo.path)
    return fork


def headway(capsys: Capture, *args: str) -> tuple[int, dict]:
    code = exit_code_of(["validate", *args, "--json"])
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return code, json.loads(shown.out) if shown.out else {"said": shown.err}


def test_a_red_test_is_triaged_searched_filed_once_and_closed_by_its_passing(fork: ShellFork, capsys: Capture) -> None:
    code, green = headway(capsys, "run", "L2")
    assert code == 0 and green["verdict"] == "green" and fork.issues() == []
    fork.commit("innocent", {"note": "1"})
    guilty = fork.commit("guilty @everyone", {"engine.sh": WRONG})
    fork.commit("late", {"note": "2"})
    code, red = headway(capsys, "run", "L2")
    assert code == 1 and red["verdict"] == "red"
    [found] = red["findings"]
    assert (found["cause"], found["answer"], found["suspects"]) == ("code", "culprit", [guilty])
    [issue] = fork.issues()
    assert issue["title"].startswith("unit: checks::doubles: double returned wrong product")
    assert guilty[:12] in issue["body"] and "posterior" in issue["body"] and "@everyone" not in issue["body"]
    assert issue["assignees"] == ["ann"] and "**Asked**: @ann, @org/compilers" in issue["body"]

    probes = _probes(capsys)
    fork.commit("later still", {"note": "3"})
    code, again = headway(capsys, "run", "L2")
    assert code == 1 and again["findings"][0]["answer"] == "culprit" and _probes(capsys) == probes, (
        "known; not searched"
    )
    assert len(fork.issues()) == 1 and fork.repo.head() in fork.issues()[0]["body"], "brought up to date"

    fork.commit("mend", {"engine.sh": FILES["engine.sh"]})
    code, mended = headway(capsys, "run", "L2")
    assert code == 0 and mended["verdict"] == "green"
    [closed] = fork.issues()
    assert closed["state"] == "closed" and "passed on" in closed["comments"][0]
    assert headway(capsys, "show")[1]["closed"] == 1


def _probes(capsys: Capture) -> int:
    exit_code_of(["log", "show", "--json"])
    types = [record["type"] for record in json.loads(capsys.readouterr().out)["records"]]
    return types.count("validate.culprit_probed.v1")


def test_an_issue_stays_open_while_its_test_does_not_run(fork: ShellFork, capsys: Capture) -> None:
    headway(capsys, "run", "L2")
    fork.commit("break", {"engine.sh": WRONG})
    headway(capsys, "run", "L2")
    fork.commit("hide", {"checks/doubles": None})
    code, hidden = headway(capsys, "run", "L2")
    assert code == 1 and hidden["verdict"] == "red" and fork.issues()[0]["state"] == "open"


def test_a_slower_metric_finds_its_commit_and_books_its_gpu_hours(fork: ShellFork, capsys: Capture) -> None:
    for cost in ("1.01", "0.99", "1.01"):
        fork.commit(f"cost {cost}", {"cost": f"{cost}\n"})
        assert headway(capsys, "run", "L2")[0] == 0
    fork.commit("a little", {"cost": "1.00\n"})
    guilty = fork.commit("slower", {"cost": "1.12\n"})
    fork.commit("after", {"cost": "1.11\n"})
    code, slow = headway(capsys, "run", "L2")
    [found] = slow["findings"]
    assert code == 1 and (found["subject"], found["cause"], found["suspects"]) == ("engine_time", "code", [guilty])
    code, shown = headway(capsys, "show")
    assert code == 0 and shown["gpu_hours"]["tier L2"] > 0
    assert shown["gpu_hours"][f"search {found['signature']}"] > 0
    detail = headway(capsys, "show", found["signature"])[1]
    assert detail["ends"]["new"] == [1.11, 1.11] and len(detail["ends"]["old"]) == 2


def test_a_changed_method_is_nobodys_fault(fork: ShellFork, capsys: Capture) -> None:
    headway(capsys, "run", "L2")
    fork.commit("measure twice", {"measure.sh": "echo 'engine_time 2.00 s' > speed.txt\n"})
    code, answer = headway(capsys, "run", "L2")
    [found] = answer["findings"]
    assert code == 1 and found["cause"] == "method" and found["answer"] == "" and "own measuring code" in found["why"]


def test_what_was_noise_is_recorded_and_nobody_is_told(fork: ShellFork, tmp_path: Path, capsys: Capture) -> None:
    flag = tmp_path / "fork-flag"
    fork.commit("flaky", {"checks/flaky": f"[ ! -e {flag} ] || {{ echo the moon was full tonight; exit 1; }}\n"})
    headway(capsys, "run", "L2")
    runs = 0

    def once(self, command, inner=PlainExecutor.run):
        nonlocal runs
        runs += 1
        flag.touch() if runs == 1 else flag.unlink(missing_ok=True)
        return inner(self, command)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainExecutor, "run", once)
        code, answer = headway(capsys, "run", "L2")
    assert code == 0 and [one["cause"] for one in answer["findings"]] == ["noise"] and fork.issues() == []


def test_an_interrupted_run_goes_on_and_files_one_issue(fork: ShellFork, capsys: Capture) -> None:
    headway(capsys, "run", "L2")
    fork.commit("one", {"note": "1"})
    guilty = fork.commit("guilty", {"engine.sh": WRONG})
    calls = 0
    for stop in (1, 4, 9, 10**6):

        def stopping(self, command, inner=PlainExecutor.run, stop=stop):
            nonlocal calls
            calls += 1
            if calls == stop:
                raise KeyboardInterrupt
            return inner(self, command)

        calls = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PlainExecutor, "run", stopping)
            code = exit_code_of(["validate", "run", "L2"])
        assert code == (130 if stop < 10**6 else 1)
    capsys.readouterr()
    code, shown = headway(capsys, "show")
    assert [one["suspects"] for one in shown["failures"]] == [[guilty]] and len(fork.issues()) == 1
    exit_code_of(["log", "show", "--stream", "validation/toy", "--json"])
    records = json.loads(capsys.readouterr().out)["records"]
    types = [record["type"] for record in records if record["stream"] == "validation/toy"]
    assert types.count("validate.tier_begun.v1") == 2 and types.count("validate.suite_reported.v1") == 4


def test_the_clock_runs_what_is_due_and_its_silence_is_an_alarm(fork: ShellFork, capsys: Capture) -> None:
    daily = TOML.replace('every = "24h"', 'every = "24h"\ncanaries_every = "7d"\nmutants = 0')
    fork.commit("daily", {"headway.toml": daily.replace('suites = ["unit", "speed"]', 'suites = ["unit"]')})
    code, before = headway(capsys, "show")
    assert code == 1 and "the tier L2 is overdue: there never was one" in before["alarms"]
    assert "the canaries of unit is overdue: there never was one" in before["alarms"]
    assert exit_code_of(["validate", "watch", "--once"]) == 0
    said = capsys.readouterr().out
    assert "L2 on" in said and "caught        language broken chosen" in said
    code, fresh = headway(capsys, "show")
    assert code == 0 and fresh["alarms"] == [] and fresh["harnesses"][0]["missed"] == 0
    for hours, wanted in ((23, []), (30, []), (37, ["the tier L2 is overdue", "a report of unit is overdue"])):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SystemClock, "now", lambda _, hours=hours: datetime.now(UTC) + timedelta(hours=hours))
            code, late = headway(capsys, "show")
        assert code == bool(wanted) and [alarm.partition(":")[0] for alarm in late["alarms"]] == wanted
        assert late["clock"][0]["state"] == {23: "waiting", 30: "due", 37: "overdue"}[hours]


def test_a_harness_that_misses_a_canary_is_an_alarm(fork: ShellFork, capsys: Capture) -> None:
    blind = TOML.replace('every = "24h"', 'canaries_every = "1h"\nmutants = 0').replace(
        'suites = ["unit", "speed"]', 'suites = ["speed"]'
    )
    fork.commit("blind", {"headway.toml": blind})
    assert exit_code_of(["validate", "watch", "--once"]) == 1, "it measures without the engine"
    assert "MISSED" in capsys.readouterr().out
    code, shown = headway(capsys, "show")
    assert code == 1 and "the harness of speed missed 1 known-bad changes" in shown["alarms"][0]


def test_budgets_and_devices_leave_suites_out_and_never_green(fork: ShellFork, capsys: Capture) -> None:
    slow = TOML.replace('every = "24h"', 'budget = "1s"').replace("gpus = 8", 'devices = ["h100"]')
    fork.commit("slow", {"headway.toml": slow, "checks/slow": "sleep 5\n"})
    code, answer = headway(capsys, "run", "L2")
    assert code == 4 and answer["verdict"] == "incomplete"
    assert "when the tier's budget was spent" in answer["left_out"]["unit"]
    assert "does not offer h100" in answer["left_out"]["speed"] and answer["findings"] == []
    assert any("speed of L2 did not run" in alarm for alarm in headway(capsys, "show")[1]["alarms"])
    assert "There is no tier 'L9'. headway.toml has: L2." in headway(capsys, "run", "L9")[1]["said"]


def test_a_metrics_culprit_is_found_from_the_command_line_and_its_limit_is_measured_once(
    fork: ShellFork, capsys: Capture
) -> None:
    good = fork.repo.head()
    fork.commit("innocent", {"note": "1"})
    guilty = fork.commit("one\n\nHeadway-Bundle: b1 1/2", {"cost": "1.30\n"})
    fork.commit("two\n\nHeadway-Bundle: b1 2/2", {"note": "2"})
    asked = ("culprit", "--good", good, "--metric", "engine_time", "--suite", "speed")
    code, found = headway(capsys, *asked)
    assert code == 0 and found["suspects"] == [guilty] and round(found["limit"], 3) == 1.14
    assert headway(capsys, *asked)[1] == found, "recalled, limit and all"
    code, flake = headway(capsys, *asked[:-4], "--metric", "engine_time", "--suite", "speed", "--bad", "HEAD~2")
    assert code == 1 and flake["answer"] == "flake" and "the ends do not differ" in flake["why"]
    assert "measures no 'nothing'" in headway(capsys, *asked[:3], "--metric", "nothing", "--suite", "speed")[1]["said"]
