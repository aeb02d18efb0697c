"""The report's pictures as inline SVG: attempts against speed-up, and where the time went. Pure text, no scripts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from headway.tune.state import Attempt, Ranked, Refusal

WIDTH, HEIGHT = 860, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 16, 64
STRIP = 18
"""Height of the strip below the axis where attempts without a speed are marked."""
TICKS = 6


Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Point:
    """One attempt: where it stands along the axis, its ratio if it has one, and what to say about it."""

    x: float
    ratio: float | None
    low: float
    high: float
    kind: str
    title: str


def points(attempts: Sequence[Attempt], summaries: Sequence[str], *, by_time: bool) -> list[Point]:
    """One point an attempt, by its number or by the seconds the campaign had used."""
    found = []
    for attempt, summary in zip(attempts, summaries, strict=True):
        x = attempt.used if by_time else float(attempt.id)
        title = f"A{attempt.id}: {summary}"
        match attempt.outcome:
            case Ranked() as ranked:
                speed = ranked.speed
                kind = "promoted" if ranked.promoted else "ranked"
                found.append(Point(x, speed.ratio, speed.low, speed.high, kind, title))
            case Refusal():
                found.append(Point(x, None, 0, 0, "refused", title))
            case _:
                found.append(Point(x, None, 0, 0, "undecided", title))
    return found


def speed_chart(found: Sequence[Point], x_title: str) -> str:
    """Every attempt as a mark, the incumbent's speed as a line; ratios on a logarithmic axis."""
    rated = [p.ratio for p in found if p.ratio is not None]
    low, high = min([*rated, 0.9]) * 0.95, max([*rated, 1.1]) * 1.05
    end = max([p.x for p in found], default=1.0) or 1.0

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * x / end

    def up(ratio: float) -> float:
        share = (math.log(ratio) - math.log(low)) / (math.log(high) - math.log(low))
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="speed-up against {escape(x_title)}">']
    parts += [_ratio_tick(ratio, up(ratio)) for ratio in _ratios(low, high)]
    parts += [_x_tick(across(x), f"{x:g}") for x in _steps(end)]
    parts.append(_incumbent_line(found, across, up, end))
    for point in found:
        parts.append(_mark(point, across(point.x), None if point.ratio is None else up(point.ratio)))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" class="axis middle">{escape(x_title)}</text>')
    parts.append(f'<text x="{LEFT - 8}" y="{HEIGHT - BOTTOM + STRIP + 4}" class="axis end">no speed</text></svg>')
    return "".join(parts)


def _mark(point: Point, x: float, y: float | None) -> str:
    title = f"<title>{escape(point.title)}</title>"
    if y is None:
        place = f'x="{x - 1.5:.1f}" y="{HEIGHT - BOTTOM + 8}" width="3" height="{STRIP - 6}"'
        return f'<rect {place} class="{point.kind}">{title}</rect>'
    radius = 5 if point.kind == "promoted" else 3
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="{point.kind}">{title}</circle>'


def _incumbent_line(found: Sequence[Point], x_of: Scale, y_of: Scale, end: float) -> str:
    corners, at = [(x_of(0.0), y_of(1.0))], 1.0
    for point in found:
        if point.kind == "promoted" and point.ratio is not None:
            corners += [(x_of(point.x), y_of(at)), (x_of(point.x), y_of(point.ratio))]
            at = point.ratio
    corners.append((x_of(end), y_of(at)))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polyline points="{path}" class="incumbent"/>'


def _ratio_tick(ratio: float, y: float) -> str:
    kind = "grid one" if ratio == 1 else "grid"
    line = f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="{kind}"/>'
    return f'{line}<text x="{LEFT - 8}" y="{y + 4:.1f}" class="axis end">{ratio:g}×</text>'


def _x_tick(x: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + STRIP + 22}" class="axis middle">{text}</text>'


def _ratios(low: float, high: float) -> list[float]:
    """Round ratios within the axis, 1 always among them; few enough to be read."""
    known = [0.05, 0.1, 0.2, 0.5, 0.7, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 20, 50, 100]
    inside = [ratio for ratio in known if low <= ratio <= high]
    return inside if len(inside) > 1 else [low, 1.0, high]


def _steps(end: float) -> list[float]:
    rough = end / TICKS
    size = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1
    step = next(s * size for s in (1, 2, 5, 10) if s * size >= rough)
    return [step * n for n in range(int(end / step) + 1)]


def share_bars(shares: Sequence[tuple[str, float]]) -> str:
    """Named amounts of seconds as one bar each, the longest over the whole width."""
    most = max((seconds for _, seconds in shares), default=0.0) or 1.0
    total = sum(seconds for _, seconds in shares) or 1.0
    rows = []
    for name, seconds in shares:
        width = 100 * seconds / most
        rows.append(
            f'<div class="bar"><span>{escape(name)}</span><i style="width:{width:.1f}%"></i>'
            f"<b>{seconds:.1f} s, {100 * seconds / total:.0f} %</b></div>"
        )
    return "".join(rows)
