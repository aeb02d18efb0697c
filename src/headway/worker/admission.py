"""Static rules for Python candidates: what a source may import, call and reach. Pure; runs in the judge.

One definition, here and not in headway: a worker must never rely on what was checked before a job reached it. These
rules explain early and catch the honest mistake; what they miss meets the guard in the runner, and the sandbox.
"""

import ast
from collections.abc import Iterator
from typing import Any

from .refusals import Refused

BUILTINS = frozenset(
    {"open", "exec", "eval", "compile", "__import__", "input", "breakpoint", "globals", "locals", "vars", "setattr",
     "delattr", "__builtins__", "__loader__", "__spec__", "exit", "quit", "help"}
)  # fmt: skip
MODULES = frozenset(
    {"sys", "os", "builtins", "importlib", "ctypes", "ctypeslib", "gc", "inspect", "threading", "subprocess", "socket",
     "mmap", "signal", "pickle", "marshal", "runpy", "pkgutil", "multiprocessing", "concurrent", "asyncio", "shutil",
     "tempfile", "posix", "atexit", "weakref", "linecache", "traceback", "f2py", "distutils", "testing", "npyio",
     "attrgetter", "methodcaller", "get_type_hints", "ForwardRef", "evaluate_forward_ref"}
)  # fmt: skip
"""Modules that other modules carry as attributes (`dataclasses.sys`), so that reaching them is reaching around the
import; and functions of the library that read attributes, or run code, given as text."""
FRAMES = frozenset(
    {"f_back", "f_locals", "f_globals", "f_builtins", "f_code", "tb_frame", "tb_next", "gi_frame", "gi_code",
     "cr_frame", "cr_code", "ag_frame", "co_code", "co_consts", "func_globals"}
)  # fmt: skip
FILES = frozenset(
    {"load", "save", "savez", "savez_compressed", "savetxt", "loadtxt", "genfromtxt", "fromfile", "tofile", "memmap",
     "open_memmap", "DataSource", "fromregex", "dump", "dumps", "seterrcall", "setbufsize"}
)  # fmt: skip
SAFE_DUNDERS = frozenset(
    f"__{name}__"
    for name in (
        "init call len getitem setitem iter next enter exit name qualname doc repr str eq ne lt le gt ge hash add radd "
        "sub rsub mul rmul truediv floordiv mod pow neg pos abs matmul iadd isub imul bool int float index contains "
        "post_init slots version all annotations future main new class_getitem reversed set_name missing and or xor "
        "invert lshift rshift divmod round trunc file"
    ).split()
)
BY_STRING = frozenset({"getattr", "hasattr"})
ADVICE = "Compute from the inputs with what the task allows."


def check_source(source: str, rules: dict[str, Any], source_bytes: int) -> ast.Module:
    """Parse, and refuse what the rules ban. `rules`: the task's `[admission]`; imports are `imports_of`'s."""
    if len(source.encode("utf-8", "surrogatepass")) > source_bytes:
        raise Refused("banned_call", f"The source is longer than {source_bytes} bytes.", "Make it shorter.")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as trouble:
        line = getattr(trouble, "lineno", 0)
        raise Refused("syntax", f"The candidate does not parse: {trouble} (line {line}).", "Correct it.") from None
    modules = {bound for _, bound, _ in imports_of(tree)}
    kernels = {bound for name, bound, _ in imports_of(tree) if name.partition(".")[0] == "triton"}
    banned_calls = frozenset(str(name) for name in rules.get("banned_calls", []))
    if "torch" in rules and (found := _torch_computes(tree, frozenset(rules["torch"]))):
        raise Refused("banned_call", found, "Let a Triton kernel of yours do it; torch may only make tensors.")
    if "torch" in rules and (found := _reaches_modules(tree)):
        raise Refused("banned_call", found, ADVICE)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in BY_STRING and id(node) not in called:
            raise Refused("banned_call", f"Line {node.lineno}: {node.id} under another name.", ADVICE)
        if what := _offence(node, modules, kernels, banned_calls):
            raise Refused("banned_call", f"Line {getattr(node, 'lineno', 0)}: {what}.", ADVICE)
    return tree


def imports_of(tree: ast.Module) -> Iterator[tuple[str, str, bool]]:
    """(full module name, name bound here, is it a from-import) of each import anywhere in the source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, alias.asname or alias.name.partition(".")[0], False
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield "." * node.level + (node.module or ""), alias.asname or alias.name, True


def _offence(node: ast.AST, modules: set[str], kernels: set[str], banned_calls: frozenset[str]) -> str:
    if isinstance(node, ast.Name):
        return f"{node.id} is not for candidates" if node.id in BUILTINS or _odd_dunder(node.id) else ""
    if isinstance(node, ast.Attribute):
        return _attribute(node, modules, kernels)
    if isinstance(node, ast.MatchClass):  # `case object(__globals__=g)` reads an attribute without naming it as one
        odd = [name for name in node.kwd_attrs if name in MODULES | FRAMES or _odd_dunder(name)]
        return f"the attribute {odd[0]} in a pattern" if odd else ""
    if isinstance(node, ast.Call):
        return _call(node, banned_calls)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return f"{node.name} may not be defined" if _odd_dunder(node.name) else ""
    if isinstance(node, ast.ImportFrom):
        if any(alias.name == "*" for alias in node.names):
            return "an import of everything hides what is used"
        carried = [alias.name for alias in node.names if alias.name in MODULES | FILES or alias.name.startswith("_")]
        return f"{carried[0]} may not be imported" if carried and node.module != "__future__" else ""
    return ""


def _attribute(node: ast.Attribute, modules: set[str], kernels: set[str]) -> str:
    """`kernels`: names bound to Triton, whose `load` reads the device's memory and no file."""
    name = node.attr
    if name in MODULES | FRAMES or _odd_dunder(name):
        return f"the attribute {name} reaches where no candidate goes"
    root = _root(node)
    if root in modules:
        if not isinstance(node.ctx, ast.Load):
            return f"{ast.unparse(node)} changes a module"
        if (
            name.startswith("_")
            or (name in FILES and name not in ("load", "dump"))
            or (name == "load" and root in ("np", "numpy", "torch"))
        ):
            return f"{ast.unparse(node)} is not for candidates"
    return f"{name} writes or reads a file" if name in {"tofile", "dump"} else ""


def _call(node: ast.Call, banned_calls: frozenset[str]) -> str:
    shown = ast.unparse(node.func)
    if shown in banned_calls:
        return f"{shown} is banned by the task"
    function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if function not in BY_STRING:
        return ""
    for one in node.args[1:2] or [node]:
        if not isinstance(one, ast.Constant) or not isinstance(one.value, str):
            return f"{function} with a computed name"
        for part in one.value.split("."):
            if part in BUILTINS | MODULES | FRAMES | FILES or _odd_dunder(part):
                return f"{function} of {part}"
    return ""


TENSOR_METHODS = frozenset(
    {"matmul", "mm", "bmm", "addmm", "baddbmm", "softmax", "log_softmax", "einsum", "cumsum", "cumprod", "logsumexp",
     "exp", "exp_", "mul", "mul_", "add", "add_", "div", "div_", "sub", "sub_", "sum", "mean", "max", "amax", "relu",
     "sigmoid", "tanh", "copy_", "scatter_add_", "index_add_", "addcmul_", "where", "tensordot", "dot", "mv", "conv1d"}
)  # fmt: skip


def _torch_computes(tree: ast.Module, allowed: frozenset[str]) -> str:
    """The first place outside kernels where torch would compute: a function not on the list, a method, an operator."""
    torch = {bound for name, bound, _ in imports_of(tree) if name.partition(".")[0] == "torch"}
    kernels = {id(inner) for node in ast.walk(tree) if _is_kernel(node) for inner in ast.walk(node)}
    inside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            within = (node.module or "").partition(".")[2]
            for alias in node.names:
                path = f"{within}.{alias.name}" if within else alias.name
                if path not in allowed:
                    return f"Line {node.lineno}: torch.{path} is not on the task's list."
        if id(node) in kernels:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and _root(node) in torch:
            path = ast.unparse(node).partition(".")[2]
            on_the_way = id(node) in inside and any(one.startswith(path + ".") for one in allowed)
            if path not in allowed and not on_the_way:
                return f"Line {node.lineno}: torch.{path} is not on the task's list."
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TENSOR_METHODS:
            return f"Line {node.lineno}: .{node.func.attr}() would let torch compute."
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return f"Line {node.lineno}: @ would let torch compute."
    return ""


def _reaches_modules(tree: ast.Module) -> str:
    """The first place where a module is a value, or where an attribute is set on what is not the source's own.

    `c = torch.cuda; c.Event = Fake` changes what the clock is made of, and names no module where it does.
    """
    modules = {bound for _, bound, is_from in imports_of(tree) if not is_from}
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    methods = {
        id(inner)
        for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        for method in node.body if isinstance(method, ast.FunctionDef)
        for inner in ast.walk(method)
    }  # fmt: skip
    harmless = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):  # `if fast is None`, `if fast`: a guarded import is asked for, and goes nowhere
        asked = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [getattr(node, "test", None)]
        harmless |= {id(one) for one in asked}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in modules:
            if id(node) not in harmless:
                return f"Line {node.lineno}: the module {node.id} as a value."
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            base = node.value.id if isinstance(node.value, ast.Name) else ""
            if not (base == "self" and id(node) in methods) and base not in own:
                return f"Line {node.lineno}: {ast.unparse(node)} is set, and is not the candidate's own."
    return ""


def names_streams(source: str) -> bool:
    """Does an admitted source name streams anywhere? Names cannot be computed, so one that it uses stands in it."""
    return "stream" in ast.unparse(ast.parse(source)).lower()


def _is_kernel(node: ast.AST) -> bool:
    """A function whose decorators name `jit`: its body is Triton's, not Python's."""
    return isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(one) for one in node.decorator_list)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _odd_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in SAFE_DUNDERS
