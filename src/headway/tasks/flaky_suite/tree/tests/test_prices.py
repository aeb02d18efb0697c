import os

import pytest

from shop import prices


def test_euros_stay_euros():
    assert prices.convert(1000, "EUR") == 1000


def test_dollars(rates):
    prices.load(rates)
    assert prices.convert(1000, "USD") == 1250


def test_without_rates_nothing_is_guessed():
    with pytest.raises(KeyError):
        prices.convert(1000, "USD")


def test_shown_in_the_shop_s_currency(rates):
    prices.load(rates)
    os.environ["SHOP_CURRENCY"] = "USD"
    assert prices.shown(1000) == "12.50 USD"


def test_shown_in_euros():
    assert prices.shown(1999) == "19.99 EUR"
