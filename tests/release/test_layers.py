"""Tests the layers of the C code in csrc/ and tinyjit/: includes, calls, and code for one operating system.

Arrows point down: the front ends (function, graph, library, kernel) stand side by side on csrc/base, and all
of csrc/ stands on tinyjit's two public headers and on tinyjit/os/. If two files need each other, the common
part belongs into a third file below both. Code for one operating system is behind the headers of tinyjit/os/;
docs/porting.md lists it.
"""

from __future__ import annotations

import ast
import collections
import fnmatch
import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRONT_ENDS = ("function", "graph", "library", "kernel")
# Headers of the package, on which compiled code and csrc/ agree.
SHIPPED = re.compile(r"(\.\./)+cwrapjit/include/cwj_\w+\.h")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
# Matches comments, strings, characters, and preprocessor lines.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|^[ \t]*\#(?:[^\n\\]|\\.)*""",
    re.DOTALL | re.MULTILINE,
)


@functools.cache
def sources(base: str) -> dict[str, str]:
    """Maps the path of each C file and header below a folder to its text."""
    if not (ROOT / base).is_dir():
        pytest.skip("this is no checkout")
    paths = sorted(p for p in (ROOT / base).rglob("*.[ch]"))
    return {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in paths}


def part_of(path: str) -> str:
    """Returns 'base', 'function', 'graph', 'library' or 'kernel' for a file in csrc/, otherwise ''."""
    folders = path.split("/")
    return folders[1] if folders[0] == "csrc" and len(folders) > 2 else ""


def definitions(text: str) -> tuple[set[str], set[str]]:
    """Returns the global names that a C file defines: those with external linkage, and static ones."""
    shared, own = set(), set()
    depth, start, begun = 0, 0, ""
    for i, c in enumerate(text):
        if depth == 0 and c in ";{":
            rest = " ".join(text[start:i].split())
            head = f"{begun} {rest}".strip()
            # The name of a struct's variable comes after its members.
            begun = head if c == "{" and re.search(r"\b(struct|union|enum)\b[^()=]*$", head) else ""
            name = defined_name(head, c) if rest and not begun else None
            if name is not None:
                (own if re.search(r"\bstatic\b", head) else shared).add(name)
        depth += (c == "{") - (c == "}")
        if depth == 0 and c in ";}":
            start = i + 1
    return shared, own


def defined_name(head: str, end: str) -> str | None:
    """Returns the name of the function or variable whose definition is `head`, followed by `end`."""
    if not head or re.match(r"(extern|typedef|return)\b", head):
        return None
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head)
    variable = re.match(r"[\w\s*]*?\b(\w+)\s*(\[[^=]*\]\s*)?(=|$)", head)
    if "=" in head or end == ";":
        return variable[1] if variable and " " in variable[0].strip() and "(" not in variable[0] else None
    function = re.search(r"\b(\w+)\s*\(", head)
    return function[1] if function else None


@functools.cache
def calls(base: str) -> dict[str, dict[str, set[str]]]:
    """Maps each C file to the files that it uses, and the names that it uses of them."""
    texts = {path: NO_CODE.sub(" ", t) for path, t in sources(base).items() if path.endswith(".c")}
    shared: dict[str, set[str]] = collections.defaultdict(set)
    inside: dict[str, set[str]] = collections.defaultdict(set)
    own = {}
    for path, text in texts.items():
        seen, own[path] = definitions(text)
        for name in seen:
            shared[name].add(path)
        for name in own[path] if is_call_path(path) else ():
            inside[name].add(path)
    uses: dict[str, dict[str, set[str]]] = {path: {} for path in texts}
    for path, text in texts.items():
        for name in set(re.findall(r"\b[A-Za-z_]\w+\b", text)) - own[path]:
            places = shared.get(name) or (inside.get(name) if is_call_path(path) else None) or set()
            if len(places) == 1 and path not in places:
                uses[path].setdefault(next(iter(places)), set()).add(name)
    return uses


def is_call_path(path: str) -> bool:
    """Returns true for files of the functions' call path, which compilers read as one text."""
    return path.startswith("csrc/function/call/")


def circles(graph: dict[str, dict[str, set[str]]]) -> set[frozenset[str]]:
    """Returns the groups of files in which each file leads to all others."""

    def reached(first: str) -> set[str]:
        seen: set[str] = set()
        pending = [first]
        while pending:
            for path in graph[pending.pop()]:
                if path not in seen:
                    seen.add(path)
                    pending.append(path)
        return seen

    behind = {path: reached(path) for path in graph}
    groups = {frozenset(p for p in behind[path] if path in behind[p]) for path in graph}
    return {group for group in groups if group}


def described(group: frozenset[str], graph: dict[str, dict[str, set[str]]]) -> str:
    return "\n".join(
        f"  {one} -> {other}: {', '.join(sorted(graph[one][other]))}"
        for one in sorted(group)
        for other in sorted(group & graph[one].keys())
    )


def test_the_reader_of_c_sees_what_files_define() -> None:
    text = """
static int own;
struct s { int member; };
typedef struct { int x; } t;
int table[] = {1, 2};
extern int elsewhere;
int declared(int x);
static inline int
hidden(int x)
{
    return x;
}
const char *shown(void) { return "}"; }
static const t rows[2] = {{1}, {2}};
static const struct {
    int x;
} fixed[] = {{1}};
enum { FIRST };
struct s in_all;
"""
    shared, own = definitions(NO_CODE.sub(" ", text))
    assert shared == {"table", "shown", "in_all"}
    assert own == {"own", "hidden", "rows", "fixed"}
    assert circles({"a": {"b": {"f"}}, "b": {"c": {"g"}}, "c": {"a": {"h"}}, "d": {"a": {"i"}}}) == {
        frozenset("abc")
    }


def test_includes_point_down() -> None:
    outside = [path for path in sources("csrc") if part_of(path) not in {"base", *FRONT_ENDS}]
    assert outside == ["csrc/init.c"], "which alone sees all front ends"
    wrong = []
    for path, text in sources("csrc").items():
        part = part_of(path)
        for name in INCLUDE.findall(text):
            target = ROOT / "csrc" / name
            if target.is_file():
                allowed = part == "" or name.split("/")[0] in {"base", part}
            elif (ROOT / "tinyjit" / name).is_file():
                allowed = name in {"tinyjit.h", "abi.h"} or name.startswith("os/")
            else:
                allowed = SHIPPED.fullmatch(name) is not None or "cwrapjit" not in name
            if not allowed:
                wrong.append(f"{path} includes {name}")
    assert wrong == []


def test_calls_point_down() -> None:
    graph = calls("csrc")
    wrong = [
        f"{one} calls {other}: {', '.join(sorted(names))}"
        for one, others in graph.items()
        for other, names in others.items()
        if part_of(one) and part_of(other) not in {"base", part_of(one)}
    ]
    assert wrong == []


def test_tinyjit_knows_neither_python_nor_csrc() -> None:
    for path, text in sources("tinyjit").items():
        names = INCLUDE.findall(text)
        assert not [n for n in names if n == "Python.h" or n.startswith("numpy/")] or path.endswith(
            "/prelude.h"
        )
        assert not [n for n in names if (ROOT / "csrc" / n).is_file()], path
        assert ("libtcc.h" in names) == (path == "tinyjit/unit/backend.c"), path
    for path, text in sources("csrc").items():
        assert "libtcc.h" not in INCLUDE.findall(text), path


@pytest.mark.parametrize("base", ["csrc", "tinyjit"])
def test_files_do_not_call_each_other_in_circles(base: str) -> None:
    graph = calls(base)
    assert len(graph) > 30 and sum(map(len, graph.values())) > 100, "the reader of C sees too little"
    found = "\n".join(described(group, graph) for group in circles(graph))
    assert not found, f"files that call each other in circles:\n{found}"


def imported_at_once(tree: ast.Module) -> set[str]:
    """Returns the modules and names that a module imports when it is imported itself."""
    names: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update((node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)))
        elif not isinstance(node, (ast.FunctionDef, ast.Lambda)) and not (
            isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        ):
            pending.extend(ast.iter_child_nodes(node))
    return names


def test_modules_do_not_import_each_other_in_circles() -> None:
    trees = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(path.read_text(encoding="utf-8"))
        for path in (ROOT / "cwrapjit").rglob("*.py")
        if path.name != "__init__.py"
    }
    graph = {
        name: {other: {"imports"} for other in imported_at_once(tree) & trees.keys()}
        for name, tree in trees.items()
    }
    assert len(graph) > 100 and sum(map(len, graph.values())) > 300, "the reader of imports sees too little"
    found = "\n".join(described(group, graph) for group in circles(graph))
    assert not found, f"modules that import each other in circles:\n{found}"


def test_architecture_names_files_that_are_there() -> None:
    page = ROOT / "ARCHITECTURE.md"
    if not page.is_file():
        pytest.skip("this is no checkout")
    folders = ("csrc", "tinyjit", "cwrapjit", "tests", "tools", "docs", "examples", "benchmarks")
    files = [f"/{p.relative_to(ROOT).as_posix()}" for folder in folders for p in (ROOT / folder).rglob("*.*")]
    named = set(re.findall(r"`([\w./*-]+\.(?:c|h|py|sh|pyi))`", page.read_text(encoding="utf-8")))
    assert len(named) > 100, "the page names files in backticks"
    lost = {name for name in named if not any(fnmatch.fnmatch(file, f"*/{name}") for file in files)}
    assert lost == set()


# ---- code for one operating system -----------------------------------------------------------------------


# All C11 compilers have these. Systems extend <signal.h>, <time.h>, <locale.h>, <threads.h>.
EVERYWHERE = {
    *"assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h limits.h math.h setjmp.h".split(),
    *"stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h".split(),
}
# Headers of Python, NumPy, libtcc and this project.
OTHERS = re.compile(r"Python\.h|structmember\.h|pyerrors\.h|libtcc\.h|numpy/\w+\.h|iso/\w+\.h")
# Besides tinyjit/os/: faults and stacks of debug=True.
SEAMS = {"csrc/base/debug/fault.c", "csrc/base/debug/room.c"}
# Headers that compilers of other systems have, too.
ALLOWED = {
    "csrc/library/objects/owners.c": {"search.h"},
    "tinyjit/maths/lanes.h": {"immintrin.h", "arm_neon.h"},  # of processors
}

A_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\')', re.DOTALL)
# Functions that headers of tinyjit/os/ or C11 replace, and names that only one system has.
ONE_SYSTEM = re.compile(
    r"\b(?:pthread_(?:atfork|create|kill|sigmask|cond_timedwait|condattr_\w+|attr_\w+)|sig(?:action|procmask|altstack|fillset)"
    r"|sched_\w+|sysconf|getpid|fork|vfork|raise|kill|clock_gettime|nanosleep|usleep|realpath|getcwd|mkstemp|setenv|environ"
    r"|access|mmap|munmap|mprotect|madvise|dlopen|dlsym|dladdr|setlocale|uselocale|popen|system|fdopen|fileno)\s*\("
    r"|\b(?:__linux__|__APPLE__|_WIN32|__unix__|__GLIBC__)\b"
    r'|"[^"\n]*/(?:proc|dev|usr|lib|tmp|etc)/|"[^"\n]*\.(?:so|dylib|dll)\b'
)
POSIX_MODULES = {*"fcntl grp mmap posix pty pwd resource syslog termios tty".split()}


def is_seam(path: str) -> bool:
    return path.startswith("tinyjit/os/") or path in SEAMS


def without_comments(text: str) -> str:
    return A_COMMENT.sub(lambda found: found[1] or " ", text)


def offences(path: str, text: str) -> list[str]:
    """Returns what a file outside of the seams has of one operating system."""
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
def test_the_reader_sees_what_does_not_belong() -> None:
    for line in (
        "#include <unistd.h>",
        "#  include <sys/mman.h>",
        "static int pid(void) { return getpid(); }",
        "#ifdef __linux__",
        'FILE *file = fopen("/proc/self/maps", "r");',
        'void *handle = tj_shared_object_open("libm.so.6");',
    ):
        text = f'/* a.c: {line} */\n#include "internal.h"\n\n#include <string.h>\n\n'
        assert offences("tinyjit/unit/a.c", text) == []
        assert len(offences("tinyjit/unit/a.c", f"{text}{line}\n")) == 1


@pytest.mark.row("X04")
def test_each_seam_stands_behind_its_header() -> None:
    """A port is a folder beside linux/ with the same names; its files know nothing of their users."""
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
