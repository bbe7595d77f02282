"""Tests cells of C, %%cwrapjit and %cwrapjit, in a shell of this process and in real kernels."""

from __future__ import annotations

import gc
import json
import pathlib
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers import build_shared, compiler, meeting, python
from leaks import keeps_nothing

import cwrapjit
from cwrapjit.notebook import remarks

PATIENCE = remarks.PATIENCE
COLOURS = re.compile(r"\x1b\[[\d;]*m")
EXCESS = "double excess(double x, double limit) { return x > limit ? x - limit : 0; }"
UNUSED = "double f(double x)\n{\n    int unused;\n    return x;\n}"


class Done(NamedTuple):
    error: BaseException | None
    printed: str  # without colours

    @property
    def lines(self) -> list[str]:
        return self.printed.splitlines()


class Session:
    """A terminal's shell with the extension."""

    def __init__(self, shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
        self.shell, self.capsys = shell, capsys
        self.names = shell.user_ns

    def run(self, text: str, cell_id: str | None = None) -> Done:
        self.capsys.readouterr()
        done = self.shell.run_cell(text, store_history=True, cell_id=cell_id)
        self.shell.displayhook.flush()
        said = self.capsys.readouterr()
        return Done(done.error_before_exec or done.error_in_exec, COLOURS.sub("", said.out + said.err))

    def good(self, text: str, cell_id: str | None = None) -> str:
        """Runs a cell that must not fail, and returns its output."""
        done = self.run(text, cell_id)
        assert done.error is None, done.printed
        return done.printed

    def refuses(self, text: str, cell_id: str | None = None) -> str:
        """Runs a cell that must fail with a message of one line, and returns that."""
        from IPython.core.error import UsageError

        done = self.run(text, cell_id)
        assert type(done.error) is UsageError, done
        assert len(done.lines) == 1
        return done.printed

    def fails(self, text: str, cell_id: str | None = None) -> list[str]:
        """Runs a cell of C that must not compile, and returns the lines of output."""
        done = self.run(text, cell_id)
        assert type(done.error) is cwrapjit.CompileError, done
        return done.lines


@pytest.fixture
def session(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Session]:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    settings = Config()
    settings.HistoryManager.enabled = False
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=settings)
    made = Session(shell, capsys)
    made.good("import numpy as np\n%load_ext cwrapjit")
    monkeypatch.setattr(remarks, "PATIENCE", 600.0)  # enough for any compiler
    yield made
    for check in [each for each in threading.enumerate() if each.name == "cwrapjit-check"]:
        check.join()
    InteractiveShell.clear_instance()


# ---- what a cell does -------------------------------------------------------------------------------


@pytest.mark.row("U02")
def test_functions_of_a_cell_are_in_the_namespace(session: Session) -> None:
    said = session.good(
        f"%%cwrapjit\n// Größe: {{x}} $x\n{EXCESS}\nstatic int hidden(int x) {{ return x; }}\n"
        "void twice(OUT double y[n], const double x[n], int n)\n"
        "{ for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }\n"
        "double first(const double *x) { return *x; }\nint sum(int n, ...) { return n; }\n"
        "int calls = 3;\nint lambda(int x) { return x; }"
    )
    assert session.names["excess"]([18.5, 25.5], [[20.0], [24.0]]).tolist() == [[0, 5.5], [0, 1.5]]
    assert session.names["twice"](np.arange(3.0)).tolist() == [0, 2, 4]
    assert not {"hidden", "sum", "calls"} & session.names.keys()
    (unmapped,) = [line for line in said.splitlines() if "sum" in line]
    assert unmapped.startswith("cwrapjit: sum is not mapped: it takes a variable number of arguments")
    assert session.names["first"](cwrapjit.Pointer(np.ones(2))) == 1
    assert "cwrapjit: calls is a variable: --module NAME makes it NAME.calls" in said
    assert "cwrapjit: lambda() is called lambda_ in Python" in said and session.names["lambda_"](2) == 2


@pytest.mark.row("U02")
def test_names_that_others_have(session: Session) -> None:
    session.good("value = 3")
    session.good("%%cwrapjit\ndouble value(double x) { return x; }")
    assert session.names["value"](2.0) == 2
    said = session.good("%%cwrapjit\nint sum(int x) { return x; }")
    assert said == "cwrapjit: sum hides Python's own sum (del sum brings it back)\n"
    assert session.good("del sum\nprint(sum([1, 2]))") == "3\n"
    assert "get_ipython is IPython's own name" in session.refuses(
        "%%cwrapjit\nint get_ipython(int x) { return x; }"
    )
    session.good("%%cwrapjit --module other\nint get_ipython(int x) { return x; }")
    assert session.names["other"].get_ipython(4) == 4


@pytest.mark.row("U02")
def test_options(session: Session, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    (folder / "own.h").write_text("#define FROM_HEADER 100\n")
    build_shared(folder, "libown.so", "int own(int x) { return x + 1; }")
    session.names["five"] = 5
    session.good(
        f"%%cwrapjit -I '{folder}' -L '{folder}' -lown -D ADD=1000 -DFIVE={{five}} -D 'TWO=1 + 1'\n"
        '#include "own.h"\nint own(int x);\n'
        "int f(int x) { return own(x) + FROM_HEADER + ADD + FIVE + TWO; }"
    )
    assert session.names["f"](0) == 1108
    session.good(f"%cwrapjit -I '{folder}' -D ONE=1 --name one int g(int x) {{ return x + ONE; }}")
    assert session.names["g"](1) == 2


@pytest.mark.row("U02")
def test_fastmath_and_threads_reach_the_functions(session: Session) -> None:
    compiler()
    session.good("%%cwrapjit --fastmath\ndouble f(double x) { return x > 0 ? exp(x) : 1; }")
    session.good("%cwrapjit double g(double x) { return x > 0 ? exp(x) : 1; }")
    loops = [session.names[name].explain().loops[-1]["vectorized"] for name in "fg"]
    assert loops == [True, False]
    session.good(
        f"%%cwrapjit --threads 2\n{meeting()}\n"
        "long who(double x) { meet(x); usleep(100); return (long)pthread_self(); }"
    )
    assert len(set(session.names["who"](np.arange(1000.0)))) == 2
    said = session.good("%%cwrapjit --fastmath\nint calls;\ndouble f(double x) { calls++; return x; }")
    assert "--fastmath changes nothing: libtcc's code is called" in said


@pytest.mark.row("S06")
def test_cast_and_debug_reach_the_functions(session: Session) -> None:
    text = "float half(float x) { return x / 2; }"
    for options, good, bad in (
        ("", "f4", "f8"),
        ("--cast no", "f4", "i2"),
        ("--cast safe", "i2", "f8"),
        ("--cast=same_kind", "f8", "c16"),
    ):
        session.good(f"%%cwrapjit {options}\n{text}")
        half = session.names["half"]
        assert half(np.array([3], good)).tolist() == [1.5], options
        with pytest.raises(TypeError):
            half(np.array([3], bad))
    at = "int at(long x) { return *(int *)x; }"
    session.good(f"%%cwrapjit --debug\n\n{at}\nint n(void) {{ return *(int *)8; }}")
    for call in ("at(8)", "n()"):
        fault = session.run(call).error
        assert type(fault) is cwrapjit.Fault and fault.lineno in (3, 4) and fault.address == 8
    session.good(f"%cwrapjit --debug {at}")
    assert type(session.run("at(8)").error) is cwrapjit.Fault


@pytest.mark.row("S03")
def test_copies_are_warned_of(session: Session) -> None:
    text = "float half(float x) { return x / 2; }"
    for option, count in (("--copies warn", 1), ("--copies allow", 0), ("", 0)):
        session.good(f"%cwrapjit {option} {text}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert session.names["half"](np.array([3], "i2")) == 1.5
        assert [str(each.message)[:29] for each in caught] == count * ["half(): argument 'x' is copie"]


@pytest.mark.row("S06")
def test_optimize_and_cc(session: Session) -> None:
    session.good("%%cwrapjit --optimize off\ndouble f(double x) { return x; }")
    assert not session.names["f"].wait() and session.names["f"].tier == "tcc"
    compiler()
    session.good("%%cwrapjit --optimize eager\ndouble f(double x) { return x; }")
    assert session.names["f"].tier == "cc"
    try:
        session.good("%cwrapjit --cc 'sh -c false' double f(double x) { return x; }")
        assert cwrapjit.config.compiler == "sh -c false" and not session.names["f"].wait()
    finally:
        cwrapjit.config.compiler = None


@pytest.mark.row("S06")
def test_completion_of_options(session: Session) -> None:
    from IPython.core.completer import provisionalcompleter

    def offered(line: str) -> set[str]:
        with provisionalcompleter():
            return {each.text for each in session.shell.Completer.completions(line, len(line))}

    for magic in ("%%cwrapjit", "%cwrapjit"):
        assert {"--cast", "--cc"} <= offered(f"{magic} -a --c") and "--debug" not in offered(f"{magic} --c")
        assert {"-I", "--threads", "--optimize"} <= offered(f"{magic} --debug -")
        for before in (f"{magic} --cast ", f"{magic} --cast=", f"{magic} -l m --cast "):
            assert {"safe", "same_kind"} <= offered(f"{before}sa") and "no" not in offered(f"{before}sa")
            assert {"no", "safe", "same_kind"} <= offered(before)
        assert {"auto", "eager", "off"} <= offered(f"{magic} --optimize ")
        assert "--debug" in offered(f"{magic} --optimize off ")
    assert not any(each[:2] == "--" for each in offered("%cwrapjit --cast no int f(int x) { return -"))
    session.good("%unload_ext cwrapjit")
    assert "--debug" not in offered("%%cwrapjit --de")


@pytest.mark.row("U02")
def test_module_binds_the_library(session: Session) -> None:
    session.good("%%cwrapjit --module lib\nint calls = 3;\nenum { UP = 7 };\nint f(int x) { return x; }")
    lib = session.names["lib"]
    assert (lib.f(2), lib.calls, lib.UP) == (2, 3, 7) and "f" not in session.names
    assert "'lib'" in repr(lib)
    session.good("%%cwrapjit --module lib --name own\nint calls = 4;")
    assert session.names["lib"].calls == 4 and "'own'" in repr(session.names["lib"])


@pytest.mark.row("U02")
def test_v_says_what_was_compiled(session: Session) -> None:
    said = session.good(f"%%cwrapjit -v\n{EXCESS}").splitlines()
    number = session.shell.execution_count - 1
    assert re.fullmatch(rf"Cell In\[{number}\]: 1 function compiled in \d+\.\d ms", said[0])
    assert said[1] == "  excess  x(), limit() -> output(), float64, float64 -> float64"
    assert "2 functions compiled" in session.good(
        "%%cwrapjit -v --module m\nint f(int x) { return x; }\nint g(void) { return 1; }"
    )


@pytest.mark.row("U02")
def test_help(session: Session) -> None:
    for magic in ("%cwrapjit", "%%cwrapjit"):
        said = session.good(f"{magic}?")
        for option in (
            "-I FOLDER",
            "-L",
            "-l",
            "-D",
            "--fastmath",
            "--threads N",
            "--cast CAST",
            "--optimize OPTIMIZE",
            "--debug",
            "--cc COMPILER",
            "--name",
            "--module",
            "-a",
            "-v",
        ):
            assert re.search(rf"^  {re.escape(option)}\s", said, re.MULTILINE), option
        assert f"  {magic} [-I FOLDER]" in said


# ---- names that a failed cell removes ---------------------------------------------------------------


def ready(session: Session) -> set[str]:
    """Returns the bound names of one letter."""
    return {name for name, value in session.names.items() if len(name) == 1 and name != "_" and value}


BAD = "int {}(int x) {{ return y; }}"
GOOD = "int {}(int x) {{ return x; }}"


@pytest.mark.row("U02")
def test_a_cell_that_fails_takes_what_it_had_bound_and_nothing_else(session: Session) -> None:
    session.names.update(f=1, g=2, k=5)
    session.good(f"%%cwrapjit\n{GOOD.format('f')}\n{GOOD.format('g')}", "a")
    session.good(f"%%cwrapjit\n{GOOD.format('h')}", "b")
    session.good(f"%cwrapjit {GOOD.format('i')}", "c")
    kept, session.names["g"] = session.names["g"], "mine"
    session.fails(f"%%cwrapjit\n{BAD.format('f')}", "a")
    assert ready(session) == {"g", "h", "i", "k"} and session.names["g"] == "mine" and kept(1) == 1
    session.fails(f"%cwrapjit {BAD.format('h')}", "d")
    assert "h" in ready(session)
    session.refuses(f"%%cwrapjit --wrong\n{GOOD.format('h')}", "b")
    assert ready(session) == {"g", "i", "k"}


@pytest.mark.row("U02")
def test_a_cell_that_is_run_again_replaces_what_it_had_bound(session: Session) -> None:
    session.good(f"%%cwrapjit\n{GOOD.format('f')}\n{GOOD.format('g')}", "a")
    session.good(f"%%cwrapjit\n{GOOD.format('h')}", "a")
    assert ready(session) == {"h"}
    session.good(f"%%cwrapjit\n{GOOD.format('h')}", "b")  # now b owns h
    session.fails(f"%%cwrapjit\n{BAD.format('h')}", "a")
    assert ready(session) == {"h"}


@pytest.mark.row("U02")
def test_name_is_one_thing_in_whatever_cell(session: Session) -> None:
    session.good(f"%%cwrapjit --name one\n{GOOD.format('f')}\n{GOOD.format('g')}", "a")
    session.good(f"%%cwrapjit --name two\n{GOOD.format('h')}", "b")
    session.good(f"%cwrapjit --name one {GOOD.format('k')}")
    assert ready(session) == {"h", "k"}
    assert session.fails(f"%%cwrapjit --name one\n{BAD.format('h')}", "d")[0] == "Cell In[5], line 2"
    assert ready(session) == {"h"}


@pytest.mark.row("U02")
def test_without_ids_of_cells_the_text_says_which_names_are_meant(session: Session) -> None:
    session.good(f"%%cwrapjit\n{GOOD.format('f')}\n{GOOD.format('g')}")
    session.good(f"%cwrapjit {GOOD.format('h')}")
    session.good(f"%cwrapjit {GOOD.format('k')}")
    session.fails(
        "%%cwrapjit\n// int f(int x) { }\nint k(int x);\n"
        'int g(int x) { const char *s = "int f(int x) {"; if (f(x)) { return y; } }\n' + GOOD.format("h")
    )
    assert ready(session) == {"f", "k"}


@pytest.mark.row("U02")
def test_code_that_calls_the_magic(session: Session) -> None:
    session.good(
        "def make(name):\n"
        "    get_ipython().run_cell_magic('cwrapjit', '', f'int {name}(int x) {{ return x; }}')\n"
        "make('f'); make('g')",
        "a",
    )
    assert ready(session) == {"f", "g"}, "the second call is no new run of the cell"
    session.good(
        "%%time\nmagic = get_ipython().run_cell_magic\n"
        "magic('cwrapjit', '', 'int i(int x) { return x; }')\n"
        "magic('cwrapjit', '', 'int j(int x) { return x; }')\n",
        "c",
    )
    assert ready(session) == {"f", "g", "i", "j"}
    session.good("make('h')", "a")
    assert ready(session) == {"f", "g", "h", "i", "j"}
    lines = session.fails("make('f(int y) { return z; } int g')")
    assert lines[0] == "Cell In[5], line 1" and "in make" in lines[2]
    assert lines[4] == "<cwrapjit cell source>, line 1" and lines[-1] == "CompileError: 'z' undeclared"


# ---- errors -----------------------------------------------------------------------------------------


@pytest.mark.row("U14")
def test_a_fault_shows_the_line_of_the_cell(session: Session) -> None:
    assert session.fails("\n \n%%cwrapjit -DN=1\n\ndouble f(double x)\n{\n\treturn N * missing;\n}\n\n") == [
        "Cell In[2], line 7",
        "    return N * missing;",
        "               ^^^^^^^",
        "CompileError: 'missing' undeclared",
    ]
    told_twice = session.fails("%%cwrapjit --name missing\nmissing")
    assert told_twice[:2] == ["Cell In[3], line 2", "    missing"]
    error = session.run("x = 1\n%cwrapjit -v double f(double x) { return größe; }").error
    assert str(error) == "'größe' undeclared (Cell In[4], line 2)"
    assert (
        session.fails('%%cwrapjit\n#include "nowhere.h"\nint f(int x) { return x; }')[0]
        == "Cell In[5], line 2"
    )


@pytest.mark.row("U14")
def test_faults_elsewhere_and_in_long_lines(session: Session, tmp_path: pathlib.Path) -> None:
    (tmp_path / "own.h").write_text("int g(int x) { return missing; }\n")
    lines = session.fails(f'%%cwrapjit -I {tmp_path}\n#include "own.h"\nint f(int x) {{ return g(x); }}')
    assert lines == [
        f"{tmp_path}/own.h, line 1",
        "    int g(int x) { return missing; }",
        "CompileError: 'missing' undeclared (in a file included from Cell In[2]:2)",
    ]
    sums = " + ".join(["x"] * 1000)
    _, text, carets, _ = session.fails(f"%cwrapjit int f(int x) {{ return {sums} + missing + {sums}; }}")
    assert len(text) < 170 and text[carets.index("^") :].startswith("missing + x")
    said = session.refuses("%%cwrapjit\nint größe(int x) { return x; }")
    assert "größe is not mapped: illegal character 'ö' (Cell In[4], line 2)" in said


@pytest.mark.row("U14")
def test_errors_of_definitions_in_cells_are_shown_alike(session: Session) -> None:
    body = ", ".join(
        f"np.dtype('{kind}'): 'return missing;'" for kind in ("f8", "f4", "i4", "i2", "i1", "u1", "u2")
    )
    lines = session.fails(
        "import cwrapjit\ndef define():\n    return cwrapjit.function('f', signature='a() -> output()',"
        f"\n        Ccode_slice_eval={{{body}}})\ndefine()"
    )
    assert [line for line in lines if line.startswith("Cell")] == [
        "Cell In[2], line 5",
        "Cell In[2], line 3, in define",
    ]
    assert lines[4:8] == [
        "<cwrapjit f float64>, line 1",
        "    return missing;",
        "           ^^^^^^^",
        "CompileError: 'missing' undeclared",
    ]
    assert len(lines) == 20 and lines[-1] == "..."


@pytest.mark.row("U14")
def test_the_line_magic_takes_c_as_it_is(session: Session) -> None:
    session.names["x"] = "no C"
    session.good("""%cwrapjit int f(int x) { char s[] = "{x} $x '"; return x ? s[0] : s[4]; }""")
    assert [session.names["f"](0), session.names["f"](1)] == [ord("$"), ord("{")]
    session.good("""%cwrapjit int f(int x) {{ char s[] = "$x"; return s[x]; }}""")
    assert session.names["f"](0) == ord("$"), "IPython would find nothing wrong with these braces"
    session.good("%cwrapjit --name a -- int f(int x) { return -x; }")
    assert session.names["f"](1) == -1


BAD_INPUT = {
    "--nme 4\nint f(int x) { return x; }": "there is no option --nme",
    "--thread 4\nint f(int x) { return x; }": "there is no option --thread",
    "f\nint f(int x) { return x; }": "what is 'f'? The C text begins in the next line",
    "--threads 0\nint f(int x) { return x; }": "'0' is neither a number of threads nor auto",
    "--threads 5000\nint f(int x) { return x; }": "threads must be 1 to 1024 or 'auto', not 5000",
    "--threads\nint f(int x) { return x; }": "argument --threads: expected one argument",
    "--name 'a b\nint f(int x) { return x; }": "No closing quotation",
    "--name ''\nint f(int x) { return x; }": "'' is no name",
    "--module a-b\nint f(int x) { return x; }": "'a-b' is no name in Python",
    "-D 4\nint f(int x) { return x; }": "'4' is neither NAME nor NAME=VALUE",
    "-I /nowhere\nint f(int x) { return x; }": "argument -I: there is no folder '/nowhere'",
    "--cast all\nint f(int x) { return x; }": "argument --cast: invalid choice: 'all'",
    "--optimize\nint f(int x) { return x; }": "argument --optimize: expected one argument",
    "--cc nowhere\nint f(int x) { return x; }": "argument --cc: there is no program 'nowhere'",
    "-l nowhere\nint f(int x) { return x; }": "library 'nowhere' not found",
    "\n \n": "there is no C text",
    "\n// nothing": "nothing to call: the text defines no function",
    "\n#define N 3\ntypedef int number;": "nothing to call",
    "\nint x = 3;": "nothing to call",
    "--module m\nenum { A };": "nothing to call",
    "\nstatic int f(int x) { return x; }": "nothing to call",
    "\nint main(void) { return 0; }": "main() is where programs begin",
    "\nint main(int n, char **v) { return 0; }": "main() is where programs begin",
    "\nint f(int n, ...) { return n; }": "f is not mapped: it takes a variable number of arguments",
}


@pytest.mark.row("U02")
def test_bad_input_is_refused_in_one_line(session: Session) -> None:
    for text, words in BAD_INPUT.items():
        said = session.refuses(f"%%cwrapjit {text}")
        assert said.startswith("UsageError: %%cwrapjit: ") and words in said, text
    assert "%cwrapjit: there is no C text" in session.refuses("%cwrapjit")
    assert "f" not in session.names


# ---- loading ----------------------------------------------------------------------------------------


@pytest.mark.row("U02")
def test_unload_and_reload(session: Session) -> None:
    asked: list[Any] = []
    session.good("%unload_ext cwrapjit")
    assert not session.shell.custom_exceptions
    session.shell.set_custom_exc((KeyError,), lambda *given, tb_offset=None: asked.append(given[1]))
    session.good("%load_ext cwrapjit")
    assert session.fails("%cwrapjit int f(int x) { return y; }")
    session.run("{}[1]")
    assert asked == [KeyError], "what others have registered still works"
    session.good(f"%%cwrapjit\n{GOOD.format('f')}\n{GOOD.format('g')}", "a")
    session.good("%reload_ext cwrapjit")
    session.fails(f"%%cwrapjit\n{BAD.format('f')}", "a")
    assert ready(session) == set(), "the cell is known again"
    session.good("%unload_ext cwrapjit")
    assert session.shell.custom_exceptions == (KeyError,)
    assert "not found" in session.run("%cwrapjit int f(int x) { return x; }").printed


@pytest.mark.row("U02")
def test_colours_in_terminals() -> None:
    from IPython.terminal import interactiveshell as terminal
    from prompt_toolkit.document import Document

    from cwrapjit.notebook import colours

    def kinds() -> set[str]:
        line = terminal.IPythonPTLexer().lex_document(Document("%%cwrapjit\nunsigned f(void);"))(1)
        return {kind for kind, text in line if text == "unsigned"}

    shell = terminal.TerminalInteractiveShell.__new__(terminal.TerminalInteractiveShell)
    usual, as_python = terminal.IPythonPTLexer, kinds()
    colours.install(shell)
    try:
        assert kinds() == {"class:pygments.keyword.type"} != as_python
    finally:
        colours.uninstall(shell)
    assert terminal.IPythonPTLexer is usual


# ---- what is kept -----------------------------------------------------------------------------------


@pytest.mark.row("U02")
def test_nothing_stale_is_kept(session: Session) -> None:
    session.good("%load_ext autoreload\n%autoreload 2")
    old = []
    for k in range(3):
        session.good(f"%%cwrapjit\nint f(int x) {{ return x + {k}; }}\nint g(void) {{ return {k}; }}", "a")
        session.good(f"%%cwrapjit --module lib\nint h(int x) {{ return x + {k}; }}", "b")
        names = session.names
        assert (names["f"](0), names["g"](), names["lib"].h(0)) == (k, k, k)
        old += [weakref.ref(each) for each in (names["f"], names["g"], names["lib"], names["lib"].h)]
    session.good("del f, g, lib")
    del names
    for check in [each for each in threading.enumerate() if each.name == "cwrapjit-check"]:
        check.join()
    gc.collect()
    assert [each() for each in old] == [None] * 12


@pytest.mark.leak
@pytest.mark.row("U02")
def test_running_a_cell_again_keeps_nothing(session: Session) -> None:
    text = "int f(int x) { return x; }\nint g(void) { return 1; }"

    def run() -> None:
        session.shell.run_cell_magic("cwrapjit", "--name own", text)
        with pytest.raises(cwrapjit.CompileError):
            session.shell.run_cell_magic("cwrapjit", "--name own", text + "!")
        gc.collect()

    cwrapjit.config.compiler = ""
    keeps_nothing(run)


# ---- the compiler's warnings ------------------------------------------------------------------------


@pytest.mark.row("U18")
def test_warnings_are_shown_below_the_cell(session: Session) -> None:
    compiler()
    assert session.good(f"%%cwrapjit\n{UNUSED}").splitlines() == [
        "Cell In[2], line 4: warning: unused variable 'unused' [-Wunused-variable]",
        "    int unused;",
        "        ^",
    ]
    assert session.good(f"%%cwrapjit\n{EXCESS}") == ""
    said = session.good(f"%cwrapjit --name own {' '.join(UNUSED.split())}").splitlines()
    assert said[0].startswith("Cell In[4], line 1: warning: unused") and said[1].strip().startswith(
        "double f"
    )
    many = "".join(f"    int unused{k};\n" for k in range(13))
    said = session.good(f"%%cwrapjit\nint f(int x)\n{{\n{many}    return x;\n}}").splitlines()
    assert len(said) == 31 and said[-1] == "and 3 more"


@pytest.mark.row("U18")
def test_nobody_waits_for_a_slow_compiler(
    session: Session,
    cc: Callable[[str], pathlib.Path],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert PATIENCE == 0.2
    monkeypatch.setattr(remarks, "PATIENCE", PATIENCE)
    gate = tmp_path / "gate"
    cc(f'while [ ! -e {gate} ]; do sleep 0.01; done; exec REAL "$@"')
    assert session.good(f"%%cwrapjit\n{UNUSED}") == ""
    assert session.good("one = 1") == ""
    gate.touch()
    for check in [each for each in threading.enumerate() if each.name == "cwrapjit-check"]:
        check.join()
    said = session.good("print('next')").splitlines()
    assert said[0] == "Cell In[2], line 4: warning: unused variable 'unused' [-Wunused-variable]"
    assert said[-1] == "next"
    assert session.good("print('last')") == "last\n"


@pytest.mark.row("U18")
def test_compilers_that_fail_and_none_at_all(session: Session, cc: Callable[[str], pathlib.Path]) -> None:
    cwrapjit.config.compiler = ""
    assert session.good(f"%%cwrapjit\n{UNUSED}") == ""
    listing = session.good(f"%%cwrapjit -a\n{UNUSED}")
    assert (
        "by libtcc, as there is no compiler to ask" in listing.splitlines()[0]
        and "    int unused;" in listing
    )


# ---- the listing ------------------------------------------------------------------------------------

LISTED = """%%cwrapjit -a
// <b> & Größe
static double square(double x) { return x * x; }
void sums(OUT double y[n], const double x[n], int n)
{
    int unused;
    for (int i = 0; i < n; i++)
        y[i] = square(x[i]);
    for (int i = 1; i < n; i++)
        y[i] += tgamma(y[i - 1]);
}
double twice(double x) { return 2 * x; }
int sum(int n, ...) { return n; }
int one(void) { return 1; }
"""


@pytest.mark.row("U02")
def test_the_listing_says_what_the_compiler_did_with_each_line(session: Session) -> None:
    compiler()
    said = session.good(LISTED).splitlines()[1:]
    assert re.fullmatch(r"Cell In\[2\], by .*", said[0])
    marks = {int(line[1:5]): line[0] for line in said[1:]}
    assert {number: mark for number, mark in marks.items() if mark != " "} == {
        6: "!",
        7: "+",
        9: "-",
        12: "+",
    }
    assert list(marks) == list(range(2, 15))
    facts = {int(line[1:5]): re.split("   +", line)[-1] for line in said[1:]}
    assert facts[6].startswith("warning: unused variable") and facts[7].startswith("vectorized, ")
    assert facts[9] == "not vectorized: line 10: tgamma() is called"
    assert facts[12].startswith("slices: vectorized")
    assert (
        facts[13].startswith("not mapped: it takes a variable")
        and facts[14] == "called as libtcc has compiled it"
    )


@pytest.mark.row("U02")
def test_the_listing_is_html_without_scripts(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from html.parser import HTMLParser

    compiler()
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    session.good(LISTED)
    text = shown[0]._repr_html_()
    tags: list[str] = []
    words: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            tags.append(tag)
            assert {name for name, _ in attrs} <= {"style", "class", "title"}

        def handle_data(self, data: str) -> None:
            words.append(data)

    Reader().feed(text)
    assert set(tags) == {"div", "span", "pre", "details", "summary"}
    plain = "".join(words)
    assert "// <b> & Größe" in plain and "        y[i] = square(x[i]);" in plain
    assert re.findall(r"generated C of (\w+): \d+ lines", plain) == ["sums", "twice"]
    assert "item__y" in plain or "cwj_" in plain, "the generated C is there"


# ---- real kernels -----------------------------------------------------------------------------------

# Runs in its own process, as the notebook packages' warnings are not ours.
RUN = """
import json, sys
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

source, stops = json.loads(sys.argv[1])
if isinstance(source, str):
    notebook = nbformat.read(source, 4)
else:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in source])
stopped = False
try:
    NotebookClient(notebook, kernel_name="python3", timeout=600, allow_errors=not stops).execute()
except CellExecutionError:
    stopped = True
print(json.dumps([stopped, [cell.get("outputs", []) for cell in notebook.cells]]))
"""


def run_notebook(source: list[str] | str, stops: bool = False) -> tuple[bool, list[Any]]:
    """Returns whether it stopped at an error, and the output of each cell."""
    stopped, outputs = json.loads(python(RUN, json.dumps([source, stops])).stdout.splitlines()[-1])
    return stopped, outputs


LATE = f"""
import threading
from cwrapjit.notebook import remarks
usual, over = remarks.lines_of, threading.Event()
remarks.PATIENCE = 0
remarks.lines_of = lambda made: usual(made) if over.wait(600) else []
get_ipython().run_cell_magic("cwrapjit", "", '''{UNUSED}''')
over.set()
for check in threading.enumerate():
    if check.name == "cwrapjit-check":
        check.join()
"""
LONG = """%%cwrapjit
int raise(int signal);
int usleep(unsigned);
double slow(double x)
{
    if (x == 10)
        raise(2);
    usleep(1000);
    return x;
}
"""
CELLS = [
    "%load_ext cwrapjit\nimport numpy as np\nfrom cwrapjit.notebook import remarks\nremarks.PATIENCE = 300",
    f"%%cwrapjit\n{EXCESS}",
    "excess(np.arange(3.0), 1)",
    f"%%cwrapjit\n{UNUSED}",
    LATE,
    LISTED,
    LONG,
    "slow(np.arange(3600e3))",
    "%%cwrapjit --wrong\nint f(int x) { return x; }",
    "%%cwrapjit\nint excess(int x)\n{\n    return missing;\n}",
    "excess",
    "print('alive')",
]


@pytest.fixture(scope="module")
def outputs() -> list[Any]:
    _, found = run_notebook(CELLS)
    return found


def data(cell: list[Any], kind: str) -> list[str]:
    return ["".join(output["data"].get(kind, "")) for output in cell if "data" in output]


@pytest.mark.row("U02")
def test_in_a_kernel(outputs: list[Any]) -> None:
    assert outputs[0] == outputs[1] == []
    assert data(outputs[2], "text/plain") == [repr(np.array([0.0, 0, 1]))]
    assert outputs[11][0]["text"] == "alive\n"


@pytest.mark.row("U18")
def test_warnings_in_a_kernel(outputs: list[Any]) -> None:
    compiler()
    (soon,), (late,) = data(outputs[3], "text/html"), data(outputs[4], "text/html")
    assert "Cell In[4], line 4: warning: unused variable" in soon
    assert "line 3: warning: unused variable" in late, "an update of what was there before"


@pytest.mark.row("U02")
def test_the_listing_in_a_kernel(outputs: list[Any]) -> None:
    compiler()
    (text,) = data(outputs[5], "text/html")
    assert text.count("<details") == 2 and "vectorized" in text


@pytest.mark.row("U14")
def test_an_interrupted_kernel(outputs: list[Any]) -> None:
    (error,) = outputs[7]
    assert error["ename"] == "KeyboardInterrupt"


@pytest.mark.row("U14")
def test_faults_in_a_kernel(outputs: list[Any]) -> None:
    assert "UsageError: %%cwrapjit: there is no option --wrong" in outputs[8][0]["text"]
    (error,) = outputs[9]
    assert (error["ename"], error["evalue"]) == ("CompileError", "'missing' undeclared (Cell In[10], line 4)")
    assert [COLOURS.sub("", line) for line in error["traceback"]] == [
        "Cell In[10], line 4",
        "    return missing;",
        "           ^^^^^^^",
        "CompileError: 'missing' undeclared",
    ]
    assert outputs[10][0]["ename"] == "NameError"


@pytest.mark.row("U14")
def test_a_failing_cell_stops_the_notebook() -> None:
    stopped, outputs = run_notebook(
        ["%load_ext cwrapjit", "%%cwrapjit\nint f(int x) { return missing; }", "print('not reached')"],
        stops=True,
    )
    assert stopped and outputs[1][0]["ename"] == "CompileError" and outputs[2] == []


TOUR = pathlib.Path(__file__).resolve().parents[2] / "examples" / "tour.ipynb"


@pytest.mark.row("U02", "U10")
def test_the_tour() -> None:
    notebook = json.loads(TOUR.read_text(encoding="utf-8"))
    stopped, outputs = run_notebook(str(TOUR), stops=True)
    assert not stopped
    for cell, found in zip(notebook["cells"], outputs, strict=True):
        failed = [output["ename"] for output in found if output["output_type"] == "error"]
        may_fail = "raises-exception" in cell["metadata"].get("tags", [])
        assert failed == (["CompileError"] if may_fail else []), cell["source"]
        assert not cell.get("outputs") and cell.get("execution_count") is None, "as git wants notebooks"


def seen(outputs: list[Any]) -> list[Any]:
    """Returns texts, and which pictures there are, without outputs that are empty."""
    made = []
    for each in outputs:
        found = {"text": each.get("text", ""), **each.get("data", {})}
        texts = {kind: "".join(text) for kind, text in found.items()}
        made.append({kind: text if "text" in kind else "" for kind, text in texts.items() if text})
    return [each for each in made if each]


@pytest.mark.row("U02", "U10")
def test_the_gallery_has_the_outputs_that_its_cells_give() -> None:
    gallery = TOUR.with_name("gallery.ipynb")
    cells = json.loads(gallery.read_text(encoding="utf-8"))["cells"]
    stopped, outputs = run_notebook(str(gallery), stops=True)
    assert not stopped
    for cell, found in zip(cells, outputs, strict=True):
        assert seen(cell.get("outputs", [])) == seen(found), cell["source"]
    shown = [each for cell in cells for each in seen(cell.get("outputs", []))]
    assert sum("image/png" in each for each in shown) == 3 and len(shown) == 8


@pytest.mark.row("U02")
@pytest.mark.parametrize(
    ("text", "line", "shown", "at", "bracket"),
    [
        (
            "double f(double x)\n{\n    if (x > 0 {\n        return x;\n    }\n    return 0;\n}",
            4,
            "if (x > 0 {",
            3,
            "(",
        ),
        ("double f(double x)\n{\n    double y[3;\n    return x;\n}", 4, "double y[3;", 8, "["),
        ("double f(double x)\n{\n    return x;", 3, "{", 0, "{"),
    ],
)
def test_an_unclosed_bracket_of_a_cell(
    session: Session, text: str, line: int, shown: str, at: int, bracket: str
) -> None:
    lines = session.fails(f"%%cwrapjit\n{text}")
    assert lines[0].endswith(f", line {line}") and lines[1] == "    " + shown
    assert lines[2].index("^") == 4 + at and lines[-1] == f"CompileError: '{bracket}' is not closed"


@pytest.mark.row("U02")
@pytest.mark.parametrize("kind", ["plain", "packed", "aligned", "nested"])
def test_structs_of_a_cell_are_structured_arrays(session: Session, kind: str) -> None:
    how = {"packed": "__attribute__((packed))", "aligned": "__attribute__((aligned(16)))"}.get(kind, "")
    value, of = f"typedef struct {how} rec {{ unsigned char k; double v; }} rec;\n", "v"
    if kind == "nested":
        value = (
            "struct point { double v, w; };\ntypedef struct rec { unsigned char k; struct point p; } rec;\n"
        )
        of = "p.v"
    session.good(
        f"%%cwrapjit\n{value}double total(const rec r[n], int n)"
        f"{{ double s = 0; while (n-- > 0) s += r[n].{of}; return s; }}\n"
        "void turned(const rec r[n], int n, OUT rec s[n])"
        "{ for (int i = 0; i < n; i++) s[n - 1 - i] = r[i]; }"
    )
    point = np.dtype([("v", "f8"), ("w", "f8")], align=True)
    dtype = {
        "plain": np.dtype([("k", "u1"), ("v", "f8")], align=True),
        "packed": np.dtype([("k", "u1"), ("v", "f8")]),
        "aligned": np.dtype(
            {"names": ["k", "v"], "formats": ["u1", "f8"], "offsets": [0, 8], "itemsize": 16}
        ),
        "nested": np.dtype([("k", "u1"), ("p", point)], align=True),
    }[kind]
    memory = np.zeros(6 * dtype.itemsize + 16, np.uint8)
    x = memory[-memory.ctypes.data % 16 :][: 6 * dtype.itemsize].view(dtype).reshape(2, 3)
    x["k"] = np.arange(6).reshape(2, 3)
    (x["p"] if kind == "nested" else x)["v"] = x["k"] / 2
    assert session.names["total"](x).tolist() == [1.5, 6]
    back = session.names["turned"](x)
    assert back.dtype == dtype and (back["k"] == x["k"][:, ::-1]).all()
