"""`headway validate static`: compile listed Triton kernels without a GPU, and say what changed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headway.core.errors import HeadwayError
from headway.validate.static.listing import canonical
from headway.validate.static.report import junit, lines, metric_lines, report
from headway.wiring.static import StaticAnswer, StaticAsked, run_static, writing

FileOption = Path | None


def static(
    kernels: Annotated[Path, typer.Argument(help="TOML file that lists the kernels.")],
    toolchain: Annotated[
        list[str] | None, typer.Option(help="NAME=PYTHON, a Python that has a Triton; several may be given.")
    ] = None,
    base: Annotated[str, typer.Option(help="Compare with this toolchain; else each with the one before.")] = "",
    revision: Annotated[str, typer.Option(help="Take list and kernels from this revision.")] = "",
    base_revision: Annotated[str, typer.Option(help="Compare with the kernels of this revision.")] = "",
    against: Annotated[FileOption, typer.Option(help="Compare with a report that was saved.")] = None,
    arch: Annotated[list[str] | None, typer.Option(help="sm_80, sm_90 …; else what the list says.")] = None,
    only: Annotated[str, typer.Option(help="Kernels with names like this (glob).")] = "*",
    save: Annotated[FileOption, typer.Option(help="Write the report here.")] = None,
    listings: Annotated[FileOption, typer.Option(help="Write PTX, TTGIR and machine code below this folder.")] = None,
    junit_file: Annotated[FileOption, typer.Option("--junit", help="Write JUnit XML here, for a suite.")] = None,
    metrics_file: Annotated[FileOption, typer.Option("--metrics", help="Write `name value unit` lines here.")] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Compilations at a time.")] = 1,
    inside: Annotated[
        bool, typer.Option("--inside", help="This is a suite's test step: build no second sandbox.")
    ] = False,
    undecided: Annotated[int, typer.Option(help="Exit code if nothing was decided; 125 in a culprit search.")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document instead of lines.")] = False,
) -> None:
    """Compile listed Triton kernels without a GPU and compare. Exit code 0 nothing worse, 1 worse, 4 not decided."""
    asked = StaticAsked(
        kernels, tuple(toolchain or ()), tuple(_number(one) for one in arch or ()), only, base, revision,
        base_revision, against, listings, jobs, inside,
    )  # fmt: skip
    answer = run_static(asked, lambda line: typer.echo(line, err=True))
    whole = report(answer.sides, answer.comparisons)
    _write(answer, canonical(whole), save, junit_file, metrics_file)
    said = (
        canonical(whole).rstrip().splitlines() if as_json else [*lines(answer.sides, answer.comparisons), _end(whole)]
    )
    typer.echo("\n".join(said))
    raise typer.Exit({"passed": 0, "refused": 1}.get(whole["verdict"], undecided))


def _write(answer: StaticAnswer, text: str, save: FileOption, junit_file: FileOption, metrics: FileOption) -> None:
    xml, measured = junit(answer.sides, answer.comparisons), metric_lines(answer.sides)
    for path, content in ((save, text), (junit_file, xml), (metrics, measured)):
        if path is not None:
            with writing(path):
                path.write_text(content)


def _end(whole: dict[str, Any]) -> str:
    if whole["verdict"] == "passed":
        return "nothing is worse" if whole["comparisons"] else "everything compiles"
    return "refused" if whole["verdict"] == "refused" else "could not run everything: nothing is decided"


def _number(arch: str) -> int:
    name = arch.removeprefix("sm_")
    if not name.isascii() or not name.isdigit():
        raise HeadwayError(f"{arch!r} is no architecture.", "Give one like sm_90.")
    return int(name)
