import threading

from shop.jobs import Job
from shop.stock import Stock


def test_one_buyer():
    stock = Stock(2)
    assert stock.take() and stock.take() and not stock.take()
    assert stock.sold == 2


def test_many_buyers_never_sell_a_piece_twice():
    stock = Stock(40)
    taken = []

    def buy():
        while stock.take():
            taken.append(1)

    buyers = [threading.Thread(target=buy) for _ in range(3)]
    for buyer in buyers:
        buyer.start()
    for buyer in buyers:
        buyer.join()
    assert len(taken) == 40


def test_a_job_gives_its_result():
    job = Job(lambda: 21 * 2).start()
    assert job.wait(5)
    assert job.result == 42
