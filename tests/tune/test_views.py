"""What is made from the log: the report, the replay, the scoreboard."""

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from headway.tune import context
from headway.tune.campaign import CachedTexts, home_of
from headway.tune.replay import replay
from headway.tune.report import report
from headway.tune.scoreboard import scoreboard
from tests.tune.campaigns import ID, World, proposal

ANSWERS = [
    proposal("speed 1.3\n", "wider <script>alert(1)</script> loads"),
    proposal("speed 0.5\n", "narrow"),
    proposal("refuse wrong_result\n", "wrong & proud"),
    proposal("speed 1.2\nlost 9\n", "lost"),
    proposal("speed 1.7\n", "deeper", parent="A1"),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("world"), ANSWERS)
    world.run()
    return world


def page(world: World) -> str:
    return report(ID, world.state(), world.task, CachedTexts(world.blobs))


class Strict(HTMLParser):
    """Every tag that is opened is closed, in order."""

    VOID = frozenset({"meta", "line", "circle", "rect", "polyline", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag not in self.VOID or tag in {"circle", "rect"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_is_one_file_without_anything_from_outside(world: World) -> None:
    html = page(world)
    parser = Strict()
    parser.feed(html)
    assert parser.open == [] and not parser.seen.keys() & {"script", "link", "img", "iframe"}
    assert not re.search(r"(?:src|href)=|url\(|https?://|@import", html)


def test_every_attempt_is_a_point_with_its_verdict_and_refused_ones_have_no_place_on_the_axis(world: World) -> None:
    html = page(world)
    first = html.split("<svg")[1].split("</svg>")[0]
    assert len(re.findall(r'<circle [^>]*class="promoted"', first)) == 2
    assert len(re.findall(r'<circle [^>]*class="ranked"', first)) == 1
    assert len(re.findall(r'<rect [^>]*class="refused"', first)) == 1
    assert len(re.findall(r'<rect [^>]*class="undecided"', first)) == 1
    assert "A3: refused at correctness: wrong_result" in first


def test_the_report_shows_goal_lineage_with_diffs_and_escapes_what_agents_wrote(world: World) -> None:
    html = page(world)
    assert "<script>" not in html and "wider &lt;script&gt;alert(1)&lt;/script&gt; loads" in html
    assert "Make the world go round faster." in html and "wrong &amp; proud" in html
    assert "<del>-speed 1.3</del>\n<ins>+speed 1.7</ins>" in html and "from A1: deeper" in html


def test_a_real_browser_draws_it(world: World, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    (tmp_path / "report.html").write_text(page(world))
    shot = tmp_path / "shot.png"
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,2400",
         f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={shot}", f"file://{tmp_path / 'report.html'}"],
        check=True, capture_output=True, timeout=90,
    )  # fmt: skip
    assert shot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and shot.stat().st_size > 20_000


def test_a_replay_renders_the_same_bytes_and_names_what_differs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list(replay(world.log, world.blobs, home_of(ID), world.task))
    assert len(rows) == 6 and [row.why for row in rows] == [""] * 6
    monkeypatch.setattr(context, "NEWEST_IN_FULL", 2)
    changed = [row for row in replay(world.log, world.blobs, home_of(ID), world.task) if row.why]
    assert len(changed) == 3 and changed[0].why.startswith("line ")
    assert "'S1: wider" in changed[0].why and "S1-S1: 1 strategies" in changed[0].why


def test_a_replay_under_another_budget_says_what_is_kept(world: World) -> None:
    rows = list(replay(world.log, world.blobs, home_of(ID), world.task, context_budget=8_000))
    assert all(row.tokens <= 8_000 and not row.why for row in rows)
    assert [row.in_full + row.in_groups for row in rows] == [0, 1, 2, 3, 4, 5]


def test_the_scoreboard_counts_and_gives_a_ratio_to_ranked_attempts_alone(world: World) -> None:
    told = scoreboard(ID, world.state())
    assert [row["verdict"] for row in told["attempts"]] == [
        "promoted",
        "ranked",
        "refused",
        "could_not_run",
        "promoted",
    ]
    assert ["ratio" in row for row in told["attempts"]] == [True, True, False, False, True]
    assert told["refused"] == {"wrong_result": 1} and told["undecided"] == 1 and told["promotions"] == [1, 5]
    assert told["state"] == "ended" and told["incumbent"]["attempt"] == 5
    again = scoreboard(ID, replace(world.state(), ended=None, paused=True))
    assert again["state"] == "paused"
