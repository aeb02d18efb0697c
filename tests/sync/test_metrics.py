"""Series, percentiles and forecast as pure functions; `status` and `report` through the command line."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from headway.core.events import Event
from headway.core.events_sync import Disposed, ForkOpened, RunEnded, UpstreamSeen
from headway.core.names import BlobId, Sha, TreeId
from headway.core.ports.git import Commit
from headway.sync.metrics import metrics_of, percentiles, spark
from tests.sync.driver import ENGINE, new_fork

DAY = 86_400
BLOB = BlobId("sha256:" + "0" * 64)


def commit(number: int) -> Commit:
    """Upstream's n-th commit, one a day from day 1 of 2026."""
    when = 1_767_225_600 + number * DAY
    return Commit(Sha(f"{number:040d}"), TreeId("t"), (), b"", f"A <a@b> {when} +0000".encode(), b"x")


def at(day: float) -> str:
    whole, rest = divmod(day, 1)
    return f"2026-01-{int(whole) + 1:02d}T{int(rest * 24):02d}:00:00.000000Z"


def test_the_series_has_a_point_for_each_refresh_and_each_end() -> None:
    line = [commit(n) for n in range(1, 11)]
    changes = tuple(one.sha for one in line)

    def disposed(n: int, kind: str) -> Disposed:
        return Disposed(changes[n], kind, "run", "proven", "x", BLOB)  # type: ignore[arg-type]

    records: list[tuple[str, Event]] = [
        (at(10), ForkOpened("main", commit(0).sha, "up", "main")),
        (at(10), UpstreamSeen(changes[-1], 10, changes)),
        (at(10.5), disposed(0, "picked")),
        (at(10.5), disposed(1, "deferred")),
        (at(10.5), disposed(2, "picked")),
        (at(11), RunEnded("limit")),
        (at(12), disposed(3, "picked")),
        (at(12), RunEnded("limit")),
    ]
    found = metrics_of(records, commit(0), line, 1_767_225_600 + 12 * DAY)
    assert [(p.days_behind, p.commits_behind, p.backlog) for p in found.series] == [(10, 10, 0), (7, 7, 1), (6, 6, 1)]
    assert found.series[1].oldest_deferral_days == 9
    ahead = found.forecast
    assert (ahead.waiting, ahead.drain_a_day, ahead.arrivals_a_day) == (6, round(4 / 1.5, 2), round(10 / 28, 2))
    assert ahead.days_to_none == round(6 / (4 / 1.5 - 10 / 28), 1)


def test_a_backlog_that_grows_has_no_end() -> None:
    line = [commit(n) for n in range(1, 29)]
    records: list[tuple[str, Event]] = [
        (at(27), ForkOpened("main", commit(0).sha, "up", "main")),
        (at(27), UpstreamSeen(line[-1].sha, 28, tuple(one.sha for one in line))),
        (at(28), RunEnded("done")),
    ]
    assert metrics_of(records, commit(0), line, 1_767_225_600 + 28 * DAY).forecast.days_to_none is None


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=50))
def test_percentiles_are_values_in_order(values: list[float]) -> None:
    found = percentiles(values)
    assert found["p10"] <= found["p50"] <= found["p90"] <= round(max(values), 2)
    assert min(abs(found["p50"] - round(v, 2)) for v in values) == 0


def test_a_spark_is_as_wide_as_its_values_and_never_wider_than_asked() -> None:
    assert spark([0, 1, 2, 4]) == "▁▂▄█" and len(spark([1.0] * 100)) == 40 and spark([]) == "" and spark([0, 0]) == "▁▁"


def test_status_draws_the_series_and_report_writes_a_page_for_each_bundle_and_deferral(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    up.commit("one | with a `pipe`", {"one.txt": "1\n"})
    bad = up.commit("two", {"engine.py": ENGINE.replace("a + b", "a - b")})
    up.commit("three", {"three.txt": "3\n"})
    headway.begin()
    headway.ok("sync", "run")
    metrics = headway.status()["metrics"]
    assert [point["commits_behind"] for point in metrics["series"]][-1] == 0
    assert metrics["lag_days"]["bundle"]["landed"] == 1 and metrics["lag_days"]["alone"]["landed"] == 1
    assert metrics["forecast"]["waiting"] == 0
    lines = headway.ok("sync", "status").out
    assert (
        "series       commits behind" in lines
        and "series       oldest, days" in lines
        and "forecast" in lines
        and "lag          bundle" in lines
    )
    said = headway.ok("sync", "report", "--out", str(tmp_path / "report"))
    pages = {page.name: page.read_text() for page in (tmp_path / "report").glob("*.md")}
    assert said.out.startswith(f"{len(pages)} documents") and len(pages) == 3
    deferral = pages[f"deferral-{bad[:12]}.md"]
    assert "reason `tests_failed`" in deferral and "headway sync show" in deferral
    first = next(page for name, page in pages.items() if name.startswith("bundle") and "ejected" in page)
    assert "Landed 1 of 3" in first and "no search can do with fewer than 2" in first
    assert "one \\| with a 'pipe'" in first
    documents = headway.ok("sync", "report", "--json").json
    assert documents["schema"] == "headway.sync-report/1" and len(documents["documents"]) == 3
