"""Tests parameters of ops, structs and enumerations, and ops with C files that have #section lines."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from leaks import keeps_nothing

import cwrapjit as cj
import cwrapjit.graph as cg

PARAMS = cg.ParamsType(scale=cg.float64, weights=cg.ndarray("float64", 1), label=cg.generic)


class Weighted(cg.COp):
    """Computes x * scale + weights[0] + len(label) of its parameters."""

    params_type = PARAMS
    __props__ = ()

    def __init__(self, scale: Any = 2.0, weights: Any = None, label: Any = "abc") -> None:
        self.scale = scale
        self.weights = np.array([0.5]) if weights is None else weights
        self.label = label

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        p = sub["params"]
        return f"""
            npy_intp n = PyObject_Length({p}->label);
            if (n < 0) {sub["fail"]}
            {outputs[0]} = {inputs[0]} * {p}->scale + *(double *)PyArray_DATA({p}->weights) + n;"""

    def perform(self, node: Any, inputs: Any, output_storage: Any, *params: Any) -> None:
        (p,) = params
        output_storage[0][0] = inputs[0] * p.scale + p.weights[0] + len(p.label)


def weighted(*args: Any, **kw: Any) -> Any:
    x = cg.float64("x")
    return cj.link([x], [Weighted(*args)(x)], **kw)


@pytest.mark.quick
@pytest.mark.row("T07i")
@pytest.mark.parametrize("mode", ["struct", "function"])
def test_fields_are_members_of_a_struct(mode: str) -> None:
    k = weighted(mode=mode)
    assert k(10.0) == 23.5 and k(0.0) == 3.5
    assert weighted(mode=mode, check=True)(1.0) == 5.5
    assert weighted(mode=mode, per_op=True)(1.0) == 5.5
    refuses(TypeError, lambda: weighted(2.0, None, 5, mode=mode)(1.0), "len()")


def test_what_fields_say_is_looked_at_as_what_types_say() -> None:
    class Odd(cg.Scalar):
        def c_headers(self, c_compiler: Any) -> list[Any]:
            assert c_compiler == "tcc"
            return ["<math.h>", 1]

    class Silent(cg.Scalar):
        def c_libraries(self) -> list[str]:
            raise NotImplementedError

    def linked(field: Any) -> Any:
        op = Weighted()
        op.params_type = cg.ParamsType(scale=field, weights=PARAMS.fields["weights"], label=cg.generic)
        x = cg.float64("x")
        return cj.link([x], op(x))

    refuses(TypeError, lambda: linked(Odd("float64")), "c_headers of Odd, variable scale", "list of str")
    assert linked(Silent("float64"))(10.0) == 23.5


@pytest.mark.row("T07i")
def test_two_ops_with_other_values_share_the_struct() -> None:
    x = cg.float64("x")
    k = cj.link([x], [Weighted(2.0)(x), Weighted(3.0)(x), Weighted(2.0)(x)])
    assert k(1.0) == (5.5, 6.5, 5.5)


@pytest.mark.row("T07i")
def test_missing_and_wrong_parameters() -> None:
    class Bare(Weighted):
        def __init__(self) -> None:
            self.scale = 1.0

    x = cg.float64("x")
    refuses(AttributeError, lambda: cj.link([x], [Bare()(x)]), "label", "Bare")
    refuses(TypeError, lambda: weighted("a"), "float64")
    refuses(AttributeError, lambda: PARAMS.get_params(scale=1.0), "label", "keywords")
    refuses(AttributeError, lambda: PARAMS.get_params(Weighted()).nothing, "nothing", "scale")
    for name in ("a b", "1", "self_"):
        refuses(AttributeError, lambda name=name: cg.ParamsType(**{name: cg.float64}), repr(name))


@pytest.mark.row("T07i", "A33")
def test_filter_of_parameters() -> None:
    made = PARAMS.get_params(Weighted())
    assert PARAMS.filter(made, strict=True) == made
    assert PARAMS.filter(Weighted()) == made
    refuses(TypeError, lambda: PARAMS.filter(Weighted(), strict=True), "strict")
    refuses(
        TypeError,
        lambda: PARAMS.filter(cg.Params(PARAMS, scale=1, weights=np.ones(1), label=""), strict=True),
        "strict",
    )
    narrow = cg.ParamsType(scale=cg.float32)
    refuses(
        TypeError, lambda: narrow.filter(cg.Params(narrow, scale=np.float64(0.1))), "float32", "got float64"
    )
    assert narrow.filter(cg.Params(narrow, scale=np.float64(0.1)), allow_downcast=True).scale == np.float32(
        0.1
    )


@pytest.mark.row("T07i")
def test_parameters_compare_by_value_and_do_not_change() -> None:
    a, b = PARAMS.get_params(Weighted()), PARAMS.get_params(Weighted())
    other = PARAMS.get_params(Weighted(weights=np.array([0.75])))
    assert a == b and hash(a) == hash(b) and a != other and a != 3
    assert cg.ParamsType(b=cg.int8, a=cg.float64) == cg.ParamsType(a=cg.float64, b=cg.int8)
    assert hash(cg.ParamsType(b=cg.int8, a=cg.float64)) == hash(cg.ParamsType(a=cg.float64, b=cg.int8))
    assert cg.ParamsType(a=cg.int8) != cg.ParamsType(a=cg.int16) != cg.ParamsType(b=cg.int16)
    assert a["scale"] == a.scale == 2.0 and list(a) == ["label", "scale", "weights"] and len(a) == 3
    assert pickle.loads(pickle.dumps(a)) == a and "scale=2.0" in repr(a)
    with pytest.raises(AttributeError, match="cannot be changed"):
        a.scale = 3.0
    assert PARAMS.values_eq(a, b) and not PARAMS.values_eq_approx(a, other)


@pytest.mark.row("T07i")
def test_a_type_with_several_c_variables_is_a_field() -> None:
    class Pair(cg.CType):
        def c_declare(self, name: str, sub: Any) -> str:
            return f"long first_{name}, {name}_second;"

        def c_extract(self, name: str, sub: Any) -> str:
            return f'if (!PyArg_ParseTuple(py_{name}, "ll", &first_{name}, &{name}_second)) {sub["fail"]}'

        def c_cleanup(self, name: str, sub: Any) -> str:
            return ""

        def c_headers(self) -> list[str]:
            return ["<Python.h>"]

    class Op(cg.COp):
        params_type = cg.ParamsType(p=Pair(), q=cg.int64)
        p: Any = (30, 4)
        q = 500

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            p = sub["params"]
            return f"{outputs[0]} = {p}->first_p + {p}->p_second + {p}->q;"

    x = cg.float64("x")
    assert cj.link([x], [Op()(x)])(0.0) == 534.0
    bad = Op()
    bad.p = (1, "a")
    refuses(TypeError, lambda: cj.link([x], [bad(x)])(0.0), "int")


@pytest.mark.leak
def test_parameters_do_not_leak() -> None:
    weights = np.ones(1000)

    def work() -> None:
        k = weighted(1.0, weights, "x", mode="function")
        k(1.0)

    keeps_nothing(work, watched=(weights,))


# ---- enumerations --------------------------------------------------------------------------------


class Chosen(cg.COp):
    """Returns the parameter as the number that C sees."""

    def __init__(self, type: Any, value: Any, text: str = "(double)PARAM", headers: Any = ()) -> None:
        self.params_type = type
        self.value = value
        self.text = text
        self.headers = list(headers)

    def get_params(self, node: Any) -> Any:
        return self.params_type.filter(self.value)

    def c_headers(self) -> Any:
        return self.headers

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"{outputs[0]} = {self.text.replace('PARAM', sub['params'])};"


def seen(*args: Any, **kw: Any) -> Any:
    x = cg.float64("x")
    return cj.link([x], [Chosen(*args, **kw)(x)])(0.0)


@pytest.mark.row("T08i")
def test_constants_in_c_and_python() -> None:
    e = cg.EnumType(LOW=1, MIDDLE=2.5, OFF=False, ON=True, HIGH=("high", 7))
    assert (e.LOW, e.MIDDLE, e.OFF, e.ON, e.HIGH, e["HIGH"]) == (1, 2.5, 0, 1, 7, 7) and type(e.ON) is int
    assert seen(e, "high") == 7.0 and seen(e, 2.5) == 2.5 and seen(e, "LOW") == 1.0
    assert seen(e, 1, "PARAM == LOW ? MIDDLE : HIGH") == 2.5
    assert e.fromalias("high") == e.fromalias("HIGH") == 7 and e.has_alias("high") and not e.has_alias("HIGH")
    assert e.get_aliases() == ("high",) and "HIGH(high)=7" in str(e) and e.c_element_type() == "double"
    assert pickle.loads(pickle.dumps(e)) == e and len({e, pickle.loads(pickle.dumps(e))}) == 1
    refuses(ValueError, lambda: e.filter(3), "no constant is 3")
    refuses(ValueError, lambda: e.filter("no"), "'no'")
    refuses(TypeError, lambda: e.filter(None), "wanted a number, got NoneType")
    refuses(TypeError, lambda: e.filter("high", strict=True), "wanted a number, got str")
    refuses(AttributeError, lambda: e.NOTHING, "NOTHING")
    refuses(KeyError, lambda: e.fromalias("no"), "'no'")
    with pytest.raises(AttributeError, match="cannot be changed"):
        e.LOW = 3


@pytest.mark.row("T08i")
def test_the_c_type_is_chosen() -> None:
    e = cg.EnumType(A=255, B=1, ctype="unsigned  char")
    assert e.ctype == "unsigned char" and seen(e, 255, "sizeof(PARAM) * 1000 + PARAM") == 1255.0
    assert cg.EnumType(A=1, ctype="size_t") != cg.EnumType(A=1)
    big = cg.EnumType(A=2**40, ctype="long long")
    assert seen(big, 2**40) == 2.0**40
    unfit = [(300, "npy_int8"), (-1, "npy_uint8"), (2**40, "int"), (1.5, "int"), (2**53 + 1, "double")]
    for value, ctype in unfit:
        narrow = cg.EnumType(A=value, ctype=ctype)
        refuses(OverflowError, lambda narrow=narrow, value=value: seen(narrow, value), ctype)
    assert seen(cg.EnumType(A=0.1, ctype="float"), 0.1) == np.float32(0.1)


@pytest.mark.row("T08i")
def test_lists_of_names_count_from_zero() -> None:
    e = cg.EnumList("A", ("B", "beta"), "C", ctype="long")
    assert (e.A, e.B, e.C) == (0, 1, 2) and seen(e, "beta", "PARAM == B") == 1.0
    assert pickle.loads(pickle.dumps(e)) == e


@pytest.mark.quick
@pytest.mark.row("T08i")
def test_values_of_a_header(tmp_path: Any) -> None:
    header = tmp_path / "own.h"
    header.write_text("#define OWN_FIRST 100\nenum { OWN_SECOND = -7 };\n")
    e = cg.CEnumType("OWN_FIRST", ("OWN_SECOND", "second"), "ERANGE", ctype="int")
    headers = [f'"{header}"', "<errno.h>"]
    assert seen(e, "second", headers=headers) == -7.0 and seen(e, e.OWN_FIRST, headers=headers) == 100.0
    assert seen(e, "ERANGE", headers=headers) == 34.0
    x = cg.Constant(e, "second")
    assert cj.link([], [Output(headers)(x)])() == 1  # C's value becomes Python's again


class Output(cg.COp):
    """Copies its input."""

    def __init__(self, headers: Any) -> None:
        self.headers = headers

    def c_headers(self) -> Any:
        return self.headers

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"{outputs[0]} = {inputs[0]};"


@pytest.mark.quick
@pytest.mark.row("T08i", "T07i")
def test_enumerations_in_a_struct() -> None:
    p = cg.ParamsType(mode=cg.EnumList("SLOW", ("FAST", "fast")), scale=cg.float64)

    class Op(cg.COp):
        params_type = p
        mode = "fast"
        scale = 3.0

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            return f"{outputs[0]} = {sub['params']}->mode == FAST ? {sub['params']}->scale : 0;"

    x = cg.float64("x")
    assert cj.link([x], [Op()(x)])(0.0) == 3.0
    assert p.FAST == p.get_enum("FAST") == p.enum_from_alias("fast") == p.enum_from_alias("FAST") == 1
    refuses(AttributeError, lambda: p.get_enum("NONE"), "NONE")


# ---- ops from files --------------------------------------------------------------------------------

SCALED = """
#section support_code
static double twice(double x) { return 2 * x; }

#section support_code_apply
static double APPLY_SPECIFIC(offset)(void) { return sizeof(DTYPE_INPUT_0); }

#section support_code_struct
long calls;

#section init_code_struct
calls = 0;

#section code
if (INPUT_0 < 0) {
    PyErr_SetString(PyExc_ValueError, "negative: 100%");
    FAIL
}
OUTPUT_0 = twice(INPUT_0) + APPLY_SPECIFIC(offset)() + 100 * calls++
    + 1000 * (TYPENUM_OUTPUT_0 == NPY_DOUBLE);

#section code_cleanup
(void)INPUT_0;
"""


FUNCTION = """#section support_code
static int add_all(double x, double y, double *sum, double *difference)
{
    if (x == y) {
        PyErr_SetString(PyExc_ZeroDivisionError, "equal");
        return 1;
    }
    *sum = x + y;
    *difference = x - y;
    return 0;
}
"""


class FromFiles(cg.ExternalCOp):
    """An op with C files, whose outputs are float64."""

    outputs = 1

    def make_node(self, *inputs: Any) -> Any:
        return cg.Apply(self, inputs, [cg.float64() for _ in range(self.outputs)])


def written(folder: Any, *texts: str) -> list[str]:
    paths = []
    for i, text in enumerate(texts):
        path = folder / f"op{i}.c"
        path.write_text(text)
        paths.append(str(path))
    return paths


@pytest.mark.quick
@pytest.mark.row("T12i", "T05i")
@pytest.mark.parametrize("mode", ["struct", "function"])
def test_sections_become_the_ops_parts(tmp_path: Any, mode: str) -> None:
    x = cg.float64("x")
    op = FromFiles(written(tmp_path, SCALED))
    k = cj.link([x], [op(x), op(op(x))], mode=mode)
    first, second = k(1.0)
    assert first == 1010.0 and second % 100 == 28
    assert k(1.0)[0] == 1110.0  # the second call counts 2
    error = refuses(ValueError, lambda: k(-1.0), "negative: 100%")
    assert "FromFiles" in "".join(getattr(error, "__notes__", [])) + str(error)


@pytest.mark.row("T12i")
def test_a_function_does_it_all(tmp_path: Any) -> None:
    x, y = cg.float64("x"), cg.float64("y")

    class Pair(FromFiles):
        outputs = 2

    k = cj.link([x, y], Pair(written(tmp_path, FUNCTION), "add_all")(x, y))
    assert k(5.0, 3.0) == (8.0, 2.0)
    refuses(ZeroDivisionError, lambda: k(1.0, 1.0), "equal")
    refuses(ValueError, lambda: Pair(written(tmp_path, SCALED), "add_all"), "code", "func_name")
    refuses(ValueError, lambda: Pair(written(tmp_path, FUNCTION), "add all"), "func_name")


@pytest.mark.row("T12i")
def test_parameters_in_sections(tmp_path: Any) -> None:
    class WithParams(FromFiles):
        params_type = cg.ParamsType(factor=cg.float64)
        factor = 7.0

    x = cg.float64("x")
    op = WithParams(written(tmp_path, "#section code\nOUTPUT_0 = INPUT_0 * PARAMS->factor;\n"))
    assert cj.link([x], [op(x)])(2.0) == 14.0


@pytest.mark.row("T12i")
def test_several_files_and_relative_paths(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    support = "#section support_code\nstatic int one(void) { return 1; }\n"
    code = "#section code\nOUTPUT_0 = INPUT_0 + one();\n"
    code += "#section support_code\nstatic int two(void) { return 2; }\n"
    x = cg.float64("x")
    op = FromFiles(written(tmp_path, support, code))
    assert cj.link([x], [op(x)])(2.0) == 3.0 and "two" in op.code_sections["support_code"]
    (tmp_path / "mine.py").write_text("import cwrapjit.graph as cg\nclass Mine(cg.ExternalCOp):\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from mine import Mine  # type: ignore[import-not-found]

    assert cj.link([x], [Mine(["op0.c", "op1.c"])(x)])(2.0) == 3.0
    refuses(FileNotFoundError, lambda: Mine("nothing.c"), "nothing.c")
    (tmp_path / "latin.c").write_bytes(b"#section support_code\n// caf\xe9\n")
    refuses(UnicodeDecodeError, lambda: Mine("latin.c"), "latin.c)")
    monkeypatch.chdir(tmp_path)
    typed = type("Typed", (cg.ExternalCOp,), {"__module__": "__main__"})  # a class of a session has no file
    for kind in (cg.ExternalCOp, typed):
        monkeypatch.delattr("__main__.__file__", raising=False)
        assert cj.link([x], [kind(["op0.c", "op1.c"])(x)])(2.0) == 3.0


@pytest.mark.row("T12i")
@pytest.mark.parametrize(
    "texts, words",
    [
        (["int stray;\n#section code\n"], ["stray", "int stray;"]),
        (["#section codes\n"], ["unknown section", "codes"]),
        (["int x;\n"], ["no #section"]),
        ([""], ["no #section"]),
        (["THEANO_SUPPORT_CODE_SECTION\nint x;\n#section code\n"], ["two kinds"]),
        (["THEANO_SUPPORT_CODE_SECTION\nint x;\n", "#section code\n"], ["older markers"]),
        (["#section code\n", "int x;\n"], ["no #section"]),
    ],
)
def test_markers_that_are_wrong(tmp_path: Any, texts: list[str], words: list[str]) -> None:
    refuses(ValueError, lambda: FromFiles(written(tmp_path, *texts)), *words)


@pytest.mark.row("T12i")
def test_older_markers(tmp_path: Any) -> None:
    text = "THEANO_SUPPORT_CODE_SECTION\nstatic double half(double x) { return x / 2; }\n"
    text += "THEANO_APPLY_CODE_SECTION\n"
    text += "static int APPLY_SPECIFIC(f)(double x, double *y) { *y = half(x); return 0; }\n"
    x = cg.float64("x")
    op = FromFiles(written(tmp_path, text), "APPLY_SPECIFIC")
    op.func_name = "APPLY_SPECIFIC(f)"
    assert cj.link([x], [op(x)])(3.0) == 1.5


def test_no_code_at_all(tmp_path: Any) -> None:
    x = cg.float64("x")
    op = FromFiles(written(tmp_path, "#section support_code\n"))
    refuses(NotImplementedError, lambda: cj.link([x], [op(x)]), "FromFiles", "code")
    refuses(ValueError, lambda: FromFiles([]), "no C files")


@pytest.mark.row("T12i")
def test_arrays_have_their_macros(tmp_path: Any) -> None:
    text = """#section code
DTYPE_INPUT_0 *values = PyArray_DATA(INPUT_0);
OUTPUT_0 = 0;
for (npy_intp i = 0; i < PyArray_SIZE(INPUT_0); i++) {
    OUTPUT_0 += values[i] * ITEMSIZE_INPUT_0;
}
"""
    x = cg.ndarray("float32", 1)("x")
    assert cj.link([x], [FromFiles(written(tmp_path, text))(x)])(np.ones(3, "f4")) == 12.0
