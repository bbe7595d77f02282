"""Tests that the type stubs match the package, and that programs that use it pass mypy --strict."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

import cwrapjit

PACKAGE = pathlib.Path(cwrapjit.__file__).resolve().parent

PROGRAM = """
import numpy as np
import cwrapjit as cj
import cwrapjit.graph as cg
from cwrapjit.kernels.vectorize import Deduced

m: cj.module = cj.module("lib", "doc", "#include <math.h>", define_macros=[("N", "3"), "M"], libraries=["m"])
f: cj.Function = m.function(
    "f",
    args_input=("a",),
    prototype_input=(("n", 3),),
    prototype_output=(("n",), ()),
    Ccode_slice_eval={np.float64: "return true;", (float, "f8", np.int32): "return true;"},
    extra_args=(("double", "scale", "1", "d"),),
    threads=1,
)
g = cj.function("g", "", signature="a() -> output()", Ccode_slice_eval={float: "return 1;"}, gil=None)
text: str = g.source + f.signature + f.tier + f.__name__
ready: bool = f.wait(timeout=1.0)
try:
    m.write()
except cj.CompileError as error:
    first: int | None = error.errors[0].lineno
cj.config.threads = "auto"
cj.show_config()
x, y = cg.float64("x"), cg.ndarray("float64", 1)("y")
k: cg.Graph = cj.link([x, cg.In(y, mutable=True)], cg.elementwise("a", "sqrt(a)")(x * y + 1))
bound: cg.BoundGraph = k.bind()
larger = cj.vectorize("T larger(T x, T y) { return x > y ? x : y; }", T=("f4", np.float64), threads=2)
excess: cj.Function = cj.vectorize("double f(double x) { return x; }", cast="same_kind", gil=None)
generic = cj.vectorize("T f(T x) { return x; }", name="g", define_macros=["N=3"])
if isinstance(generic, Deduced):
    by_type: dict[str, cj.Function] = generic.functions
above = cj.ElementwiseKernel("T x, T y", "T z", "z = x > y", "above", options=("-DN=3",), threads=1)
compiled: tuple[cj.Function, ...] = above.functions
norm = cj.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", 0, "norm", reduce_type="double")
above(np.ones(3), 2, out=np.empty(3), size=None)
norm(np.ones((2, 4)), axis=1, keepdims=True, out=np.empty((2, 1)))
blur = cj.function("blur", windows={"x": (3, 3)}, border="constant", cval=0.5, axes={"x": (0, 1)})
pairs = cj.function("pairs", signature="a(n) -> d(m)", output_dims={"m": "n * (n - 1) / 2"})
ufunc: np.ufunc = pairs.ufunc
where: int = pairs.address
explained = pairs.explain()
if explained is not None:
    vectorized: list[bool] = [loop["vectorized"] for loop in explained.loops]
own: object = cj.library("own", source="int one(void) { return 1; }").one
@cj.jit
def double(x: np.ndarray, factor: float = 2) -> np.ndarray: return x * factor
@cj.jit(static="power", fastmath=True)
def raised(x: np.ndarray, *, power: int) -> tuple[np.ndarray, int]: return x**power, power
doubled: np.ndarray = double(np.ones(3), factor=3.0)
number: int = raised(np.ones(3), power=2)[1]
steps: str = double.explain() + double.source + double.tier + raised.__name__
loops: list[cj.Function] = cj.jit(len, debug=True).kernels
"""


def run(folder: pathlib.Path, *arguments: str) -> str:
    """Returns the output of one of mypy's tools, which must find no fault."""
    env = dict(os.environ)
    if PACKAGE.parent.name != "site-packages":  # mypy knows that folder, and rejects it
        env["MYPYPATH"] = str(PACKAGE.parent)
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Returns a folder that also has mypy's cache of NumPy."""
    return tmp_path_factory.mktemp("mypy")


def check(folder: pathlib.Path, program: str) -> str:
    (folder / "program.py").write_text(program)
    return run(folder, "mypy", "--strict", "--cache-dir", str(folder / "cache"), "program.py")


def test_stubs_agree_with_the_package(folder: pathlib.Path) -> None:
    assert "no issues found" in run(folder, "mypy.stubtest", "cwrapjit")


def test_a_program_passes_strict_checks(folder: pathlib.Path) -> None:
    assert "no issues found" in check(folder, PROGRAM)


LIBRARY = """
enum color { RED, GREEN };
typedef struct point { double x; int n; float m[3]; int in; } point;
double norm(const point *p, int power) { return p->x * power; }
enum color pick(int i) { return i ? GREEN : RED; }
const char *word(const char *of) { return of; }
void split(const point *p, OUT double *low, OUT int *high) { *low = *high = 0; }
double half(double x) { return x / 2; }
"""
USES = """
import geometry
p = geometry.point(1.0, 2)
x: float = p.x + geometry.norm(p, power=2) + p.m.sum()
n: int = geometry.RED + geometry.color.GREEN + geometry.pick(1) + geometry.split(p)[1] + p.in_
name: str = geometry.pick(1).name
letters: str = geometry.word(of="a") + geometry.word("b").upper()
half = geometry.half([1.0, 2.0], out=None)
"""


@pytest.mark.row("S05")
def test_written_stubs_pass_and_find_faults(folder: pathlib.Path) -> None:
    lib = cwrapjit.library("geometry", source=LIBRARY)
    lib.struct("point", methods=[("double norm(const point *p, int power)", {"name": "length"})])
    cwrapjit.write_stubs(lib, folder / "geometry.pyi")
    wrong = (
        "geometry.norm(p, powers=2)",
        "geometry.norm('p', 2)",
        "geometry.norm(p)",
        "p.length(2.5)",
        "p.y",
        "geometry.half(1.0, outs=None)",
        "text: str = geometry.pick(1)",
        "geometry.BLUE",
    )
    assert "no issues found" in check(folder, USES)
    with pytest.raises(AssertionError) as caught:
        check(folder, "\n".join(["import geometry; p = geometry.point()", *wrong]))
    refused = {int(line) for line in re.findall(r"\bprogram\.py:(\d+): error", str(caught.value))}
    assert refused == {*range(2, 2 + len(wrong))} and "geometry.pyi:" not in str(caught.value)


@pytest.mark.row("S05")
def test_what_cannot_work_does_not_pass(folder: pathlib.Path) -> None:
    wrong = (
        "cj.module(3)",
        "cj.module('m', threads='many')",
        "cj.config.colour = 1",
        "cj.function('f', Ccode_slice_eval={float: 3})",
        "cj.vectorize(3)",
        "cj.ElementwiseKernel('T x', 'T y')",
        "cj.ReductionKernel('T x', 'T y', 'x', 'a + b', 'y = a', [])",
        "cj.function('f', windows={'x': 'wide'}, border='mirrored')",
        "cj.vectorize('double f(double x) { return x; }', thread=3)",
        "cj.vectorize('double f(double x) { return x; }', threads='many')",
        "cj.vectorize('double f(double x) { return x; }', cast='unsafe')",
        "cj.vectorize('T f(T x) { return x; }', T=3j)",
        "cj.vectorize('double f(double x) { return x; }').sauce",
        "cj.ElementwiseKernel('T x', 'T y', 'y = x', cookie='readonly')",
        "cj.ElementwiseKernel('T x', 'T y', 'y = x')(3, axis=0)",
        "cj.ReductionKernel('T x', 'T y', 'x', 'a + b', 'y = a', '0', gil=True)",
        "cj.ReductionKernel('T x', 'T y', 'x', 'a + b', 'y = a', '0')([3], axes=0)",
        "cj.library('m', thread=3)",
        "cj.jit(lambda x: x, thread=3)",
        "cj.jit(fastmath='yes')",
    )
    with pytest.raises(AssertionError) as caught:
        check(folder, "\n".join(["import cwrapjit as cj", *wrong]))
    refused = {int(line) for line in re.findall(r"\bprogram\.py:(\d+): error", str(caught.value))}
    assert refused == {*range(2, 2 + len(wrong))}
