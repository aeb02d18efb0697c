"""headway.toml: what it may say, and the one sentence each fault gets."""

import pytest

from headway.adapters.config_file import ConfigError, parse_config

MINIMAL = b"""
[upstream]
url = "https://example.org/up.git"
[fork]
id = "mine"
"""


def test_defaults_are_the_safe_ones() -> None:
    config = parse_config(MINIMAL, "headway.toml")
    assert (config.upstream.branch, config.fork.trunk, config.landing.mode) == ("main", "main", "branch")
    assert config.l1 is None and config.protected_paths == ("headway.toml",)
    assert len(config.digest) == 64


def test_a_step_is_a_line_or_a_table() -> None:
    l1 = (
        b'[l1]\ntest = "pytest"\njunit=["j.xml"]\nsetup = {run = "pip install .", network = true, timeout_seconds = 60}'
    )
    config = parse_config(MINIMAL + l1, "headway.toml")
    assert config.l1 is not None and config.l1.setup is not None
    assert config.l1.test.run == "pytest" and not config.l1.test.network
    assert config.l1.setup.network and config.l1.setup.timeout_seconds == 60


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (b"[landng]\nmode='branch'", r"unknown key 'landng'\. Did you mean 'landing'\?"),
        (b"[l1]\ntest='x'\nsetpu='y'", r"unknown key 'l1.setpu'\. Did you mean 'l1.setup'\?"),
        (
            b"[[policy]]\npaths=['a']\ndecide='wont_port'\nreasn='x'",
            r"unknown key 'policy.0.reasn'\. Did you mean 'policy.0.reason'\?",
        ),
        (b"[l1]\nsetup='y'", r"lacks the key 'l1.test'"),
        (b"[landing]\nmode='merge'", r"value of 'landing.mode' is not usable"),
        (b"[l1]\ntest='x'\ncount_pattern='('", r"'l1.count_pattern' is not usable: is not a regular expression"),
        (b"[l1\n", r"not valid TOML: .*line 6"),
        (b"x = '\xff'", r"not UTF-8"),
    ],
)
def test_each_fault_is_one_sentence_naming_the_key(extra: bytes, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as fault:
        parse_config(MINIMAL + extra, "trunk:headway.toml")
    assert str(fault.value).startswith("trunk:headway.toml") and "\n" not in str(fault.value)
