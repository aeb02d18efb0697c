"""Static rules for C candidates: of the source before it is compiled, and of the library before it is loaded.

The source rules read what a compiler would do at build time; the library rule is the robust one: whatever macros
spelt, the library may refer to nothing but arithmetic and memory, and may run nothing when it is loaded.
"""

import re
import struct
from typing import Any

from .refusals import Refused

HEADERS = ("stddef.h", "stdint.h", "string.h", "math.h", "stdbool.h", "float.h", "limits.h")
WORDS = re.compile(
    r"\b_{0,2}(?:asm|constructor|destructor|ifunc|section|alias|weak|weakref|cleanup|naked|optimize|target"
    r"|target_clones|symver|interrupt|Pragma|has_embed|include_next|builtin_apply\w*|builtin_return_address"
    r"|builtin_frame_address|builtin_longjmp|builtin_setjmp|builtin_trap|environ)_{0,2}\b"
)
"""With and without the underscores that compilers also accept."""
PRAGMAS = re.compile(r"(?:GCC\s+(?:ivdep|unroll\s+\d+)|omp\s+simd\b.*|unroll(?:\s*\(?\d+\)?)?|once)\s*")
DIRECTIVES = frozenset(
    {"include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "pragma", "error"}
)
COMMENTS = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
NEEDED = re.compile(r"lib[cm]\.so\.6|ld-linux[-.\w]*|lib[cm]\.musl[-.\w]*")
SYMBOLS = re.compile(
    r"(?:mem(?:cpy|move|set|cmp)(?:_chk)?|__mem(?:cpy|move|set)_chk|malloc|calloc|realloc|free|aligned_alloc|posix_memalign"
    r"|(?:a?(?:sin|cos|tan)h?|atan2|exp2?|expm1|exp10|log(?:2|10|1p|b)?|pow|sqrt|cbrt|hypot|erfc?|[lt]gamma|fma|fmod|fdim"
    r"|fmin|fmax|fabs|ceil|floor|l?l?round|l?l?rint|nearbyint|trunc|ldexp|scalbl?n|frexp|modf|copysign|remainder|ilogb)[fl]?"
    r"|__\w+_finite|_ZGV\w+|__stack_chk_fail|__tls_get_addr|__gmon_start__|__cxa_finalize|_ITM_\w+)"
)
ADVICE = "Plain C over the arguments, with the headers the task allows."


def check_c_source(source: str, rules: dict[str, Any], source_bytes: int) -> None:
    """Raises Refused(`banned_source`)."""
    if len(source.encode("utf-8", "surrogatepass")) > source_bytes:
        raise Refused("banned_source", f"The source is longer than {source_bytes} bytes.", "Make it shorter.")
    if "??" in source or "%:" in source or "\0" in source:
        raise Refused("banned_source", "Digraphs and trigraphs are other spellings of the preprocessor.", ADVICE)
    joined = re.sub(r"\\[ \t]*\r?\n", "", source)
    code = COMMENTS.sub(lambda found: found[1] or " ", joined)
    if "##" in code:
        raise Refused("banned_source", "Token pasting hides names.", ADVICE)
    if found := WORDS.search(code):
        raise Refused("banned_source", f"{found[0]} is not for candidates.", ADVICE)
    headers = [str(name) for name in rules.get("headers", HEADERS)]
    for line in code.splitlines():
        if line.lstrip().startswith("#"):
            _directive(line.strip(), headers)


def _directive(line: str, headers: list[str]) -> None:
    word, _, rest = line[1:].strip().partition(" ")
    included = re.match(r"#\s*include\s*(.*)", line)
    if included:
        named = re.fullmatch(r"<([^>]*)>\s*", included[1])
        if not named or named[1] not in headers:
            raise Refused("banned_source", f"{line} is not allowed; allowed are {', '.join(headers)}.", ADVICE)
    elif word == "pragma" and not PRAGMAS.fullmatch(rest.strip()):
        raise Refused("banned_source", f"{line} is not allowed: it changes how code is built.", ADVICE)
    elif word and re.match(r"\w*", word)[0] not in DIRECTIVES:  # type: ignore[index]  # matches the empty word too
        raise Refused("banned_source", f"{line} is not allowed.", ADVICE)


def check_library(library: bytes) -> None:
    """Raises Refused(`banned_source`) for a reference, a needed library or start-up code beyond the lists above."""
    try:
        dynamic, strings, symbols = _tables(library)
    except (struct.error, IndexError, ValueError) as trouble:
        raise Refused("compile_failed", "The compiler's output is no library.", "Correct the source.") from trouble
    for name in symbols:
        if not SYMBOLS.fullmatch(name):
            raise Refused("banned_source", f"It calls {name}, which is not for candidates.", ADVICE)
    for tag, value in dynamic:
        if tag == 1 and not NEEDED.fullmatch(strings(value)):
            raise Refused("banned_source", f"It needs the library {strings(value)}.", ADVICE)
        if (tag in (27, 28) and value > 8) or tag == 32:  # compilers put one entry of their own into each table
            raise Refused("banned_source", "It runs code when it is loaded.", "Do everything in the entry point.")


def _tables(library: bytes) -> "tuple[list[tuple[int, int]], Any, list[str]]":
    """(dynamic entries, string reader, undefined symbol names) of a 64-bit little-endian ELF file."""
    if library[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not ELF")
    offset, size, count = struct.unpack_from("<Q", library, 40)[0], *struct.unpack_from("<HH", library, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", library, offset + i * size) for i in range(count)]
    dynsym = next(one for one in sections if one[1] == 11)
    names = sections[dynsym[6]]
    table = next(one for one in sections if one[1] == 6)

    def text(at: int) -> str:
        start = names[4] + at
        return library[start : library.index(b"\0", start)].decode("ascii", "replace")

    symbols = []
    for i in range(1, dynsym[5] // 24):
        name, info, _, index, _, _ = struct.unpack_from("<IBBHQQ", library, dynsym[4] + i * 24)
        if index == 0:
            symbols.append(text(name))
        elif info & 15 == 10:
            raise Refused("banned_source", "It chooses code when it is loaded (ifunc).", ADVICE)
    dynamic = [struct.unpack_from("<QQ", library, table[4] + i * 16) for i in range(table[5] // 16)]
    return [(int(tag), int(value)) for tag, value in dynamic], text, symbols
