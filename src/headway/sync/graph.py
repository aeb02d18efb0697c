"""The dependency picture of a plan as one SVG: a line a change, an arc an edge; no program is needed to look at it."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from headway.sync.streams import PlanRow

LINE = 18
LEFT = 220
COLOURS = {"textual": "#b3261e", "structural": "#1a5fb4", "declared": "#7a7a7a"}


def svg_of(rows: Sequence[PlanRow]) -> str:
    """The picture. Only edges between changes of the plan are drawn."""
    at = {row.forecast["change"]: number for number, row in enumerate(rows)}
    height = LINE * (len(rows) + 3)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="1100" height="{height}"',
        ' font-family="monospace" font-size="11">',
        *(
            f'<text x="{LEFT + 150 * number}" y="12" fill="{colour}">{kind}</text>'
            for number, (kind, colour) in enumerate(COLOURS.items())
        ),
    ]
    for row in rows:
        y = _y(at[row.forecast["change"]])
        label = f"{row.forecast['change'][:10]} {row.stream:10} {row.risk:.2f} {row.forecast['subject'][:90]}"
        parts.append(f'<text x="{LEFT}" y="{y + 4}">{escape(label)}</text>')
        for edge in row.needs:
            if edge.on not in at:
                continue
            other = _y(at[edge.on])
            bend = max(LEFT - 20 - 4 * abs(y - other) ** 0.75, 4)
            path = f"M {LEFT - 6} {y} C {bend:.0f} {y}, {bend:.0f} {other}, {LEFT - 6} {other}"
            title = escape(f"{edge.kind}: {edge.why} ({edge.weight})")
            parts.append(f'<path d="{path}" fill="none" stroke="{COLOURS[edge.kind]}" opacity="0.6">')
            parts.append(f"<title>{title}</title></path>")
    return "\n".join([*parts, "</svg>", ""])


def _y(number: int) -> int:
    return LINE * (number + 2)
