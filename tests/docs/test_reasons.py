"""`docs/reasons.md` lists every reason code with the sentence that stands at its definition."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/headway/core/reasons.py"
SECTION = re.compile(r"^    # --- (.+)$")


def page() -> str:
    """The page as it must be, from the code alone."""
    text = SOURCE.read_text()
    [enum] = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == "Reason"]
    told = {at: node for at, node in enumerate(enum.body)}
    rows: dict[int, str] = {}
    for at, node in told.items():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            sentence = told[at + 1]
            assert isinstance(sentence, ast.Expr) and isinstance(sentence.value, ast.Constant)
            words = " ".join(str(sentence.value.value).split()).replace("|", "\\|")
            rows[node.lineno] = f"| `{node.value.value}` | {words} |"
    lines = ["# Reason codes", "", "Every refusal carries one of these; scripts and dashboards may match on them.", ""]
    for number, line in enumerate(text.splitlines(), 1):
        if found := SECTION.match(line):
            lines += ["", f"## {found[1]}", "", "| code | meaning |", "|---|---|"]
        if number in rows:
            lines.append(rows[number])
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def test_the_page_lists_every_code_with_its_meaning() -> None:
    assert (ROOT / "docs/reasons.md").read_text() == page()
