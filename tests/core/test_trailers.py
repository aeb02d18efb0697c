"""Trailers as bytes: read where git reads them, added where git would add them."""

import subprocess

from hypothesis import given
from hypothesis import strategies as st

from headway.core.trailers import UPSTREAM_COMMIT, add_trailers, read_trailers

ONE = (("Upstream-Commit", "a" * 40),)


def test_trailers_start_a_paragraph_of_their_own_or_join_the_block_that_is_there() -> None:
    assert add_trailers(b"Subject\n", ONE) == b"Subject\n\nUpstream-Commit: " + b"a" * 40 + b"\n"
    assert add_trailers(b"Subject\n\nSigned-off-by: X <x@y>\n", ONE).endswith(
        b"<x@y>\nUpstream-Commit: " + b"a" * 40 + b"\n"
    )
    picked = b"Subject\n\nbody\n\n(cherry picked from commit " + b"1" * 40 + b")\n"
    assert add_trailers(picked, ONE) == picked + b"Upstream-Commit: " + b"a" * 40 + b"\n"


def test_a_subject_that_looks_like_a_trailer_is_a_subject() -> None:
    assert add_trailers(b"git: fix this", ONE) == b"git: fix this\n\nUpstream-Commit: " + b"a" * 40 + b"\n"
    assert add_trailers(b"", ONE) == b"Upstream-Commit: " + b"a" * 40 + b"\n"


def test_a_squashed_message_holds_trailers_in_its_middle() -> None:
    squashed = b"Sync\n\none\n\nUpstream-Commit: 1\n\ntwo\n\nUpstream-Commit: 2\n\nUpstream-PR: #2\n"
    assert [v for k, v in read_trailers(squashed, anywhere=True) if k == UPSTREAM_COMMIT] == ["1", "2"]
    assert read_trailers(squashed) == (("Upstream-PR", "#2"),)


@given(st.text(alphabet=st.characters(codec="latin-1", exclude_characters="\0\r"), max_size=80))
def test_the_message_stays_as_it_was_in_front_of_what_is_added(text: str) -> None:
    message = text.encode("latin-1")
    longer = add_trailers(message, ONE)
    assert longer.startswith(message.rstrip(b"\n"))
    assert ONE[0] in read_trailers(longer)


def test_git_reads_what_was_added() -> None:
    message = add_trailers(b"Subject\n\nbody\n\nSigned-off-by: X <x@y>\n", ONE)
    parsed = subprocess.run(["git", "interpret-trailers", "--parse"], input=message, capture_output=True, check=True)
    assert parsed.stdout == b"Signed-off-by: X <x@y>\nUpstream-Commit: " + b"a" * 40 + b"\n"
