"""How a two-kernel prefill is cut into slabs: every block once, within the scratch, in no more slabs than needed."""

import pytest

from headway.tasks.mla.slabs import Shape, plan_slabs

SHAPES = [
    Shape(8192, 64, True, 128, 128, 2),
    Shape(8192, 64, False, 128, 128, 2),
    Shape(1000, 24, True, 128, 128, 2),
    Shape(77, 3, True, 64, 64, 4),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scratch", [2**20 * 3, 2**27, 2**30, 2**34])
def test_slabs_cover_every_block_once_and_fit(shape: Shape, scratch: int) -> None:
    slabs = plan_slabs(shape, scratch)
    blocks = [b for s in slabs for b in range(s.first_block, s.first_block + s.n_blocks)]
    assert blocks == list(range(shape.n_blocks))
    for slab in slabs:
        assert slab.scratch_bytes(shape.block_rows, shape.tile_keys, shape.element_bytes) <= scratch
        assert slab.n_tiles == max(
            shape.tiles_of(slab.first_block), shape.tiles_of(slab.first_block + slab.n_blocks - 1)
        )


def test_the_case_of_the_task_takes_six_slabs_of_a_gibibyte_and_no_more_than_they_need() -> None:
    shape = SHAPES[0]
    slabs = plan_slabs(shape, 2**30)
    sizes = [s.scratch_bytes(128, 128, 2) for s in slabs]
    assert len(slabs) == 6
    assert max(sizes) < 2**30 and min(sizes) > 0.8 * max(sizes)


def test_more_scratch_never_takes_more_slabs() -> None:
    counts = [len(plan_slabs(SHAPES[0], 2**n)) for n in range(26, 35)]
    assert counts == sorted(counts, reverse=True) and counts[-1] == 1


def test_a_block_that_does_not_fit_is_refused_with_the_bytes_it_needs() -> None:
    with pytest.raises(ValueError, match="needs 2129920"):
        plan_slabs(SHAPES[0], 2**20)
