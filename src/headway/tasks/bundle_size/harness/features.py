"""The guard: every feature of the page, in a real browser, on expenses that nobody could foresee.

Reads $HEADWAY_OUT/dist, which the build left. The expected words are computed here, never by the page.
"""

import datetime
import json
import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from browser import Browser

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
WORDS = "tea rent train book lamp soap shoes bread paint seeds".split()
SECONDS = 10


def refuse(reason, message, advice):
    print(json.dumps({"reason": reason, "message": message, "next": advice}))
    raise SystemExit(1)


def money(cents):
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100:,}.{abs(cents) % 100:02} EUR"


def expense(chance):
    day = datetime.date(2000, 1, 1) + datetime.timedelta(days=chance.randrange(15000))
    what = f"{chance.choice(WORDS)} {chance.randrange(1000)}"
    return {
        "what": what,
        "kind": chance.choice(["home", "food", ""]),
        "cents": chance.randrange(-5000, 3_000_000),
        "day": day,
    }


def state(expenses, wanted):
    """What the page must show."""
    shown = [one for one in expenses if wanted in one["what"]]
    lines = sorted(sorted(shown, key=lambda one: one["cents"]), key=lambda one: one["day"], reverse=True)
    totals = {}
    for one in shown:
        totals[one["kind"] or "other"] = totals.get(one["kind"] or "other", 0) + one["cents"]
    return {
        "list": [f"{one['day']:%A}, {one['day'].day} {MONTHS[one['day'].month - 1]} {one['day'].year}: "
                 f"{one['what']}, {money(one['cents'])}" for one in lines],
        "totals": [text for kind in sorted(totals) for text in (kind, money(totals[kind]))],
        "sum": f"{len(shown)} of {len(expenses)}: {money(sum(one['cents'] for one in shown))}",
    }  # fmt: skip


class Page:
    def __init__(self, browser):
        self._browser = browser

    def fill(self, **fields):
        for name, value in fields.items():
            self._browser.evaluate(
                f"(() => {{ const e = document.getElementById({json.dumps(name)}); e.value = {json.dumps(value)};"
                " e.dispatchEvent(new Event('input', {bubbles: true})); })()"
            )

    def add(self, what, kind, cents, day):
        self.fill(what=what, kind=kind, cents=cents, day=day)
        self._browser.evaluate("document.getElementById('add').click()")

    def shows(self):
        told = self._browser.evaluate(
            "JSON.stringify({list: [...document.querySelectorAll('#list li')].map(e => e.textContent),"
            " totals: [...document.getElementById('totals').children].map(e => e.textContent),"
            " sum: document.getElementById('sum').textContent})"
        )
        return json.loads(told)

    def trouble(self):
        return self._browser.evaluate("document.getElementById('trouble').textContent")


def walk(page, browser, chance):
    expenses = []
    must(browser, page, state(expenses, ""), "The empty page")
    for _ in range(6):
        one = expense(chance)
        expenses.append(one)
        page.add(one["what"], one["kind"], str(one["cents"]), one["day"].isoformat())
        must(browser, page, state(expenses, ""), "Adding an expense")
    twin = {**expenses[0], "cents": expenses[0]["cents"] - 7}
    expenses.append(twin)
    page.add(twin["what"], twin["kind"], str(twin["cents"]), twin["day"].isoformat())
    must(browser, page, state(expenses, ""), "The order of two on one day")
    for bad in ({"what": " "}, {"cents": "1.5"}, {"cents": "much"}, {"day": "2026-02-30"}, {"day": "12.3.2026"}):
        page.add(**{"what": "x", "kind": "home", "cents": "1", "day": "2026-01-01", **bad})
        if not page.trouble():
            fail(browser, f"Bad input {bad} is not refused.")
    must(browser, page, state(expenses, ""), "Bad input")
    wanted = expenses[2]["what"]
    page.fill(filter=wanted.upper())
    must(browser, page, state(expenses, wanted), "The filter")


def must(browser, page, wanted, what):
    try:
        browser.until(lambda: page.shows() == wanted, SECONDS)
    except TimeoutError:
        shown = page.shows()
        key = next((key for key in wanted if shown[key] != wanted[key]), "list")
        fail(browser, f"{what}: the page shows {shown[key]!r:.160}, and must show {wanted[key]!r:.160}.")
    except (TypeError, ValueError):
        fail(browser, f"{what}: a part of the page is gone.")


def fail(browser, words):
    if browser.trouble:
        refuse("count_evaded", f"The page reaches beyond the bundle: {browser.trouble[0]:.200}", "Bundle it.")
    refuse("guard_failed", words, "Keep every feature.")


def main():
    browser = Browser(Path(os.environ["HEADWAY_OUT"]) / "dist")
    try:
        browser.open()
        walk(Page(browser), browser, random.Random(os.environ["HEADWAY_SEED"]))
        if browser.trouble:
            fail(browser, "")
    except (RuntimeError, EOFError, TimeoutError) as trouble:
        print(f"the browser: {trouble}", file=sys.stderr)
        raise SystemExit(4) from trouble
    finally:
        browser.close()


if __name__ == "__main__":
    main()
