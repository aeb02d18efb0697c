"""Several files as one text: byte for byte there and back, whatever stands in them."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import HeadwayError
from headway.core.file_bundle import bundle, changes_in, files_in, patch_between

NAMES = st.from_regex(r"[a-z]{1,3}(/[a-z ]{0,2}[a-z]){0,2}", fullmatch=True)
LINES = st.one_of(
    st.text(max_size=8), st.sampled_from(["=== file: a", "\\=== delete: b", "=== file: x (no newline at end)"])
)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, st.lists(LINES, max_size=4), st.sampled_from(["", "\n"]))


@given(st.dictionaries(NAMES, TEXTS, max_size=4))
def test_what_goes_in_comes_out(files: dict[str, str]) -> None:
    assert files_in(bundle(files)) == files


def test_equal_files_make_equal_texts_and_a_file_can_be_taken_away() -> None:
    assert bundle({"b": "2\n", "a": "1"}) == bundle({"a": "1", "b": "2\n"})
    assert changes_in("=== delete: old.py\n=== file: new.py\nx = 1\n") == {"old.py": None, "new.py": "x = 1\n"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "Line 1 of the candidate stands before any file."),
        ("=== file: a\n1\n=== file: a\n2\n", "The candidate gives a twice."),
        ("=== file: ../a\n1\n", "'../a' is no path inside the tree."),
        ("=== file: /etc/passwd\n1\n", "'/etc/passwd' is no path inside the tree."),
        ("=== delete: a/../../b\n", "'a/../../b' is no path inside the tree."),
    ],
)
def test_every_fault_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(HeadwayError) as told:
        changes_in(text)
    assert words in str(told.value)


def test_the_patch_makes_one_tree_of_the_other(tmp_path: Path) -> None:
    before = {"a/x.py": "one\ntwo\n", "gone.txt": "bye", "same": "s\n"}
    after = {"a/x.py": "one\n2", "same": "s\n", "new.txt": "hello\n"}
    for path, text in before.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    subprocess.run(["git", "apply"], input=patch_between(before, after).encode(), cwd=tmp_path, check=True)
    found = {p.relative_to(tmp_path).as_posix(): p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    assert found == after
