import calendar
import re
import time
import unittest

from ledger import audit, entries, invoices, rates, reports, retention, sessions

DAY = 86_400
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class Entries(unittest.TestCase):
    def test_a_new_entry_is_young(self):
        self.assertLess(entries.Entry("cash", 100).age_seconds(), 5)

    def test_an_imported_entry_is_as_old_as_it_says(self):
        entry = entries.imported("cash", 100, time.time() - 3600)
        self.assertAlmostEqual(entry.age_seconds(), 3600, delta=5)

    def test_the_newest_of_all(self):
        old, new = entries.imported("a", 1, 1_000_000), entries.Entry("b", 2)
        self.assertEqual(entries.newest([old, new]), new.created)
        self.assertEqual(entries.newest([old]), old.created)

    def test_the_newest_of_none_is_the_beginning_of_time(self):
        self.assertEqual(entries.newest([]).year, 1970)


class Retention(unittest.TestCase):
    def setUp(self):
        self.old = entries.imported("old", 1, time.time() - 10 * DAY)
        self.new = entries.Entry("new", 2)

    def test_what_is_old_expires(self):
        self.assertEqual(retention.expired([self.old, self.new], 7), [self.old])

    def test_what_is_kept_is_kept_until_now_at_least(self):
        self.assertGreater(retention.keep_until(self.old, 7), self.old.created)
        self.assertEqual((retention.keep_until(self.new, 7) - self.new.created).days, 7)

    def test_the_plan_counts_down(self):
        plan = retention.purge_plan([self.old, self.new], 11)
        self.assertAlmostEqual(plan["old"], DAY, delta=5)
        self.assertAlmostEqual(plan["new"], 11 * DAY, delta=5)
        self.assertEqual(retention.purge_plan([self.old], 7), {"old": 0})


class Invoices(unittest.TestCase):
    def test_numbers_carry_the_day(self):
        self.assertEqual(invoices.number(7), time.strftime("%Y%m%d", time.gmtime()) + "-0007")

    def test_due_dates(self):
        self.assertTrue(STAMP.fullmatch(invoices.due(14)))
        self.assertFalse(invoices.overdue(invoices.due(1)))
        self.assertTrue(invoices.overdue(invoices.due(-1)))

    def test_reminders(self):
        self.assertEqual(invoices.reminder_days(invoices.due(-3)), 3)
        self.assertEqual(invoices.reminder_days(invoices.due(3)), 0)


class Audit(unittest.TestCase):
    def test_lines(self):
        stamp, who, what = audit.line("ann", "booked").split(" ")
        self.assertTrue(STAMP.fullmatch(stamp))
        self.assertLess(abs(calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")) - time.time()), 300)
        self.assertEqual((who, what), ("ann", "booked"))
        self.assertRegex(audit.moved("ann", "a", "b"), r"^\d\d:\d\d:\d\d ann: a -> b$")

    def test_names(self):
        self.assertEqual(audit.rotated_name("trail"), time.strftime("trail.%Y-%m-%d.log", time.gmtime()))
        self.assertEqual(audit.seen_at(1_000_000_000), "09.09.2001 01:46")


class Sessions(unittest.TestCase):
    def test_a_session_lives_and_ends(self):
        session = sessions.Session("ann")
        self.assertFalse(session.is_over())
        self.assertLess(session.length(), 5)
        session.touch()
        self.assertTrue(sessions.Session("bob", minutes=-1).is_over())


class Rates(unittest.TestCase):
    def test_fresh_and_old(self):
        known = rates.Rates()
        known.put("EURUSD", 1.1)
        known.put_from_feed("EURGBP", 0.8, time.time() - 60)
        known.put_from_feed("EURCHF", 0.9, time.time() - 2 * 3600)
        self.assertEqual((known.get("EURUSD"), known.get("EURGBP")), (1.1, 0.8))
        with self.assertRaises(LookupError):
            known.get("EURCHF")


class Reports(unittest.TestCase):
    def test_sums_and_days(self):
        booked = [entries.Entry("a", 5), entries.imported("b", 7, time.time() - 3 * DAY)]
        self.assertEqual(reports.of_today(booked), booked[:1])
        self.assertEqual((reports.of_last(booked, 1), reports.of_last(booked, 7)), (5, 12))
        self.assertEqual(reports.heading("Cash"), time.strftime("Cash, %d %B %Y", time.gmtime()))
