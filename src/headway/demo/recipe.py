"""What the demo's two repositories contain: a toy compiler, its fork, and one upstream change of every kind.

Data only. `repositories.py` turns it into git; `truth` is what each change must end as, written before anything runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Side = Literal["base", "upstream", "fork"]


@dataclass(frozen=True)
class Commit:
    """One commit: `files` maps a path to its new content (None: deleted). `reverts`/`picks` name another by key."""

    key: str
    subject: str
    files: Mapping[str, str | None]
    body: str = ""
    reverts: str = ""
    picks: str = ""
    truth: str = ""
    """For an upstream change: the disposition it must get, with the reason code of a deferral after a colon."""


RUNNER = '''\
"""A test runner of twenty lines: finds tests/test_*.py, runs every test_ function, writes JUnit XML."""
import importlib.util, pathlib, sys, time, traceback
from xml.sax.saxutils import escape, quoteattr

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
sys.dont_write_bytecode = True
rows, failed = [], 0
for path in sorted(here.glob("test_*.py")):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in [n for n in vars(module) if n.startswith("test_")]:
        begin, inner = time.perf_counter(), ""
        try:
            getattr(module, name)()
        except Exception:
            failed += 1
            inner = f"<failure>{escape(traceback.format_exc())}</failure>"
            print(f"FAILED {path.stem}::{name}")
        seconds = time.perf_counter() - begin
        rows.append(f'<testcase classname={quoteattr(path.stem)} name={quoteattr(name)} time="{seconds:.4f}">{inner}</testcase>')
xml = f'<testsuite name="tinyc" tests="{len(rows)}" failures="{failed}">{"".join(rows)}</testsuite>'
pathlib.Path("junit.xml").write_text(f'<?xml version="1.0"?>\\n{xml}\\n')
print(f"{len(rows)} tests, {failed} failed")
sys.exit(bool(failed))
'''

IR = '''\
"""The IR: a list of (name, op, args)."""


def show(instruction):
    name, op, args = instruction
    return f"{name} = {op} " + ", ".join(map(str, args))


def uses(instruction):
    return [arg for arg in instruction[2] if isinstance(arg, str)]
'''

FOLD = '''\
"""Constant folding."""

OPS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
}


def fold(program):
    known, out = {}, []
    for name, op, args in program:
        args = [known.get(arg, arg) for arg in args]
        if op in OPS and all(isinstance(arg, int) for arg in args):
            known[name] = OPS[op](*args)
        out.append((name, op, args))
    return out
'''

DCE = '''\
"""Dead code elimination."""
from tinyc.ir import uses


def dce(program):
    live, out = set(), []
    for instruction in reversed(program):
        if instruction[1] == "ret" or instruction[0] in live:
            live.update(uses(instruction))
            out.append(instruction)
    return out[::-1]
'''

PASSES = '''\
"""The pipeline."""
from tinyc.dce import dce
from tinyc.fold import fold

MAX_ROUNDS = 4

PIPELINE = [
    fold,
    dce,
]


def optimise(program):
    for _ in range(MAX_ROUNDS):
        before = program
        for step in PIPELINE:
            program = step(program)
        if program == before:
            break
    return program
'''

TEST_FOLD = """\
from tinyc.fold import fold


def test_constants_fold_into_their_uses():
    program = [("a", "add", [1, 2]), ("r", "ret", ["a"])]
    assert fold(program)[-1] == ("r", "ret", [3])


def test_unknown_operands_stay():
    assert fold([("a", "add", ["x", 2])]) == [("a", "add", ["x", 2])]
"""

TEST_PASSES = """\
from tinyc.passes import optimise


def test_dead_code_goes():
    program = [("a", "load", []), ("b", "load", []), ("r", "ret", ["a"])]
    assert [name for name, _, _ in optimise(program)] == ["a", "r"]
"""

WORKFLOW = "on: push\njobs:\n  test:\n    runs-on: {runner}\n    steps:\n      - run: python3 tests/run.py\n"

GUIDE = "# tinyc\n\nA toy compiler: an IR, a pipeline of passes, a printer.\n"

ACME = '''\
"""The fork's own backend."""
from tinyc.ir import show


def emit(program):
    return "\\n".join("acme." + show(instruction) for instruction in program)
'''

TEST_ACME = """\
from tinyc.acme import emit


def test_the_assembler_wants_lower_case():
    assert emit([("a", "add", [1, 2])]) == "acme.a = add 1, 2"
"""

SHIFT_FIX = FOLD.replace(
    '    "mul": lambda a, b: a * b,\n',
    '    "mul": lambda a, b: a * b,\n    "shl": lambda a, b: a << b if b >= 0 else a >> -b,\n',
)

BASE: tuple[Commit, ...] = (
    Commit(
        "base",
        "tinyc: a toy compiler",
        {
            "tinyc/__init__.py": "",
            "tinyc/ir.py": IR,
            "tinyc/fold.py": FOLD,
            "tinyc/dce.py": DCE,
            "tinyc/passes.py": PASSES,
            "tests/run.py": RUNNER,
            "tests/test_fold.py": TEST_FOLD,
            "tests/test_passes.py": TEST_PASSES,
            ".github/workflows/test.yml": WORKFLOW.format(runner="small"),
            "docs/guide.md": GUIDE,
            "VERSIONS": "llvm 17\n",
            ".gitignore": "junit.xml\n__pycache__/\n",
        },
    ),
)

CSE = '''\
"""Common subexpression elimination."""


def cse(program):
    seen, names, out = {}, {}, []
    for name, op, args in program:
        args = [names.get(arg, arg) for arg in args]
        key = (op, tuple(args))
        if op in ("add", "mul") and key in seen:
            names[name] = seen[key]
            continue
        seen[key] = name
        out.append((name, op, args))
    return out
'''

TEST_CSE = """\
from tinyc.cse import cse


def test_the_second_of_two_equal_sums_goes():
    program = [("a", "add", ["x", 1]), ("b", "add", ["x", 1]), ("r", "ret", ["a", "b"])]
    assert cse(program)[-1] == ("r", "ret", ["a", "a"])
"""

ORDER = '"""Cached order of blocks."""\n\nORDER = {}\n'

SIXTEEN = PASSES.replace("MAX_ROUNDS = 4\n", "MAX_ROUNDS = 16\n")
SAY_SO = SIXTEEN.replace("MAX_ROUNDS = 16\n", "MAX_ROUNDS = 16  # enough for every program in the test suite\n")
WITH_CSE = SAY_SO.replace("from tinyc.dce import dce\n", "from tinyc.cse import cse\nfrom tinyc.dce import dce\n")

UPSTREAM: tuple[Commit, ...] = (
    Commit(
        "identities",
        "Fold subtraction (#101)",
        {
            "tinyc/fold.py": FOLD.replace('    "add"', '    "sub": lambda a, b: a - b,\n    "add"'),
            "tests/test_fold.py": TEST_FOLD
            + '\n\ndef test_subtraction_folds():\n    assert fold([("a", "sub", [5, 2]), ("r", "ret", ["a"])])[-1] == ("r", "ret", [3])\n',
        },
        truth="picked",
    ),
    Commit("guide", "Describe the passes (#102)", {"docs/guide.md": GUIDE + "\nPasses: fold, dce.\n"}, truth="picked"),
    Commit(
        "sixteen",
        "Run the pipeline for sixteen rounds (#103)",
        {"tinyc/passes.py": SIXTEEN},
        body="Four rounds were not enough for long chains.",
        truth="deferred:conflict",
    ),
    Commit(
        "say-so",
        "Say why sixteen rounds are enough (#104)",
        {"tinyc/passes.py": SAY_SO},
        truth="deferred",
    ),
    Commit(
        "cse",
        "Add common subexpression elimination (#105)",
        {"tinyc/cse.py": CSE, "tests/test_cse.py": TEST_CSE},
        truth="picked",
    ),
    Commit(
        "shout",
        "Print operations in upper case (#106)",
        {"tinyc/ir.py": IR.replace("{op} ", "{op.upper()} ")},
        truth="deferred:tests_failed",
    ),
    Commit("order", "Cache the order of blocks (#107)", {"tinyc/order.py": ORDER}, truth="reverted_pair"),
    Commit(
        "ci",
        "ci: move to the large runners (#108)",
        {".github/workflows/test.yml": WORKFLOW.format(runner="large")},
        truth="wont_port",
    ),
    Commit(
        "unorder",
        'Revert "Cache the order of blocks (#107)" (#109)',
        {"tinyc/order.py": None},
        reverts="order",
        truth="reverted_pair",
    ),
    Commit(
        "shift",
        "Fold shifts, negative ones too (#110)",
        {"tinyc/fold.py": SHIFT_FIX.replace('    "add"', '    "sub": lambda a, b: a - b,\n    "add"')},
        truth="already_present",
    ),
    Commit("pin", "Pin llvm 18 (#111)", {"VERSIONS": "llvm 18\n"}, truth="deferred:vanished"),
    Commit(
        "uses",
        "Let uses() keep the order of operands (#112)",
        {
            "tinyc/dce.py": DCE.replace("live, out = set(), []", "live, out = set(), []  # names still needed"),
            "tests/test_dce.py": 'from tinyc.dce import dce\n\n\ndef test_a_return_keeps_what_it_uses():\n    program = [("a", "load", []), ("r", "ret", ["a"])]\n    assert dce(program) == program\n',
        },
        truth="picked",
    ),
    Commit(
        "tour",
        "Add a tour of the code (#113)",
        {"docs/tour.md": "# A tour\n\nStart at passes.py.\n"},
        truth="picked",
    ),
)

FORK: tuple[Commit, ...] = (
    Commit("acme", "acme: own backend", {"tinyc/acme.py": ACME, "tests/test_acme.py": TEST_ACME}),
    Commit(
        "rounds",
        "acme: eight rounds are what our chips like",
        {"tinyc/passes.py": PASSES.replace("MAX_ROUNDS = 4\n", "MAX_ROUNDS = 8  # measured on acme silicon\n")},
    ),
    Commit("shift", "Fold shifts, negative ones too (#110)", {"tinyc/fold.py": SHIFT_FIX}, picks="shift"),
    Commit(
        "own-pin",
        "acme: the toolchain is pinned by us",
        {"VERSIONS": "llvm 17-acme\n", ".gitattributes": "VERSIONS merge=ours\n"},
    ),
)
