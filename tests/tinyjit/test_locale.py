"""Tests that a process whose decimal point is a comma computes the same numbers as any other."""

from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Iterator

import pytest
from helpers import build_extension, python, run_quietly

LOCALE = "de_DE.UTF-8"

# Runs with and without the locale: all code that passes numbers as text.
NUMBERS = r"""
import inspect, locale, pathlib, sys
import numpy as np

folder = pathlib.Path(sys.argv[1])
if sys.argv[2]:
    locale.setlocale(locale.LC_ALL, sys.argv[2])
import cwrapjit
import cwrapjit.graph as cg

print("comma" if locale.localeconv()["decimal_point"] == "," else "point", file=sys.stderr)
(folder / "own.h").write_text("#define FROM_FILE 6.125\n")
(folder / "own.c").write_text("double from_source(void) { return 7.375 + 1.0e-3; }\n")
m = cwrapjit.module(
    "numbers",
    header="#include <own.h>\nextern double from_source(void);\n#define FROM_HEADER 5.625\n",
    sources=[folder / "own.c"],
    include_dirs=[folder],
    define_macros=["FROM_MACRO=4.875"],
)
BODY = '''
    static const double table[] = {0.1, -1.5e-7, .5, 1.e2};
    double values[] = {2.75, 1e-3, 3.5e+10, 0x1.8p-3, 1.1f, (double)1.3L, FROM_HEADER, FROM_FILE, FROM_MACRO,
                       from_source(), *factor, 1.5 + 2.25, 1.2e1 * item__x(), table[0], table[1], table[2],
                       table[3]};
    for (int i = 0; i < 17; i++)
        item__y(i) = values[i];
    return true;
'''
f = m.function(
    "f", signature="x() -> y(17)", extra_args=(("double", "factor", "2.875", "d"),),
    Ccode_slice_eval={np.float64: BODY}, Ccode_validate="return *factor > 2.5;", optimize="off",
)
shown = [each.replace(annotation=each.empty) for each in inspect.signature(f).parameters.values()]
print("first", f(1.0).tolist(), [*map(str, shown)])
g = m.function(
    "g", signature="x() -> y(17)", extra_args=(("double", "factor", "2.875", "d"),),
    Ccode_slice_eval={np.float64: BODY}, optimize="eager",
)
print("second", g.wait() and g.tier, g(1.0).tolist())
with open(folder / "written.c", "w") as file:
    m.write(file)

class Double(cg.ResultBase):
    def c_declare(self):
        return "double %(name)s;"
    def c_init(self):
        return "%(name)s = 0.5;"
    def c_extract(self):
        return "%(name)s = PyFloat_AsDouble(py_%(name)s) + 0.125;"
    def c_sync(self):
        return "Py_XDECREF(py_%(name)s); py_%(name)s = PyFloat_FromDouble(%(name)s);"

class Add(cg.Op):
    def c_var_names(self):
        return [["x"], ["z"]]
    def c_code(self):
        return "%(z)s += %(x)s * 1.625;"

x = Double("x")
print("graph", cwrapjit.link([x], Add(x))(1.0))
v = cg.float64("v")
print("ready", cwrapjit.link([v], v * 2.75 + 0.1)(1.0))

(folder / "lib.c").write_text(
    "#define LIB_SCALE 1.375\ndouble scaled(double x) { return x * 2.75 + LIB_SCALE; }\n"
    "const double lib_half = 0.5;\n")
lib = cwrapjit.library("lib", sources=[folder / "lib.c"])
scaled = lib.function("double scaled(double x)", defaults={"x": 1.5})
print("library", scaled(), scaled(2.5))
"""

# Runs kernels, windows and later features in one tier.
KERNELS = r"""
import locale, sys
import numpy as np

if sys.argv[2]:
    locale.setlocale(locale.LC_ALL, sys.argv[2])
import cwrapjit

print("comma" if locale.localeconv()["decimal_point"] == "," else "point", file=sys.stderr)
x = np.arange(7) / 4
SUM = '''
    item__y() = 0;
    for (int i = 0; i < dims_slice__x[0]; i++)
        item__y() += 0.25 * item__x(i);
    return true;
'''
own = cwrapjit.library("own", source="void h(OUT double y[n], const double x[n], int n) "
                       "{ for (int i = 0; i < n; i++) y[i] = x[i] * 1.5; }")
set = {"optimize": sys.argv[1]}
made = {
    "vectorize": cwrapjit.vectorize("double f(double x) { return 2.75 * x + 1.5e-3; }", **set)(x),
    "T": cwrapjit.vectorize("T f(T x) { return (T)2.75 * x; }", **set)(x),
    "elementwise": cwrapjit.ElementwiseKernel(
        "T x", "T y", "y = x * 2.75 + N", options=("-DN=0.125",), **set)(x),
    "reduction": cwrapjit.ReductionKernel("T x", "T y", "x * 2.75", "a + b", "y = a + 0.5", 1.25, **set)(x),
    "identity": cwrapjit.ReductionKernel(
        "T x", "T y", "x", "a + b", "y = a", np.longdouble("0.1"), **set)(np.zeros(0)),
    "windows": cwrapjit.function("blur", signature="x() -> y()", windows={"x": (3,)}, border="constant",
                                 cval=0.375, Ccode_slice_eval={np.float64: SUM}, **set)(x),
    "dims": cwrapjit.function("dims", signature="a(n) -> d(m)", output_dims={"m": "n*(n-1)/2"},
                              Ccode_slice_eval={np.float64: "item__d(0) = 0.5; return true;"}, **set)(x[:2]),
    "ufunc": cwrapjit.vectorize("double f(double x, double y) { return x + 0.5 * y; }",
                                identity=0.5, **set).ufunc.reduce(x),
    "complex": cwrapjit.function("c", signature="x() -> y()", Ccode_slice_eval={
        np.complex128: "item__y() = cscale(item__x(), 0.5); return true;"}, **set)(1.5 + 2j),
    "half": cwrapjit.vectorize("#include <numpy/halffloat.h>\nT f(T x) "
                               "{ return float_to_half(half_to_float(x) * 0.5f); }", **set)(np.float16(1.5)),
    "source": own.h(x),
}
for name, values in made.items():
    print(name, np.asarray(values).tolist())
"""

# Runs a module that m.write() wrote, built elsewhere, with that locale.
WRITTEN = """
import importlib.util, inspect, locale, sys
locale.setlocale(locale.LC_ALL, sys.argv[2])
spec = importlib.util.spec_from_file_location("numbers", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print("first", module.f(1.0).tolist(), [*map(str, inspect.signature(module.f).parameters.values())])
"""

# Threads define functions at the same time, while the process reads numbers with a comma.
THREADS = r"""
import locale, sys, threading
import numpy as np
import cwrapjit

locale.setlocale(locale.LC_ALL, sys.argv[1])

def define(k):
    body = "item__y() = item__x() * K.75 + strtod(\"2,5\", NULL); return true;".replace("K", str(k))
    f = cwrapjit.function(
        f"f{k}", signature="x() -> y()", Ccode_slice_eval={np.float64: body}, optimize="off"
    )
    results[k] = f(1.0)

results = {}
threads = [threading.Thread(target=define, args=(k,)) for k in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
define(8)
print(results == {k: k + 3.25 for k in range(9)}, locale.str(0.5))
"""


@pytest.fixture(scope="module")
def comma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yields an environment that has de_DE, wherever the tests run."""
    localedef = shutil.which("localedef")
    if not localedef or not os.path.exists("/usr/share/i18n/locales/de_DE"):
        pytest.skip("no localedef with the sources of de_DE: the Debian package is called locales")
    folder = tmp_path_factory.mktemp("locales")
    run_quietly([localedef, "-i", "de_DE", "-f", "UTF-8", str(folder / LOCALE)])
    yield {**os.environ, "LOCPATH": str(folder)}


def run(code: str, argument: str, where: str, environment: dict[str, str]) -> dict[str, str]:
    done = python(code, argument, where, env=environment)
    assert done.stderr.split() == ["comma" if where else "point"]
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.row("G11")
def test_every_front_end_computes_the_same_where_the_decimal_point_is_a_comma(
    comma: dict[str, str], tmp_path: pathlib.Path
) -> None:
    folders = [tmp_path / "point", tmp_path / "comma"]
    for folder in folders:
        folder.mkdir()
    usual = run(NUMBERS, str(folders[0]), "", comma)
    assert run(NUMBERS, str(folders[1]), LOCALE, comma) == usual
    wanted = [2.75, 1e-3, 3.5e10, 0.1875, 1.10000002384185791015625, 1.3, 5.625, 6.125, 4.875, 7.376, 2.875]
    wanted += [3.75, 12.0, 0.1, -1.5e-7, 0.5, 100.0]
    assert usual["first"].startswith(str(wanted))
    assert usual["second"].endswith(str(wanted))
    assert (usual["graph"], usual["ready"]) == (str(0.5 + 1.125 * 1.625), str(2.75 + 0.1))
    assert usual["library"] == "5.5 8.25"
    written = [(folder / "written.c").read_text().replace(str(folder), "") for folder in tmp_path.iterdir()]
    assert len(written) == 2 and written[0] == written[1]
    folder = tmp_path / "comma"
    flags = [str(folder / "own.c"), f"-I{folder}", "-DFROM_MACRO=4.875"]
    build_extension(folder, "numbers", (folder / "written.c").read_text(), *flags)
    built = str(next(folder.glob("numbers*.so")))
    assert python(WRITTEN, built, LOCALE, env=comma).stdout == f"first {usual['first']}\n"


@pytest.mark.row("G11")
def test_kernels_compute_the_same_where_the_decimal_point_is_a_comma(comma: dict[str, str]) -> None:
    x = [k / 4 for k in range(7)]
    wanted = {
        "vectorize": [2.75 * each + 1.5e-3 for each in x],
        "T": [2.75 * each for each in x],
        "elementwise": [each * 2.75 + 0.125 for each in x],
        "reduction": 1.25 + sum(x) * 2.75 + 0.5,
        "identity": 0.1,
        "windows": [0.25 * sum(each) for each in zip([0.375, *x], x, [*x[1:], 0.375], strict=False)],
        "dims": [0.5],
        "ufunc": 0.5 + 0.5 * sum(x),
        "complex": 0.75 + 1j,
        "half": 0.75,
        "source": [each * 1.5 for each in x],
    }
    assert run(KERNELS, "off", LOCALE, comma) == {name: str(value) for name, value in wanted.items()}


@pytest.mark.row("G11")
def test_what_other_threads_compile_is_read_right_and_their_locale_stays(comma: dict[str, str]) -> None:
    assert python(THREADS, LOCALE, env=comma).stdout == "True 0,5\n"
