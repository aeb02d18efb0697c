"""Prose on a report's pages: an agent writes, a rail keeps out what the facts do not say, nobody pays twice."""

import sys
from pathlib import Path

import pytest

from headway.core.events_loop import ProseAsked
from headway.core.gates import Refused
from headway.sync.prose import LONGEST, Facts, founded
from tests.sync.driver import ENGINE, POLICY, new_fork
from tests.sync.test_bundles import events

FACTS = Facts(
    "bundle-1", "# Bundle 1f2e3d4c\n\nLanded 3 of 4 as `abcdef012345`. L1 ran 12 times.", ("Fix `loop` (#81)",)
)


@pytest.mark.parametrize(
    ("prose", "why"),
    [
        ("Three of the 4 changes landed as abcdef0; `loop` waits after 12 runs (#81).", ""),
        ("", "It is empty."),
        ("7 changes landed.", "7 does not stand in the facts"),
        ("Landed as 0123456789ab.", "0123456789ab does not stand in the facts"),
        ("`kernel` waits.", "`kernel` does not stand in the facts"),
        ("# Landed\n\nAll of it.", "It holds '#'"),
        ("See [it](x).", "It holds ']('"),
        ("See https://example.org.", "It holds 'https://'"),
        ("Good <b>news</b>.", "It holds '<b'"),
        ("a" * (LONGEST + 1), f"At most {LONGEST} are allowed"),
    ],
)
def test_prose_says_nothing_that_the_facts_do_not(prose: str, why: str) -> None:
    verdict = founded(prose, FACTS)
    said = f"{verdict.message} {verdict.next}" if isinstance(verdict, Refused) else ""
    assert why in said and bool(why) == bool(said)


def test_an_agent_writes_what_a_rail_lets_stand_and_is_asked_once_for_the_same_facts(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    up.commit("one", {"one.txt": "1\n"})
    up.commit("two\n\nIt subtracts on purpose.", {"engine.py": ENGINE.replace("a + b", "a - b")})
    script = tmp_path / "writer.py"
    script.write_text(
        "import pathlib, sys\n"
        "request = pathlib.Path(sys.argv[1]).read_text()\n"
        "lie = 'Deferred' in request and 'Refused so far' not in request\n"
        "told = 'It subtracts on purpose.' in request\n"
        "text = 'It waits for 999 days.' if lie else f'What is here was told: {told}.'\n"
        "pathlib.Path('prose.md').write_text(text)\n"
    )
    table = f"\n[agent]\nuse = 'command'\ncommand = '{sys.executable} -S {script} {{request}}'\ntries = 2\n"
    headway.begin(policy=POLICY + table)
    headway.ok("sync", "run")
    out = tmp_path / "report"
    headway.ok("sync", "report", "--out", str(out))
    assert not any("In words" in page.read_text() for page in out.iterdir()), "nobody asked for prose"

    said = headway.ok("sync", "report", "--prose", "--out", str(out))
    pages = {page.name.partition("-")[0]: page.read_text() for page in out.iterdir()}
    assert all("## In words\n\nWhat is here was told: True.\n\n*Written by " in page for page in pages.values())
    asked = events(headway, ProseAsked)
    assert [one.outcome for one in asked if one.document.startswith("deferral")] == ["refused", "accepted"]
    assert "prose refused (prose_unfounded)" in said.err and "999" not in "".join(pages.values())
    headway.ok("sync", "report", "--prose", "--out", str(out))
    assert events(headway, ProseAsked) == asked and headway.status()["closed"]


def test_prose_needs_an_agent(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    headway.begin()
    said = headway("sync", "report", "--prose")
    assert said.code == 1 and "has no [agent] section" in said.err
