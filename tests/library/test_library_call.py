"""The call path of library functions, by descriptions made by hand."""

from __future__ import annotations

import ctypes
import inspect
import itertools
import sys

import numpy as np
import pytest
from leaks import keeps_nothing

import cwrapjit
from cwrapjit import _cwrapjit
from cwrapjit.library.description import Argument, Function, Parameter, Result
from cwrapjit.library.signatures import annotation

SLOT = """
typedef union cwj_test_slot {
    long long i; unsigned long long u; double d; float f; void *p;
    struct { double re, im; } z; struct { float re, im; } c;
} slot;
"""
numbers = itertools.count()


@pytest.fixture(scope="module")
def unit():
    return _cwrapjit.library_environment("wrapped", header="#include <stdlib.h>\n#include <string.h>\n")


@pytest.fixture
def make(unit):
    """make(C text, thunk's statement, parameters, arguments, result): a callable."""

    def make(text, thunk, parameters, arguments=(), result=None, **more):
        name = f"thunk_{next(numbers)}"
        whole = f"{SLOT}{text}\nvoid {name}(slot *s) {{ {thunk} }}\n"
        owner, (address,) = _cwrapjit.compile_thunks(unit, whole, [name])
        arguments = [Argument(each) if isinstance(each, str) else each for each in arguments]
        for each in parameters:
            if 0 <= each.argument < len(arguments):
                arguments[each.argument].annotation = annotation(each)
        description = Function(
            "f",
            "lib.f",
            "The doc.",
            arguments,
            parameters,
            result or Result(),
            address,
            address,
            owner,
            **more,
        )
        return _cwrapjit.wrap_function(description)

    return make


def refuses(error, match, call, *args, **kwargs):
    with pytest.raises(error, match=match):
        call(*args, **kwargs)


def value(type, argument, **more):
    return Parameter("value", type, argument, **more)


SCALARS = {
    "bool": ("i", "unsigned char"),
    "int8": ("i", "signed char"),
    "int16": ("i", "short"),
    "int32": ("i", "int"),
    "intc": ("i", "int"),
    "int64": ("i", "long long"),
    "uint8": ("u", "unsigned char"),
    "uint16": ("u", "unsigned short"),
    "uint32": ("u", "unsigned int"),
    "uint64": ("u", "unsigned long long"),
    "float32": ("f", "float"),
    "float64": ("d", "double"),
}


def word(type):
    return {"intc": "int", "int64": "int", "float64": "float", "complex128": "complex"}.get(type, type)


def identity(make, type, **more):
    if type.startswith("complex"):
        member = "c" if type == "complex64" else "z"
        return make(
            "", f"s[0].{member} = s[1].{member};", [value(type, 0, **more)], ["x"], Result("value", type)
        )
    member, ctype = SCALARS[type]
    thunk = f"s[0].{member} = ({ctype})s[1].{member};"
    return make("", thunk, [value(type, 0, **more)], ["x"], Result("value", type))


@pytest.mark.quick
@pytest.mark.parametrize("type", [name for name in SCALARS if "int" in name])
def test_integers_keep_their_ends(make, type):
    f = identity(make, type)
    info = np.iinfo(type)
    for number in (info.min, info.max, 0, 1):
        assert f(number) == number
        assert f(np.dtype(type).type(number)) == number
    assert isinstance(f(1), int if type in ("intc", "int64") else np.dtype(type).type)
    for number in (info.min - 1, info.max + 1, 2**200, -(2**200)):
        refuses(OverflowError, f"argument x: -?[0-9]+ is out of range of {info.dtype}", f, number)
    for wrong in (1.0, np.float64(2), "1", None, 1j, [1], np.arange(2)):
        refuses(TypeError, f"Expected an argument of type {word(type)} for argument x, got", f, wrong)
    assert f(True) == 1


@pytest.mark.quick
@pytest.mark.parametrize("type", ["float32", "float64", "complex64", "complex128"])
def test_floats_take_what_is_exact(make, type):
    f = identity(make, type)
    info = np.finfo(type)
    for number in (float(info.min), float(info.max), 0.5, 3, np.int8(7), np.float32(1.5), np.float16(-2.5)):
        assert f(number) == number
    assert np.isnan(f(float("nan"))) and np.isinf(f(float("inf")))
    bits = 25 if type in ("float32", "complex64") else 54
    refuses(OverflowError, "argument x: [0-9]+ is not exact in", f, 2**bits + 1)
    refuses(OverflowError, "not exact in", f, 10**400)
    assert f(2**bits) == 2**bits
    for wrong in ("1", None, [1.0], b"1"):
        refuses(TypeError, f"Expected an argument of type {word(type)} for argument x, got", f, wrong)
    if type.startswith("float"):
        refuses(TypeError, "got complex", f, 1j)
        assert type != "float64" or isinstance(f(1), float)
    else:
        assert f(1 - 2j) == 1 - 2j and f(np.complex64(2j)) == 2j
    if type == "float32":
        refuses(RuntimeWarning, "overflow encountered in cast", f, 1e300)  # an error in these tests


def test_bool_is_bool(make):
    f = identity(make, "bool")
    assert f(True) is True and f(np.False_) is False
    refuses(TypeError, "type bool for argument x, got int", f, 1)


@pytest.mark.quick
def test_interfaces_ask_for_the_type_alone(make):
    fits = {}
    offered = [True, 1, 1.5, 1j, np.int8(1), np.int64(1), np.float32(1), np.float64(1), np.complex64(1)]
    for type in ("bool", "int8", "int64", "float32", "float64", "complex64", "complex128"):
        f = identity(make, type)
        fits[type] = [f._fits(each)[0] for each in offered]
        assert all(f(each) == each for each, fit in zip(offered, fits[type], strict=True) if fit)
    assert fits == {
        "bool": [True] + [False] * 8,
        "int8": [each is offered[4] for each in offered],
        "int64": [each is offered[1] or each is offered[5] for each in offered],
        "float32": [each is offered[6] for each in offered],
        "float64": [each is offered[2] or each is offered[7] for each in offered],
        "complex64": [each is offered[8] for each in offered],
        "complex128": [each is offered[3] for each in offered],
    }


def add(make, *arguments):
    return make(
        "",
        "s[0].d = s[1].d + s[2].d;",
        [value("float64", 0), value("float64", 1)],
        arguments,
        Result("value", "float64"),
    )


@pytest.mark.quick
def test_binding(make):
    f = add(make, "x", Argument("y", required=False, default=3.0))
    assert f(1, 2.0) == f(1, y=2.0) == f(y=2.0, x=1) == 3
    assert f(1.0) == f(1.0, None) == f(1.0, y=None) == 4
    refuses(TypeError, r"lib.f\(\): missing required argument 'x'", f)
    refuses(TypeError, "missing required argument 'x'", f, y=1)
    refuses(TypeError, "takes 2 positional arguments but 3 were given", f, 1, 2, 3)
    refuses(TypeError, "unexpected keyword argument 'z'", f, 1, z=2)
    refuses(TypeError, "multiple values for argument 'x'", f, 1, x=2)
    refuses(TypeError, "Expected an argument of type float for argument y, got str", f, 1, "a")
    refuses(TypeError, "argument x, got NoneType", f, None)
    assert f._fits(1.0, "a") == (True, False) and f._fits() is None
    f = add(make, Argument("x", kind="positional"), Argument("y", kind="keyword"))
    assert f(1, y=2) == 3
    refuses(TypeError, "positional-only argument 'x' by keyword", f, x=1, y=2)
    refuses(TypeError, "takes 1 positional argument but 2 were given", f, 1, 2)


def test_what_it_shows(make):
    f = add(make, "x", Argument("y", required=False, default=3.0, annotation="float"))
    assert isinstance(f, cwrapjit._cwrapjit.LibraryFunction)
    assert (f.__name__, f.__qualname__, f.__doc__) == ("f", "lib.f", "The doc.")
    assert repr(f) == "<cwrapjit.LibraryFunction lib.f(x: float, y: float = 3.0)>"
    assert list(inspect.signature(f).parameters) == ["x", "y"]
    f.__doc__ = "other"
    assert f.__doc__ == "other"


def test_it_binds_as_a_method(make):
    f = add(make, "x", "y")

    class Number(float):
        plus = f

    assert Number(2).plus(3) == 5 and Number.plus(2.0, 3) == 5 and Number.plus is f


def test_address_and_capsule(unit):
    description = Function(
        "hypot",
        "m.hypot",
        "",
        [],
        [],
        Result(),
        _cwrapjit.library_symbol(unit, "rand"),
        _cwrapjit.library_symbol(unit, "hypot"),
        unit,
        signature="double (double, double)",
    )
    f = _cwrapjit.wrap_function(description)
    called = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(f.address)
    assert called(3, 4) == 5
    capsule, count = f.capsule, sys.getrefcount(f)
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(capsule) == b"double (double, double)"
    del capsule
    assert sys.getrefcount(f) == count - 1


MATMUL = """
static void f(int m, int n, int k, const double *a, const double *b, double *c) {
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
        c[i * n + j] = 0;
        for (int l = 0; l < k; l++) c[i * n + j] += a[i * k + l] * b[l * n + j];
    }
}
"""


@pytest.fixture
def matmul(make):
    def array(argument, *dims, **more):
        return Parameter("array", "float64", argument, dims=tuple((each,) for each in dims), **more)

    hidden = [Parameter("hidden", "intc", value=(each,), name=each) for each in "mnk"]
    arrays = [array(0, "m", "k"), array(1, "k", "n"), array(-1, "m", "n", intent="out", name="C")]
    thunk = "f(s[1].i, s[2].i, s[3].i, s[4].p, s[5].p, s[6].p);"
    return make(MATMUL, thunk, hidden + arrays, ["A", "B"])


def test_shapes_are_solved_and_checked(matmul):
    rng = np.random.default_rng(1)
    for m, n, k in [(2, 3, 4), (1, 1, 1), (0, 3, 2), (3, 0, 2), (3, 2, 0)]:
        a, b = rng.random((m, k)), rng.random((k, n))
        c = matmul(a, b)
        assert np.allclose(c, a @ b) and c.shape == (m, n) and c.flags.owndata and c.flags.writeable
    refuses(
        ValueError,
        r"dim 0 of argument B is 3, but must be 4 \(k, k is 4 by argument A\)",
        matmul,
        a := np.ones((3, 4)),
        a,
    )


@pytest.mark.quick
def test_one_message_lists_all_faults(matmul):
    b = np.ones((3, 2))
    bad = np.zeros((2, 3, 4), np.int32, order="F")
    with pytest.raises(
        TypeError, match="dtype is int32, not float64; rank is 3, not 2; ordering is F, not C"
    ) as info:
        matmul(bad, b)
    assert "Expected an argument of type float64[:,:] for argument A" in str(info.value)
    refuses(TypeError, "argument A, got list", matmul, [[1.0]], b)
    refuses(TypeError, "dtype is >f8, not float64", matmul, np.ones((2, 3), ">f8"), b)
    refuses(TypeError, "ordering is F, not C", matmul, np.ones((3, 2)).T, b)
    refuses(ValueError, "argument A is not contiguous", matmul, np.ones((4, 6))[::2, ::2], b)
    misaligned = np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float64).reshape(2, 3)
    refuses(ValueError, "argument A is not aligned", matmul, misaligned, b)


@pytest.mark.quick
def test_order_f(make):
    f = make(
        "static double f(const double *x) { return x[1]; }",
        "s[0].d = f(s[1].p);",
        [Parameter("array", "float64", 0, dims=(("m",), ("n",)), order="F")],
        ["x"],
        Result("value", "float64"),
    )
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert f(x) == 3
    refuses(TypeError, "ordering is C, not F", f, np.ascontiguousarray(x))
    fill = make(
        "",
        "((double *)s[1].p)[1] = 7;",
        [
            Parameter("array", "float64", intent="out", dims=((2,), ("n",)), order="F"),
            Parameter("array", "float64", 0, dims=(("n",),)),
        ],
        ["x"],
    )
    y = fill(np.zeros(3))
    assert y.flags.f_contiguous and not y.flags.c_contiguous and y[1, 0] == 7


STRIDED = """
static double f(const double *x, int n, int sx) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum = 10 * sum + x[i * sx];
    return sum;
}
"""


def strided(make, negative):
    return make(
        STRIDED,
        "s[0].d = f(s[1].p, (int)s[2].i, (int)s[3].i);",
        [
            Parameter("array", "float64", 0, dims=(("n",),), name="x"),
            Parameter("hidden", "intc", value=("n",)),
            Parameter("stride", "intc", of=0, axis=0, name="sx", negative=negative),
        ],
        ["x"],
        Result("value", "float64"),
    )


@pytest.mark.quick
def test_strides_in_elements(make):
    f, low, none = strided(make, "first"), strided(make, "lowest"), strided(make, "")
    x = np.arange(1.0, 10.0)
    assert f(x[:3]) == 123 and f(x[::3]) == 147 and f(x[2::-1]) == 321 and f(x[:0]) == 0
    assert f(np.broadcast_to(x[3], (3,))) == 444
    pairs = np.zeros(3, [("a", "f8"), ("b", "i4")])
    refuses(ValueError, r"no multiple of its items' size: its strides are \(12,\)", f, pairs["a"])
    assert low(x[::3]) == none(x[::3]) == 147 and low(x[:1]) == none(x[:1][::-1]) == 1
    refuses(ValueError, "argument x runs backwards.*first.*lowest", none, x[::-1])
    seen = make(
        "",
        "s[0].i = (char *)s[1].p - (char *)s[2].p; s[0].i = s[0].i * 100 + s[3].i;",
        [
            Parameter("array", "float64", 0, dims=(("n",),)),
            Parameter("array", "float64", 1),
            Parameter("stride", "int64", of=0, axis=0, negative="lowest"),
        ],
        ["x", "whole"],
        Result("value", "int64"),
    )
    assert seen(x[5:1:-2], x) == 3 * 800 - 2


@pytest.mark.quick
def test_leading_dimensions(make):
    f = make(
        "",
        "s[0].i = s[2].i * 1000 + ((double *)s[1].p)[s[2].i];",
        [Parameter("array", "float64", 0, dims=(("m",), ("n",))), Parameter("stride", "int64", of=0, axis=0)],
        ["A"],
        Result("value", "int64"),
    )
    whole = np.arange(100.0).reshape(10, 10)
    assert f(whole) == 10010 and f(whole[1:4, 2:5]) == 10022
    assert f(np.arange(12.0).reshape(3, 4)[:1, :]) // 1000 == 4
    refuses(ValueError, "not contiguous", f, whole[:, ::2])
    refuses(ValueError, "not contiguous", f, whole.T[1:, 1:])
    refuses(
        ValueError,
        "out of range",
        make(
            "",
            ";",
            [Parameter("array", "float64", 0, dims=(("n",),)), Parameter("stride", "int8", of=0, axis=0)],
            ["x"],
        ),
        np.zeros(1000)[::500],
    )


@pytest.mark.quick
def test_a_strided_array_is_written_only_where_it_is(make):
    f = make(
        "",
        "for (int i = 0; i < s[2].i; i++) ((double *)s[1].p)[i * s[3].i] = 5;",
        [
            Parameter("array", "float64", 0, dims=(("n",),), intent="inout"),
            Parameter("hidden", "int64", value=("n",)),
            Parameter("stride", "int64", of=0, axis=0),
        ],
        ["x"],
    )
    x = np.ones((2, 3, 4))
    assert f(x[0, :, 3]) is None
    wanted = np.ones((2, 3, 4))
    wanted[0, :, 3] = 5
    assert (x == wanted).all()
    x.flags.writeable = False
    refuses(ValueError, "argument x is written, but is read-only", f, x[0, :, 3])


@pytest.mark.quick
def test_optional_arguments_are_null(make):
    f = make(
        "static long long f(const long long *x) { return x ? *x + 3 : 2; }",
        "s[0].i = f(s[1].p);",
        [value("int64", 0, by_pointer=True, optional=True)],
        [Argument("x", required=False)],
        Result("value", "int64"),
    )
    assert f() == f(None) == 2 and f(0) == 3
    g = make(
        "",
        "for (int i = 0; i < 3; i++) ((double *)s[4].p)[i] = s[1].p "
        "? ((double *)s[1].p)[i] + 3 : 1 + s[2].i + s[3].i;",
        [
            Parameter("array", "float64", 0, dims=(("n",),), optional=True),
            Parameter("hidden", "intc", value=("n",)),
            Parameter("stride", "intc", of=0),
            Parameter("array", "float64", intent="out", dims=((3,),)),
        ],
        [Argument("x", required=False)],
    )
    assert g().tolist() == g(None).tolist() == [1, 1, 1] and g(np.arange(3.0)).tolist() == [3, 4, 5]
    h = make(
        "",
        "s[0].i = s[1].p ? strlen(s[1].p) : -1;",
        [Parameter("string", argument=0, optional=True)],
        [Argument("x", required=False)],
        Result("value", "int64"),
    )
    assert h() == -1 and h("äb") == 3 and h(b"xyz") == 3
    refuses(ValueError, "argument x holds a NUL", h, "a\0b")
    refuses(TypeError, "type str for argument x, got int", h, 1)


@pytest.mark.quick
def test_hidden_integers_and_expressions(make):
    packed = ("n", "n", 1, "+", "*", 2, "/")
    f = make(
        "",
        "s[0].i = s[1].i;",
        [
            Parameter("hidden", "int8", value=("n",), name="n"),
            Parameter("array", "float64", 0, dims=(packed,)),
            Parameter("array", "uint8", 1, dims=(("n",),)),
        ],
        ["ap", "x"],
        Result("value", "intc"),
    )
    assert f(np.zeros(6), np.zeros(3, np.uint8)) == 3
    refuses(ValueError, "dim 0 of argument ap is 5, but must be 6", f, np.zeros(5), np.zeros(3, np.uint8))
    refuses(
        ValueError,
        "n would be 128, which is out of range of its type int8",
        f,
        np.zeros(8256),
        np.zeros(128, np.uint8),
    )
    for operation in ((0, "/"), (0, "%"), (2**62, "*")):
        g = make(
            "",
            "s[0].i = s[1].i;",
            [Parameter("hidden", "int64", value=("n", *operation), name="h"), value("int64", 0, symbol="n")],
            ["n"],
            Result("value", "int64"),
        )
        refuses(ValueError, "computing h: a division by zero, or a number too large", g, 2)
    out = make(
        "",
        ";",
        [Parameter("array", "int8", intent="out", dims=(("n",),), name="o"), value("int64", 0, symbol="n")],
        ["n"],
    )
    assert out(3).shape == (3,) and out(0).shape == (0,)
    refuses(ValueError, "dim 0 of o would be -1", out, -1)
    refuses((ValueError, MemoryError), "array", out, 2**62)


def test_scalar_results_by_pointer_and_their_order(make):
    parameters = [
        Parameter("value", "float64", intent="out", by_pointer=True),
        Parameter("value", "uint16", 0, intent="inout", by_pointer=True),
    ]
    thunk = "*(double *)s[1].p = 2.5; ++*(unsigned short *)s[2].p; s[0].i = 9;"
    f = make("", thunk, parameters, ["x"], Result("value", "intc"))
    assert f(3) == (9, 2.5, 4) and type(f(3)[2]) is np.uint16
    f = make("", thunk, parameters, ["x"])
    assert f(3) == (2.5, 4)
    assert make("", ";", [])() is None


@pytest.mark.leak
def test_callee_allocated_results(make, unit):
    free = _cwrapjit.library_symbol(unit, "free")
    parameters = [
        Parameter("data", "float64", dims=(("m",),), free=free, name="data"),
        Parameter("length", "int64", symbol="m"),
        Parameter("hidden", "int64", value=("n",)),
        Parameter("array", "float64", 0, dims=(("n",),)),
    ]
    text = """
static void f(double **data, long long *length, long long n, const double *x) {
    *data = malloc(n * sizeof(double));
    for (int i = 0; i < n; i++) (*data)[i] = x[i] + 3;
    *length = n;
}"""
    f = make(text, "f(s[1].p, s[2].p, s[3].i, s[4].p);", parameters, ["x"])
    y = f(np.arange(1.0, 4.0))
    assert y.tolist() == [4, 5, 6] and type(y.base).__name__ == "PyCapsule" and y.flags.writeable
    x = np.ones(4000)
    keeps_nothing(lambda: f(x), 500, (x,))
    lies = make(text, "f(s[1].p, s[2].p, s[3].i, s[4].p); *(long long *)s[2].p = -1;", parameters, ["x"])
    refuses(ValueError, "dim 0 of data would be -1", lies, x)
    null = make("", "*(long long *)s[2].p = 3;", parameters[:2])
    refuses(RuntimeError, "data is NULL where an array was promised", null)
    nothing = make("", "", parameters[:2])
    assert nothing().shape == (0,)


@pytest.mark.quick
def test_returned_pointers_into_arguments(make):
    def returning(**more):
        return make(
            "",
            "s[0].p = s[1].p;",
            [Parameter("array", "float64", 0, dims=(("n",),)), Parameter("stride", "int64", of=0)],
            ["x"],
            Result("array", "float64", dims=(("n",),), owner="argument", of=(0,), **more),
        )

    f = returning()
    x = np.arange(5.0)
    count = sys.getrefcount(x)
    y = f(x)
    assert sys.getrefcount(x) == count + 1
    assert y is not x and np.shares_memory(x, y) and y.base is x
    del y
    assert sys.getrefcount(x) == count
    assert f(x[1:4]).base is x
    x.flags.writeable = False
    assert not f(x).flags.writeable
    static = make(
        "static double data[3] = {1, 2, 3};",
        "s[0].p = data;",
        [],
        (),
        Result("array", "float64", dims=((3,),)),
    )
    assert static().tolist() == [1, 2, 3]
    null = make("", "s[0].p = 0;", [], (), Result("array", "float64", dims=((3,),)))
    refuses(RuntimeError, "the result is NULL where an array was promised", null)


def test_texts_as_results(make, unit):
    free = _cwrapjit.library_symbol(unit, "free")
    for more, wanted in (({}, "ä"), ({"encoding": "bytes"}, "ä".encode())):
        f = make(
            "", 's[0].p = strdup("\\xc3\\xa4");', [], (), Result("string", owner="callee", free=free, **more)
        )
        assert f() == wanted
    assert make("", "s[0].p = 0;", [], (), Result("string"))() is None
    refuses(UnicodeDecodeError, "utf-8", make("", 's[0].p = "\\xff";', [], (), Result("string")))


@pytest.mark.quick
def test_buffers(make):
    total = make(
        "",
        "s[0].i = 0; for (int i = 0; i < s[2].u; i++) s[0].i += ((unsigned char *)s[1].p)[i];",
        [Parameter("buffer", argument=0, dims=(("n",),)), Parameter("hidden", "uint64", value=("n",))],
        ["data"],
        Result("value", "int64"),
    )
    assert total(b"\1\2") == total(bytearray(b"\1\2")) == total(memoryview(b"\1\2")) == total("\1\2") == 3
    assert total(np.array([1, 2], np.uint8)) == 3 and total(b"") == 0
    refuses(ValueError, "must be contiguous", total, memoryview(b"1234")[::2])
    refuses(TypeError, "type bytes for argument data, got list", total, [1])
    write = make(
        "",
        "*(char *)s[1].p = 7;",
        [Parameter("buffer", argument=0, dims=(("n",),), intent="inout")],
        ["data"],
    )
    data = bytearray(b"abc")
    write(data)
    assert data == b"\7bc"
    data.append(1)  # no export is left
    refuses(ValueError, "contiguous and writeable", write, b"abc")
    refuses(TypeError, "got str", write, "abc")


def containers(make, container, type="int64", dims=(("n",),)):
    item = "double" if type == "float64" else "long long"
    return make(
        "",
        f"s[0].d = 0; for (int i = 0; i < s[2].i; i++) s[0].d = 10 * s[0].d + (({item} *)s[1].p)[i];",
        [
            Parameter("items", type, 0, dims=dims, container=container),
            Parameter("hidden", "int64", value=dims[0] if len(dims) == 1 else (*dims[0], *dims[1], "*")),
        ],
        ["a"],
        Result("value", "float64"),
    )


@pytest.mark.quick
def test_containers(make):
    f = containers(make, tuple)
    assert f((7, 8)) == 78 and f(()) == 0
    for wrong in ((1, 2.0), [1], (7, True), ("a",), 5, None, np.arange(2)):
        refuses(TypeError, r"Expected an argument of type tuple\[int, \.\.\.\] for argument a, got", f, wrong)
    refuses(OverflowError, "out of range of int64", f, (2**70,))
    g = containers(make, list, "float64")
    assert g([1, 2.0, np.float32(3)]) == 123
    refuses(TypeError, r"list\[float\]", g, (1.0,))
    assert containers(make, set)({4}) == 4 and containers(make, set)(frozenset({4})) == 4
    h = containers(make, tuple, dims=(("m",), ("n",)))
    assert h(((1, 2), (3, 4))) == 1234 and h(()) == 0
    refuses(ValueError, "one length", h, ((1, 2), (3,)))
    refuses(TypeError, "argument a", h, ((1, 2), 3))


def test_status(make):
    seen = []

    def check(status):
        seen.append(status)
        if status:
            raise OSError(status, "the library says")

    f = make("", "s[0].i = s[1].i;", [value("intc", 0)], ["x"], Result("status", "intc"), check=check)
    assert f(0) is None
    refuses(OSError, "the library says", f, 4)
    g = make("", "*(int *)s[1].p = 5;", [Parameter("status", "intc")], check=check)
    refuses(OSError, "the library says", g)
    assert seen == [0, 4, 5]


def test_the_gil(make):
    """PyGILState_Check(), called through its address, says who has it."""
    check = ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p).value
    thunk = "s[0].i = ((int (*)(void))s[1].i)();"
    for options, held in (({}, 0), ({"keep_gil": True}, 1)):
        f = make("", thunk, [value("int64", 0)], ["x"], Result("value", "int64"), **options)
        assert f(check) == held


def test_errors_that_c_raises(make):
    f = make("", 'PyErr_Format(PyExc_KeyError, "from C: %d", 3);', [])
    refuses(KeyError, "from C: 3", f)


@pytest.mark.quick
def test_descriptions_are_checked(make):
    array = Parameter("array", "float64", 0, dims=(("n",),))
    bad = [
        ([Parameter("nonsense")], [], "role must be 'value' or .*, not 'nonsense'"),
        ([value("float80", 0)], ["x"], "there is no type 'float80'"),
        ([value("float64", 1)], ["x"], "has an argument that is not there"),
        ([value("float64", -1)], ["x"], "needs an argument"),
        ([value("", 0)], ["x"], "needs a type"),
        ([Parameter("hidden", "intc", value=("n",))], [], "nothing gives n a value"),
        ([Parameter("hidden", "float64", value=("n",)), array], ["x"], "needs an integer type"),
        ([Parameter("hidden", "intc", value=("n", "+")), array], ["x"], "is no expression"),
        ([Parameter("hidden", "intc", value=("n", "n")), array], ["x"], "is no expression"),
        ([Parameter("stride", "intc", of=1), array], ["x"], None),
        ([Parameter("stride", "intc", of=5), array], ["x"], "must be the stride along an axis"),
        ([Parameter("stride", "intc", of=1, axis=1), array], ["x"], "must be the stride along an axis"),
        ([Parameter("buffer", intent="out", dims=((3,),))], [], "cannot be an output"),
        ([value("float64", 0, by_pointer=True, intent="out")], ["x"], "which no argument gives"),
        ([Parameter("array", "float64", intent="out", dims=((),))], [], "needs all of its dims"),
        ([array], ["x", "x"], "two arguments have the name x"),
        ([array], [Argument("x", required=False)], "is not optional, but has no default"),
        ([value("float64", 0, optional=True)], ["x"], "cannot be NULL"),
        ([Parameter("items", "int64", 0, dims=(("n",),), container=dict)], ["x"], "container must be"),
        ([], [Argument("x", kind="keyword"), Argument("y")], "behind one that is keyword-only"),
        ([], [Argument("x"), Argument("y", kind="positional")], "behind one that is not positional-only"),
    ]
    for parameters, arguments, match in bad:
        if match is None:
            make("", ";", parameters, arguments)
        else:
            refuses(ValueError, match, make, "", ";", parameters, arguments)
    refuses(ValueError, "the result has a role", make, "", ";", [], (), Result("items"))
    refuses(TypeError, "check must be callable", make, "", ";", [], check=3)


def test_nothing_leaks_and_nothing_crashes(matmul, make):
    rng = np.random.default_rng(3)
    f = containers(make, tuple)
    odd = [None, 1, 2**80, 1.5, "a", b"b", [], (), (1, (2,)), np.float64(3), object(), np.ones(3)]
    odd += [np.ones((2, 2)), np.ones((2, 2), object), np.ones((0, 2)), np.ones((2, 2), ">f8")]
    odd += [np.ones((2, 2)).T, np.ma.ones((2, 2))]
    counts = [sys.getrefcount(each) for each in odd]
    for _ in range(3000):
        pick = [odd[i] for i in rng.integers(len(odd), size=rng.integers(4))]
        for callable_ in (matmul, f):
            try:
                callable_(*pick)
            except (TypeError, ValueError):
                pass
    pick = None
    after = [sys.getrefcount(each) for each in odd]
    assert [
        i for i in range(2, len(odd)) if i != 7 and after[i] != counts[i]
    ] == []  # None, 1 and () are shared


@pytest.mark.quick
def test_many_parameters(make):
    parameters = [value("float64", k) for k in range(60)]
    thunk = "s[0].d = 0; for (int i = 1; i <= 60; i++) s[0].d += s[i].d;"
    f = make("", thunk, parameters, [f"a{k}" for k in range(60)], Result("value", "float64"))
    assert f(*range(60)) == sum(range(60))


@pytest.mark.quick
def test_memory_at_addresses(unit):
    data = np.arange(4.0)
    address = data.ctypes.data
    assert _cwrapjit.scalar_at(address + 8, "float64") == 1
    _cwrapjit.store_scalar(address, "float64", 9, "x")
    assert data[0] == 9
    refuses(
        TypeError,
        "Expected an argument of type float for x, got str",
        _cwrapjit.store_scalar,
        address,
        "float64",
        "a",
        "x",
    )
    refuses(ValueError, "address is NULL", _cwrapjit.scalar_at, 0, "float64")
    view = _cwrapjit.array_at(address, "float64", (2, 2), "F", data)
    assert view.base is data and view[1, 0] == 1 and view.flags.f_contiguous
    refuses(ValueError, "array is too big", _cwrapjit.array_at, address, "float64", (2**40, 2**40))


@pytest.mark.quick
def test_units(unit):
    assert _cwrapjit.library_symbol(unit, "no_such_name") is None
    refuses(OSError, "cannot be loaded", _cwrapjit.library_environment, "x", libraries=["/no/such.so"])
    refuses(
        cwrapjit.CompileError,
        "hyqot",
        _cwrapjit.compile_thunks,
        unit,
        "int hyqot(void); int t(void) { return hyqot(); }",
        ["t"],
    )
    refuses(
        ValueError, "does not define t2", _cwrapjit.compile_thunks, unit, "int t(void) { return 1; }", ["t2"]
    )
    with pytest.raises(cwrapjit.CompileError) as info:
        _cwrapjit.compile_thunks(unit, "int t(void) {\n return x; }", ["t"])
    assert info.value.filename == "<cwrapjit wrapped>" and info.value.lineno == 2


def test_the_package_that_is_called_shows_what_it_takes() -> None:
    """cwrapjit.library is a package that makes a Library when it is called."""
    shown = inspect.signature(cwrapjit.library)
    assert shown == inspect.signature(cwrapjit.library.Library)
    assert {"name", "libraries", "sources", "header", "debug"} <= set(shown.parameters)
