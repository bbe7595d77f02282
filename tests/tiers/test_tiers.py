"""Tests the cc tier: when it starts, what must not change, and what happens without it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from helpers import INNER, WHO, ar, compiler, eventually, python, refuses, same, who, wrap, wrap_signature

import cwrapjit


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


def last_failure() -> str:
    return str(cwrapjit.show_config("dicts")["last failure of the compiler"])


# ---- when it starts ----------------------------------------------------------------------------


@pytest.mark.row("N05")
def test_off_never_asks_for_a_compiler(cc: Callable[[str], pathlib.Path], tmp_path: pathlib.Path) -> None:
    cc(f"touch '{tmp_path}/was-here'\nexec REAL \"$@\"")
    f = who(optimize="off")
    for _ in range(5):
        assert set(f(np.zeros(500_000)).tolist()) == {1.0}
    assert f.wait() is False and f.tier == "tcc"
    assert not (tmp_path / "was-here").exists()


def test_wait_asks_for_it_and_puts_it_in_place() -> None:
    f = who()
    assert f.tier == "tcc" and f(0.0) == 1
    assert f.wait() is True
    assert f.tier == "cc" and f(0.0) == 2
    assert f.wait() is True and f.wait(0) is True, "again: it is there"
    facts = cwrapjit.show_config("dicts")
    assert os.path.basename(compiler()) in str(facts["compiler"]) and "-O3" in str(facts["compiler flags"])
    body = "item__output() = WHO + 0 * item__a(); return true;"
    f = wrap(((),), (), dict.fromkeys((np.float64, np.int32, (np.uint8, np.float64)), body), header=WHO)
    assert f.wait()
    for dtype in (np.float64, np.int32, np.uint8):
        assert f(np.zeros(3, dtype)).tolist() == [2, 2, 2], "every type set moves"


def test_many_short_calls_count_as_well() -> None:
    f = wrap((("n",), ("n",)), (), INNER)
    x = np.arange(3.0)

    def call_a_lot() -> bool:
        for _ in range(2_000):
            f(x, x)
        return f.tier == "cc"

    assert eventually(call_a_lot)
    assert f(x, x) == 5.0


def test_a_short_use_starts_nothing() -> None:
    """A busy machine may delay any call, but not one of each of a hundred functions."""

    def asks() -> bool:
        f = who()
        for _ in range(20):
            f(np.zeros(10))
        return f._facts()["tier_progress"] != "new"

    assert not all(asks() for _ in range(100))


@pytest.mark.parametrize("options", [{"gil": True}, {"unordered": True}], ids=str)
def test_one_long_call_moves_over_while_it_runs(options: dict[str, Any]) -> None:
    slow = "if (WHO == 1) usleep(1000); item__output() = WHO + 0 * item__a(); return true;"
    f = wrap(((),), (), slow, header="int usleep(unsigned int);" + WHO, **options)
    got = f(np.zeros(100_000))  # would take minutes otherwise
    assert got[0] == 1, "the first slices do not wait"
    assert got[-1] == 2
    assert (np.diff(got) >= 0).all(), "once moved, never back"


def test_process_defaults_choose_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CWRAPJIT_OPTIMIZE", "eager")
    f = who()
    assert f.tier == "cc" and f(0.0) == 2
    assert who(optimize="auto").tier == "tcc"
    monkeypatch.setenv("CWRAPJIT_OPTIMIZE", "off")
    assert who().wait() is False


@pytest.mark.quick
def test_wait_checks_its_timeout() -> None:
    f = who()
    refuses(ValueError, lambda: f.wait(-1), "wait()", "timeout", "got -1")
    refuses(ValueError, lambda: f.wait(float("nan")), "timeout")
    refuses(TypeError, lambda: f.wait("soon"), "not str")
    assert f.wait(timeout=600) is True


# ---- what must not change ----------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.row("N17i")
@pytest.mark.parametrize("where", ["header", "body", "zeroed", "shared"])
def test_writable_statics_keep_their_tier_and_their_value(where: str) -> None:
    header = {
        "header": "static long count = 5;",
        "body": "",
        "zeroed": "static long count;",
        "shared": "long count = 5;",
    }[where]
    first = 0 if where == "zeroed" else 5
    declared = "static long count = 5;" if where == "body" else ""
    f = wrap(((),), (), declared + "item__output() = item__a() + count++; return true;", header=header)
    assert f(np.zeros(3)).tolist() == [first, first + 1, first + 2]
    assert f.wait() is False and f.tier == "tcc"
    assert "data" in last_failure()
    assert f(np.zeros(2)).tolist() == [first + 3, first + 4]


@pytest.mark.row("N17i")
def test_statics_of_sources_are_shared_by_both_tiers(tmp_path: pathlib.Path) -> None:
    (tmp_path / "count.c").write_text("static long count = 5; long next(void) { return count++; }")
    f = wrap(
        ((),),
        (),
        "item__output() = 10 * next() + WHO + 0 * item__a(); return true;",
        header=WHO + "long next(void);",
        sources=[str(tmp_path / "count.c")],
    )
    assert f(np.zeros(2)).tolist() == [51, 61]
    assert f.wait() is True
    assert f(np.zeros(2)).tolist() == [72, 82]


def test_constant_tables_are_no_state() -> None:
    header = (
        WHO + 'static const double table[] = {1, 2, 4, 8}; static const char *const names[] = {"a", "b"};'
    )
    f = wrap(
        ((),), (), "item__output() = table[(int)item__a()] + names[1][0] + WHO; return true;", header=header
    )
    x = np.arange(4.0)
    assert f(x).tolist() == [1 + 98 + 1, 2 + 98 + 1, 4 + 98 + 1, 8 + 98 + 1]
    assert f.wait()
    assert f(x).tolist() == [1 + 98 + 2, 2 + 98 + 2, 4 + 98 + 2, 8 + 98 + 2]


@pytest.mark.row("N05")
def test_names_that_compilers_take_for_the_system() -> None:
    code = "double unix = item__a(), linux = unix + 1; item__output() = linux; return true;"
    f = wrap(((),), (), code, optimize="eager")
    assert (f.tier, f.tier_error, f(1.0)) == ("cc", None, 2)


def test_errors_extras_cookie_and_cleanup_work_in_both_tiers() -> None:
    f = wrap_signature(
        "a(n) -> total(), who()",
        """
        item__total() = 0;
        for (int i = 0; i < dims_slice__a[0]; i++) {
            if (item__a(i) < 0) {
                PyErr_Format(PyExc_ValueError, "%d: item %d is negative", WHO, i);
                return false;
            }
            item__total() += *scale * cookie->factor * item__a(i);
        }
        item__who() = WHO;
        return true;""",
        header=WHO,
        Ccode_cookie_struct="double factor;",
        Ccode_validate="cookie->factor = 10; return true;",
        extra_args=(("double", "scale", "1", "d"),),
    )
    for tier in (1, 2):
        total, made_by = f(ar(2, 3), scale=2.0)
        assert total.tolist() == [60.0, 240.0] and made_by.tolist() == [tier, tier]
        refuses(ValueError, lambda: f([1.0, -1.0]), f"{tier}: item 1 is negative")
        assert f.wait()


def test_core_dims_that_stay_become_constants_and_others_still_work() -> None:
    f = wrap((("n",), ("n",)), (), INNER)
    x = np.random.default_rng(0).normal(size=(50_000, 3))
    assert eventually(lambda: (f(x, x), f.tier)[1] == "cc")
    for n in (3, 1, 0, 7, 3, 64):
        y = np.random.default_rng(n).normal(size=(100, n))
        z = np.asfortranarray(y)[::-1]
        off = wrap((("n",), ("n",)), (), INNER, optimize="off")
        assert same(f(y, y), off(y, y)) and same(f(y, z), off(y, z)) and same(f(z, z), off(z, z))
    wide = np.random.default_rng(1).normal(size=(50_000, 8))  # other dims, for a long time
    for _ in range(60):
        f(wide, wide)
    assert f.wait()
    assert same(f(wide, wide), off(wide, wide)) and same(f(x, x), off(x, x))


@pytest.mark.parametrize("cut", ["[::-1]", "[:, ::-3]", ".T"])
@pytest.mark.parametrize("core", ["", "n"])
def test_strides_that_stay_become_constants_and_others_still_work(cut: str, core: str) -> None:
    body = "item__out() = item__a() * 3 + item__b(); return true;"
    if core:
        body = """
            for (int i = 0; i < dims_slice__a[0]; i++)
                item__out(i) = item__a(i) * 3 + item__b(i);
            return true;"""
    fast, slow = (
        wrap_signature(f"a({core}), b({core}) -> out({core})", body, optimize=optimize)
        for optimize in ("auto", "off")
    )
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 400, 400))
    usual = (eval("x" + cut), y if cut == ".T" else eval("y" + cut))
    assert eventually(lambda: (fast(*usual), fast.tier)[1] == "cc")
    for _ in range(60):
        fast(*usual)
    assert fast.wait()
    others = [(x, y), (x[::2], y[1::2]), (x[:, ::2], y[:, 1::2]), (x.T, y.T), (x[:3], y[5]), (x, x), (x, 2.0)]
    for a, b in [usual, *others[: 6 if core else 7]]:
        assert same(fast(a, b), slow(a, b))


def test_in_place_calls_and_scalars_give_the_same() -> None:
    body = "item__output() = item__a() * item__b() + item__a(); return true;"
    fast = wrap(((), ()), (), body, optimize="eager")
    slow = wrap(((), ()), (), body, optimize="off")
    x, y = ar(37, 41) / 7, ar(37, 41)[::-1] / 3
    assert fast.tier == "cc"
    for a, b in ((x, y), (np.asfortranarray(x), np.asfortranarray(y)), (np.asfortranarray(x), y)):
        check_calls(fast, slow, a, b)


def check_calls(fast: Any, slow: Any, x: Any, y: Any) -> None:
    for a, b in ((x, y), (x, 2.5), (2.5, x), (x[:, :1], y), (x[::3, ::-2], y[::3, ::2]), (x, y[0])):
        assert same(fast(a, b), slow(a, b))
    for k in range(2):
        one, two = x.copy(order="K"), x.copy(order="K")
        arguments = [(one, y), (y, one)][k], [(two, y), (y, two)][k]
        assert fast(*arguments[0], out=one) is one
        slow(*arguments[1], out=two)
        assert same(one, two)


# ---- when it cannot start ----------------------------------------------------------------------

BROKEN = {
    "fails": ("echo 'cc1: error: not in the mood' >&2; exit 3", "not in the mood"),
    "says bytes": (r"printf '\377\376: error\n\0\200:1:2: err' >&2; exit 1", "status 1"),
    "prints garbage": ("head -c 4000 /dev/urandom >&2; head -c 4000 /dev/urandom; exit 1", ""),
    "writes nothing": ("exit 0", "object"),
    "writes garbage": ('for last; do :; done; while [ "$1" ]; do [ "$1" = -o ] && out=$2; shift; done\n'
                       'head -c 3000 /dev/zero | tr "\\0" "x" > "$out"', "object"),
    "writes half an object": ('while [ "$1" ]; do [ "$1" = -o ] && out=$2; set -- "$@"; shift; done\n'
                              'printf "\\177ELF\\002\\001\\001" > "$out"', "object"),
    "is killed": ("kill -9 $$", "signal 9"),
}  # fmt: skip


@pytest.mark.quick
@pytest.mark.plain("its compiler is one of its own, sanitizers choose another")
@pytest.mark.row("G13", "N05")
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_compiler_leaves_the_first_tier(how: str, cc: Callable[[str], pathlib.Path]) -> None:
    script, words = BROKEN[how]
    cc(script)
    f = who()
    assert f.wait() is False
    assert f.tier == "tcc" and f(np.zeros(3)).tolist() == [1, 1, 1]
    assert words in last_failure() and type(f.tier_error) is RuntimeError
    assert str(f.tier_error).startswith("t.f: ") and words in str(f.tier_error)
    assert f.wait() is False, "it is not tried again and again"
    assert who(optimize="eager")(0.0) == 1


@pytest.mark.quick
@pytest.mark.parametrize("name", ["no-such-compiler", "/no/such/cc", "", "/", "'half quoted"])
def test_a_compiler_that_is_not_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cwrapjit.config, "compiler", name)
    f = who()
    assert f.wait() is False and f(0.0) == 1
    said = cwrapjit.show_config("dicts")["compiler"]
    assert str(said).startswith("none: ") and name.strip("'") in str(said)
    monkeypatch.setattr(cwrapjit.config, "compiler", None)
    assert who().wait() is True


@pytest.mark.plain("its compiler is one of its own, sanitizers choose another")
def test_a_compiler_with_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CWRAPJIT_CC", f"'{compiler()}' -DEXTRA=40 ")
    f = wrap(((),), (), "item__output() = EXTRA + item__a(); return true;",
          header="#ifndef EXTRA\n#define EXTRA 1\n#endif")  # fmt: skip
    assert f(0.0) == 1 and f.wait() and f(0.0) == 40


def test_no_compiler_on_path_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CWRAPJIT_CC", raising=False)
    f = who()
    if cwrapjit.show_config("dicts")["compiler"].startswith("none"):  # otherwise ziglang is installed
        assert f.wait() is False
    assert f(0.0) in (1, 2)


HANGS = 'echo $$ > "$PIDS/$$"; exec sleep 1000'


def alive(pid: int) -> bool:
    """Returns false for zombies, too."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it ended before open() or read()
        return False


@pytest.fixture
def pids(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> Iterator[Callable[[], list[int]]]:
    folder = tmp_path / "pids"
    folder.mkdir()
    monkeypatch.setenv("PIDS", str(folder))

    def started() -> list[int]:
        return sorted(int(file.name) for file in folder.iterdir() if file.read_text())

    yield started
    for pid in started():
        if alive(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.plain("its compiler is one of its own, sanitizers choose another")
def test_a_hanging_compiler_ends_with_its_function(
    cc: Callable[[str], pathlib.Path], pids: Callable[[], list[int]]
) -> None:
    cc(HANGS)
    f = who()
    assert f.wait(timeout=0.3) is False
    assert f(np.zeros(2)).tolist() == [1, 1]
    assert eventually(lambda: len(pids()) == 1)
    del f
    gone = pathlib.Path(f"/proc/{pids()[0]}")
    assert eventually(lambda: not gone.exists()), "ended and reaped: no zombie is left"


@pytest.mark.plain("its compiler is one of its own, sanitizers choose another")
def test_one_compiler_at_a_time(cc: Callable[[str], pathlib.Path], tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    cc(f"echo begin >> '{log}'; REAL \"$@\"; status=$?; echo end >> '{log}'; exit $status")
    functions = [who() for _ in range(6)]
    for f in functions:
        assert f.wait(timeout=0) in (False, True)
    assert all(f.wait() for f in functions)
    assert log.read_text().split() == ["begin", "end"] * 6


@pytest.mark.plain("its compiler is one of its own, sanitizers choose another")
@pytest.mark.row("N25i")
def test_several_compilers_at_a_time(
    cc: Callable[[str], pathlib.Path], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits until three have started; a fourth would start before one of them ends."""
    log = tmp_path / "log"
    cc(f"""echo 1 >> '{log}'
while [ $(grep -c 1 '{log}') -lt 3 ]; do sleep 0.01; done
REAL "$@"; status=$?; echo -1 >> '{log}'; exit $status""")
    monkeypatch.setenv("CWRAPJIT_PROCESSES", "3")
    assert cwrapjit.config.processes == 3
    functions = [who() for _ in range(9)]
    for f in functions:
        f.wait(timeout=0)
    assert all(f.wait() for f in functions)
    assert max(np.cumsum([int(step) for step in log.read_text().split()])) == 3


@pytest.mark.plain("threads of sanitizers count as well")
@pytest.mark.row("G07", "N25i")
def test_a_system_that_gives_no_threads(tmp_path: pathlib.Path) -> None:
    """wait() returns False and tier_error the reason; a later call tries again."""
    source = tmp_path / "lib.c"
    source.write_text("int one(void) { return 1; }\n")
    code = textwrap.dedent(f"""
        import os, resource, time, cwrapjit, cwrapjit.graph as cg, numpy as np
        def make(add):
            return cwrapjit.function('f', signature='a() -> output()',
                Ccode_slice_eval={{float: f'item__output() = item__a() + {{add}}; return true;'}})
        def threads():
            return len(os.listdir('/proc/self/task'))
        before = threads()
        make(0).wait()
        lib = cwrapjit.library('lib', sources=[{str(source)!r}])
        one = lib.function('int one(void)')
        x = cg.float64('x')
        graph = cwrapjit.link([x], x + x)
        while threads() > before:  # threads without work end
            time.sleep(0.01)
        limits = resource.getrlimit(resource.RLIMIT_NPROC)
        if os.getuid() == 0:  # whom no limit holds
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        resource.setrlimit(resource.RLIMIT_NPROC, (0, limits[1]))
        f = make(1)
        for each in (f, graph):
            print(each.wait(), each.tier, type(each.tier_error).__name__, each.tier_error)
            print(each.wait(timeout=5))
        for diagnose in (f.diagnose, lib.diagnose):
            try:
                print(diagnose())
            except RuntimeError as error:
                print(error)
        print(f(np.arange(3.0)).tolist(), graph(2.0), one())
        resource.setrlimit(resource.RLIMIT_NPROC, limits)
        print(f.wait(), f.tier, f.tier_error, graph.wait(), graph.tier)
        """)
    done = python(code)
    said = done.stdout.replace(
        "no thread for the system's compiler: Resource temporarily unavailable", "NONE"
    )
    assert said.splitlines() == [
        "False tcc RuntimeError f: NONE",
        "False",
        "False tcc RuntimeError graph: NONE",
        "False",
        "f: NONE",
        "lib.diagnose(): NONE",
        "[1.0, 2.0, 3.0] 4.0 1",
        "True cc None True cc",
    ]


@pytest.mark.row("G10")
def test_no_file_and_no_process_is_left(tmp_path: pathlib.Path) -> None:
    """Only the compiler is started, and folders for files stay empty."""
    folder = tmp_path / "home"
    folder.mkdir()
    environment = {**os.environ, "HOME": str(folder), "TMPDIR": str(folder)}
    folder.chmod(0o500)
    code = textwrap.dedent("""
        import os, sys, cwrapjit, numpy as np
        before = set(os.listdir('/proc/self/fd'))
        f = cwrapjit.function('f', signature='a() -> output()', optimize='eager',
                              Ccode_slice_eval={float: 'item__output() = item__a() + 1; return true;'})
        assert f.tier == 'cc', cwrapjit.show_config()
        assert f(np.arange(3.0)).tolist() == [1, 2, 3]
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print('no child', os.listdir('.'))
        """)
    try:
        done = python(code, cwd=folder, env=environment)
    finally:
        folder.chmod(0o700)
    assert done.stdout.split(maxsplit=2) == ["no", "child", "[]\n"] and not list(folder.iterdir())


@pytest.mark.row("G10")
@pytest.mark.parametrize("how", ["pass", "sys.exit(0)", "raise SystemExit(0)"])
def test_exit_while_a_compiler_runs(
    how: str, cc: Callable[[str], pathlib.Path], pids: Callable[[], list[int]]
) -> None:
    cc(HANGS)
    done = python(
        "import os, sys, time, cwrapjit\n"
        "f = cwrapjit.function('f', signature='a() -> output()',"
        " Ccode_slice_eval={float: 'item__output() = item__a(); return true;'})\n"
        "print(f.wait(timeout=0))\n"
        "while not any(file.stat().st_size for file in os.scandir(os.environ['PIDS'])):\n"
        f"    time.sleep(0.005)\n{how}"
    )
    assert done.stdout == "False\n"
    assert len(pids()) == 1 and eventually(lambda: not alive(pids()[0]))


def test_fork_while_a_compiler_runs(cc: Callable[[str], pathlib.Path], tmp_path: pathlib.Path) -> None:
    """The child has no background thread and no compiler; it starts its own when it needs them."""
    gate = tmp_path / "gate"
    cc(f"while [ ! -e '{gate}' ]; do sleep 0.01; done; exec REAL \"$@\"")
    code = textwrap.dedent(f"""
        import os, pathlib, cwrapjit, numpy as np
        body = 'item__output() = WHO + 0 * item__a(); return true;'
        f = cwrapjit.function('f', signature='a() -> output()', header={WHO!r},
                              Ccode_slice_eval={{float: body}})
        assert f.wait(timeout=0.05) is False
        pid = os.fork()
        answer = [f(0.0)]
        if pid:
            pathlib.Path({str(gate)!r}).touch()
        answer += [f.wait(), f(0.0)]
        if pid:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            print('parent', *answer)
        else:
            print('child', *answer, flush=True)
            os._exit(0)
        """)
    lines = sorted(python(code).stdout.splitlines())
    assert lines == ["child 1.0 True 2.0", "parent 1.0 True 2.0"]


@pytest.mark.parametrize("action", ["SIG_IGN", "SIG_DFL"])
def test_sigchld_ignored(action: str) -> None:
    done = python(
        "import signal, cwrapjit\n"
        f"signal.signal(signal.SIGCHLD, signal.{action})\n"
        "f = cwrapjit.function('f', signature='a() -> output()',"
        " Ccode_slice_eval={float: 'item__output() = item__a() * 2; return true;'})\n"
        "print(f.wait(), f(2.0))"
    )
    assert done.stdout == "True 4.0\n"


def test_ctrl_c_ends_a_wait(cc: Callable[[str], pathlib.Path], pids: Callable[[], list[int]]) -> None:
    cc(HANGS)
    code = (
        "import signal\nimport cwrapjit\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may ignore it\n"
        "f = cwrapjit.function('f', signature='a() -> output()',"
        " Ccode_slice_eval={float: 'item__output() = item__a(); return true;'})\n"
        "print('waiting', flush=True)\n"
        "try:\n    f.wait()\nexcept KeyboardInterrupt:\n    print('interrupted', f(1.0))"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "waiting\n"
    assert eventually(lambda: len(pids()) == 1)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=600)
    assert out == "interrupted 1.0\n"
    assert eventually(lambda: not alive(pids()[0]))


@pytest.mark.parametrize("debug", [False, True])
def test_a_signal_ends_a_wait_for_what_is_said_of_sources(
    debug: bool, cc: Callable[[str], pathlib.Path], pids: Callable[[], list[int]], tmp_path: pathlib.Path
) -> None:
    """That job starts when the function's own has ended."""
    (tmp_path / "slow.c").write_text("double twice(double x) { return 2 * x; }")
    cc(f'case "$*" in *slow.c) kill -USR1 {os.getpid()}; {HANGS};; esac; exec REAL "$@"')
    code = "item__output() = twice(item__a()); return true;"
    header, sources = "double twice(double x);", [tmp_path / "slow.c"]
    f = wrap(((),), (), code, header=header, sources=sources, debug=debug)

    def heard(*_: object) -> None:
        raise InterruptedError("USR1 was heard")

    before = signal.signal(signal.SIGUSR1, heard)
    try:
        refuses(InterruptedError, f.wait, "USR1 was heard")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert f.tier == ("tcc" if debug else "cc") and f(1.0) == 2
