"""Tests options, defaults of the process, and what functions and the package report about themselves."""

from __future__ import annotations

import os
import re
import shutil
from typing import Any

import numpy as np
import pytest
from helpers import ar, python, refuses, wrap

import cwrapjit

BODY = "item__output() = item__a(); return true;"

GOOD = {
    "optimize": ["auto", "off", "eager"],
    "fastmath": [False, True],
    "debug": [False, True, "left"],
    "threads": [1, 2, 8, 1024, "auto"],
    "unordered": [False, True],
    "inplace": [False, True],
    "gil": [None, False, True],
    "cast": ["no", "safe", "same_kind"],
    "copies": ["allow", "warn"],
    "cookie": ["readwrite", "readonly"],
}
BAD = {
    "optimize": ["fast", "", 3, True, 1.5],
    "fastmath": ["yes", 1, 2.0],
    "debug": ["yes", 0, "right"],
    "threads": [0, -1, 1025, 10**9, "many", True, 1.5, 10**30],
    "unordered": ["yes", 1],
    "inplace": ["yes", 0],
    "gil": ["yes", 1, 0, [], 2.0],
    "cast": ["unsafe", "equiv", "", True, 1],
    "copies": ["no", "", False],
    "cookie": ["const", 1],
}


def refusal(name: str, value: Any) -> type[Exception]:
    """Returns the exception for an invalid value: TypeError if its type is wrong, too."""
    types = {
        "optimize": [str], "cast": [str], "copies": [str], "cookie": [str], "threads": [str, int],
        "processes": [int], "debug": [bool, str],
    }  # fmt: skip
    return ValueError if type(value) in types.get(name, [bool]) else TypeError


def by_module(name: str, value: Any) -> Any:
    m = cwrapjit.module("t", **{name: value})
    return m.function("f", signature="a() -> output()", Ccode_slice_eval={float: BODY})


def by_function(name: str, value: Any) -> Any:
    return wrap(((),), (), BODY, **{name: value})


@pytest.mark.row("N25i")
@pytest.mark.parametrize("name", GOOD)
def test_options_are_accepted_everywhere(name: str) -> None:
    for value in GOOD[name]:
        alone = cwrapjit.function(
            "f", signature="a() -> output()", Ccode_slice_eval={float: BODY}, **{name: value}
        )
        for f in (by_module(name, value), by_function(name, value), alone):
            assert f(ar(3)).tolist() == [0, 1, 2]
            assert f.tier == ("cc" if value == "eager" and shutil.which("cc") else "tcc")


@pytest.mark.quick
@pytest.mark.row("N25i")
@pytest.mark.parametrize("define", [by_module, by_function])
@pytest.mark.parametrize("name", BAD)
def test_other_values_are_refused_by_name(name: str, define: Any) -> None:
    for value in BAD[name]:
        error, words = refusal(name, value), (f"(): {name}", f"not {value!r}")
        refuses(error, lambda value=value: define(name, value), *words)


@pytest.mark.row("N25i")
def test_unknown_options_are_refused() -> None:
    refuses(TypeError, lambda: by_function("colour", "red"), "colour")
    refuses(TypeError, lambda: cwrapjit.module("t", colour="red"), "colour")


@pytest.mark.row("N25i")
def test_none_is_the_outer_default() -> None:
    m = cwrapjit.module("t", inplace=True, optimize=None, threads=None, fastmath=None)
    body = {float: "item__output(0) = item__a(0) + 1; return true;"}
    for name, inplace in (("f", None), ("g", False)):
        m.function(name, signature="a(n) -> output(n)", Ccode_slice_eval=body, inplace=inplace)
    x = ar(1)
    assert m.f(x, out=x) is x and x[0] == 1
    refuses(ValueError, lambda: m.g(x, out=x), "t.g")


# ---- process defaults -----------------------------------------------------------------------------


@pytest.fixture
def config() -> Any:
    return cwrapjit.config


@pytest.mark.row("N25i")
def test_config_is_the_default_of_every_definition(config: Any) -> None:
    config.optimize = "off"
    assert config.optimize == "off" and by_function("fastmath", False)(1.0) == 1
    assert by_function("fastmath", False).wait() is False
    if shutil.which("cc"):
        config.optimize = "eager"
        assert by_function("fastmath", False).tier == "cc"
        assert by_function("optimize", "off").tier == "tcc", "the function's own choice wins"


@pytest.mark.row("N25i")
@pytest.mark.parametrize(
    "name, values",
    [
        ("optimize", ["fast", 1]),
        ("threads", [0, "many", True]),
        ("processes", [0, 65, "two", 1.5]),
        ("debug", [1, "yes"]),
    ],
)
def test_config_refuses_what_makes_no_sense(config: Any, name: str, values: list[Any]) -> None:
    for value in values:
        error, words = refusal(name, value), (f"config: {name}", f"not {value!r}")
        refuses(error, lambda value=value: setattr(config, name, value), *words)
    refuses(AttributeError, lambda: setattr(config, "optimise", "off"), "'optimise'")


def child(code: str, **variables: str) -> str:
    """Returns what a new process prints, with these environment variables and no others of cwrapjit."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("CWRAPJIT_")}
    define = """
import cwrapjit
def define():
    return cwrapjit.function("f", args_input=("a",), prototype_input=((),), prototype_output=(),
                             Ccode_slice_eval={float: "item__output() = item__a(); return true;"})
def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, error)
"""
    return python(define + code, env=env | variables).stdout.strip()


@pytest.mark.row("N25i")
def test_environment_variables_set_the_defaults() -> None:
    show = "print(cwrapjit.config.optimize, cwrapjit.config.threads); attempt(lambda: define()(2.0))"
    assert child(show) == "auto 1\n2.0"
    assert child(show, CWRAPJIT_OPTIMIZE="off", CWRAPJIT_THREADS="3") == "off 3\n2.0"
    assert child(show, CWRAPJIT_OPTIMIZE="eager", CWRAPJIT_THREADS="auto") == "eager auto\n2.0"


@pytest.mark.row("N25i")
def test_a_bad_environment_variable_is_named() -> None:
    """One process is enough for all: each definition reads the variables again."""
    code = """
import os
def library():
    return cwrapjit.library("m", libraries=["m"]).function("double fabs(double x)")
def graph():
    import cwrapjit.graph as cg
    x = cg.float64("x")
    return cwrapjit.link([x], x + x)
for name, value in [variable.split("=") for variable in VARIABLES]:
    os.environ[name] = value
    for call in (define,) if name[9:] in ("OPTIMIZE", "THREADS") else (define, library, graph):
        attempt(call)
    del os.environ[name]
"""
    values = "OPTIMIZE=fast THREADS=many THREADS=0 PROCESSES=-1 PROCESSES=65 PROCESSES=two DEBUG=yes".split()
    said = child(code.replace("VARIABLES", repr([f"CWRAPJIT_{each}" for each in values]))).splitlines()
    wanted = [each.split("=") for each in values for _ in range(1 if each[0] in "OT" else 3)]
    assert len(said) == len(wanted)
    for line, (name, value) in zip(said, wanted, strict=True):
        assert re.match("(Value|Type)Error ", line) and f"CWRAPJIT_{name}" in line and value in line
    failed = child("attempt(define)", CWRAPJIT_COMPILE_MEMORY="1")
    assert "CWRAPJIT_COMPILE_MEMORY" in failed and "1" in failed


@pytest.mark.row("N25i", "U08")
def test_a_compiler_may_be_named() -> None:
    code = "print(cwrapjit.config.compiler); cwrapjit.show_config()"
    first, *shown = child(code, CWRAPJIT_CC="/opt/none/mycc").splitlines()
    assert first == "/opt/none/mycc" and any("/opt/none/mycc" in line for line in shown)


@pytest.mark.quick
@pytest.mark.row("N25i", "U08")
def test_libtcc_may_be_named_and_must_exist() -> None:
    said = child("attempt(lambda: define()(2.0))", CWRAPJIT_LIBTCC="/nonexistent/libtcc.so")
    assert "/nonexistent/libtcc.so" in said and re.match(r"(OSError|ImportError|RuntimeError)\b", said)


# ---- what functions and the package report --------------------------------------------------------


@pytest.mark.row("U08", "N06")
def test_what_a_function_tells() -> None:
    marker = "/* a remark of the user's, 100% verbatim: ünï */"
    bodies = {float: marker + "\nreturn true;", (np.float32, int, np.int8, bool): "return true;"}
    header = "#define twice(x) (2 * (x))"
    f = wrap((("n", 3), ()), (("n",), ()), bodies, header=header, optimize="off", module="lib", name="first")
    assert f.signature == "a(n, 3), b() -> output0(n), output1()"
    assert tuple(f.types) == ("float64, float64 -> float64, float64", "float32, int64 -> int8, bool")
    assert f.tier == "tcc" and f.wait() is False, "test_tiers.py has the rest"
    assert marker in f.source and header in f.source
    assert "\n" not in repr(f) and "lib.first" in repr(f) and f.signature in repr(f)
    for attribute in ("source", "signature", "types", "tier"):
        refuses(AttributeError, lambda a=attribute: setattr(f, a, "x"), f"'{attribute}'", "not writable")


@pytest.mark.quick
@pytest.mark.row("U08")
def test_show_config(capsys: pytest.CaptureFixture[str]) -> None:
    cwrapjit.show_config()
    shown = capsys.readouterr().out
    assert re.search(r"libtcc.*0\.9\.2\d", shown)
    assert cwrapjit.__version__ in shown and np.__version__ in shown
    for word in ("compiler", "threads", "optimize"):
        assert word in shown
    paths = re.findall(r"(/\S+libtcc\S*\.so\S*)", shown)
    assert paths and os.path.exists(paths[0])


@pytest.mark.quick
def test_repr_shows_each_setting() -> None:
    shown = repr(cwrapjit.config)
    names = [name for name in vars(type(cwrapjit.config)) if not name.startswith("_")]
    settings = [
        name for name in names if name != "compiled_graphs" and not callable(getattr(cwrapjit.config, name))
    ]
    assert {"optimize", "threads", "compiler", "processes", "debug", "compile_memory"} <= {*settings}
    assert all(f" {name}={getattr(cwrapjit.config, name)!r}" in shown for name in settings)
