"""L1's answer as the summary of a check: attribution first, in Markdown that forges show. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

SHOWN = 20
KINDS = {
    "new": "new: fails here and not on the base. Blocks",
    "regressed_flakiness": "flakier: fails for certain more often than on the base. Blocks",
    "waived": "waived: new, and somebody answers for it",
    "infrastructure": "infrastructure: fails for want of network, disk or device",
    "flaky": "flaky: comes and goes, here and on the base",
    "pre_existing": "pre-existing: fails on the base too",
    "vanished": "vanished: ran on the base, and its source is gone",
}


def as_markdown(evidence: Mapping[str, Any]) -> str:
    """The summary of one `headway.l1/1` document."""
    verdict = str(evidence["verdict"]).replace("_", " ")
    counts = ", ".join(f"{number} {state.replace('_', ' ')}" for state, number in evidence["counts"].items())
    against = f" against `{evidence['base'][:12]}`" if evidence["base"] else ""
    lines = [f"### headway L1: {verdict}", "", f"`{evidence['revision'][:12]}`{against}: {counts}."]
    if evidence["message"]:
        lines += ["", f"**{evidence['reason']}**: {_one_line(evidence['message'])} {_one_line(evidence['next'])}"]
    for kind, title in KINDS.items():
        lines += _section(title, evidence[kind], evidence)
    lost = [f"{one['subject']}" for one in evidence["lost"]]
    lines += _section("lost: ran on the base, and was left out here. Blocks", lost, evidence)
    return "\n".join(lines) + "\n"


def _section(title: str, tests: Iterable[str], evidence: Mapping[str, Any]) -> list[str]:
    names = list(tests)
    if not names:
        return []
    rows = [f"- `{_code(name)}` {_one_line(_why(name, evidence))}".rstrip() for name in names[:SHOWN]]
    more = [f"- and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return ["", f"**{len(names)} {title}**", "", *rows, *more]


def _why(test: str, evidence: Mapping[str, Any]) -> str:
    waiver = evidence["waived"].get(test)
    tally = evidence["tallies"].get(test)
    said = f"({waiver})" if waiver else _code(evidence["failures"].get(test, ""))
    if tally is None:
        return said
    here, there = tally["change"], tally["base"]
    counted = f"{here['failed']} of {here['runs']} here, {there['failed']} of {there['runs']} on the base"
    return f"{said} ({counted})"


def _code(text: str) -> str:
    """What a test printed must not become markup or a mention on the forge's page."""
    plain = (
        text.replace("`", "'").replace("<", "‹").replace(">", "›").replace("|", "¦").replace("[", "⁅").replace("]", "⁆")
    )
    return plain.replace("@", "＠")


def _one_line(text: str) -> str:
    return " ".join(text.split())
