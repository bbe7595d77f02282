"""Tests elementwise ops: expressions of numbers and arrays that broadcast at run time; operators; fusion."""

from __future__ import annotations

import itertools
import operator
import pathlib
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers import compiler, refuses, same
from hypothesis import given, settings
from leaks import keeps_nothing

import cwrapjit as cj
import cwrapjit.graph as cg

MULTIPLY_ADD = cg.elementwise("a, b, c", "a*b + c")


def variable(value: Any, name: str) -> Any:
    """Returns a variable of the value's type."""
    if isinstance(value, np.ndarray):
        return cg.ndarray(value.dtype, value.ndim)(name)
    return cg.Scalar(np.asarray(value).dtype)(name)


def variables(*values: Any) -> list[Any]:
    return [variable(value, name) for value, name in zip(values, "xyzuvw", strict=False)]


def linked(op: Callable[..., Any], *values: Any, **kw: Any) -> Any:
    """Links the graph of op on variables of the values' types."""
    inputs = variables(*values)
    return cj.link(inputs, op(*inputs), **kw)


# ---- broadcasting --------------------------------------------------------------------------------

SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (4, 2, 3), (1, 1, 1), (0,), (0, 3), (2, 0), (4, 1, 1)]


@pytest.mark.row("B17")
@pytest.mark.parametrize("mode", ["struct", "function"])
def test_shapes_broadcast_when_the_graph_runs(mode: str) -> None:
    graphs: dict[Any, Any] = {}
    for shapes in itertools.product(SHAPES, repeat=2):
        a, b = (np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape) for shape in shapes)
        key = a.ndim, b.ndim
        if key not in graphs:  # one graph serves all shapes with these numbers of dims
            graphs[key] = linked(operator.sub, a, b, mode=mode)
        try:
            wanted = np.asarray(a - b)
        except ValueError:
            words = ["subtract", str(a.shape), str(b.shape), "of x"]
            refuses(ValueError, lambda k=graphs[key], a=a, b=b: k(a, b), *words)
        else:
            assert same(graphs[key](a, b), wanted)


@pytest.mark.row("B17", "T14i")
@settings(max_examples=100)
@given(st.data())
def test_any_layout_gives_numpys_result(data: Any) -> None:
    shape = data.draw(st.lists(st.integers(0, 3), max_size=4).map(tuple))
    operands = []
    for _ in range(3):
        own = tuple(data.draw(st.sampled_from([n, 1])) for n in shape)
        own = own[data.draw(st.integers(0, len(own))) :]
        kind = data.draw(st.sampled_from(["f8", "f4", "i4", "u2", "i8", "?"]))
        axes = data.draw(st.permutations(range(len(own))))
        numbers = np.random.default_rng(len(own)).integers(
            0, 2 if kind == "?" else 9, [2 * own[i] for i in axes]
        )
        base = numbers.astype(kind).transpose(np.argsort(axes).astype(int))  # axes in any order
        cuts = [
            data.draw(st.sampled_from([slice(n), slice(None, None, 2), slice(None, None, -2)])) for n in own
        ]
        operands.append(base[(*cuts, ...)])
    op = cg.elementwise("a, b, c", "(double)a*b - 2*(double)c", dtype="float64")
    k = linked(op, *operands, mode=data.draw(st.sampled_from(["struct", "function"])), optimize="off")
    a, b, c = (operand.astype(float) for operand in operands)
    wanted = np.asarray(a * b - 2 * c)
    for _ in range(2):  # the second run may reuse memory of the first
        assert same(k(*operands), wanted)


def test_strided_operands_are_read_where_they_are() -> None:
    big = np.arange(1000.0).reshape(10, 10, 10)
    pairs = [
        (big[::2, ::-1], big[1::2]),
        (big.T, big),
        (big.T, big.T),
        (big[:, None, 3], big[0]),
        (big[:, :1], big),
    ]
    for a, b in pairs:
        assert same(linked(operator.add, a, b)(a, b), a + b)
    wide = np.broadcast_to(np.arange(3.0), (5, 3))
    assert same(linked(operator.mul, wide, wide)(wide, wide), wide * wide)


@pytest.mark.quick
def test_results_lie_as_their_operands_do() -> None:
    a = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    k = linked(operator.add, a, a)
    assert k(a, a).flags.f_contiguous and same(k(a, a), a + a)
    assert k(np.ascontiguousarray(a), a).flags.c_contiguous


def test_many_operands_and_many_dimensions() -> None:
    names = [f"a{i}" for i in range(20)]
    op = cg.elementwise(", ".join(names), " + ".join(names))
    x = cg.ndarray("f8", 1)("x")
    assert same(cj.link([x], op(*[x] * 20))(np.arange(3.0)), np.arange(3.0) * 20)
    deep = np.arange(2.0**20).reshape((2,) * 20)[(slice(None, None, -1),) * 20]
    assert same(linked(operator.add, deep, deep.T)(deep, deep.T), deep + deep.T)


@pytest.mark.row("B17")
def test_a_shape_that_does_not_fit_names_all() -> None:
    a, b, c = np.ones((2, 3)), np.ones(4), 2.0
    error = refuses(
        ValueError, lambda: linked(MULTIPLY_ADD, a, b, c)(a, b, c), "a*b + c", "(2, 3) of x", "(4,) of y"
    )
    assert "%" not in str(error)


@pytest.mark.quick
def test_an_operand_that_an_op_forgot() -> None:
    class Nothing(cg.COp):
        def c_code(self, *args: Any) -> str:
            return ";"

    x = cg.ndarray("f8", 1)("x")
    k = cj.link([x], Nothing()(x) + 1.0, mode="function")
    refuses(ValueError, lambda: k(np.ones(2)), "has no value")


# ---- memory --------------------------------------------------------------------------------------


@pytest.mark.row("T18", "T15", "T35")
def test_results_are_allocated_once_and_resized() -> None:
    x = cg.ndarray("f8", 1)("x")
    k = cj.link([x], x * 2.0)
    k.cells[0][0] = np.ones(100)
    assert k.run() == 0
    where = k.cells[1][0].ctypes.data
    for _ in range(50):
        assert k.run() == 0 and k.cells[1][0].ctypes.data == where
    k.cells[0][0] = np.ones(50)
    assert k.run() == 0 and k.cells[1][0].shape == (50,)
    readonly = np.zeros(50)
    readonly.flags.writeable = False
    k.cells[1][0] = readonly
    assert k.run() == 0 and k.cells[1][0] is not readonly and not readonly.any()
    base = np.zeros(100)
    k.cells[1][0] = base[:50]
    assert k.run() == 0 and not base.any()


@pytest.mark.row("A41")
def test_an_array_that_somebody_sees_is_not_overwritten() -> None:
    x = cg.ndarray("f8", 1)("x")
    k = cj.link([x], x + 1.0)
    for see in (lambda a: a, lambda a: a[::2], memoryview):
        seen = see(k(np.zeros(4)))
        k(np.full(4, 7.0))
        assert np.asarray(seen)[0] == 1.0
    shared = [np.zeros(4)]
    once = cj.link([x], x + 1.0)
    assert once.once(shared, shared) == 0 and shared[0].tolist() == [1.0] * 4
    assert once.once(shared, shared) == 0 and shared[0].tolist() == [2.0] * 4


@pytest.mark.leak
def test_nothing_leaks() -> None:
    x, y = cg.ndarray("f8", 1)("x"), cg.ndarray("f8", 1)("y")
    k = cj.link([x, y], (x + y) * 2.0)
    a, b, bad = np.ones(5000), np.ones(5000), np.ones(4)

    def work() -> None:
        k(a, b)
        refuses(ValueError, lambda: k(a, bad), "(5000,) of x", "(4,) of y")

    keeps_nothing(work, watched=(a, b, bad))


# ---- operators -----------------------------------------------------------------------------------

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.gt, operator.ge,
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
]  # fmt: skip
DTYPES = [
    *("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()),
    *("float16 float32 float64 complex64 complex128".split()),
]


def samples(dtype: str) -> Any:
    """Returns edge cases: the ends of the range, zero, both signs."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        info = np.iinfo(dtype)
        return np.array(
            [info.min, info.max, 0, 1, 2, 7, 100, info.max // 3, *([-1, -7] if kind == "i" else [])], dtype
        )
    if kind == "b":
        return np.array([True, False])
    real = np.array([0.0, -0.0, 1.0, -1.5, 2.5, 7.25, -100.0, np.inf, -np.inf, np.nan, 1 / 3, 3e4], "f8")
    if kind == "c":
        return (real[:7, None] + 1j * real[None, :7]).ravel().astype(dtype)
    return real.astype(dtype)


def reference(op: Any, a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return op(a, b)


@pytest.mark.row("B17", "A05i")
@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_operators_are_numpys(op: Any, left: str) -> None:
    a = samples(left)[:, None]
    for right in dict.fromkeys((left, "int64", "float32", "uint8", "bool")):
        b = samples(right)
        if op is operator.pow and np.dtype(right).kind == "i":
            b = b[b >= 0]  # NumPy rejects negative exponents
        complex_ = "complex" in (left + right)
        try:
            wanted = reference(op, a, b)
        except TypeError:
            refuses(TypeError, lambda a=a, b=b: linked(op, a, b), "support")
            continue
        if complex_ and op not in (operator.add, operator.sub, operator.mul, operator.truediv):
            refuses(TypeError, lambda a=a, b=b: linked(op, a, b), f"none for {np.result_type(a, b)}")
            continue
        k = linked(op, a, b, optimize="off")
        got = k(a, b)
        assert got.dtype == wanted.dtype
        if op is operator.pow and wanted.dtype.kind in "fc":
            assert np.allclose(got, wanted, rtol=1e-3 if wanted.dtype == "f2" else 1e-6, equal_nan=True)
        elif op is operator.floordiv and wanted.dtype == "f2":
            assert np.array_equal(got[np.isfinite(wanted)], wanted[np.isfinite(wanted)])
        else:
            assert np.array_equal(got, wanted, equal_nan=got.dtype.kind in "fc"), (left, right)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_operators_are_numpys(dtype: str) -> None:
    a = samples(dtype)
    for op in (operator.neg, abs, operator.invert):
        if dtype == "bool" and op is operator.neg:
            refuses(TypeError, lambda: linked(operator.neg, a), "boolean negative")
        elif op is operator.invert and np.dtype(dtype).kind in "fc":
            refuses(TypeError, lambda: linked(operator.invert, a), "'invert' not supported")
        else:
            got, wanted = linked(op, a)(a), reference(lambda x, unary: unary(x), a, op)
            assert got.dtype == wanted.dtype
            if "complex" in dtype:  # the last bit of hypot may differ
                assert np.allclose(got, wanted, rtol=1e-6)
            else:
                assert np.array_equal(got, wanted, equal_nan=got.dtype.kind == "f")
    x = variable(a, "x")
    assert +x is x


@pytest.mark.compiler("the cc tier's shifts")
@pytest.mark.parametrize("dtype", [d for d in DTYPES if np.dtype(d).kind in "biu"])
def test_bits_are_the_same_in_both_tiers(dtype: str) -> None:
    """Shifts by the number's width or more are undefined in C."""
    a, b = samples(dtype)[:, None], samples(dtype)
    ops = BINARY[-5:]
    x, y = variables(a, b)
    k = cj.link([x, y], [op(x, y) for op in ops], optimize="eager")
    assert k.tier == "cc" and all(same(z, op(a, b)) for z, op in zip(k(a, b), ops, strict=True))


def test_numbers_in_operators_are_weak() -> None:
    x, i = cg.ndarray("f4", 1)("x"), cg.ndarray("i1", 1)("i")
    assert (
        (x * 2.0).type.dtype == "float32"
        and (2 + i).type.dtype == "int8"
        and (i * 1.5).type.dtype == "float64"
    )
    assert (x + np.float64(1)).type.dtype == "float64" and (1j * x).type.dtype == "complex64"
    assert (2.0 - x).type == x.type and (1 / x).type == x.type and (x**2).type == x.type
    assert (7 % i).type == i.type and (7 // i).type == i.type and (2**i).type == i.type
    assert (1 << i).type == (i & 3).type == (True ^ i).type == i.type
    refuses(OverflowError, lambda: i + 1000, "int8")
    refuses(TypeError, lambda: x & 1, "bitwise_and: ufunc 'bitwise_and' not supported for the input types")
    array = np.arange(3.0)
    assert same(cj.link([x], array - x)(np.ones(3, "f4")), array - np.ones(3, "f4"))
    refuses(TypeError, lambda: x + "a", "NumericVariable", "'str'")
    refuses(TypeError, lambda: x + cg.generic("o"), "add: o is of type Generic")


@pytest.mark.row("T04i")
def test_an_array_in_an_expression_is_a_constant() -> None:
    """Later changes of the caller's array have no effect."""
    x, c = cg.ndarray("float64", 1)("x"), np.arange(3.0)
    z = x + c
    k = cj.link([x], z)
    c[:] = 100
    assert k(np.zeros(3)).tolist() == [0, 1, 2]
    assert cj.link([x], z)(np.zeros(3)).tolist() == [0, 1, 2]
    assert not cj.link([], z.owner.inputs[1])().flags.writeable


def test_numbers_alone_make_numbers() -> None:
    x, y = cg.float64("x"), cg.int64("y")
    k = cj.link([x, y], [x * y + 1.0, y // 2, x < y])
    assert k(2.5, 7) == (18.5, 3, True) and [type(v) for v in k(2.5, 7)] == [float, int, bool]
    assert cj.link([y], y % 5)(-3) == 2 and cj.link([y], y // 0)(3) == 0
    assert cj.link([y], y // cg.Constant(cg.int64, -1))(-(2**63)) == -(2**63)  # would be SIGFPE in plain C
    h = cg.float16("h")
    assert cj.link([h], h * h + h)(np.float16(1.5)) == np.float16(3.75)


# ---- expressions ---------------------------------------------------------------------------------


def test_expressions_with_functions_and_dtypes() -> None:
    x = np.linspace(0.0, 1.0, 7)
    assert np.allclose(linked(cg.elementwise("t", "sin(t) * exp(-t)"), x)(x), np.sin(x) * np.exp(-x))
    assert same(linked(cg.elementwise("t", "t > 0.5", dtype=bool), x)(x), x > 0.5)
    assert same(linked(cg.elementwise("t", "7 * t", dtype="int8"), x)(x), (7 * x).astype("i1"))
    own = cg.elementwise("t", "twice(t)", support_code="static double twice(double x) { return 2 * x; }")
    assert same(linked(own, x)(x), 2 * x)
    assert same(linked(cg.elementwise("t, u", "t + u // a comment"), x, 1.0)(x, 1.0), x + 1.0)
    z = x + 1j
    product = cg.elementwise("a, b", "cwj_multiply_npy_complex128(a, b)")
    assert np.allclose(linked(product, z, z)(z, z), z * z)


@pytest.mark.quick
@pytest.mark.row("A42")
def test_percent_signs_stay() -> None:
    a = np.array([7, -7])
    assert linked(cg.elementwise("a", "a % 4"), a)(a).tolist() == [3, -3]
    k = linked(cg.elementwise("a, b", "a % b"), a, np.ones(2, "i8"))
    refuses(ValueError, lambda: k(a, np.ones(3, "i8")), "elementwise[a % b]: shapes")


@pytest.mark.row("A05i")
def test_float16_is_numpys() -> None:
    halves = np.arange(65536, dtype="u2").view("f2")
    wide = linked(cg.elementwise("h", "h", dtype="float64"), halves)(halves)
    with np.errstate(all="ignore"):
        between = halves.astype("f8")
        assert np.array_equal(wide, between, equal_nan=True)
        steps = [
            between,
            between * (1 + 2.0**-11),
            between * (1 + 2.0**-12),
            between * 1.0001,
            between + 2.0**-40,
        ]
        numbers = np.concatenate(
            [*steps, [1e300, -1e300, 5e-324, 2.0**-25, 2.0**-25 * (1 + 1e-15), 65519.999, 65520]]
        )
        wanted = numbers.astype("f2").astype("f8")
    text = "npy_half_to_double(npy_double_to_half(x))"
    op = cg.elementwise("x", text, headers=["<numpy/halffloat.h>"], reference=lambda x: x)
    assert np.array_equal(linked(op, numbers)(numbers), wanted, equal_nan=True)
    with np.errstate(all="ignore"):
        singles = numbers.astype("f4")
    stored = linked(cg.elementwise("x", "x", dtype="float16"), singles)(singles)
    with np.errstate(all="ignore"):
        assert np.array_equal(stored, singles.astype("f2"), equal_nan=True)
    assert np.array_equal(np.signbit(stored), np.signbit(singles))


def test_integer_arithmetic_is_cs() -> None:
    a, b = np.array([200], "u1"), np.array([100], "u1")
    assert same(
        linked(cg.elementwise("a, b", "a + b", dtype="int64"), a, b)(a, b), np.array([300])
    )  # the sum is an int in C
    assert same(linked(operator.add, a, b)(a, b), a + b)  # and uint8 in NumPy


@pytest.mark.quick
@pytest.mark.row("T09i")
def test_python_reference_agrees() -> None:
    a, b, c = np.arange(6.0).reshape(2, 3), np.arange(3.0, dtype="f4"), 2.5
    for op in (MULTIPLY_ADD, lambda x, y, z: (x * y + z) / 3 - x % 2 + abs(-y)):
        k, checked = linked(op, a, b, c), linked(op, a, b, c, check=True)
        assert np.array_equal(k(a, b, c), checked(a, b, c))
    i, u = np.array([-1, 5]), np.array([2**63, 2], "u8")
    for compare in (operator.lt, operator.ge):
        assert np.array_equal(linked(compare, i, u, check=True)(i, u), compare(i, u))
    wrong = cg.elementwise("a", "a + 1", reference=lambda a: a)
    refuses(ValueError, lambda: linked(wrong, a, check=True)(a), "a + 1")
    right = cg.elementwise("a", "a + 1", reference=lambda a: a + 1)
    assert same(linked(right, a, check=True)(a), a + 1)
    z = np.array([1 + 2j, 3], "c8")
    assert np.allclose(linked(operator.truediv, z, z, check=True)(z, z), 1)
    h = np.array([1.5, 2.25], "f2")
    assert same(linked(cg.elementwise("a", "a * a"), h, check=True)(h), h * h)


# ---- fusion --------------------------------------------------------------------------------------


def code_blocks(k: Any) -> int:
    return sum(text.startswith("c_code") for text in k.blocks)


def test_neighbours_become_one_loop() -> None:
    a, b, c = np.random.default_rng(1).random((3, 50))
    k = linked(lambda x, y, z: (x * y + z) / 3.0 - x, a, b, c)
    assert code_blocks(k) == 1 and same(k(a, b, c), (a * b + c) / 3.0 - a)
    apart = linked(lambda x, y, z: (x * y + z) / 3.0 - x, a, b, c, per_op=True)
    assert code_blocks(apart) == 4 and same(apart(a, b, c), k(a, b, c))


@settings(max_examples=40)
@given(st.data())
def test_fused_or_not_the_bits_are_the_same(data: Any) -> None:
    kinds = st.sampled_from(["f8", "f4", "f2", "i4", "i8", "u1"])
    operands = [(np.arange(1, 9) * 3 % 7 + 1).astype(data.draw(kinds)) for _ in range(3)]
    inputs = variables(*operands)
    pool = list(inputs)
    for _ in range(data.draw(st.integers(2, 7))):
        op = data.draw(st.sampled_from([operator.add, operator.sub, operator.mul, operator.truediv]))
        pool.append(op(data.draw(st.sampled_from(pool)), data.draw(st.sampled_from([*pool, 3]))))
    outputs = [pool[-1], data.draw(st.sampled_from(pool))]
    fused, apart = (
        cj.link(inputs, outputs, optimize="off"),
        cj.link(inputs, outputs, per_op=True, optimize="off"),
    )
    assert code_blocks(fused) <= code_blocks(apart)
    for got, wanted in zip(fused(*operands), apart(*operands), strict=True):
        assert same(got, wanted)


def test_what_others_need_stays() -> None:
    a = np.arange(4.0)
    x = variable(a, "x")
    shared, kept = x + 1.0, x * 2.0
    k = cj.link([x], [shared * shared, shared - 1.0, kept, kept + 1.0, cg.deep_copy(x * 3.0) + 1.0])
    results = k(a)
    wanted = [(a + 1) ** 2, a, 2 * a, 2 * a + 1, 3 * a + 1]
    assert all(same(got, right) for got, right in zip(results, wanted, strict=True))
    low = cg.ndarray("f8", 0)("low")
    assert same(cj.link([x, low], x * (low + 1.0))(a, np.array(2.0)), a * 3)
    assert shared.owner.inputs[0] is x  # the graph itself is unchanged


# ---- texts that cannot stand in a loop ------------------------------------------------------------

HIDDEN = """#include <alloca.h>
#define HIDDEN(n) alloca(n)
#define OUT return
#define OUT_WITH(x) if ((x) > 1) return 3
#define NEXT continue
#define STOP break
"""
TAKE = "({ double *p = %s; p[0] = v; p[0]; })"
TWICE = """static inline __attribute__((always_inline)) double twice(double x)
{
    double *t = __builtin_alloca(4096);
    t[1] = x;
    return 2 * t[1];
}"""
STACK: dict[str, tuple[str, dict[str, Any]]] = {
    "alloca": (TAKE % "alloca(8000)", {}),
    "the builtin": (TAKE % "__builtin_alloca(8000)", {}),
    "a macro": (TAKE % "ROOM(8000)", {"support_code": "#define ROOM(n) alloca(n)"}),
    "the macro of a file": (TAKE % "HIDDEN(8000)", {"support_code": "the file"}),
    "a function": ("twice(v) / 2", {"support_code": TWICE}),
    "a variable array": ("({ int n = 1000 + (v > 3); double p[n]; p[0] = v; p[0]; })", {}),
    "setjmp": (
        "({ jmp_buf here; volatile int n = 0; setjmp(here); if(n++ < 1) back(here); v * (n - 1); })",
        {"headers": ["<setjmp.h>"], "support_code": "static void back(jmp_buf to) { longjmp(to, 1); }"},
    ),
    "a goto": ("({ double r = v; if(v < 1) goto end; r = v * 1; end: r; })", {}),
    "a computed goto": (
        "({ static const void *const to[] = {&&one, &&two}; double r = -1; goto *to[v > 1];"
        " one: r = v; two: r = v; r; })",
        {},
    ),
}


@pytest.fixture
def hidden(tmp_path: pathlib.Path) -> str:
    """Returns a directive that includes a file of macros."""
    (tmp_path / "hidden.h").write_text(HIDDEN)
    return f'#include "{tmp_path / "hidden.h"}"'


@pytest.mark.row("G14")
@pytest.mark.parametrize("case", STACK)
def test_stack_and_jumps_in_a_loop_are_right_in_both_tiers(case: str, hidden: str) -> None:
    compiler()
    expression, kw = STACK[case]
    if kw.get("support_code") == "the file":
        kw = {"support_code": hidden}
    x = np.arange(100_000.0)  # times 8 KB is more than the stack
    apart = np.repeat(x, 2)[::2]
    for optimize, tier in (("off", "tcc"), ("eager", "cc")):
        v = cg.ndarray("float64", 1)("v")
        once = cg.elementwise("v", expression, **kw)
        for y, wanted in ((once(v), x), (once(once(v) + 1.0), x + 1)):
            g = cj.link([v], y, optimize=optimize)
            assert g.tier == tier
            assert same(g(x), wanted) and same(g(apart), wanted)
        functions = {f"step{j}" for j in range(3) if f"_step{j}(const " in g.source}
        assert functions == (set() if case == "a variable array" else {"step0", "step2"}), (
            "of three in one loop"
        )


@pytest.mark.row("G14", "B17")
def test_a_text_that_keeps_something_has_it_once() -> None:
    count = cg.elementwise("v", "({ static int n; (void)v; n++; })", "int32")
    v = cg.ndarray("float32", 1)("v")
    g = cj.link([v], count(v), optimize="off")
    x = np.zeros(4, np.float32)
    assert g(x[:3]).tolist() == [0, 1, 2]
    assert g(x[::2]).tolist() == [3, 4]


@pytest.mark.row("G14")
@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "int8", "complex64"])
def test_a_function_gives_what_the_loop_gives(dtype: str) -> None:
    x = np.arange(12).astype(dtype)[:9] / np.array(3, dtype) if dtype != "bool" else np.arange(9) % 3 > 0
    x = x.astype(dtype)
    v = cg.ndarray(dtype, 1)("v")
    through = cg.elementwise("v", "({ __label__ end; goto end; end: v; })")
    for y, wanted in ((through(v), x), (through(through(v) * through(v)), x * x)):
        assert same(cj.link([v], y, optimize="off")(x), wanted)


@pytest.mark.row("B17")
def test_a_plain_expression_stays_in_its_loop() -> None:
    v = cg.ndarray("float64", 1)("v")
    for kw in (
        {},
        {"headers": ["<math.h>"]},
        {"support_code": "static double half(double x) { return x / 2; }"},
    ):
        y = cg.elementwise("v", "v < 1 ? fabs(v) : v && v > 2", **kw)(v)  # type: ignore[arg-type]
        assert "_inner_step" not in cj.link([v], y, optimize="off").source


LEAVING = {
    "({ if(v > 1) return; v; })": "'return' would skip",
    "({ if(v > 1) return 3; v; })": "'return' would skip",
    "({ if(v > 1) break; v; })": "'break' outside of a loop",
    "({ if(v > 1) continue; v; })": "'continue' outside of a loop",
    "({ if(v > 1) goto out; v; })": "'goto' must not leave",
    "({ if(v > 1) OUT; v; })": "in the macro 'OUT': 'return' would skip",
    "({ if(v > 1) STOP; v; })": "in the macro 'STOP': 'break' outside",
    "({ alloca(9); if(v > 1) NEXT; v; })": "in the macro 'NEXT': 'continue' outside",
    "({ int failure = 3; v + failure; })": "belongs to the generated text",
}


@pytest.mark.quick
@pytest.mark.row("B17", "T28")
@pytest.mark.parametrize("rank", [None, 0, 1])
@pytest.mark.parametrize("expression", LEAVING)
def test_a_text_cannot_leave_its_element(expression: str, rank: int | None) -> None:
    v = (cg.float64 if rank is None else cg.ndarray("float64", rank))("v")
    y = cg.elementwise("v", expression, support_code=HIDDEN)(v)
    refuses(cj.CompileError, lambda: cj.link([v], y, optimize="off"), LEAVING[expression])
    if rank == 1:
        refuses(cj.CompileError, lambda: cj.link([v], y + v, optimize="off"), LEAVING[expression])


@pytest.mark.row("B17", "T28")
@pytest.mark.parametrize(
    "macro, word",
    [("OUT", "a return here"), ("OUT_WITH(v)", "a return here"), ("NEXT", "continue"), ("STOP", "break")],
)
def test_nor_by_the_macro_of_a_file(macro: str, word: str, hidden: str) -> None:
    v = cg.ndarray("float64", 1)("v")
    y = cg.elementwise("v", f"({{ {macro}; v; }})", support_code=hidden)(v)
    for result in (y, y + v):
        refuses(cj.CompileError, lambda result=result: cj.link([v], result, optimize="off"), word)


@pytest.mark.parametrize("text", ['"x"', "&a", "sin", "&sin", 'a > 1 ? "x" : "y"', "(struct {int x;}){1}"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32"])
def test_an_expression_that_is_no_number_is_refused(text: str, dtype: str) -> None:
    op = cg.elementwise("a", text, dtype, headers=["<math.h>"])
    for v in (cg.float64("v"), cg.ndarray("float64", 1)("v")):
        refuses(cj.CompileError, lambda v=v: cj.link([v], op(v), optimize="off"), "elementwise[")


# ---- error positions ----------------------------------------------------------------------------------

OPERANDS = [np.arange(3.0), 2.0]  # with a loop, and without one


@pytest.mark.parametrize("text", ["0 ? a : a) * 100 + (0", "(a", "a; a", "a} {a", "a]", "a)"])
def test_an_expression_is_one(text: str) -> None:
    refuses(ValueError, lambda: cg.elementwise("a", text), "elementwise()", "expression", "position")


def test_what_an_expression_is_given_is_checked_at_once() -> None:
    for name in ("if", "double", "NULL", "sizeof"):
        refuses(ValueError, lambda name=name: cg.elementwise(name, "1"), "elementwise()", repr(name))
    refuses(TypeError, lambda: cg.elementwise("a", "sqrt(a)", headers="<math.h>"), "elementwise()", "headers")
    refuses(TypeError, lambda: cg.elementwise("a", "a", headers=[1]), "elementwise()", "headers")
    refuses(TypeError, lambda: cg.elementwise("a", "a", support_code=3), "elementwise()", "support_code")
    refuses(TypeError, lambda: cg.elementwise("a", "a", reference=3), "elementwise()", "reference", "not int")
    for call in (
        lambda dtype: cg.elementwise("a", "a", dtype),
        cg.Scalar,
        lambda dtype: cg.ndarray(dtype, 1),
    ):
        for dtype in ("nosuch", "S3", ["f8", 3]):
            refuses(TypeError, lambda call=call, dtype=dtype: call(dtype), "no graph type", repr(dtype) + ";")


def places(error: cj.CompileError) -> set[tuple[Any, ...]]:
    return {(each.filename, each.lineno, each.offset, each.text) for each in error.errors}


@pytest.mark.parametrize("value", OPERANDS)
def test_an_error_is_in_the_users_expression(value: Any) -> None:
    for text, file, place in (
        ("a + missing", "a + missing", (1, 5, "a + missing")),
        ("a /\n  missing", "a \u2215 missing", (2, 3, "  missing")),
        ('a > 1 ? a : sizeof("\\"") + missing', "a > 1 ? a : sizeof('\u2215'') + missing", None),
        ("a + // one\n\\\n missing", "a + // one \u2215 missing".replace("/", "\u2215"), None),
    ):
        op = cg.elementwise("a", text)
        error = refuses(cj.CompileError, lambda op=op: linked(op, value), "'missing' undeclared", file)
        assert {each[0] for each in places(error)} == {f"<cwrapjit elementwise[{file}]>"}
        if place is not None:
            assert places(error) == {(f"<cwrapjit elementwise[{file}]>", *place)}


@pytest.mark.parametrize("value", OPERANDS)
def test_errors_of_ops_that_became_one_loop_are_in_their_own_expressions(value: Any) -> None:
    long = " + ".join(["a"] * 40)
    texts = ["a * (\n nowhere)", f"{long} +\n absent"]
    x = variable(value, "x")
    first, second = (cg.elementwise("a", text) for text in texts)
    for inner, outer, name, line in (
        (first, second, "nowhere", " nowhere)"), (second, first, "absent", " absent")
    ):  # fmt: skip
        error = refuses(
            cj.CompileError, lambda inner=inner, outer=outer: cj.link([x], outer(inner(x) + 1.0)), name
        )
        assert (error.lineno, error.text) == (2, line)


@pytest.mark.parametrize("value", OPERANDS)
def test_a_fault_is_in_the_users_expression(value: Any) -> None:
    texts = (
        "a + *(const double *)8",
        "a +\n  *(const double *)8",
        "*(double *)memcpy(alloca(8), (void *)8, 8)",
    )
    for text in texts:
        op = cg.elementwise("a", text, "float64", headers=["<alloca.h>", "<string.h>"])
        for made in (lambda x, op=op: op(x), lambda x, op=op: op(x + 1.0) * 2.0):
            graph = linked(made, value, debug=True)
            fault = refuses(cj.Fault, lambda graph=graph: graph(value), "<cwrapjit elementwise[")
            lines = text.split("\n")
            assert (fault.lineno, fault.text.strip()) == (len(lines), lines[-1].strip())
