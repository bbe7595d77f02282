"""What is this operating system's is behind the headers of tinyjit/os/; docs/porting.md is the map of it."""

from __future__ import annotations

import ast
import re

import pytest
from test_layers import INCLUDE, ROOT, sources

# What every C11 compiler brings; not <signal.h>, <time.h>, <locale.h>, <threads.h>: systems add to those.
EVERYWHERE = {
    *"assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h limits.h math.h setjmp.h".split(),
    *"stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h".split(),
}
# What is no system's: Python's, NumPy's, libtcc's, and this project's small headers.
OTHERS = re.compile(r"Python\.h|structmember\.h|pyerrors\.h|libtcc\.h|numpy/\w+\.h|iso/\w+\.h")
# Besides all of tinyjit/os/: faults and stacks of debug=True.
SEAMS = {"csrc/base/debug/fault.c", "csrc/base/debug/room.c"}
# Headers that other systems' compilers have, too.
ALLOWED = {"csrc/library/objects/owners.c": {"search.h"}}

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\')', re.DOTALL)
# Functions that come with headers of tinyjit/os/ or of C11, and what only one system has.
ONE_SYSTEM = re.compile(
    r"\b(?:pthread_(?:atfork|create|kill|sigmask|cond_timedwait|condattr_\w+|attr_\w+)|sig(?:action|procmask|altstack|fillset)"
    r"|sched_\w+|sysconf|getpid|fork|vfork|raise|kill|clock_gettime|nanosleep|usleep|realpath|getcwd|mkstemp|setenv|environ"
    r"|access|mmap|munmap|mprotect|madvise|dlopen|dlsym|dladdr|setlocale|uselocale|popen|system|fdopen|fileno)\s*\("
    r"|\b(?:__linux__|__APPLE__|_WIN32|__unix__|__GLIBC__)\b"
    r'|"[^"\n]*/(?:proc|dev|usr|lib|tmp|etc)/|"[^"\n]*\.(?:so|dylib|dll)\b'
)
POSIX_MODULES = {
    "fcntl",
    "grp",
    "mmap",
    "posix",
    "pty",
    "pwd",
    "resource",
    "syslog",
    "termios",
    "tty",
}


def is_seam(path: str) -> bool:
    return path.startswith("tinyjit/os/") or path in SEAMS


def without_comments(text: str) -> str:
    return COMMENT.sub(lambda found: found[1] or " ", text)


def offences(path: str, text: str) -> list[str]:
    """What a file outside of the seams has of one operating system."""
    allowed = EVERYWHERE | ALLOWED.get(path, set())
    found = [
        f"{path} includes <{name}>"
        for name in re.findall(r"^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>", text, re.MULTILINE)
        if name not in allowed and not OTHERS.fullmatch(name)
    ]
    return found + [f"{path}: {word[0]}" for word in ONE_SYSTEM.finditer(without_comments(text))]


@pytest.mark.row("X04")
@pytest.mark.parametrize("base", ["csrc", "tinyjit"])
def test_nothing_of_one_system_is_outside_of_the_seams(base: str) -> None:
    wrong = [one for path, text in sources(base).items() if not is_seam(path) for one in offences(path, text)]
    assert wrong == []


@pytest.mark.row("X04")
@pytest.mark.parametrize(
    "line",
    [
        "#include <unistd.h>",
        "#  include <sys/mman.h>",
        "#include <time.h>",
        "static int pid(void) { return getpid(); }",
        "#ifdef __linux__",
        'FILE *file = fopen("/proc/self/maps", "r");',
        'void *handle = tj_shared_object_open("libm.so.6");',
        "pthread_atfork(before, after, after);",
    ],
)
def test_the_reader_sees_what_does_not_belong(line: str) -> None:
    text = f'/* a.c: {line.replace("*/", "")} */\n#include "internal.h"\n\n#include <string.h>\n\n'
    assert offences("tinyjit/unit/a.c", text) == []
    assert len(offences("tinyjit/unit/a.c", f"{text}{line}\n")) == 1


@pytest.mark.row("X04")
def test_each_seam_stands_behind_its_header() -> None:
    """A port is a folder beside linux/ with the same names; nothing there knows who stands above."""
    texts = {path: text for path, text in sources("tinyjit").items() if path.startswith("tinyjit/os/")}
    assert len(texts) > 10
    for path, text in texts.items():
        names = [name for name in INCLUDE.findall(text) if (ROOT / "tinyjit" / name).is_file()]
        assert all(name.startswith("os/") for name in names), path
        if path.endswith(".c"):
            header = f"os/{path.rsplit('/', 1)[1][:-2]}.h"
            assert re.fullmatch(r"tinyjit/os/linux/\w+\.c", path) and names[0] == header, path
    for path in SEAMS | ALLOWED.keys():
        assert (ROOT / path).is_file()
        assert (ROOT / path).with_suffix(".h").is_file(), f"{path} has no header that says what it does"


@pytest.mark.row("X04")
def test_python_code_that_only_posix_has_is_in_one_file() -> None:
    wrong = {}
    for path in sorted((ROOT / "cwrapjit").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        if names & POSIX_MODULES:
            wrong[path.relative_to(ROOT).as_posix()] = names & POSIX_MODULES
    assert wrong == {"cwrapjit/library/streams.py": {"fcntl"}}


@pytest.mark.row("X04")
def test_the_map_names_every_seam() -> None:
    page = (ROOT / "docs" / "porting.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./]+\.(?:[ch]|py))`", page))
    seams = {path for path in sources("tinyjit") if path.startswith("tinyjit/os/")} | SEAMS
    headers = {path[:-2] + ".h" for path in SEAMS}
    assert (seams | headers | ALLOWED.keys() | {"cwrapjit/library/streams.py"}) - named == set()
    lost = {name for name in named if not (ROOT / name).is_file()}
    assert lost == set(), "porting.md names files that are not there"
