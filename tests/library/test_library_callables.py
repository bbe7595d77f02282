"""Tests arguments for C functions other than Python callables: C text, compiled functions, capsules,
addresses, and pointers of ctypes and cffi."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import eventually, refuses
from leaks import keeps_nothing
from library_tools import from_c

import cwrapjit

pytestmark = pytest.mark.row("L08", "P13")

QSORT = "void qsort(void base[n*size], size_t n, size_t size, int (*compar)(const void *a, const void *b))"
ASCENDING = "double p = *(const double *)a, q = *(const double *)b; return (p > q) - (p < q);"
TEXT = """
typedef struct { double a; int k[3]; } par;
typedef double (*function)(double x, const par *p);
typedef struct hidden hidden;
double apply(function f, double x) { par p = {0.5, {1, 2, 3}}; return f ? f(x, &p) : -1; }
double plain(double (*f)(double), double x) { return f ? f(x) : -1; }
double over(double (*f)(int n, const double *x), int n) { double x[] = {1, 2, 3}; return f(n, x); }
int numbers(long (*f)(unsigned char, short, float, int64_t), int64_t x) { return f(200, -2, 0.5f, x); }
par valued(par (*f)(par, int)) { par p = {1, {1, 2, 3}}; return f(p, 2); }
int opaque(int (*f)(hidden *)) { return f(NULL); }
double deep(double (*f)(double (*g)(double), double)) { return f(NULL, 2); }
"""


@pytest.fixture(scope="module")
def lib() -> Any:
    made = from_c(TEXT)
    made.declare(TEXT.split("double apply")[0])
    made.declare(
        "double apply(function f, double x); double plain(double (*f)(double), double x);"
        "double over(double (*f)(int n, const double *x), int n);"
        "int numbers(long (*f)(unsigned char, short, float, int64_t), int64_t x);"
        "par valued(par (*f)(par, int)); int opaque(int (*f)(hidden *));"
        "double deep(double (*f)(double (*g)(double), double));"
    )
    assert not made.unmapped
    return made


@pytest.fixture(scope="module")
def qsort() -> Any:
    return cwrapjit.library("c", libraries=["c"]).function(QSORT)


# ---- C text ---------------------------------------------------------------------------------------


def test_items_of_any_type_say_their_number_and_size(qsort):
    points = np.array([(3, 1.5), (1, 2.5), (2, 0.5)], [("k", "i4"), ("x", "f8")])
    body = "struct point { int k; double x; } __attribute__((packed));\n"
    body += "return ((const struct point *)a)->k - ((const struct point *)b)->k;"
    qsort(points, body)
    assert points["k"].tolist() == [1, 2, 3] and points["x"].tolist() == [2.5, 0.5, 1.5]
    small = bytearray(b"hello")
    qsort(small, "return *(const char *)a - *(const char *)b;")
    assert small == b"ehllo"
    table = np.array([[3.0, 1.0], [2.0, 0.0]])
    qsort(table, ASCENDING)
    assert table.tolist() == [[0, 1], [2, 3]]
    refuses(TypeError, lambda: qsort(np.array([1, "x"], object), ASCENDING), "argument base")
    refuses(ValueError, lambda: qsort(np.arange(6.0)[::2], ASCENDING), "argument base", "contiguous")
    refuses(ValueError, lambda: qsort(np.broadcast_to(1.0, 3), ASCENDING), "argument base")
    refuses(TypeError, lambda: qsort("text", ASCENDING), "argument base")


@pytest.mark.quick
def test_a_whole_definition_with_helpers(qsort, lib):
    x = np.array([2.0, 3.0, 1.0])
    text = """
    /* if (x) { */
    #include <math.h>
    static int sign(double x) { return (x > 0) - (x < 0); }
    static const double scale[2] = {-1, 1};
    int descending(const void *a, const void *b)
    {
        if (a == b) { return 0; }
        return sign(scale[0] * (*(const double *)a - *(const double *)b));
    }
    """
    qsort(x, text)
    assert x.tolist() == [3, 2, 1]
    assert lib.plain("static double twice(double x) { return 2 * x; }", 2.0) == 4
    assert lib.plain("#include <math.h>\nreturn erf(arg0);", 0.0) == 0


def test_bodies_see_the_names_and_types_of_the_declaration(lib):
    assert lib.apply("return x + p->a + p->k[2];", 1.0) == 4.5
    assert lib.apply("double f(double x, const par *p) { return x * p->k[1]; }", 2.0) == 4
    assert lib.plain("return arg0 / 2;", 3.0) == 1.5
    assert lib.over("double s = 0; for (int i = 0; i < n; i++) { s += x[i]; } return s;", 3) == 6
    assert lib.numbers("return arg0 + arg1 + (long)(arg2 * 2) + arg3;", 1000) == 1199
    made = lib.valued("arg0.a += arg1; return arg0;")
    assert (made.a, made.k.tolist()) == (3, [1, 2, 3])
    assert lib.opaque("return arg0 == NULL;") == 1
    assert lib.deep("return g == NULL ? arg1 : 0;") == 2


ARRAYS = """
typedef struct { double (*rows)[2]; double *one[2]; double (*tables[2])[2]; } grid;
typedef double (*with_arrays)(double m[2][3], const double v[3], const double (*p)[2], double (**q)[2],
                              const grid *g);
"""
ARRAYS_CALL = """
double arrays(with_arrays f) {
    double m[2][3] = {{1, 2, 3}, {4, 5, 6}}, v[3] = {7, 8, 9}, p[2][2] = {{10, 20}, {30, 40}}, (*q)[2] = p;
    grid g = {p, {m[0], m[1]}, {p, p + 1}};
    return f(m, v, p, &q, &g);
}
"""


@pytest.mark.quick
def test_bodies_know_arrays_and_pointers_to_them():
    lib = from_c(ARRAYS + ARRAYS_CALL)
    lib.declare(ARRAYS + "double arrays(with_arrays f);")
    assert lib.arrays("return m[1][0] + v[1] + 100 * p[1][0] + (*q)[0][1];") == 3032
    assert lib.arrays("return g->rows[1][1] + 100 * g->one[1][2] + 1000 * g->tables[1][0][0];") == 30640
    refuses(cwrapjit.CompileError, lambda: lib.arrays("p[0][0] = 1; return 0;"), "read-only")


def test_text_of_a_library_with_a_header():
    text = "typedef struct { int k; } thing; static int twice(int x) { return 2 * x; }"
    made = from_c(text + "int f(int (*g)(thing *)) { thing t = {4}; return g(&t); }", header=text)
    made.function("int f(int (*g)(thing *t))")
    assert made.f("return twice(t->k);") == 8


WRONG = [
    ("return missing;", cwrapjit.CompileError, "'missing' undeclared"),
    ("return 1 +;", cwrapjit.CompileError, "argument f"),
    ("", ValueError, "empty"),
    ("return 1\0;", cwrapjit.CompileError, "NUL"),
    ("} int x; {", cwrapjit.CompileError, "argument f"),
    ("int f(double x) { return 1; }", TypeError, "expected double (*)(double)"),
    ("double f(double x, int n) { return 1; }", TypeError, "int n"),
    ("double f(what *x) { return 1; }", cwrapjit.CompileError, "what is not a known type"),
]


@pytest.mark.quick
@pytest.mark.parametrize(
    "front",
    [
        "#if 0\nnonsense\n#endif\n", "#if 1\n#endif\n", "#ifdef NO\nint g(int x) { return x; }\n#endif\n",
        "#define A 1\n", "#define A /* 1\n */ 1\n", "#include <math.h>\n", "/* a\n b */ ",
        "// a\n#undef B // b\n",
        "typedef double real;\n", "enum kind { ONE, TWO };\n", "struct own { int a; };\n",
        "static double h(const double x[n], int n) { return x[0]; }\n",
        "#if 1\nstatic inline int h(int x) { return x; }\n#endif\n#define A 1\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "text",
    [
        "return x * k;",
        "#if 1\nreturn x * k;\n#else\n}}\n#endif",
        "if (x > 100) { return 0; }\nfor (int i = 0; i < 2; i++) { x *= 1; }\nreturn x * k;",
        "double f(double x, double k) { return x * k; }\n#undef A\nstatic int behind;",
        "#ifdef NO\nint f(\n#else\ndouble f(double x\n#if 1\n, double k\n#endif\n#endif\n) { return x * k; }",
        "#define HEAD(name) double name(double x, double k)\nHEAD(f) { return x * k; }",
    ],
)
def test_text_is_what_the_preprocessor_leaves(front, text):
    lib = cwrapjit.library("t", source="double apply(double (*f)(double x, double k)) { return f(3, 2); }")
    assert lib.apply(front + text) == 6


@pytest.mark.quick
@pytest.mark.parametrize(
    "text, result",
    [
        ("return x + DOWN;", 8), ("int f(int x) { return x + DOWN; }", 8), ("count n = x; return n;", 3),
        ("real r = 1.5; return x + 2 * r;", 6), ("enum mode m = DOWN; return m + UP;", 6),
        ("const pt p = {x, 4}; return p.y;", 4), ("struct pair p = {.x = x}; return p.x;", 3),
        ("return WIDE > 0xffffffffu && sizeof(WIDE) == 8;", 1),
        ("static int h(real r) { return r; }\nreturn h(x);", 3), ("int DOWN = 2; return x + DOWN;", 5),
        ("enum { DOWN = 1 };\nreturn x + DOWN + UP;", 5), ("#include <math.h>\nreturn fabs(-x) + DOWN;", 8),
        ("struct pair q = {.x = 4};\nint f(int x) { return q.x; }", 4), ("how m = HOW; return m;", 7),
    ],
)  # fmt: skip
def test_a_text_knows_the_types_and_enumerators_of_the_library(text, result):
    known = "typedef double real; enum mode { UP = 1, DOWN = 5 };\n"
    known += "struct pair { int x, y; }; typedef struct pair pt;\n"
    known += "enum { WIDE = 0x1ffffffff }; typedef enum { HOW = 7 } how;\n"
    apply = "int apply(int (*f)(int x)) { return f(3); }\n"
    included = "#include <stdint.h>\ntypedef uint32_t count;\n"
    assert cwrapjit.library("t", source=included + known + apply).apply(text) == result
    lib = cwrapjit.library("t", source=apply)
    lib.declare(included + known)
    assert lib.apply(text) == result


def test_conditions_of_a_text_know_the_macros_of_the_header():
    source = "int apply(int (*f)(int x)) { return f(3); }"
    lib = cwrapjit.library("t", source=source, header="#define PLUS 4\n")
    heads = "#if PLUS == 4 && __SIZEOF_LONG__ == 8\nint g(int x)\n#else\nint g(int x, int y)\n#endif\n"
    assert lib.apply(heads + "{ return x + PLUS; }") == 7


def test_types_of_a_text_are_those_of_its_definition():
    lib = cwrapjit.library(
        "t",
        source="typedef struct { double x, y; } point;\nenum mode { SLOW, FAST };\n"
        "double apply(double (*f)(enum mode m, const point *p, double v[n], int n))\n"
        "{ point p = {1, 2}; double v[2] = {3, 4}; return f(FAST, &p, v, 2); }",
    )
    types = "typedef double real;\ntypedef real *vector;\ntypedef struct { double x, y; } point;\n"
    types += "enum mode { SLOW, FAST };\ntypedef enum mode how;\n"
    body = "{ return m == FAST ? p->y + v[n - 1] : 0; }"
    for parameters in ("how m, const point *p, vector v, int n", "int m, const point *p, real v[n], int n"):
        assert lib.apply(f"{types}real f({parameters}) {body}") == 6
    with pytest.raises(TypeError, match=r"expected double .*, got the definition of float f.how m, "):
        lib.apply(f"{types}float f(how m, const point *p, vector v, int n) {body}")
    other = "typedef struct { double x; } point;\n"
    other += "double f(int m, const point *p, double *v, int n) { return p->x; }"
    assert lib.apply(other) == 1  # by the struct's name, as in C
    assert lib.point(5, 6).y == 6  # definitions of texts stay private
    text = "static int h(int x) { return x; } return h(m);"
    refuses(cwrapjit.CompileError, lambda: lib.apply(text), "a line of its own")
    text = "static int h(int x) { return x; }\nreturn\nh(none);"
    assert refuses(cwrapjit.CompileError, lambda: lib.apply(text), "'none' undeclared").lineno == 3


def test_text_that_is_wrong(lib):
    for text, error, word in WRONG:
        refuses(error, lambda text=text: lib.plain(text, 1.0), "t.plain(): argument f", word)
    error = refuses(cwrapjit.CompileError, lambda: lib.plain("\nreturn arg0 +\n  missing;", 1.0), "missing")
    assert (error.lineno, error.text) == (3, "  missing;"), "the line is the user's"


@pytest.mark.quick
@pytest.mark.parametrize("word, meaning", [("float", "double"), ("bool", "int"), ("short", "int")])
def test_words_of_types_that_are_macros(word, meaning, tmp_path):
    """C text does not see the library's macros; files that it includes may define others."""
    (tmp_path / "own.h").write_text(f"#undef {word}\n#define {word} {meaning}\n")
    apply = f"typedef {word} (*function)({word} x);\ndouble apply(function f, double x) {{ return f(x); }}"
    whole, body = f"{word} f({word} x) {{ return x; }}", "\nreturn x;"
    renamed = cwrapjit.library("t", source=f"#undef {word}\n#define {word} {meaning}\n{apply}")
    refuses(cwrapjit.CompileError, lambda: renamed.apply(whole, 3.0), f"is of type {word}, which was read as")
    assert renamed.apply(body, 3.0) == 3 and renamed.apply(whole.replace(word, meaning), 3.0) == 3
    plain = cwrapjit.library("t", source=apply, include_dirs=[tmp_path])
    assert plain.apply(whole, 1.0) == plain.apply(body, 1.0) == 1
    for text in (whole, body)[: 1 + (word != "bool")]:  # a body is preceded by _Bool
        text = f'#include "own.h"\n{text}'
        refuses(
            cwrapjit.CompileError, lambda text=text: plain.apply(text, 3.0), "argument f", "another one to C"
        )


def test_a_body_knows_its_parameters(lib):
    error = refuses(cwrapjit.CompileError, lambda: lib.plain("return x;", 1.0), "'x' undeclared")
    assert "(the parameters are: double arg0)" in error.msg
    whole = "double f(double x) { return y; }"
    error = refuses(cwrapjit.CompileError, lambda: lib.plain(whole, 1.0), "undeclared")
    assert "parameters" not in error.msg


def test_a_body_gives_numbers_where_numbers_belong(lib):
    """libtcc would convert addresses to numbers, and copy structs over the memory behind a number."""
    pointer = "a pointer or a text stands where the double"
    for body, what in (
        ("return p;", f"{pointer} that is returned belongs"),
        ('if (x > 0) return "x"; return x;', f"{pointer} that is returned"),
        ("x = *p; return x;", "a struct stands where the double of 'x' belongs"),
        ("#define Y 1\n// here\nx = p; return x;", f"{pointer} of 'x'"),
    ):
        error = refuses(cwrapjit.CompileError, lambda body=body: lib.apply(body, 1.0), what)
        assert error.lineno == body.count("\n") + 1 and "cwj_" not in error.msg


def test_directives_in_front_of_a_body_are_the_users(lib):
    text = "// ä\n#include <not_there.h>\nreturn arg0;"
    error = refuses(cwrapjit.CompileError, lambda: lib.plain(text, 1.0), "not_there.h", "argument f")
    assert error.lineno == 2
    text = "// ä\n\n#define HALF \\\n    0.5\nreturn arg0 * HALF +;"
    error = refuses(cwrapjit.CompileError, lambda: lib.plain(text, 1.0), "argument f")
    assert (error.lineno, error.text) == (5, "return arg0 * HALF +;")
    assert lib.plain(text.replace(" +;", ";"), 3.0) == 1.5


def _is_marked(text: str) -> tuple[str, int]:
    """Returns the text without its mark, and the number of the marked line."""
    return text.replace("/*here*/ ", ""), text[: text.index("/*here*/")].count("\n") + 1


@pytest.mark.quick
@pytest.mark.parametrize(
    "text",
    [
        "int *p = NULL;\n/*here*/ return *p + x;",
        "#define ONE 1\nif (x > 0)\n  /*here*/ abort();\nreturn ONE;",
        "\nstatic double f(double x)\n{\n  int zero = 0;\n  /*here*/ return *(int *)(long)zero;\n}",
    ],
)
def test_faults_in_text_have_its_lines(text):
    """The lines are those of the text, not of its caller."""
    lib = from_c("double apply(double (*f)(double x), double x)\n{\n    return f(x) + 1;\n}", debug=True)
    lib.function("double apply(double (*f)(double x), double x)")
    text, line = _is_marked(text)
    for _ in range(2):
        fault = refuses(cwrapjit.Fault, lambda: lib.apply(text, 1.0), "t.apply()", "argument f")
        assert (fault.lineno, fault.text) == (line, text.split("\n")[line - 1].strip())
    assert lib.apply("return x;", 1.0) == 2


@pytest.mark.quick
def test_faults_in_code_of_others_have_their_lines():
    """Faults in a function of another library, or of vectorize(), which a library's function calls, have the
    lines of that function's text. Faults in C text do not get them later."""
    lib = from_c("double apply(double (*f)(double x), double x)\n{\n    return f(x) + 1;\n}", debug=True)
    lib.function("double apply(double (*f)(double x), double x)")
    text = "\n\ndouble wild(double x)\n{\n    return *(int *)(long)(x - 1);\n}"
    other = cwrapjit.library("other", source=text, debug=True)
    vectorized = cwrapjit.vectorize(text, debug=True)
    for given in (other.wild, vectorized):
        fault = refuses(cwrapjit.Fault, lambda given=given: lib.apply(given, 1.0), "t.apply()", "(int *)")
        assert fault.lineno == 5
        assert lib.apply("return x;", 1.0) == 2
    del other, vectorized, given
    gc.collect()
    fault = refuses(cwrapjit.Fault, lambda: lib.apply("return *(int *)(long)(x - 1);", 1.0), "null")
    assert fault.lineno == 1


def test_text_is_compiled_once(lib):
    core = lib._core
    lib.plain("return 7;", 1.0)
    before = len(core.code.texts)
    for _ in range(3):
        lib.plain("return 7;", 1.0)
    assert len(core.code.texts) == before
    for k in range(140):
        assert lib.plain(f"return {k};", 1.0) == k
    assert len(core.code.texts) <= 128


# ---- cached texts ---------------------------------------------------------------------------------


REPEATS = """
typedef int operation(int a, int b);
int repeat(operation *f, int n) { int s = 0; for (int i = 0; i < n; i++) s = f(s, i); return s; }
void *place(operation *f) { return (void *)f; }
"""


@pytest.mark.compiler("the background compiler makes the text's better code")
def test_text_that_is_hot_is_compiled_again():
    lib = cwrapjit.library("repeats", source=REPEATS)
    text = "static int more(int a, int b) { return (a + 2 * b) % 1000; }"
    before, sums = lib.place(text), lib.repeat(text, 300_000)

    def is_better() -> bool:
        assert lib.repeat(text, 300_000) == sums
        return bool(lib.place(text) != before)

    assert lib.repeat(text, 3) == 6
    assert eventually(is_better)
    assert lib.repeat(text, 3) == 6 and lib.place("return 1;") not in (before, lib.place(text))


@pytest.mark.compiler("the background compiler is asked")
def test_text_with_data_of_its_own_stays_as_it_is():
    lib = cwrapjit.library("repeats", source=REPEATS)
    text = "static int calls; calls++; return a + b - a - b + calls;"
    before, count = lib.place(text), 0
    for _ in range(20):
        count += 50_000
        assert lib.repeat(text, 50_000) == count, "each call counted once"
    assert lib.place(text) == before


@pytest.mark.quick
def test_functions_of_libraries_and_of_ours(lib):
    libm = cwrapjit.library("m", libraries=["m"])
    libm.declare("double cos(double x); float cosf(float x); double pow(double x, double y);")
    assert lib.plain(libm.cos, 1.0) == np.cos(1.0)
    refuses(TypeError, lambda: lib.plain(libm.cosf, 1.0), "argument f", "expected double (*)(double)")
    refuses(TypeError, lambda: lib.plain(libm.pow, 1.0), "argument f", "double (double, double)")
    twice = cwrapjit.vectorize("double twice(double x) { return 2 * x; }")
    assert lib.plain(twice, 1.5) == 3
    assert lib.plain(twice.capsule, 1.5) == 3
    assert lib.plain(libm.cos.address, 0.0) == 1
    assert lib.plain(np.uint64(libm.cos.address), 0.0) == 1
    assert lib.plain(None, 0.0) == -1
    assert lib.plain(0, 0.0) == -1
    refuses(OverflowError, lambda: lib.plain(-1, 0.0), "argument f", "no address")
    for number in (1, 65535, np.int64(5)):
        refuses(ValueError, lambda number=number: lib.plain(number, 0.0), "argument f", f"{number} is no")
    refuses(TypeError, lambda: lib.plain(True, 0.0), "argument f", "bool")
    refuses(TypeError, lambda: lib.plain(1.5, 0.0), "argument f", "got float")
    refuses(TypeError, lambda: lib.plain(cwrapjit.Pointer(np.ones(2)), 0.0), "Pointer to float64")


def test_capsules_by_their_signature(lib):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    address = cwrapjit.library("m", libraries=["m"]).function("double cos(double x)").address
    for name in (b"double (double)", b"double(double x)"):
        assert lib.plain(new(address, name, None), 0.0) == 1
    for name, word in (
        *((each, each.decode()) for each in (b"double (float)", b"void (double)", b"double (double, ...)")),
        (b"double (double *)", "double *"),
        (b"npy_double (double)", "cannot be read"),
        (b"numpy.arrays", "no signature"),
        (None, "no signature"),
    ):
        made = new(address, name, None)
        refuses(TypeError, lambda made=made: lib.plain(made, 0.0), "argument f", word)


def test_function_pointers_of_ctypes(lib, qsort):
    kind, double = ctypes.CFUNCTYPE, ctypes.c_double
    assert lib.plain(kind(double, double)(lambda x: 3 * x), 2.0) == 6
    assert lib.plain(ctypes.c_void_p(None), 2.0) == -1
    pair = ctypes.POINTER(double)
    x = np.array([2.0, 3.0, 1.0])
    qsort(x, kind(ctypes.c_int, pair, pair)(lambda a, b: int(a[0] > b[0]) - int(a[0] < b[0])))
    assert x.tolist() == [1, 2, 3]
    cos = ctypes.CDLL("libm.so.6").cos
    refuses(TypeError, lambda: lib.plain(cos, 0.0), "argument f", "no argtypes")
    cos.argtypes, cos.restype = [double], double
    assert lib.plain(cos, 0.0) == 1
    for wrong in kind(ctypes.c_float, double), kind(None, double), kind(double, pair), kind(double):
        made = wrong(lambda *_: None)
        refuses(TypeError, lambda made=made: lib.plain(made, 0.0), "argument f: ", "of ctypes that is")
    floats = kind(double, ctypes.c_int, ctypes.POINTER(ctypes.c_float))(lambda n, x: 0)
    refuses(TypeError, lambda: lib.over(floats, 1), "argument f: ", "of ctypes that is")
    ints = from_c("double ints(int n, const int *x) { return x[0]; }").function(
        "double ints(int n, const int *x)"
    )
    refuses(TypeError, lambda: lib.over(ints, 1), "argument f", "int *")


# ---- members of structs ---------------------------------------------------------------------------

MEMBERS = """
typedef struct { double (*function)(double x, void *params); void *params; int (*other)(void); } problem;
double solve(const problem *p, double x) { return p->function ? p->function(x, p->params) : -1; }
problem copied(problem p) { return p; }
double half(double x, void *params) { return x / 2; }
void fill(problem *p) { p->function = half; }
"""


@pytest.fixture
def problems() -> Any:
    made = from_c(MEMBERS)
    made.declare(
        MEMBERS.split("double solve")[0]
        + "double solve(const problem *p, double x); problem copied(problem p); void fill(problem *p);"
    )
    return made


@pytest.mark.quick
def test_members_of_structs_are_functions(problems):
    p = problems.problem()
    assert p.function is None and problems.solve(p, 3.0) == -1
    f = Twice()
    gone = weakref.ref(f)
    p.function = f
    assert p.function is f and problems.solve(p, 3.0) == 6
    del f
    gc.collect()
    assert problems.solve(p, 3.0) == 6
    copy = problems.copied(p)
    p.function = "return x + 1;"
    assert p.function == "return x + 1;" and problems.solve(p, 3.0) == 4
    gc.collect()
    assert problems.solve(copy, 3.0) == 6  # a copy keeps the objects that it points to
    del copy
    gc.collect()
    assert gone() is None
    p.function = None
    assert problems.solve(p, 3.0) == -1
    problems.fill(p)
    assert isinstance(p.function, cwrapjit.Pointer) and problems.solve(p, 3.0) == 1.5
    other = problems.problem()
    other.function = p.function
    assert problems.solve(other, 5.0) == 2.5
    p.function = lambda x: 1 / 0
    refuses(ZeroDivisionError, lambda: problems.solve(p, 1.0), "division")
    refuses(TypeError, lambda: setattr(p, "function", 1.5), "t.problem: attribute function", "got float")
    refuses(TypeError, lambda: setattr(p, "function", "int f(void) { return 1; }"), "attribute function")
    with pytest.raises(AttributeError):
        del p.function


GIVEN_BACK = """
typedef int (*operation)(int a, int b);
int add(int a, int b) { return a + b; }
int mul(int a, int b) { return a * b; }
static operation now = add;
operation set_now(operation f) { operation old = now; now = f; return old; }
int (*swap_now(int (*f)(int, int)))(int, int) { operation old = now; now = f; return old; }
int use(int a, int b) { return now(a, b); }
typedef struct { operation f; int (*g)(int, int); } pair;
pair both = {add, mul};
operation chosen = mul;
void find(int k, operation *found) { *found = k ? add : 0; }
int tell(int (*f)(operation given, int k), operation given) { return f(given, 2); }
int ask(operation (*pick)(int k), int k) { return pick(k)(3, 4); }
int is_there(void *p) { return p != 0; }
double (*other(void))(double) { return 0; }
int as_double(double (*f)(double)) { return f != 0; }
"""


def minus(a, b):
    return a - b


@pytest.fixture
def giving():
    lib = cwrapjit.library("giving", source=GIVEN_BACK)
    lib.function("operation set_now(operation f)", keeps={"library": "f"})
    lib.function("int (*swap_now(int (*f)(int, int)))(int, int)", keeps={"library": "f"})
    lib.function("int add(int a, int b)", name="c_add")
    return lib


def test_setters_give_the_old_function_back(giving):
    old = giving.set_now(minus)
    assert (old(5, 3), giving.use(5, 3), old == giving.c_add, giving.c_add == old) == (8, 2, True, True)
    assert {old: 1}[giving.c_add] == 1 and old != giving.chosen
    assert giving.swap_now(old) is minus and giving.use(5, 3) == 8
    assert giving.set_now(None) == old and giving.set_now(old) is None
    refuses(TypeError, lambda: old(5), "missing", "giving.set_now()")
    refuses(TypeError, lambda: old(5, "x"), "argument b", "got str")


def test_functions_in_memory_can_be_called(giving):
    pair = giving.both
    assert (pair.f(3, 4), pair.g(3, 4), giving.chosen(3, 4)) == (7, 12, 12)
    assert pair.g == giving.chosen != pair.f
    giving.chosen, pair.f = minus, pair.g
    assert giving.chosen is minus and pair.f(3, 4) == 12
    giving.chosen = None
    assert giving.chosen is None
    refuses(TypeError, lambda: setattr(giving, "chosen", 2.5), "giving.chosen", "float")
    giving.function("void find(int k, operation *found)", out="found")
    assert giving.find(0) is None and giving.find(1)(3, 4) == 7
    refuses(TypeError, lambda: cwrapjit.Pointer(b"data")(1), "no function")


def test_functions_that_callbacks_get_and_give(giving):
    assert giving.tell(lambda f, k: f(10, k), giving.c_add) == 12
    assert giving.tell(lambda f, k: f is minus, minus) == 1
    texts = [minus, "return 100 * a + b;", giving.both.g, giving.c_add]
    assert [giving.ask(lambda k: texts[k], k) for k in range(4)] == [-1, 304, 12, 7]


def test_functions_of_another_type_are_refused(giving):
    assert giving.is_there(giving.both.f) == 1 and giving.other() is None
    refuses(TypeError, lambda: giving.as_double(giving.both.f), "argument f", "Pointer to int (*)(int")


def test_pointers_to_functions_outlive_their_library():
    add = cwrapjit.library("short", source=GIVEN_BACK).both.f
    gc.collect()
    assert add(3, 4) == 7


def test_members_in_cycles_are_collected(problems):
    p = problems.problem()
    gone = weakref.ref(p)
    f = Twice()
    f.held = p
    p.function = f
    assert problems.solve(p, 1.0) == 2
    del p, f
    gc.collect()
    assert gone() is None


class Twice:
    held: Any = None

    def __call__(self, x: float) -> float:
        return 2 * x


# ---- ownership ------------------------------------------------------------------------------------


@pytest.mark.leak
def test_nothing_is_kept(lib):
    twice = cwrapjit.vectorize("double twice(double x) { return 2 * x; }")
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    pointer = kind(abs)

    def work() -> None:
        lib.plain("return 3;", 1.0)
        lib.plain(twice, 1.0)
        lib.plain(pointer, 1.0)
        for wrong in ("int f(void) { return 1; }", 1.5):
            with pytest.raises(TypeError):
                lib.plain(wrong, 1.0)

    keeps_nothing(work, watched=(twice, pointer))


def test_compiled_text_goes_with_the_library():
    made = from_c("double plain(double (*f)(double), double x) { return f(x); }")
    plain = made.function("double plain(double (*f)(double x), double x)")
    assert plain("return x;", 2.0) == 2
    del made
    gc.collect()
    assert plain("return 2 * x;", 2.0) == 4
