"""The ladder's last rung through the command line: scripted CLIs that tell the truth and that lie in each known way."""

import sys
from pathlib import Path

import pytest

from benchmarks.model_server import Call, Fault, ModelServer, Step
from headway.adapters.command_agent import CommandAgent
from headway.core.names import Sha
from headway.core.ports.agent import NoProposal
from tests.sync.driver import POLICY, Headway, new_fork, picture

CORE = """def helper(x):
    return x + 1


def total(items):
    result = 0
    for item in items:
        result += item
    return result
"""
OURS = CORE.replace("result += item\n", "result += own(item)\n")
SCALED = "def scaled(x, by):\n    return x * by\n\n\ndef total"
THEIRS = CORE.replace("result += item\n", "result += scaled(helper(item), 2)\n").replace("def total", SCALED)
RIGHT = THEIRS.replace("helper(item)", "helper(own(item))")


def agent(folder: Path, headway: Headway, program: str, *, more: str = "") -> None:
    """`program` runs in the clone; `files` are the conflicted ones, `tries` counts the invocations so far."""
    script = folder / "agent.py"
    script.write_text(
        "import pathlib, re, sys\n"
        "request = pathlib.Path(sys.argv[1]).read_text()\n"
        "tries = request.partition('Refused so far')[2].count('\\n- ')\n"
        "def put(name, text): pathlib.Path(name).write_text(text)\n"
        "def get(name): return pathlib.Path(name).read_text()\n" + program
    )
    table = f"\n[agent]\nuse = 'command'\ncommand = '{sys.executable} -S {script} {{request}}'\nseconds = 60\n{more}"
    headway.begin(policy=POLICY + table)


def in_conflict(folder: Path, extra: dict[str, str | bytes | None] | None = None) -> tuple[Headway, Sha]:
    """A fork and an upstream change that rewrite the same line of core.py, which no resolver is sure of."""
    headway = new_fork(folder, {"core.py": CORE, **(extra or {})})
    headway.pair.fork.commit("fork: own items\n\nItems are wrapped here.", {"core.py": OURS})
    change = headway.pair.upstream.commit("scale items (#7)\n\nEvery item counts twice.", {"core.py": THEIRS})
    return headway, change


def test_an_honest_agent_resolves_in_a_clone_past_every_rail_and_is_named(tmp_path: Path) -> None:
    headway, change = in_conflict(tmp_path)
    agent(
        tmp_path,
        headway,
        f"assert '<<<<<<< fork' in get('core.py') and 'Every item counts twice.' in request\n"
        f"assert 'Items are wrapped here.' in request and get('own.txt') == 'ours\\n'\n"
        f"put('core.py', {RIGHT!r}); put('scratch.txt', 'not taken')\n",
    )
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)"
    fork = headway.pair.fork
    assert fork.read("core.py", "headway/sync") == RIGHT.rstrip("\n")
    assert picture(headway.pair)[-1].endswith("Resolved-By: command")
    journey = headway.ok("sync", "show", change, "--json").json["journey"]
    asked = next(one for one in journey if one["type"] == "sync.asked.v1")
    assert (asked["outcome"], asked["engine"]) == ("accepted", "command")
    attempted = next(one for one in journey if one["type"] == "sync.attempted.v1")
    assert attempted["result"] == "resolved"
    assert "scratch.txt" not in fork.git("ls-tree", "-r", "--name-only", "headway/sync")


OPS = "REGISTRY = []\n\n\ndef first(x):\n    return x\n"
OPS_OURS = OPS.replace("    return x\n", "    return own_first(x)\n")
OPS_THEIRS = OPS.replace("    return x\n", "    return second(x)\n\n\ndef second(x):\n    return first_of(x)\n")
OPS_RIGHT = OPS_THEIRS.replace("return second(x)", "return second(own_first(x))")
TEST = "def test_total():\n    assert total([1]) == 1\n    assert total([2]) == 2\n"
TEST_OURS = TEST.replace("    assert total([2]) == 2\n", "    assert total([own(2)]) == 2\n")
TEST_THEIRS = TEST.replace(
    "    assert total([2]) == 2\n", "    assert total([2]) == 6\n\n\ndef test_second():\n    assert second(3) == 3\n"
)
TEST_RIGHT = TEST_THEIRS.replace("assert total([2]) == 6", "assert total([own(2)]) == 2")
RULES = "".join(f"rule {n}\n" for n in range(40))
RULES_OURS = RULES.replace("rule", "our rule")
RULES_THEIRS = "".join(f"new rule {n}\nsecond rule {n}\nthird rule {n}\n" for n in range(40))
ALL = {"core.py": (CORE, OURS, THEIRS, RIGHT), "ops.py": (OPS, OPS_OURS, OPS_THEIRS, OPS_RIGHT),
       "tests/test_core.py": (TEST, TEST_OURS, TEST_THEIRS, TEST_RIGHT),
       "gen/rules.cfg": (RULES, RULES_OURS, RULES_THEIRS, RULES_THEIRS)}  # fmt: skip
GOOD = {path: right for path, (_, _, _, right) in ALL.items()}
INVARIANT = "\n[[invariant]]\npaths = ['core.py']\npattern = 'own\\('\nreason = 'items are wrapped'\n"


def lie(path: str, old: str, new: str) -> dict[str, str]:
    assert old in GOOD[path]
    return {**GOOD, path: GOOD[path].replace(old, new)}


LIES: list[tuple[str, dict[str, str]]] = [
    ("outside_conflict", {**GOOD, "own.txt": "theirs\n"}),
    ("outside_conflict", lie("core.py", "return x + 1", "return x + 2")),
    ("conflict_markers", {path: text for path, text in GOOD.items() if path != "gen/rules.cfg"}),
    ("conflict_markers", lie("core.py", "    return result", ">>>>>>> upstream after\n    return result")),
    ("unparsable", lie("core.py", "result += scaled(", "result += scaled((")),
    ("duplicated", lie("core.py", RIGHT.split("\n")[10] + "\n", 2 * (RIGHT.split("\n")[10] + "\n"))),
    ("definition_dropped", lie("ops.py", "\n\n\ndef second(x):\n    return first_of(x)", "")),
    ("call_site_dropped", lie("core.py", "scaled(helper(own(item)), 2)", "helper(own(item))")),
    ("invariant_broken", {**GOOD, "core.py": THEIRS}),
    ("test_deleted", lie("tests/test_core.py", "\n\n\ndef test_second():\n    assert second(3) == 3", "")),
    ("test_skipped", lie("tests/test_core.py", "def test_second", "@pytest.mark.skip\ndef test_second")),
    ("test_weakened", lie("tests/test_core.py", "    assert total([own(2)]) == 2\n", "    total([own(2)])\n")),
    ("golden_rewritten", lie("tests/test_core.py", "assert second(3) == 3", "assert second(3) == 4")),
    ("residual", {**GOOD, "gen/rules.cfg": RULES_OURS}),
]  # fmt: skip


def every_conflict(folder: Path) -> tuple[Headway, Sha]:
    headway = new_fork(folder, {path: base for path, (base, _, _, _) in ALL.items()})
    headway.pair.fork.commit("fork: our own everywhere", {path: ours for path, (_, ours, _, _) in ALL.items()})
    change = headway.pair.upstream.commit("everywhere (#8)", {path: theirs for path, (_, _, theirs, _) in ALL.items()})
    return headway, change


def test_an_agent_that_lies_in_every_known_way_is_refused_by_the_right_rail_each_time(tmp_path: Path) -> None:
    """One conflict, one lie a try, each told why the one before was refused; nothing lands and the budget holds."""
    headway, change = every_conflict(tmp_path)
    program = f"lies = {[files for _, files in LIES]!r}\nfor name, text in lies[tries].items(): put(name, text)\n"
    agent(tmp_path, headway, program, more=f"tries = {len(LIES)}\n" + INVARIANT)
    before = headway.pair.fork.refs()
    headway.ok("sync", "run")
    told = headway.evidence(change)["agent"]
    wrong = []
    for (code, _), one in zip(LIES, told["proposals"], strict=True):
        codes = [said.partition(":")[0] for said in one["said"]]
        if one["outcome"] != "refused" or code not in codes:
            wrong.append((code, one["outcome"], one["said"]))
    assert wrong == []
    assert told["budget_spent"] == f"{len(LIES)} proposals"
    assert headway.answer(change) == "deferred(residual)"
    fork = headway.pair.fork
    assert fork.git("rev-list", "--count", "main..headway/sync", ok=None) in ("0", ""), "nothing landed"
    assert before.splitlines()[-1] == fork.refs().splitlines()[-1]
    headway.ok("sync", "run")
    assert len(headway.evidence(change)["agent"]["proposals"]) == len(LIES), "the budget is for good, until a retry"


def test_an_agent_that_hears_why_it_was_refused_may_mend_it(tmp_path: Path) -> None:
    headway, change = in_conflict(tmp_path)
    program = f"""
if tries == 0: print('Shall I go on?')
elif tries == 1: pathlib.Path('core.py').unlink()
elif tries == 2: put('core.py', {OURS!r})
else:
    assert 'call_site_dropped: scaled' in request and 'declined' in request and 'removed core.py' in request
    put('core.py', {RIGHT!r})
"""
    agent(tmp_path, headway, program, more="tries = 4\n")
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)"
    journey = headway.ok("sync", "show", change, "--json").json["journey"]
    outcomes = [(one["outcome"], one["reason"]) for one in journey if one["type"] == "sync.asked.v1"]
    assert outcomes[:2] == [("nothing", "declined"), ("nothing", "malformed")]
    assert [one for one, _ in outcomes[2:]] == ["refused", "accepted"]


def test_the_budget_of_tokens_ends_the_asking_and_a_person_may_begin_it_anew(tmp_path: Path) -> None:
    headway, change = in_conflict(tmp_path)
    agent(tmp_path, headway, f"put('core.py', {OURS!r})\n", more="tokens = 1\n")
    headway.ok("sync", "run")
    told = headway.evidence(change)["agent"]
    assert len(told["proposals"]) == 1 and told["budget_spent"] == "1 tokens a run"
    headway.ok("sync", "retry", change)
    headway.ok("sync", "run")
    assert len(headway.evidence(change)["agent"]["proposals"]) == 1, "a retry begins the count anew"


def test_a_program_that_is_not_there_stops_the_run_and_says_nothing_about_the_change(tmp_path: Path) -> None:
    headway, change = in_conflict(tmp_path)
    headway.begin(policy=POLICY + "\n[agent]\nuse = 'command'\ncommand = 'no-such-agent'\n")
    said = headway("sync", "run")
    assert said.code == 1 and "no-such-agent" in said.err and "not on PATH" in said.err
    assert headway.answer(change) == "pending"


KEY = "sk-test-0123456789abcdef0123456789"
FAR = "".join(f"CONSTANT_{n} = {n}\n" for n in range(300))


def propose(text: str) -> Call:
    return Call("propose", {"hypothesis": "both", "files": [{"path": "core.py", "content": text}]})


def asked_by_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, script: list[Step]
) -> tuple[Headway, Sha, ModelServer]:
    """A long core.py in conflict, put to a model over real HTTP; the server is closed again."""
    headway = new_fork(folder, {"core.py": FAR + CORE})
    headway.pair.fork.commit("fork: own items", {"core.py": FAR + OURS})
    change = headway.pair.upstream.commit("scale items (#7)", {"core.py": FAR + THEIRS})
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer(script) as server:
        table = f"\n[agent]\nuse = 'model'\nmodel = 'openai:m'\nbase_url = '{server.url}/v1'\nseconds = 60\n"
        headway.begin(policy=POLICY + table)
        headway("sync", "run")
    return headway, change, server


def test_a_model_over_http_sees_excerpts_and_its_words_but_not_its_key_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pydantic_ai")
    mark = "[headway: lines 61 to 251 are left out here; keep this line as it is]\n"
    near = "".join(FAR.splitlines(keepends=True)[251:])
    head = "".join(FAR.splitlines(keepends=True)[:60]) + mark + near
    script: list[Step] = [
        Fault(429, headers={"retry-after": "0"}),
        propose(head + OURS),
        propose(near + RIGHT),
        propose(head + RIGHT),
    ]
    headway, change, server = asked_by_model(tmp_path, monkeypatch, script)
    assert headway.answer(change) == "picked(landed)"
    assert headway.pair.fork.read("core.py", "headway/sync") == (FAR + RIGHT).rstrip("\n")
    assert picture(headway.pair)[-1].endswith("Resolved-By: model")
    first, last = str(server.requests[0]), str(server.requests[-1])
    assert "CONSTANT_3 =" in first and "CONSTANT_150 =" not in first and "left out here" in first
    assert "call_site_dropped: scaled" in last and "outside_conflict: core.py" in last
    state = headway.pair.fork.path / ".git" / "headway"
    assert all(KEY.encode() not in path.read_bytes() for path in state.rglob("*") if path.is_file())
    assert KEY not in headway.ok("log", "export").out


def test_a_provider_that_refuses_stops_the_run_and_the_change_stays_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pydantic_ai")
    headway, change, _ = asked_by_model(tmp_path, monkeypatch, [Fault(401, "wrong key", "invalid_api_key")])
    assert headway.answer(change) == "pending"
    said = headway.ok("sync", "status").out
    assert "could_not_run" in said, said


def test_a_run_that_died_while_the_agent_thought_asks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headway, change = in_conflict(tmp_path)
    agent(tmp_path, headway, f"put('core.py', {RIGHT!r})\n")

    def interrupted(*_: object) -> NoProposal:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(CommandAgent, "propose", interrupted)
        assert headway("sync", "run").code == 130
    assert headway.answer(change) == "pending"
    headway.ok("sync", "run")
    assert headway.answer(change) == "picked(landed)"
    journey = headway.ok("sync", "show", change, "--json").json["journey"]
    assert [one["type"] for one in journey].count("sync.asked.v1") == 1
