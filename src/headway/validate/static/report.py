"""The report of a static comparison in the forms that people, scripts and suites read: JSON, text, JUnit, metrics."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from headway.validate.static.compare import Comparison, metrics, verdict
from headway.validate.static.listing import Side

SCHEMA = "headway.static/1"


def report(sides: Sequence[Side], comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """All of it; the same input gives the same bytes (`listing.canonical`)."""
    return {
        "schema": SCHEMA,
        "verdict": verdict(sides, comparisons),
        "sides": [side.to_json() for side in sides],
        "comparisons": [one.to_json() for one in comparisons],
    }


def lines(sides: Sequence[Side], comparisons: Sequence[Comparison]) -> Iterator[str]:
    """For people: what could not run, what failed, what changed; unchanged kernels are only counted."""
    for side in sides:
        counts = {outcome: sum(one.outcome == outcome for one in side.kernels) for outcome in OUTCOMES}
        said = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in counts.items() if count)
        triton = side.toolchain.get("triton", "no Triton")
        yield f"{side.label}: {triton}: {said or 'nothing compiled'}{f' ({side.trouble})' if side.trouble else ''}"
        for one in side.kernels:
            if one.outcome != "compiled" and not side.trouble:
                yield f"  {one.name} {one.outcome.replace('_', ' ')}: {one.message}"
    for comparison in comparisons:
        same = sum(row.state == "same" for row in comparison.rows)
        yield f"{comparison.before} -> {comparison.after}: {len(comparison.rows)} kernels, {same} the same"
        for row in comparison.rows:
            if row.state in ("worse", "changed"):
                told = "; ".join([*row.worse, *row.changed][:8]) or "; ".join(row.opcodes) or "other machine code"
                yield f"  {row.state:<7} {row.name}  {told}"
            elif row.state in ("failed", "compiles_again"):
                yield f"  {row.state.replace('_', ' '):<7} {row.name}  {row.message}"


OUTCOMES = ("compiled", "failed", "could_not_run")


def junit(sides: Sequence[Side], comparisons: Sequence[Comparison]) -> str:
    """One test for each kernel, architecture and side; with comparisons, worse is a failure. Undecided is skipped."""
    cases = []
    bad = {
        (comparison.after, row.name): "; ".join([*row.worse, row.message]).strip("; ")
        for comparison in comparisons
        for row in comparison.rows
        if row.state in ("worse", "failed")
    }
    for side in sides:
        for one in side.kernels:
            inside = ""
            if one.outcome == "could_not_run":
                inside = f"<skipped message={quoteattr(one.message)}/>"
            elif why := bad.get((side.label, one.name), one.message if not comparisons else ""):
                inside = f"<failure message={quoteattr(why)}/>"
            named = f"classname={quoteattr(f'static.{side.label}')} name={quoteattr(one.name)}"
            cases.append(f"  <testcase {named}>{inside}</testcase>")
    body = "\n".join(cases)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuite name="triton-static">\n{body}\n</testsuite>\n'


def metric_lines(sides: Sequence[Side]) -> str:
    """`name value unit`, as a suite of measurements gives them; the last side only, since a series has one source."""
    units: Mapping[str, str] = {"shared": "B", "stack": "B", "spill_stores": "B", "spill_loads": "B"}
    return "".join(
        f"{one.name}/{name.replace(' ', '_')} {value} {units.get(name, 'count')}\n"
        for one in sides[-1].kernels
        if one.fingerprint is not None
        for name, value in metrics(one.fingerprint).items()
    )
