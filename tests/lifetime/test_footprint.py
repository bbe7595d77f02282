"""Tests with strace and valgrind what a process leaves behind: no file, no other process, no lost memory. Of
valgrind's reports, only those with frames of cwrapjit, libtcc or compiled code count."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

import pytest
from helpers import compiler, python

BEGIN, END = "/cwrapjit-test-begins", "/cwrapjit-test-ends"

# Defines and calls all kinds between two marks for strace, and checks Python's audit events itself.
CHILD = rf"""
import os, sys
import numpy as np
import cwrapjit
import cwrapjit.graph as cg, cwrapjit.library

try:
    open("file", "w")
except OSError as error:
    assert error.errno == 13, error
else:
    raise SystemExit("this folder was to be one that nobody can write to")

seen = []
SPAWN = {{"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.forkpty",
          "pty.spawn"}}
CHANGE = {{"os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "os.truncate", "shutil.copyfile",
           "tempfile.mkstemp", "tempfile.mkdtemp"}}

def hook(event, args):
    if event in SPAWN or event in CHANGE:
        seen.append((event, str(args)))
    if event == "open" and args[2] is not None and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        seen.append((event, str(args)))

sys.addaudithook(hook)
os.access("{BEGIN}", os.F_OK)

options = {{"optimize": sys.argv[1]}}
m = cwrapjit.module("innerlib", "doc", header="#include <math.h>\n#include <stdint.h>", **options)
f = m.function("inner", "doc", args_input=("a", "b"), prototype_input=(("n",), ("n",)), prototype_output=(),
               Ccode_slice_eval={{t: '''
    item__output() = 0;
    for (int i = 0; i < dims_slice__a[0]; i++)
        item__output() += item__a(i) * item__b(i);
    return true;''' for t in (np.float64, np.float32, np.int32)}})
result = f(np.arange(4.), np.arange(8.).reshape(2, 4))
assert result.tolist() == [14, 38], result
for _ in range(10):
    f(np.ones((20000, 100)), np.ones(100))  # long enough for the cc tier
assert f.wait() is False

x, y = cg.float64("x"), cg.float64("y")
k = cwrapjit.link([x, y], x * y + 1, **options)
assert k(2.0, 3.0) == 7 and k.wait() is False

lib = cwrapjit.library("c", libraries=["m"])
assert lib.function("double hypot(double x, double y)")(3.0, 4.0) == 5
os.access("{END}", os.F_OK)
assert not seen, seen
print("ok")
"""


def bare_environment(folder: pathlib.Path) -> dict[str, str]:
    """Returns an environment without programs, in which every folder for files is this one."""
    kept = ("PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "PATH": "",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "XDG_CACHE_HOME": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
    }


def give_up_power() -> None:
    """Runs in a child: forbids writing to files, and takes root's right to any file (capability 1)."""
    PR_CAPBSET_DROP = 24
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.fixture
def locked(tmp_path: pathlib.Path) -> pathlib.Path:
    """Returns an empty, read-only folder."""
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    return folder


def trace(folder: pathlib.Path, arguments: list[str], **kw: object) -> list[str]:
    """Runs Python under strace with these arguments. Returns the system calls between the two marks."""
    strace = shutil.which("strace")
    if not strace or subprocess.run([strace, "-o", os.devnull, sys.executable, "-c", ""]).returncode:
        pytest.skip("strace is not installed, or may not trace (apt install strace)")
    log = folder.parent / "log"
    log.touch()
    calls = "trace=%file,%process,memfd_create,socket"
    done = subprocess.run(
        [strace, "-f", "-s", "4096", "-e", calls, "-o", str(log), sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        **kw,  # type: ignore[call-overload]
    )
    assert done.returncode == 0 and done.stdout == "ok\n", done.stderr
    lines = log.read_text(errors="replace").splitlines()
    begin, end = (
        next(i for i, line in enumerate(lines) if re.search(rf'access\w*\([^"]*"{mark}"', line))
        for mark in (BEGIN, END)
    )
    return lines[begin + 1 : end]


WRITES = re.compile(
    r"O_CREAT|O_WRONLY|O_RDWR|O_TMPFILE|\b(creat|mkdir(at)?|mknod(at)?|rename(at2?)?|unlink(at)?|rmdir"
    r"|symlink(at)?|link(at)?|truncate|memfd_create|socket)\("
)
STARTS = re.compile(r"\b(execve(at)?|fork|vfork)\(")


@pytest.mark.row("N05", "G10")
@pytest.mark.parametrize("optimize", ["off", "auto"])
def test_nothing_is_written_and_no_process_started(optimize: str, locked: pathlib.Path) -> None:
    """No compiler exists, or none is wanted; Python and the kernel refuse anything else."""
    done = python(CHILD, optimize, cwd=locked, env=bare_environment(locked), preexec_fn=give_up_power)
    assert (done.stdout, done.stderr) == ("ok\n", "")
    assert list(locked.iterdir()) == []


@pytest.mark.plain("sanitizers write logs")
@pytest.mark.row("N05", "G10")
@pytest.mark.parametrize("optimize", ["off", "auto"])
def test_the_system_sees_no_file_written_and_no_program_run(optimize: str, locked: pathlib.Path) -> None:
    """Checks the same by all system calls, including those of C code. strace itself must write."""
    setpriv = "import ctypes; ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)\n"
    drop = setpriv + "import os, sys; os.execv(sys.executable, [sys.executable, '-c', *sys.argv[1:]])"
    lines = trace(locked, ["-c", drop, CHILD, optimize], env=bare_environment(locked))
    assert lines, "strace saw headers being looked for"
    assert [line for line in lines if WRITES.search(line) or STARTS.search(line)] == []
    assert list(locked.iterdir()) == []


# ---- when a compiler is wanted -----------------------------------------------------------------------

ASKS = {
    "eager, and auto": """
for options in ({"optimize": "eager"}, {}):
    f = cwrapjit.function("f", signature="a() -> output()", **options,
                          Ccode_slice_eval={float: "item__output() = item__a() + 1; return true;"})
    assert f.wait() and f.tier == "cc" and f(1.0) == 2
""",
    "diagnose, and a graph": """
f = cwrapjit.function("f", signature="a() -> output()", optimize="off",
                      Ccode_slice_eval={float: "item__output() = item__a() + 1; return true;"})
assert f.diagnose() == []
x = cg.float64("x")
k = cwrapjit.link([x], x * x, optimize="eager")
assert k.tier == "cc" and k(3.0) == 9
""",
}
FORTRAN = """
lib = cwrapjit.library("f")
lib.fortran(open(sys.argv[1]).read(), sources=[sys.argv[1]])
x = np.ones(3)
lib.twice(x)
assert x.tolist() == [2, 2, 2]
"""
FORTRAN_TEXT = """subroutine twice(n, x)
  integer, intent(in) :: n
  real(8), intent(inout) :: x(n)
  x = 2*x
end subroutine
"""
# A compiler and the programs that it runs.
COMPILER = re.compile(r"(.*-)?(cc|gcc|clang|gfortran|cc1|f951|as|collect2|ld)(-[0-9.]+)?")


def check_that_only_the_compiler_ran(code: str, folder: pathlib.Path, *arguments: str) -> None:
    """The process itself writes only files in memory, and temporary files that it removes."""
    folder.mkdir()
    marked = (
        f"import os, sys\nimport numpy as np\nimport cwrapjit, cwrapjit.graph as cg, cwrapjit.library\n"
        f"os.access({BEGIN!r}, 0)\n{code}\nos.access({END!r}, 0)\nprint('ok')"
    )
    environment = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    lines = trace(folder, ["-c", marked, *arguments], env=environment)
    programs = dict(re.findall(r'^(\d+) +execve\("([^"]*)"', "\n".join(reversed(lines)), re.MULTILINE))
    assert programs, "a compiler was asked for"
    assert {
        name for name in map(os.path.basename, programs.values()) if not COMPILER.fullmatch(name)
    } == set()
    ours = [line for line in lines if line.split(maxsplit=1)[0] not in programs]
    fine = re.compile(rf'memfd_create\(|"/dev/null"|"{folder}/|unlinkat\(\d+, "[^/"]+"')
    assert [line for line in ours if WRITES.search(line) and not fine.search(line)] == []
    assert list(folder.iterdir()) == []


@pytest.mark.plain("sanitizers write logs")
@pytest.mark.row("G10")
@pytest.mark.parametrize("asked", ASKS)
def test_where_a_compiler_is_asked_for_nothing_else_runs(asked: str, tmp_path: pathlib.Path) -> None:
    compiler()
    check_that_only_the_compiler_ran(ASKS[asked], tmp_path / "work")


@pytest.mark.plain("sanitizers write logs")
@pytest.mark.row("G10", "F01")
def test_fortran_runs_its_compiler_and_removes_its_files(tmp_path: pathlib.Path) -> None:
    if not shutil.which("gfortran"):
        pytest.skip("gfortran is not installed (apt install gfortran)")
    source = tmp_path / "twice.f90"
    source.write_text(FORTRAN_TEXT)
    check_that_only_the_compiler_ran(FORTRAN, tmp_path / "work", str(source))


# ---- valgrind over definitions, calls, failures and drops ------------------------------------------------


TESTS = pathlib.Path(__file__).resolve().parents[1]
# These functions intern strings forever. CPython 3.12 and 3.13 do not count references to them, and leave
# them at exit, though their table goes (python/cpython#113190). Other versions show our superfluous ones.
INTERNING = {
    (3, 12): "PyUnicode_InternFromString|PyDict_SetItemString",
    (3, 13): "PyDict_SetItemString",
}.get(sys.version_info[:2])
# Matches such a string: between its allocation and the interning are only functions that make strings.
FOR_GOOD = re.compile(
    rf"definitely lost.*\n(.*: (\w*[Mm]alloc|PyUnicode_\w+|\w*decode_\w+) \(.*\n)+.*: ({INTERNING}) \("
)
OURS = re.compile(r"_cwrapjit|libtcc|cwj_|tj_|: \?\?\?")
# int.from_bytes() reads the first digit of a zero that has none (CPython 3.11: maybe_small_long() in
# _PyLong_FromByteArray()). Python's import code computes with that zero, a flag of most .pyc files.
IMPORTING = re.compile(
    r".*uninitialised.*\n(?:.*: (?!cwj_|tj_)\w+ \(.*\n)*"
    r".*: _PyEval_EvalFrameDefault \((?s:.*): cwj_ask_python \("
)
# Remarks about switched stacks, which stand in front of the next report.
OF_STACKS = re.compile(
    r"^==\d+== (Warning: client switching|  +to suppress, use: --max-stack|  +further instances).*\n",
    re.MULTILINE,
)

PROGRAM_BEGIN = """
import gc, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import cwrapjit

def function(body):
    return cwrapjit.function("f", signature="a(n) -> output()", optimize="off",
                             Ccode_slice_eval={np.float64: body})
"""
CYCLES = """
for k in range(3):
    f = function(f"item__output() = item__a(0) + {k}; return true;")
    assert f(np.ones(3)) == 1 + k and f([1.0]) == 1 + k
    texts = ("return oops;", "return true; }")
    for wrong in (f, lambda: f("a"), *(lambda text=text: function(text) for text in texts)):
        try:
            wrong()
        except (TypeError, SyntaxError):
            pass
        else:
            raise SystemExit("no exception")
    del f, wrong
    gc.collect()
"""
# A type with an allocated value: sync frees it after reading, cleanup frees what is left.
GRAPHS = """
from graph_types import DBL, Template, TemplateOp
heap = Template(
    declare="double *%(name)s;",
    init="%(name)s = NULL;",
    sync="Py_XDECREF(py_%(name)s); py_%(name)s = PyFloat_FromDouble(*%(name)s);"
         " free(%(name)s); %(name)s = NULL;",
    cleanup="if (%(name)s) free(%(name)s);",
)
for mode in ("struct", "function"):
    for code in ("", "if (%(x)s < 0) %(fail)s"):
        x, y = DBL("x"), DBL("y")
        body = "%(z)s = malloc(sizeof(double)); *%(z)s = %(x)s + %(y)s;" + code
        k = cwrapjit.link([x, y], TemplateOp(type=heap, code=body)(x, y), mode=mode, optimize="off")
        assert k(1.0, 2.0) == 3.0
        if code:
            try:
                k(-1.0, 2.0)
            except RuntimeError:
                pass
            else:
                raise SystemExit("no exception")
        del k
        gc.collect()
"""
# The same, with storage that a later run frees or reuses, and with cells of the caller.
OWNED = """
take = "Py_XDECREF(py_%(name)s); py_%(name)s = PyFloat_FromDouble(*%(name)s);"
heap = dict(declare="double *%(name)s;", init="%(name)s = NULL;", cleanup="free(%(name)s);")
giving = Template(sync=take + "free(%(name)s); %(name)s = NULL;", **heap)
keeping = Template(sync=take, **heap)
x, y = DBL("x"), DBL("y")
code = "free(%(z)s); %(z)s = malloc(sizeof(double)); *%(z)s = %(x)s + %(y)s; if (%(x)s < 0) %(fail)s"
for type in giving, keeping:
    for mode in "function", "struct":
        k = cwrapjit.link([x, y], TemplateOp(type=type, code=code)(x, y), mode=mode, optimize="off")
        k.cells[1][0] = 2.0
        for k.cells[0][0], wanted in (1.0, 0), (-1.0, 4), (3.0, 0):
            assert k.run() == wanted
        assert k.cells[2] == [5.0]
        del k
"""
# Code is left under valgrind, too: it handles signals between two instructions of the code.
# An interrupt that comes before the C code runs is tried again, later.
LEAVES = """
import contextlib, signal, threading
f = function("volatile double x = item__a(0); while (x > 5); item__output() = 2 * x; return true;")
lib = cwrapjit.library("lib", source="void each(void (*f)(int), int n)"
                                     "{ for (volatile int i = 0; i < n || n > 5; i++) f(i); }")
@contextlib.contextmanager
def interrupt(seconds):
    threading.Timer(seconds, signal.raise_signal, [signal.SIGINT]).start()
    yield
def left(call, after, error):
    for seconds in (0.1, 0.5, 2.5, 12.5, 62.5):
        try:
            with after(seconds):
                call()
        except error as caught:
            if "the C code was left" in str(caught):
                break
    else:
        raise SystemExit("no C code was left")
    assert f([1.0]) == 2 and f(np.ones((3, 2))).tolist() == [2, 2, 2]
for call in (lambda: f([9.0]), lambda: f(np.full((3, 2), 9.0)), lambda: lib.each(lambda i: None, 9)):
    left(call, cwrapjit.deadline, TimeoutError)
left(lambda: f([9.0]), interrupt, KeyboardInterrupt)
seen = []
lib.each(seen.append, 2)
assert seen == [0, 1]
"""
FAULT = "f = function('volatile char *p = malloc(8); p[8] = 1; item__output() = 0; return true;'); f([1.0])"
LEAK = "f = function('volatile char *p = malloc(80); item__output() = 0; return true;'); f([1.0]); del f"


def run(code: str) -> subprocess.CompletedProcess[str]:
    valgrind = shutil.which("valgrind")
    if not valgrind:
        pytest.skip("no valgrind on this machine (apt install valgrind)")
    options = [
        "--smc-check=all-non-file",
        "--leak-check=full",
        "--show-leak-kinds=definite",
        "--num-callers=12",
    ]
    return subprocess.run(
        [valgrind, *options, sys.executable, "-c", PROGRAM_BEGIN + code + "\nprint('done')", str(TESTS)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONMALLOC": "malloc"},
    )


def reports(code: str) -> list[str]:
    """Returns valgrind's reports about our code in a process that runs this code."""
    done = run(code)
    assert (done.stdout, done.returncode) == ("done\n", 0), re.sub(r"(?m)^==.*\n", "", done.stderr)
    assert "ERROR SUMMARY" in done.stderr
    blocks = re.split(r"(?m)^==\d+== *\n", OF_STACKS.sub("", done.stderr))
    found = [block for block in blocks if "   at 0x" in block and OURS.search(block)]
    found = [block for block in found if not IMPORTING.match(block)]
    return [block for block in found if not (INTERNING and FOR_GOOD.search(block))]


by_valgrind = pytest.mark.soak("half a minute in valgrind, which sees what the leak tests count")


@by_valgrind
@pytest.mark.plain("valgrind and sanitizers do not go together")
@pytest.mark.row("G05", "G07", "A28")
def test_definitions_calls_drops_and_owned_memory_of_graphs_are_clean() -> None:
    assert reports(CYCLES + GRAPHS + OWNED) == []


@by_valgrind
@pytest.mark.plain("valgrind and sanitizers do not go together")
@pytest.mark.row("S08", "S09")
def test_code_that_is_left_has_no_invalid_access_after_it() -> None:
    assert reports(LEAVES) == []


@by_valgrind
@pytest.mark.plain("valgrind and sanitizers do not go together")
@pytest.mark.row("G22")
def test_faults_and_leaks_are_reported() -> None:
    fault, *leaks = reports(FAULT + "\n" + LEAK)
    assert "Invalid write of size 1" in fault
    assert any("80 bytes in 1 blocks are definitely lost" in leak for leak in leaks), leaks
