"""What is masked, what is left alone, and that neither takes long."""

import json
import time

import pytest

from headway.adapters.masking import Masker
from headway.core.cutting import cut

NOTHING = Masker()
PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b3BlbnNzaC1rZXk/+v1AAAA\n" * 20 + "-----END OPENSSH PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


@pytest.mark.parametrize(
    "token",
    [
        "ghp_" + "a1B2" * 9,
        "ghs_" + "a1B2" * 9,
        "github_pat_11ABCDEFG0" + "_x9" * 15,
        "glpat-" + "x_9-" * 5,
        "sk-proj-" + "Ab9_" * 8,
        "sk-ant-api03-" + "Ab9_" * 8,
        "AKIA" + "IOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdefghij",
        "AIza" + "Sy9_" * 9,
        "hf_" + "Ab9c" * 9,
        "npm_" + "Ab9c" * 9,
        JWT,
        PEM,
    ],
)
def test_a_token_is_known_by_its_shape(token: str) -> None:
    for before, after in (
        ("", ""),
        ("x=", "\n"),
        ('{"token": "', '"}'),
        ("ü ", " "),
    ):
        assert NOTHING.mask(f"{before}{token}{after}".encode()) == f"{before}[masked]{after}".encode()
    assert token.encode() not in NOTHING.mask(b"\xff\xfe" + token.encode() + b"\x80")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("https://me:s3cret@host/x.git", "https://[masked]@host/x.git"),
        ("https://ghs_short@host/x", "https://[masked]@host/x"),
        ("git clone 'https://oauth2:p@ss:w@host/x'", "git clone 'https://[masked]@host/x'"),
        ("ssh://me:pw@host/x", "ssh://[masked]@host/x"),
        ("AUTHORIZATION: basic eDpnaHBfYWJj", "AUTHORIZATION: basic [masked]"),
        ('{"Authorization": "Bearer abc.def"}', '{"Authorization": "Bearer [masked]"}'),
    ],
)
def test_credentials_in_urls_and_headers(text: str, masked: str) -> None:
    assert NOTHING.mask(text.encode()).decode() == masked


@pytest.mark.parametrize(
    "text",
    [
        "ssh://git@github.com/triton-lang/triton",
        "git@github.com:triton-lang/triton.git",
        "see https://host/a@b and mail me@host.org",
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
        "task-adjusted-learning-rate risk-averse-decision-maker-2",
        "2ac060b8b0f0" * 3 + "2ac0 sha256:" + "0123456789abcdef" * 4,
        "def ghp_short(): eyJ.x.y  # AKIA",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert NOTHING.mask(text.encode()).decode() == text


def test_secrets_of_the_environment_are_known_by_name() -> None:
    masker = Masker.from_environment(
        {
            "GITHUB_TOKEN": "tok-value-1",
            "MY_DB_PASSWORD": 'quo"ted\\value',
            "AWS_SECRET_ACCESS_KEY": "aws+secret/value",
            "SIGNING_KEY": "0123456789abcdef" * 4,
            "https_proxy": "http://user:proxy%20secret@proxy:1",
            "SHORT_TOKEN": "abc",
            "PATH": "/usr/bin:/bin",
            "KEYBOARD": "us-intl-dead",
            "SSH_KEY_PATH": "/home/me/.ssh/id_rsa",
            "GIT_CONFIG_KEY_0": "core.hooksPath",
            "PWD": "/home/me/checkout",
            "DEPLOY_CREDENTIALS": "line one of a long secret\nline two of a long secret",
        }
    )

    def masked(text: str) -> str:
        return masker.mask(text.encode()).decode()

    for leak in (
        "tok-value-1",
        'quo"ted\\value',
        json.dumps('quo"ted\\value')[1:-1],
        "aws+secret/value",
        "aws%2Bsecret%2Fvalue",
        "0123456789abcdef" * 4,
        "proxy secret",
        "line two of a long secret",
    ):
        assert masked(f"<{leak}>") == "<[masked]>", leak
    for fact in ("abc", "/usr/bin:/bin", "us-intl-dead", "/home/me/.ssh/id_rsa", "core.hooksPath", "/home/me/checkout"):
        assert masked(fact) == fact


def test_payloads_stay_canonical_json_and_only_their_strings_change() -> None:
    masker = Masker(["ends with a backslash\\", 'quo"te1234'])
    value = {"a": ['quo"te1234', 1, None, 2.5], 'b quo"te1234': {"c": "ends with a backslash\\"}, "d": "https://u:p@h"}
    masked = masker.mask_payload(json.dumps(value, sort_keys=True, separators=(",", ":")))
    assert json.loads(masked) == {
        "a": ["[masked]", 1, None, 2.5],
        "b [masked]": {"c": "[masked]"},
        "d": "https://[masked]@h",
    }
    assert masked == json.dumps(json.loads(masked), sort_keys=True, separators=(",", ":"))
    assert masker.mask_payload(masked) == masked


@pytest.mark.parametrize("limit", range(9_000, 9_400, 7))
def test_a_secret_that_a_cut_goes_through_is_gone_on_both_sides(limit: int) -> None:
    secrets = ["correct horse battery staple", "tok_0123456789abcdef"]
    masker = Masker(secrets)
    middle = "ghp_" + "Zz9y" * 9
    line = f"{secrets[0]} {secrets[1]} {middle} https://u:pw@h/ \n"
    content = (line * 400).encode()
    kept = masker.mask(cut(content, limit))
    assert b"bytes here]" in kept
    for piece in ("horse", "correct", "staple", "battery", "0123", "tok_", "Zz9y", "pw@"):
        assert piece.encode() not in kept, piece


@pytest.mark.parametrize("keep_head", [True, False])
def test_half_a_private_key_is_masked_too(keep_head: bool) -> None:
    half = PEM[:200] if keep_head else PEM[200:]
    masked = NOTHING.mask(f"before\n{half}\nafter".encode() if not keep_head else f"before\n{half}".encode())
    assert b"b3Blbn" not in masked and masked.startswith(b"before\n")
    assert keep_head or masked.endswith(b"after")


def test_masking_twice_changes_nothing() -> None:
    masker = Masker(["correct horse battery"])
    once = masker.mask(f"x {PEM} {JWT} https://u:p@h Authorization: Bearer abc correct horse battery".encode())
    assert masker.mask(once) == once


@pytest.mark.parametrize(
    "hostile",
    [
        b"eyJ" * 300_000,
        b"a" * 900_000,
        b"://" * 300_000,
        b"-----BEGIN " * 80_000,
        b"-----END RSA PRIVATE KEY-----" * 200,
        b"authorization " * 60_000,
        b"sk-" * 300_000,
        b"AAAA" * 200_000 + b"-----END RSA PRIVATE KEY-----",
        b"AAAAAAAAAAAAAAAAAAAA\n" * 40_000 + b"-----END RSA PRIVATE KEY-----",
    ],
)
def test_hostile_output_does_not_take_long(hostile: bytes) -> None:
    start = time.process_time()
    NOTHING.mask(hostile)
    assert time.process_time() - start < 2.0
