"""`tune report`: one HTML file that opens offline and holds the whole campaign. A view of the log, no more."""

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from headway.core.task import Task
from headway.tune.ledger import Texts, attempts_of, entry, outcome_text
from headway.tune.report_charts import points, share_bars, speed_chart
from headway.tune.scoreboard import standing
from headway.tune.state import Attempt, Campaign, Ranked, Refusal

STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--dim:#5d6b7a;--line:#d5dce4;--paper:#fff;--soft:#f4f6f9;--good:#0b6bcb;
--plain:#7d93ab;--bad:#c2571a}
@media (prefers-color-scheme:dark){:root{--ink:#e4e9ef;--dim:#9aa8b6;--line:#38434f;--paper:#161b21;--soft:#1e252d;
--good:#5eaaf2;--plain:#7f95ac;--bad:#ef8a4c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;
padding:0 1rem}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}
pre{background:var(--soft);padding:.7rem;overflow-x:auto;font:12.5px/1.45 ui-monospace,monospace;white-space:pre-wrap}
table{border-collapse:collapse;width:100%;font-size:13.5px}td,th{text-align:left;padding:.25rem .5rem;
border-bottom:1px solid var(--line);vertical-align:top}.tiles{display:flex;flex-wrap:wrap;gap:.8rem}
.tiles div{background:var(--soft);padding:.6rem .9rem;border-radius:6px}.tiles b{display:block;font-size:1.25rem}
svg{width:100%;height:auto}.grid{stroke:var(--line)}.one{stroke:var(--dim);stroke-dasharray:4 3}
.axis{fill:var(--dim);font-size:12px}.end{text-anchor:end}.middle{text-anchor:middle}
.incumbent{fill:none;stroke:var(--good);stroke-width:1.6}.promoted{fill:var(--good)}.ranked{fill:var(--plain)}
.refused{fill:var(--bad)}.undecided{fill:none;stroke:var(--dim)}.key span{margin-right:1.2rem;color:var(--dim)}
.key i{display:inline-block;width:.7em;height:.7em;border-radius:50%;margin-right:.35em}
.bar{display:grid;grid-template-columns:9rem 1fr 9rem;gap:.6rem;align-items:center;font-size:13.5px}
.bar i{background:var(--plain);height:.8em;display:block;min-width:1px}.bar b{font-weight:400;color:var(--dim)}
summary{cursor:pointer}ins{color:var(--good);text-decoration:none}del{color:var(--bad);text-decoration:none}
"""
KEY = (
    '<p class="key"><span><i style="background:var(--good)"></i>promoted (re-measured)</span>'
    '<span><i style="background:var(--plain)"></i>ranked</span>'
    '<span><i style="background:var(--bad)"></i>refused: no speed</span>'
    '<span><i style="border:1px solid var(--dim)"></i>could not run</span></p>'
)


def report(campaign_id: str, state: Campaign, task: Task, texts: Texts) -> str:
    """The whole page. Everything that an agent or a worker wrote is escaped."""
    assert state.goal is not None
    summaries = [outcome_text(attempt) for attempt in state.attempts]
    by_number = points(state.attempts, summaries, by_time=False)
    by_time = points(state.attempts, summaries, by_time=True)
    sections = [
        ("Where it stands", _tiles(state)),
        ("Speed-up against attempts", KEY + speed_chart(by_number, "attempt")),
        ("Speed-up against time", speed_chart(by_time, "seconds used")),
        ("Lineage of the incumbent", "".join(_lineage(state, task, texts))),
        ("Where the time went", share_bars(_shares(state))),
        ("What was refused", _refusals(state)),
        ("Ledger of strategies", "".join(_ledger(state, texts))),
        ("Every attempt", _attempts(state, summaries)),
        ("The goal", f"<pre>{escape(texts(state.goal.goal))}</pre><p>sha256 {state.goal.digest}</p>"),
    ]
    title = f"{escape(campaign_id)}: {escape(task.summary or task.id)}"
    body = "".join(f"<section><h2>{name}</h2>{content}</section>" for name, content in sections)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>'
        f"<body><h1>{title}</h1>{body}</body></html>\n"
    )


def _tiles(state: Campaign) -> str:
    best, spent = state.incumbent, state.spent
    speed = best.outcome.speed if best is not None and isinstance(best.outcome, Ranked) else None
    ended = "" if state.ended is None else f": {state.ended.state.replace('_', ' ')}"
    kind = "estimated" if speed and speed.estimate else "re-measured"
    tiles = [
        ("best", "the baseline" if speed is None else f"{speed.ratio:.3f}×"),
        ("interval (95 %)", "–" if speed is None else f"{speed.low:.3f} to {speed.high:.3f}, {kind}"),
        ("attempts", str(spent.attempts)),
        ("tool calls", str(spent.calls)),
        ("time used", f"{spent.seconds / 60:.1f} min"),
        ("promotions", f"{len(state.promotions)} of {state.tests} tests"),
        ("state", standing(state) + ended),
    ]
    cells = "".join(f"<div>{name}<b>{escape(value)}</b></div>" for name, value in tiles)
    return f'<div class="tiles">{cells}</div>'


def _lineage(state: Campaign, task: Task, texts: Texts) -> Iterator[str]:
    if not state.promotions:
        yield "<p>Nothing was promoted; the baseline stands.</p>"
    for number in state.promotions:
        attempt = state.attempt(number)
        parent = None if attempt.parent is None else state.attempt(attempt.parent)
        before = task.baseline if parent is None else texts(parent.source)
        name = "the baseline" if parent is None else f"A{parent.id}"
        yield (
            f"<details><summary>A{number}, {escape(outcome_text(attempt))}; from {name}: "
            f"{escape(texts(attempt.hypothesis))}</summary><pre>{_diff(before, texts(attempt.source))}</pre></details>"
        )


def _diff(before: str, after: str) -> str:
    lines = []
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2):
        tag = {"+": "ins", "-": "del"}.get(line[:1])
        lines.append(f"<{tag}>{escape(line)}</{tag}>" if tag else escape(line))
    return "\n".join(lines[2:])


def _shares(state: Campaign) -> list[tuple[str, float]]:
    phases = state.phases
    names = [("measuring", phases.measure), ("compiling", phases.compile), ("checking", phases.check)]
    return [*names, ("agent", phases.agent), ("everything else", phases.overhead)]


def _refusals(state: Campaign) -> str:
    counts = Counter((a.outcome.at, str(a.outcome.reason)) for a in state.attempts if isinstance(a.outcome, Refusal))
    rows = [(at, reason, str(count)) for (at, reason), count in counts.most_common()]
    return _table(("at", "reason", "attempts"), rows) if rows else "<p>Nothing.</p>"


def _ledger(state: Campaign, texts: Texts) -> Iterator[str]:
    for strategy in state.strategies:
        newest = list(attempts_of(state, strategy))[-1]
        head = f"S{strategy.id}: {texts(strategy.hypothesis)[:120]} ({outcome_text(newest)})"
        yield f"<details><summary>{escape(head)}</summary><pre>{escape(entry(state, strategy, texts))}</pre></details>"


def _attempts(state: Campaign, summaries: list[str]) -> str:
    def row(attempt: Attempt, summary: str) -> tuple[str, ...]:
        knobs = " ".join(f"{name}={value}" for name, value in sorted(attempt.knobs.items()))
        parent = "baseline" if attempt.parent is None else f"A{attempt.parent}"
        return f"A{attempt.id}", f"S{attempt.strategy}", parent, f"{attempt.used:.0f} s", summary, knobs

    rows = [row(attempt, summary) for attempt, summary in zip(state.attempts, summaries, strict=True)]
    return _table(("attempt", "strategy", "from", "at", "verdict", "knobs"), rows)


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
