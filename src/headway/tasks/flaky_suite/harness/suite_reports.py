"""Reads what `run_suite.py` left, against the tests that the original tree has. It runs nothing of the candidate.

`suite_reports.py count|check ORIGINAL RUNS`: `count` prints the mean number of failures a run; `check` only refuses.
With $HEADWAY_CANARY it refuses (exit code 1) exactly if the tests that must catch that canary all failed in every run.
"""

import ast
import json
import os
import sys
from collections import Counter
from pathlib import Path

CATCHERS = {
    "wrong-rate": ["tests/test_prices.py::test_dollars", "tests/test_prices.py::test_shown_in_the_shop_s_currency"],
    "guessed-rate": ["tests/test_prices.py::test_without_rates_nothing_is_guessed"],
    "wrong-currency": ["tests/test_prices.py::test_shown_in_euros"],
    "greedy-sample": ["tests/test_orders.py::test_the_sample_has_about_its_share"],
    "one-id": ["tests/test_orders.py::test_ids_of_two_orders_differ"],
    "double-receipt": ["tests/test_receipts.py::test_two_receipts"],
    "phantom-receipt": ["tests/test_receipts.py::test_no_receipts_yet"],
}


def refuse(reason, message, advice):
    print(json.dumps({"reason": reason, "message": message, "next": advice}))
    raise SystemExit(1)


def expected(original):
    found = set()
    for path in sorted(original.glob("tests/test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                found.add(f"tests/{path.name}::{node.name}")
    return found


def read(out, runs):
    """The reports of all runs. Refuses what a run that ended by itself would not leave."""
    try:
        codes = json.loads((out / "codes.json").read_text("utf-8"))
        reports = [json.loads((out / f"run-{number}.json").read_text("utf-8")) for number in range(runs)]
        names = {path.name for path in out.iterdir()}
        if names != {"codes.json", *(f"run-{number}.json" for number in range(runs))}:
            raise ValueError("files that no run writes")
        for number, (code, told) in enumerate(zip(codes, reports, strict=True)):
            failed = sum(outcome == "failed" for outcome in told["outcomes"].values())
            if told["run"] != number or told["code"] != code or (code == 0) != (failed == 0) or code not in (0, 1):
                raise ValueError("a report that does not agree with how its run ended")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as wrong:
        refuse("metric_forged", f"A run left no report of its own: {wrong}.", "Let pytest run and end by itself.")
    return reports


def check(reports, wanted):
    for told in reports:
        ran = {name.partition("[")[0] for name in told["ids"]}
        if wanted - ran:
            refuse("census_shrank", f"{min(wanted - ran)} was not collected.", "Let every test run.")
        unclear = {name for name, outcome in told["outcomes"].items() if outcome not in ("passed", "failed")}
        if unclear:
            refuse("test_skipped", f"{min(unclear)} was skipped or expected to fail.", "Let every test run.")
        if set(told["ids"]) - set(told["outcomes"]):
            refuse("metric_forged", "A test that was collected has no outcome.", "Let pytest run by itself.")


def caught(reports, names):
    """Whether each of the tests failed in every run."""
    for told in reports:
        failed = {n.partition("[")[0] for n, outcome in told["outcomes"].items() if outcome == "failed"}
        if not failed.issuperset(names):
            return False
    return True


def main():
    mode, original, runs = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    reports = read(Path(os.environ["HEADWAY_OUT"]), runs)
    check(reports, expected(original))
    canary = os.environ.get("HEADWAY_CANARY")
    if canary:
        raise SystemExit(1 if caught(reports, CATCHERS[canary]) else 0)
    if mode == "count":
        failures = Counter(n for told in reports for n, outcome in told["outcomes"].items() if outcome == "failed")
        for name, count in failures.most_common():
            print(f"failed in {count} of {runs} runs: {name}", file=sys.stderr)
        print(sum(failures.values()) / runs)


if __name__ == "__main__":
    main()
