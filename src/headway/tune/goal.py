"""The goal block: rendered once, kept as a blob, and from then on the first words of every context, byte for byte."""

from collections.abc import Iterator

from headway.core.task import Task


def goal_block(task: Task) -> str:
    """What is asked, of what, and within which rules; everything in it holds for the whole campaign."""
    better = "smaller" if task.direction == "lower" else "larger"
    target = f" Target: {task.target_ratio:g} times as good as the baseline, re-measured." if task.target_ratio else ""
    lines = [
        "# GOAL",
        task.goal.strip(),
        "",
        f"Task {task.id}. Metric: {task.metric}, {better} is better, always against the baseline.{target}",
    ]
    if task.command is not None:
        return "\n".join([*lines, *_of_files(task), "# END OF GOAL", ""])
    lines.append(f"Entry point: {task.signature}")
    if task.entry_text:
        lines.append(task.entry_text)
    lines += [
        f"Editable: {task.candidate_file}. An attempt that changes anything else is refused.",
        *(f"Rule: {rule}" for rule in task.rules),
        f"Tolerance: {task.tolerance}",
        "Numbers and verdicts come from the harness alone; what an agent says about its candidate is no evidence.",
        "Public cases:",
    ]
    for case in task.cases:
        if not case.held_out:
            sizes = ", ".join(f"{name}={value}" for name, value in case.sizes.items())
            flags = "".join(f", {flag}" for flag in ("timed", "protected") if getattr(case, flag))
            lines.append(f"- {case.name}: {sizes}; {case.regime} values{flags}")
    hidden = sum(case.held_out for case in task.cases)
    lines.append(f"and {hidden} held-out cases, which are checked and not shown.")
    return "\n".join(lines) + "\n# END OF GOAL\n"


def _of_files(task: Task) -> Iterator[str]:
    """What there is to say of a task whose candidate is many files."""
    yield from (f"Rule: {rule}" for rule in task.rules)
    yield "Numbers and verdicts come from the harness alone; what an agent says about its candidate is no evidence."
    hidden = sum(case.held_out for case in task.cases)
    yield f"{hidden} further checks are made and not shown."
    yield "A candidate is given as files by path, or as one text of `=== file: PATH` heads, each above a file's lines;"
    yield "`=== delete: PATH` takes one away. Files that it leaves out stay as they are in what it builds on."
