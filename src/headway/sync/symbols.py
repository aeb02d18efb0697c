"""What a source text defines and mentions: tree-sitter for C, C++ and Python, a lighter reader for TableGen and MLIR.

Syntax only, no types; comments and strings hold no names.
"""

import functools
import re
from collections import Counter
from dataclasses import dataclass

import tree_sitter
import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_python

from headway.sync.conflict import encoded
from headway.sync.languages import Language

OUTLINES: dict[str, str] = {
    "python": """
        (function_definition name: (identifier) @def)
        (class_definition name: (identifier) @def)
    """,
    "cpp": """
        (function_definition declarator: (_) @signature)
        (class_specifier name: (type_identifier) @def body: (_))
        (struct_specifier name: (type_identifier) @def body: (_))
        (enum_specifier name: (type_identifier) @def body: (_))
    """,
    "c": """
        (function_definition declarator: (_) @signature)
        (struct_specifier name: (type_identifier) @def body: (_))
        (enum_specifier name: (type_identifier) @def body: (_))
    """,
}
USES: dict[str, str] = {
    "python": """
        (identifier) @word
        (call function: (identifier) @call)
        (call function: (attribute attribute: (identifier) @call))
    """,
    "cpp": """
        [(identifier) (type_identifier) (field_identifier) (namespace_identifier)] @word
        (call_expression function: (identifier) @call)
        (call_expression function: (field_expression field: (field_identifier) @call))
        (call_expression function: (qualified_identifier) @qualified_call)
        (call_expression function: (template_function name: (identifier) @call))
    """,
    "c": """
        [(identifier) (type_identifier) (field_identifier)] @word
        (call_expression function: (identifier) @call)
        (call_expression function: (field_expression field: (field_identifier) @call))
    """,
}
LIGHT_DEFINITIONS: dict[str, re.Pattern[str]] = {
    "tablegen": re.compile(r"^\s*(?:def|class|multiclass|defm)\s+([A-Za-z_]\w*)", re.MULTILINE),
    "mlir": re.compile(r"^\s*(?:tt\.func|func\.func|llvm\.func)\b[^@\n]*@([A-Za-z_][\w$.]*)", re.MULTILINE),
}
LIGHT_WORD = re.compile(r"[A-Za-z_][\w.]*")
LIGHT_COMMENT = re.compile(r"//[^\n]*")
LAST_WORD = re.compile(r"([A-Za-z_]\w*)\W*$")


@dataclass(frozen=True, slots=True)
class Outline:
    """What a text defines. `definitions` counts by signature (name with its parameters in C++, dotted scope in Python),
    `names` by bare name; `errors` is how many places the parser could not read; `spans` are the definitions' first and
    last line (0-based) with their signature.
    """

    definitions: Counter[str]
    names: Counter[str]
    errors: int
    spans: tuple[tuple[int, int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Uses:
    """`mentions` counts identifiers (definitions too), `calls` counts called names."""

    mentions: Counter[str]
    calls: Counter[str]


def parsed_by_grammar(language: Language) -> bool:
    """Whether a grammar ships for it, so that `errors` means something."""
    return language in OUTLINES


@functools.lru_cache(maxsize=256)
def outline_of(text: str, language: Language) -> Outline:
    """What one text defines; empty for a language nobody here can read."""
    if language in OUTLINES:
        return _outline(text, language)
    if language in LIGHT_DEFINITIONS:
        return _light_outline(text, LIGHT_DEFINITIONS[language])
    return Outline(Counter(), Counter(), 0)


@functools.lru_cache(maxsize=128)
def uses_of(text: str, language: Language) -> Uses:
    """What one text mentions and calls; empty for a language nobody here can read."""
    if language in USES:
        captures = _captures(text, language, USES[language])
        calls = _counted(captures.get("call", []))
        for node in captures.get("qualified_call", []):
            if found := LAST_WORD.search(_word(node)):
                calls[found.group(1)] += 1
        return Uses(_counted(captures.get("word", [])), calls)
    if language in LIGHT_DEFINITIONS:
        return Uses(Counter(LIGHT_WORD.findall(LIGHT_COMMENT.sub("", text))), Counter())
    return Uses(Counter(), Counter())


@functools.cache
def _parser(language: str) -> tree_sitter.Parser:
    return tree_sitter.Parser(_grammar(language))


@functools.cache
def _grammar(language: str) -> tree_sitter.Language:
    module = {"python": tree_sitter_python, "cpp": tree_sitter_cpp, "c": tree_sitter_c}[language]
    return tree_sitter.Language(module.language())


@functools.cache
def _query(language: str, text: str) -> tree_sitter.Query:
    return tree_sitter.Query(_grammar(language), text)


@functools.lru_cache(maxsize=12)
def _tree(text: str, language: str) -> tree_sitter.Tree:
    return _parser(language).parse(encoded(text))


def _captures(text: str, language: str, query: str) -> dict[str, list[tree_sitter.Node]]:
    return tree_sitter.QueryCursor(_query(language, query)).captures(_tree(text, language).root_node)


def _outline(text: str, language: str) -> Outline:
    captures = _captures(text, language, OUTLINES[language])
    definitions: Counter[str] = Counter()
    names: Counter[str] = Counter()
    spans: list[tuple[int, int, str]] = []
    for node in captures.get("def", []):
        signature = _scoped(node) if language == "python" else _word(node)
        names[_word(node)] += 1
        definitions[signature] += 1
        if node.parent is not None:
            spans.append((node.parent.start_point[0], node.parent.end_point[0], signature))
    for node in captures.get("signature", []):
        signature = _signature(node)
        name = _function_name(signature)
        if not name:
            continue
        names[name] += 1
        definitions[f"{_enclosing(node)}{signature}"] += 1
        if node.parent is not None:
            spans.append((node.parent.start_point[0], node.parent.end_point[0], signature))
    return Outline(definitions, names, _errors(_tree(text, language).root_node), tuple(spans))


def _counted(nodes: list[tree_sitter.Node]) -> Counter[str]:
    """How often each text stands there; a file has a hundred thousand words and few different ones."""
    raw = Counter(node.text or b"" for node in nodes)
    return Counter({text.decode("utf-8", "surrogateescape"): count for text, count in raw.items()})


def _word(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogateescape")


def _scoped(node: tree_sitter.Node) -> str:
    """`Class.method` for Python; a definition under `if`/`try` carries that, as alternatives are no duplicates."""
    parts = [_word(node)]
    at = node.parent.parent if node.parent else None
    while at is not None:
        if at.type in ("class_definition", "function_definition"):
            name = at.child_by_field_name("name")
            parts.append(_word(name) if name else "?")
        elif at.type in (
            "if_statement",
            "try_statement",
            "else_clause",
            "except_clause",
            "elif_clause",
            "with_statement",
        ):
            parts.append(f"<{at.type}:{at.start_point[0]}>")
        elif at.type == "decorated_definition" and _alternative(at):
            parts.append(f"<decorated:{at.start_point[0]}>")
        at = at.parent
    return ".".join(reversed(parts))


def _alternative(decorated: tree_sitter.Node) -> bool:
    """Decorators that make one name several functions on purpose: overloads, property setters, dispatch."""
    heads = [_word(child) for child in decorated.children if child.type == "decorator"]
    return any(re.search(r"overload|\.setter|\.getter|\.deleter|\.register|\.impl|\.fallback", head) for head in heads)


def _signature(node: tree_sitter.Node) -> str:
    return re.sub(r"\s+", "", _word(node).split("{")[0])


def _function_name(signature: str) -> str:
    head = signature.split("(")[0]
    found = LAST_WORD.search(re.sub(r"<[^<>]*>$", "", head))
    return found.group(1) if found else ""


def _enclosing(node: tree_sitter.Node) -> str:
    """Namespaces, classes and preprocessor branches around a C++ definition: one `verify()` in each of two."""
    parts: list[str] = []
    at = node.parent.parent if node.parent else None
    while at is not None:
        if at.type in ("class_specifier", "struct_specifier", "namespace_definition"):
            name = at.child_by_field_name("name")
            parts.append(_word(name) if name else "anonymous")
        elif at.type.startswith("preproc_") or at.type == "template_declaration":
            parts.append(f"<{at.type}:{at.start_point[0]}>")
        at = at.parent
    return "".join(f"{part}::" for part in reversed(parts))


def _errors(root: tree_sitter.Node) -> int:
    """Places of ERROR or MISSING nodes, counted without descending into clean subtrees."""
    if not root.has_error:
        return 0
    found, stack = 0, [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            found += 1
            continue
        stack.extend(child for child in node.children if child.has_error or child.is_missing)
    return found


def _light_outline(text: str, definition: re.Pattern[str]) -> Outline:
    bare = LIGHT_COMMENT.sub("", text)
    names: Counter[str] = Counter()
    spans: list[tuple[int, int, str]] = []
    for found in definition.finditer(bare):
        names[found.group(1)] += 1
        line = bare.count("\n", 0, found.start())
        spans.append((line, line, found.group(1)))
    return Outline(Counter(names), names, 0, tuple(spans))
