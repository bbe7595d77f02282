"""What SECURITY.md says: what is code and what is not, which memory can be executed, what is started."""

from __future__ import annotations

import io
import os
import pathlib
import pickle

import pytest
from helpers import build_extension, python, refuses, wrap

import cwrapjit
import cwrapjit.graph as cg

HERE = pathlib.Path(__file__).resolve().parents[2]

PAGES = """
import gc, re
import numpy as np
import cwrapjit

def executable():
    '''Pages that can be written and executed, and whether the stack is among what can be executed.'''
    pages, stack = 0, False
    for line in open("/proc/self/maps"):
        low, high, rights, name = re.match(r"(\\w+)-(\\w+) (\\S+) \\S+ \\S+ \\d+ *(.*)", line).groups()
        if "w" in rights and "x" in rights:
            pages += (int(high, 16) - int(low, 16)) // 4096
            assert name in ("", "[heap]"), line
        stack |= name == "[stack]" and "x" in rights
    return pages, stack

def define():
    return cwrapjit.function("f", signature="a() -> output()", optimize="off",
                             Ccode_slice_eval={float: "item__output() = item__a(); return true;"})
seen = [executable()]
f = define()
seen.append(executable())
many = [define() for _ in range(1000)]
seen.append(executable())
del many
gc.collect()
seen.append(executable())
print(*(pages for pages, _ in seen), any(stack for _, stack in seen))
"""


@pytest.mark.row("G09")
def test_pages_with_code_are_the_only_ones_that_can_be_written_and_executed() -> None:
    imported, one, many, dropped, stack = python(PAGES).stdout.split()
    assert (imported, stack) == ("0", "False")
    assert 0 < int(one) < int(many)
    assert int(dropped) <= 256, "1 MiB at most stays for the next function"


# Text that would be code wherever it were not taken for text.
EVIL = '"; } */ int evil(void) { return 1; } // \\\n#error evil\n??/ \\" %s %n {0} \\n \t é'


def test_docstrings_are_text(tmp_path: pathlib.Path) -> None:
    m = cwrapjit.module("evil", EVIL)
    m.function("f", EVIL, signature="a() -> output()", Ccode_slice_eval={float: "return true;"})
    assert (m.__doc__, m.f.__doc__) == (EVIL, EVIL)
    text = io.StringIO()
    m.write(text)
    built = build_extension(tmp_path, "evil", text.getvalue(), "-Wno-trigraphs")
    assert (built.__doc__, built.f.__doc__) == (EVIL, EVIL)


@pytest.mark.quick
@pytest.mark.parametrize("name", ["a; int evil", "a*/", 'a"', "a\nb", "a\\", "a)", "a/*", "%s", "a b"])
def test_names_are_identifiers_or_refused(name: str) -> None:
    refuses(ValueError, lambda: cwrapjit.module(name), "module()", repr(name))
    refuses(ValueError, lambda: wrap(((),), (), "return true;", name=name), "identifier", repr(name))
    refuses(ValueError, lambda: wrap(((),), (), "return true;", names=(name,)), "args_input[0]", repr(name))
    refuses(ValueError, lambda: wrap(((name,),), (), "return true;"), "prototype_input", repr(name))
    refuses(ValueError, lambda: wrap(((),), (name,), "return true;"), "prototype_output", repr(name))
    extra = (("double", name, "1", "d"),)
    refuses(
        ValueError, lambda: wrap(((),), (), "return true;", extra_args=extra), "extra_args[0]", repr(name)
    )


@pytest.mark.quick
@pytest.mark.parametrize("option", ["header", "sources"])
def test_compiling_runs_nothing(
    option: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = (
        "#include <stdio.h>\n"
        '__attribute__((constructor)) static void boot(void) { puts("ran"); fflush(stdout); }\n'
        '__attribute__((destructor)) static void end(void) { puts("ran"); fflush(stdout); }\n'
    )
    source = tmp_path / "boot.c"
    source.write_text(text)
    f = wrap(
        ((),), (), "item__output() = 1; return true;", **{option: text if option == "header" else [source]}
    )
    f.wait()
    assert f(0.0) == 1
    del f
    assert capfd.readouterr() == ("", "")


def test_states_of_graphs_cannot_be_pickled() -> None:
    x = cg.float64("x")
    bound = cwrapjit.link([x], x * x).bind([1.0], [None])
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refuses(TypeError, lambda protocol=protocol: pickle.dumps(bound, protocol), "pickle")


@pytest.mark.row("G10")
def test_a_compiler_in_a_folder_that_is_not_absolute_is_passed_over(tmp_path: pathlib.Path) -> None:
    for name in ("cc", "gcc", "clang"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n: > '{tmp_path}/was-here'\n")
        program.chmod(0o755)
    code = (
        "import os\nos.environ['PATH'] = ':.:../" + tmp_path.name + ":'\nimport cwrapjit\n"
        "f = cwrapjit.function('f', signature='a() -> output()',"
        " Ccode_slice_eval={float: 'item__output() = item__a(); return true;'})\n"
        "print(f.wait(), f.tier, cwrapjit.show_config('dicts')['compiler'])"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("CC", "CWRAPJIT_CC")}
    wanted = "False tcc none: none of cc, gcc, clang is in PATH\n"
    assert python(code, cwd=tmp_path, env=environment).stdout == wanted
    assert not (tmp_path / "was-here").exists()


def test_readme_leads_to_it() -> None:
    assert (HERE / "SECURITY.md").is_file()
    assert (HERE / "README.md").read_text().count("[SECURITY.md](SECURITY.md)") == 2
    assert "SECURITY.md" in (HERE / "MANIFEST.in").read_text().split()
