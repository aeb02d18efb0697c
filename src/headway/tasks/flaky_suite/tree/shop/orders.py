"""Orders: ids that sort by time, and a sample of them for a person to look at."""

import random
import time


def new_id(number, clock=time.time):
    """Microseconds since 1970, then the customer's number."""
    return f"{int(clock() * 1_000_000):016}-{number % 7}"


def sample(orders, share, chance=random):
    """Each order with the chance `share`, but always the largest."""
    largest = max(orders)
    return [order for order in orders if order == largest or chance.random() < share]
