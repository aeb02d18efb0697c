"""When two candidates are the same, and when two hypotheses nearly are."""

import pytest

from headway.tune.sameness import likeness, nearest, normal_digest, words


@pytest.mark.parametrize(
    ("kind", "one", "other", "same"),
    [
        ("cpu-c", "int f(void) { return 1; } // one", "/* two */ int f(void)   { return 1; }", True),
        ("cpu-c", 'char *s = "a  b"; // x', 'char *s = "a b";', False),
        ("cpu-c", 'char *s = "// no comment";', 'char *s = "// no";', False),
        ("cpu-c", "#define A 1\nint x = A;", "#define A 1 int x = A;", False),
        ("cpu-c", "int x = 1;\n\n\n  int y;", "int x = 1;\nint y;", True),
        (
            "cpu-python",
            "def entry(x):\n    '''One.'''\n    return x # same\n",
            "def entry(x):\n\n    return (x)\n",
            True,
        ),
        ("cpu-python", "def entry(x):\n    return x\n", "def entry(x):\n    return x + 0\n", False),
        ("cpu-python", "def entry(:", "def entry( :", False),
    ],
)
def test_comments_and_layout_do_not_make_a_candidate_new(kind, one, other, same) -> None:  # type: ignore[no-untyped-def]
    assert (normal_digest(kind, one) == normal_digest(kind, other)) is same


def test_numbers_are_words_so_that_another_tile_is_another_idea() -> None:
    assert likeness("Tile by 32, keep sums", "tile by 32 keep SUMS") == 1.0
    assert likeness("tile by 32", "tile by 64") == 0.5
    assert (
        nearest(
            "tile rows by 32 and keep sums in registers",
            [(1, words("nothing")), (4, words("tile rows by 32 and keep sums in registers please"))],
        )
        == 4
    )
    assert nearest("fresh", [(1, words("stale"))]) is None
