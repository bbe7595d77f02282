"""Explains compilers' errors to beginners.

libtcc names the token at which it stopped, which often is not the fault. A hint is given only if the line
shows the intention; tinyjit/unit/hints.c gives those that need the whole text."""

from __future__ import annotations

import re
from typing import Any

_HEADERS = {
    "alloca.h": "alloca",
    "assert.h": "assert",
    "ctype.h": "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper "
    "isxdigit tolower toupper",
    "fcntl.h": "open creat fcntl",
    "inttypes.h": "imaxabs imaxdiv strtoimax strtoumax",
    "math.h": "j0 j1 jn y0 y1 yn gamma gammaf lgamma_r significand drem scalb finite",
    "pthread.h": "pthread_create pthread_join pthread_self pthread_mutex_lock pthread_mutex_unlock "
    "pthread_once",
    "setjmp.h": "setjmp longjmp",
    "signal.h": "signal raise sigaction kill",
    "stdarg.h": "va_start va_arg va_end va_copy",
    "stdio.h": "fopen fclose fread fgets fscanf sscanf scanf getline perror rewind fseek ftell asprintf "
    "remove rename tmpfile",
    "stdlib.h": "setenv unsetenv mkstemp drand48 lrand48 srand48 random srandom posix_memalign realpath",
    "string.h": "strdup strndup strcasecmp strtok_r memmem mempcpy stpcpy strsep strnlen",
    "strings.h": "strncasecmp ffs bzero",
    "sys/mman.h": "mmap munmap mprotect madvise",
    "sys/stat.h": "stat fstat lstat mkdir chmod",
    "sys/time.h": "gettimeofday",
    "time.h": "time clock clock_gettime difftime localtime gmtime mktime strftime nanosleep",
    "unistd.h": "sleep usleep getpid getppid read write close access unlink lseek sysconf isatty getcwd "
    "fsync",
    "wchar.h": "wcslen wcscpy wcscmp mbstowcs",
}
_CALLED = "implicit declaration of function '"
_BYTES = "2 GiB and more are above any cwrapjit.config.compile_memory"
_NO_MODULE = "C's functions have no module in front: sqrt(x)"
_CAST = "C writes a cast"
# Messages for sizes that libtcc cannot represent, and for words of Python and C++.
_OF_MESSAGES = {
    "constant exceeds 32 bit": _BYTES,
    "invalid array size": _BYTES,
    "unknown type size": _BYTES,
    "memory full (vstack)": "libtcc takes calls of at most 500 arguments",
    f"{_CALLED}max'": "of floating numbers it is fmax",
    f"{_CALLED}min'": "of floating numbers it is fmin",
    "'math' undeclared": _NO_MODULE,
    "'np' undeclared": _NO_MODULE,
    "'pi' undeclared": "C calls it M_PI",
    "';' expected (got 'and')": "C writes it &&",
    "';' expected (got 'or')": "C writes it ||",
    "';' expected (got 'if')": "C writes it condition ? a : b",
    "expression expected before 'float'": f"{_CAST} (float)(x)",
    "expression expected before 'double'": f"{_CAST} (double)(x)",
    "expression expected before 'int'": f"{_CAST} (int)(x)",
    "'static_cast' undeclared": f"{_CAST} (float)(x)",
}
# Keywords that libtcc treats as unknown names, so that it complains about the next token.
_UNSUPPORTED = (
    "__int128 __int128_t __uint128_t _Float16 _Float32 _Float64 _Float128 __float128 _Decimal32 _Decimal64 "
    "_Decimal128 _Complex _Imaginary _BitInt __auto_type __m128 __m128d __m128i __m256 __m256d __m256i"
).split()
_INSTEAD = {
    "_Complex": ": complex numbers are npy_complex64 and npy_complex128, with the functions of <complex.h>",
    "_Float16": ": float16 is cwj_half, with those of <numpy/halffloat.h>",
}
_NO_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|//.*')  # of C's own words
# As tj_value_prefixes in tinyjit/read/vocabulary.c.
_PREFIXES = re.compile(
    r"(?:item|ctype|data_slice|data|dims_slice|strides_slice|Ndims_slice|dims_full|strides_full|Ndims_full"
    r"|sizeof_element|CHECK_CONTIGUOUS|CHECK_CONTIGUOUS_AND_SETERROR)__(\w+)"
)
_OF_STRUCTS = (
    *("invalid operand types", "cannot convert", "aggregate type", "a struct stands"),
    *("does not match any association", "type mismatch in conditional"),
)


_PATH = re.compile(r"[\w./~ -]+\.(?:c|h|cc|cpp|cxx|hpp|txt)", re.ASCII)


def path_hint(text: str) -> str:
    """Returns the start of a hint if a text is not C, but the path of a file with it; else ""."""
    path = text.strip()
    if _PATH.fullmatch(path) is None:  # found in linear time: texts may have a line of megabytes
        return ""
    return f"wanted C text, not a path: read it, pathlib.Path({path!r}).read_text()"


def _name(text: str, before: str) -> str:
    """Returns the quoted name that follows `before`; "" if the message is another one."""
    return text[len(before) :].partition("'")[0] if text.startswith(before) else ""


def _unsupported(source: str) -> str:
    words = set(re.findall(r"\w+", _NO_TEXT.sub(" ", source)))
    if "complex" in words and words & {"double", "float"}:
        words.add("_Complex")
    for word in _UNSUPPORTED:
        if word in words:
            return f"libtcc does not support {word}{_INSTEAD.get(word, '')}"
    return ""


def _for_all(text: str, source: str) -> str:
    """Returns a hint for any text."""
    if hint := path_hint(source):
        return hint
    name = _name(text, _CALLED)
    for header, names in _HEADERS.items():
        if name in names.split():
            return f"it is declared in <{header}>: the text must include that"
    if text in _OF_MESSAGES:
        return _OF_MESSAGES[text]
    sign = {"pointer expected": "**", "invalid operand types for binary operation": "^"}.get(text)
    if sign is not None and sign in source:
        return "C has no operator for powers: pow(x, y)"
    name = _name(text, "'")
    if name and "' undeclared" in text and f"[{name}]" in source[max(source.find("("), 0) :]:
        return f"is 'int {name}' missing among the parameters?" if "(" in source else ""
    return ""


def _indices(name: str, ndims: int) -> str:
    if ndims == 0:
        return f"a slice of '{name}' is one element: item__{name}()"
    count = f"{ndims} ind{'ex' if ndims == 1 else 'ices'}"
    return f"item__{name}() takes {count}, one for each dim of a slice of '{name}'"


def _for_name(name: str, dims: dict[str, int]) -> str:
    """Explains "item__z" and similar names of an unknown operand, and the bare name of an operand."""
    match = _PREFIXES.fullmatch(name)
    if match is not None and match[1] not in dims:
        return f"there is no operand '{match[1]}'; there are {', '.join(dims)}"
    if name in dims:
        return f"an element of '{name}' is item__{name}(...)"
    return f"C writes it {name.lower()}" if name in ("True", "False") else ""


def _for_use(text: str, source: str, operands: Any) -> str:
    """Explains the line's use of an operand that the message is about."""
    for name, role, shape in operands:
        named = f"item__{name}(" in source or f"data_slice__{name}[" in source
        if "read-only location" in text and role == 0 and named:
            return f"'{name}' is an input: args_inout=(\"{name}\",) lets C write to it"
        if text.startswith("expression expected before ')'") and shape and f"item__{name}()" in source:
            return _indices(name, len(shape))
        if text == "lvalue expected" and role == 0 and f"&item__{name}(" in source:
            return f"item__{name}() of a bool that is only read is a value; data_slice__{name} is an address"
    return ""


def _for_numbers(text: str, read: Any) -> str:
    """Explains arithmetic with C operators on complex numbers and float16, which are structs."""
    ctypes = f"{read[4]} {[one[3] for *_, types in read[5] for one in types]}"
    ways = {
        "npy_complex": "complex numbers are structs here: cadd, csub, cmul, cdiv and the functions of "
        "<complex.h> compute with them, .real and .imag are their parts",
        "cwj_half": "a float16 is a struct here: half_to_float(item__x()) is its value, and "
        "float_to_half(value) makes one",
    }
    is_about = any(each in text for each in _OF_STRUCTS)
    return "; ".join(way for ctype, way in ways.items() if is_about and ctype in ctypes)


def _for_snippet(text: str, source: str, read: Any) -> str:
    dims = {name: len(shape) for name, _, shape in read[1]}
    name = _name(text, _CALLED) or ("' undeclared" in text and _name(text, "'"))
    used = _name(text, "macro 'item__")
    if used in dims:
        return _indices(used, dims[used])
    return (_for_name(name, dims) if name else _for_use(text, source, read[1])) or _for_numbers(text, read)


def add_hints(message: tuple[bytes, bytes, int, bytes | None, int, int], read: Any) -> Any:
    """Returns a message with hints. read: what _arguments.read() returned; None: it is of no function."""
    text, *place = message
    said, source = text.decode(errors="replace"), (message[3] or b"").decode(errors="replace")
    hints = [] if message[3] is None else [_unsupported(source) or _for_all(said, source)]
    hints += [_for_snippet(said, source, read)] if read is not None else []
    return (text + "".join([f" ({hint})" for hint in hints if hint]).encode(), *place)
