"""Tests the first job of a hot function (only the variant that the running call takes) and the second."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import WHO, compiler, eventually, same, who, wrap, wrap_signature

import cwrapjit

VARIANT = re.compile(r"^static __attribute.*\bint cwj_([a-z]+\d?)_(\d)__f\(", re.MULTILINE)


@pytest.fixture(autouse=True)
def needs_a_compiler() -> None:
    compiler()


class Texts:
    """Collects the compiler's texts in order. Those with several variants wait until go_on()."""

    def __init__(self, folder: pathlib.Path, cc: Callable[[str], pathlib.Path]) -> None:
        self.folder = folder
        cc(f"""n=$(ls '{folder}' | grep -c '^text')
cat > '{folder}/part'
mv '{folder}/part' '{folder}/text'$n
if [ $(grep -c '^static __attribute.*int cwj_[a-z0-9]*_[0-9]__f(' '{folder}/text'$n) != 1 ]; then
    while [ ! -e '{folder}/go' ]; do sleep 0.01; done
fi
exec REAL "$@" < '{folder}/text'$n""")

    def go_on(self) -> None:
        (self.folder / "go").touch()

    def variants(self) -> list[list[str]]:
        found = sorted(self.folder.glob("text*"), key=lambda path: int(path.name[4:]))
        return [[f"{a}_{b}" for a, b in VARIANT.findall(path.read_text())] for path in found]


@pytest.fixture
def texts(cc: Callable[[str], pathlib.Path], tmp_path: pathlib.Path) -> Texts:
    (tmp_path / "texts").mkdir()
    return Texts(tmp_path / "texts", cc)


def test_the_running_calls_variant_comes_first_and_alone(texts: Texts) -> None:
    f, data = who(), np.zeros(100_000)
    assert eventually(lambda: f(data)[-1] == 2)
    assert f.tier == "cc" and f.wait(0) is True, "every type set has it"
    assert set(f(data[::2]).tolist()) == {1}, "other calls run what there was"
    assert eventually(lambda: len(texts.variants()) == 2)
    assert texts.variants() == [["unit_0"], ["unit_0", "same0_0", "aliased_0"]]
    texts.go_on()
    assert f.wait()
    assert eventually(lambda: set(f(data[::2]).tolist()) == {2})
    assert len(texts.variants()) == 2


def test_a_call_under_way_takes_it(texts: Texts) -> None:
    slow = "if (WHO == 1) usleep(1000); item__output() = WHO + 0 * item__a(); return true;"
    f = wrap(((),), (), slow, header="int usleep(unsigned int);" + WHO)
    got = f(np.zeros(100_000))  # would take minutes otherwise
    assert got[0] == 1 and got[-1] == 2 and (np.diff(got) >= 0).all(), "once moved, never back"
    assert texts.variants()[0] == ["unit_0"]
    texts.go_on()
    assert f.wait()


INNER = (
    "item__y() = WHO; for (int i = 0; i < dims_slice__a[0]; i++) item__y() += 0 * item__a(i); return true;"
)
IMAGE = np.zeros((3000, 64))
ONE, TWO = (
    "item__y() = WHO + 0 * item__a(); return true;",
    "item__y() = WHO + 0 * item__a() * item__b(); return true;",
)
CALLS: dict[str, tuple[str, str, Callable[[Any], Any], str | None]] = {
    "unit": ("a() -> y()", ONE, lambda f: f(IMAGE), "unit_0"),
    "steps": ("a() -> y()", ONE, lambda f: f(IMAGE[:, ::2].copy("F")[:, 0::3]), None),
    "reversed": ("a(), b() -> y()", TWO, lambda f: f(IMAGE, IMAGE[:, ::-1]), "steady_0"),
    "scalar": ("a(), b() -> y()", TWO, lambda f: f(IMAGE, 2.0), None),
    "contiguous slices": ("a(n) -> y()", INNER, lambda f: f(IMAGE), "contiguous_0"),
    "columns": ("a(n) -> y()", INNER, lambda f: f(IMAGE.T), "steady_0"),
    "dense": ("a(64) -> y()", INNER, lambda f: f(IMAGE), "dense_0"),
}


@pytest.mark.parametrize("kind", CALLS)
def test_it_is_the_one_that_fits(kind: str, texts: Texts) -> None:
    signature, text, call, wanted = CALLS[kind]
    f = wrap_signature(signature, text, header=WHO)
    assert eventually(lambda: call(f).flat[-1] == 2)
    texts.go_on()
    assert f.wait()
    assert len(texts.variants()[0]) == 1
    if wanted:
        assert texts.variants()[0] == [wanted]
    assert (call(f) == 2).all()


def test_only_the_running_type_set_is_in_it(texts: Texts) -> None:
    body = "item__output() = WHO + 0 * item__a(); return true;"
    f = wrap(((),), (), dict.fromkeys((np.float64, np.float32), body), header=WHO)
    data = np.zeros(100_000, np.float32)
    assert eventually(lambda: f(data)[-1] == 2)
    assert f.tier == "tcc" and f(0.0) == 1 and f.tier_error is None
    assert texts.variants()[0] == ["unit_1"]
    texts.go_on()
    assert f.wait() and f.tier == "cc" and f(0.0) == 2


def test_wait_and_eager_make_all_of_it_at_once(texts: Texts) -> None:
    texts.go_on()
    f = who()
    assert f.wait() and f.tier == "cc"
    g = who(optimize="eager")
    assert g.tier == "cc"
    assert texts.variants() == [["unit_0", "same0_0", "aliased_0"]] * 2


@pytest.mark.parametrize("ninputs", [2, 3])
def test_each_input_may_be_a_scalar(texts: Texts, ninputs: int) -> None:
    names = ("a", "b", "c")[:ninputs]
    expression = " - 3 * ".join(f"item__{name}()" for name in names)
    texts.go_on()
    body = f"item__output() = {expression}; return true;"
    f, slow = (wrap(((),) * ninputs, (), body, optimize=optimize) for optimize in ("eager", "off"))
    assert f.tier == "cc"
    made = [each for each in texts.variants()[-1] if "scalar" in each or "inplace" in each]
    in_place = ["inplace1_0", "inplace0_0"] if ninputs == 2 else []  # the number names the scalar
    assert made == [f"scalar{k}_0" for k in range(ninputs)] + in_place
    for k in range(ninputs):
        given: list[Any] = [*np.random.default_rng(3).normal(size=(ninputs, 1001))]
        given[k] = 0.7
        wanted = slow(*given)
        assert np.array_equal(f(*given), wanted)
        for out in (each for each in given if each is not given[k]):
            arrays = [each.copy() if each is out else each for each in given]
            of = next(each for each, one in zip(arrays, given, strict=True) if each is not one)
            assert f(*arrays, out=of) is of and np.array_equal(of, wanted)


@pytest.mark.parametrize("ninputs", [2, 3])
def test_each_input_may_be_the_output(texts: Texts, ninputs: int) -> None:
    names = ("a", "b", "c")[:ninputs]
    expression = " - 3 * ".join(f"item__{name}()" for name in names)
    texts.go_on()
    f = wrap(((),) * ninputs, (), f"item__output() = {expression}; return true;", optimize="eager")
    assert f.tier == "cc"
    assert [each for each in texts.variants()[-1] if "same" in each] == [f"same{k}_0" for k in range(ninputs)]
    given = np.random.default_rng(3).normal(size=(ninputs, 1001))
    wanted = f(*given)
    for k in range(ninputs):
        arrays = given.copy()
        assert np.array_equal(f(*arrays, out=arrays[k]), wanted)
        assert np.array_equal(np.delete(arrays, k, 0), np.delete(given, k, 0))
    twice = given[0].copy()
    assert np.array_equal(f(twice, twice, *given[2:], out=twice), f(given[0], given[0], *given[2:]))


def test_what_is_refused_elsewhere_is_still_told() -> None:
    good = "item__output() = 2 * item__a(); return true;"
    text = 'if (item__a() < 0) twice("x"); item__output() = item__a(); return true;'
    header = "static double twice(double x) { return 2 * x; }\n"
    f = wrap(((),), (), {np.float64: good, np.int64: text}, header=header)
    data = np.ones(200_000)
    with pytest.warns(cwrapjit.CompileWarning, match="argument 1|passing 'char\\[2\\]' to parameter"):
        assert eventually(lambda: f(data)[0] == 2 and f.tier_error is not None)
        f(data)
    assert isinstance(f.tier_error, cwrapjit.CompileError)
    np.testing.assert_array_equal(f(data), 2 * data)
    assert f(np.ones(3, np.int64)).tolist() == [1, 1, 1]


def test_calls_of_every_kind_give_the_same_beside_it(texts: Texts) -> None:
    text = """
        double sum = 0;
        for (int i = 0; i < dims_slice__a[0]; i++)
            sum += item__a(i) * item__b(i) + k[0];
        item__y() = sum;
        return true;"""
    extras = (("double", "k", "0.25", "d"),)
    f, slow = (
        wrap_signature("a(n), b(n) -> y()", text, extra_args=extras, optimize=how) for how in ("auto", "off")
    )
    rng = np.random.default_rng(3)
    x = rng.random((500, 500))
    assert eventually(lambda: (f(x, x), f.tier)[1] == "cc")
    assert len(texts.variants()[0]) == 1
    for a, b in (
        (x, x),
        (x.T, x),
        (x[::2, ::-3], x[1::2, ::3]),
        (x, x[0]),
        (x[:, :7], x[:, 7:14]),
        (x[:0], x[:0]),
    ):
        assert same(f(a, b), slow(a, b))
        assert same(f(a, b, k=3.0), slow(a, b, k=3.0))
    texts.go_on()
    assert f.wait()


def test_it_goes_in_front_of_what_is_not_urgent(texts: Texts) -> None:
    f, g, data = who(), who(), np.zeros(100_000)
    assert eventually(lambda: f(data)[-1] == 2)
    assert eventually(lambda: len(texts.variants()) == 2)  # the compiler has all of f
    for _ in range(200):
        g(data)  # gets hot meanwhile
    texts.go_on()
    assert f.wait() and g.wait()
    assert [len(each) for each in texts.variants()] == [1, 3, 1, 3]


def test_a_function_may_go_in_between(texts: Texts) -> None:
    data = np.zeros(100_000)

    def until_hot() -> None:
        f = who()
        assert eventually(lambda: f(data)[-1] == 2)

    until_hot()  # the compiler has all of it when it is freed
    g = who()
    assert eventually(lambda: g(data)[-1] == 2)
    texts.go_on()
    assert g.wait()


# The running call's text, its header, and a text of ours that must then stand in front of it.
NAMED = {
    "nothing": ("x * x", "", ""),
    "stdint": ("x + (double)(uint_least32_t)3", "", "UINT32_MAX"),
    "limits": ("x + CHAR_BIT", "", "SCHAR_MAX"),
    "float": ("x < DBL_MAX ? x : 0", "", "FLT_RADIX"),
    "math": ("sin(x) + M_PI", "", "M_LOG2E"),
    "string": ("x + strlen(TEXT)", '#define TEXT "abc"\n', "strpbrk"),
    "stdlib": ("x + labs(-3)", "", "lldiv_t"),
    "stdio": ("x + EOF", "", "BUFSIZ"),
    "a macro's": ("TWICE(x)", "#define TWICE(x) (exp(x) + \\\ntanh(x))\n", "M_LOG2E"),
    "two lines": ("co\\\ns(x)", "", "M_LOG2E"),
    "a builtin": ("__builtin_log(x + 1)", "", "#define __builtin_log log\n"),
    "joined": ("JOIN(fl, oor)(x)", "#define JOIN(a, b) a##b\n", "#define floor cwj_floor"),
    "included": ("hypot(x, 1)", "#include <math.h>\n", "#define floor cwj_floor"),
    "fma": ("fma(x, x, x)", "", "M_LOG2E"),
}
MATHEMATICS = ["floor(x * 9)", "llroundf(x * 9)", "truncf(x * 9)", "fmin(x, .5f)", "powf(x, .5f)"]
NAMED.update((text, (text, "", "#define floor cwj_floor")) for text in MATHEMATICS)


@pytest.mark.parametrize("what", NAMED)
def test_it_has_what_its_text_names(what: str, texts: Texts, tmp_path: pathlib.Path) -> None:
    text, header, wanted = NAMED[what]
    body = f"double x = item__a(); item__output() = WHO == 2 ? {text} : -1; return true;"
    f = wrap(((),), (), body, header=WHO + header)
    slow = wrap(((),), (), body.replace("WHO == 2", "1"), header=WHO + header, optimize="off")
    data = np.random.default_rng(5).random(100_000)
    assert eventually(lambda: f(data)[-1] != -1)
    given = (tmp_path / "texts" / "text0").read_text()
    assert len(texts.variants()[0]) == 1
    assert wanted in given
    if what == "nothing":
        assert "M_LOG2E" not in given and "BUFSIZ" not in given and "cwj_floor" not in given
    if text in MATHEMATICS or what in ("joined", "included"):
        assert "static" in given[: given.index("#define floor cwj_floor")]
    assert same(f(data), slow(data))


def test_a_macro_of_the_module_may_name_anything(texts: Texts, tmp_path: pathlib.Path) -> None:
    text = "item__y() = DOWN(item__x()) + WHO; return true;"
    f = wrap_signature("x() -> y()", text, header=WHO, define_macros=[("DOWN", "floor")])
    data = np.full(100_000, 0.5)
    assert eventually(lambda: f(data)[-1] == 2)
    assert "#define floor cwj_floor" in (tmp_path / "texts" / "text0").read_text()
