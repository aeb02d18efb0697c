"""`headway worker`: judge candidates from a spool folder, here, or pack the worker for another machine."""

from pathlib import Path
from typing import Annotated

import typer

from headway.core.errors import HeadwayError
from headway.wiring import lab

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@app.command()
def worker(
    spool: Annotated[Path | None, typer.Option(help="Folder with jobs/, claims/ and results/.")] = None,
    deadline: Annotated[float | None, typer.Option(min=1, help="Seconds after which nothing runs on.")] = None,
    wait: Annotated[
        bool, typer.Option(help="Stay for further jobs until a file `stop` appears in the folder.")
    ] = False,
    pack: Annotated[Path | None, typer.Option(help="Write the worker as one file instead.")] = None,
    index: Annotated[
        Path | None, typer.Option(help="Make an index of this package's folder, for a task's admission.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --index: the file to write.")] = None,
) -> None:
    """Drain a spool folder, or pack the worker into one file for a machine without headway."""
    if pack is not None:
        size = lab.pack_worker(pack)
        typer.echo(f"{pack}: {size} bytes; run it as `python3 {pack.name} --spool DIR [--deadline S]`")
        return
    if index is not None:
        if out is None:
            raise HeadwayError("The worker needs --out FILE with --index.", "Name the index's file.")
        raise typer.Exit(lab.run_worker(["--index", str(index), "--out", str(out)]))
    if spool is None:
        raise HeadwayError("The worker needs --spool DIR, or --pack FILE.")
    arguments = ["--spool", str(spool)] + (["--wait"] if wait else [])
    arguments += [] if deadline is None else ["--deadline", f"{deadline:g}"]
    raise typer.Exit(lab.run_worker(arguments))
