from shop import orders


def test_ids_of_two_orders_differ():
    first = orders.new_id(7)
    second = orders.new_id(14)
    assert first != second


def test_ids_sort_by_time():
    assert orders.new_id(1, clock=lambda: 1.0) < orders.new_id(0, clock=lambda: 2.0)


def test_the_sample_has_about_its_share():
    taken = orders.sample(range(1000), 0.3)
    assert 290 <= len(taken) <= 310


def test_the_sample_has_the_largest():
    assert 1000 in orders.sample([3, 1000, 5], 0.0)
