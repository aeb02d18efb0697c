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
        (b"[landing]\nbranch='--force'", r"'landing.branch' is not usable: '--force' is no name for a branch"),
        (b"[landing]\nbranch='a..b'", r"'landing.branch' is not usable: 'a..b' is no name for a branch"),
        (b"[landing]\nbranch='a/.b'", r"'landing.branch' is not usable"),
        (b"[landing]\nbranch='+refs/heads/*:refs/heads/*'", r"'landing.branch' is not usable"),
        (b"[l1]\ntest='x'\njunit=['/etc/passwd']", r"'l1.junit.0' is not usable: '/etc/passwd' is no path below"),
        (b"[l1]\ntest='x'\njunit=['out/../../*.xml']", r"'l1.junit.0' is not usable: .* is no path below"),
        (b"[l1]\ntest='x'\njunit=['']", r"'l1.junit.0' is not usable"),
        (b"[l1]\ntest='x'\njunit=['**.xml']", r"'l1.junit.0' is not usable: .* must be a whole part"),
        (b"[l1]\ntest='x'\ncanary_paths=['/etc/hosts']", r"'l1.canary_paths.0' is not usable"),
        (b"[l1]\ntest='x'\ncache=['../x']", r"'l1.cache.0' is not usable"),
        (b'[l1]\ntest="a\\u0000b"', r"'l1.test.run' is not usable: has a NUL character"),
        (b"[l1]\ntest=3", r"'l1.test' is not usable: it takes a line for `sh -c` or a table"),
        (b"[l1]\ntest={run='x', timeout_seconds=inf}", r"'l1.test.timeout_seconds' is not usable"),
        (b"[l1\n", r"not valid TOML: .*line 6"),
        (b"x = '\xff'", r"not UTF-8"),
    ],
)
def test_each_fault_is_one_sentence_naming_the_key(extra: bytes, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as fault:
        parse_config(MINIMAL + extra, "trunk:headway.toml")
    assert str(fault.value).startswith("trunk:headway.toml") and "\n" not in str(fault.value)
