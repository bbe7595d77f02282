"""Tests Python callables as C functions: values, arrays, exceptions, threads, lifetimes."""

from __future__ import annotations

import concurrent.futures
import functools
import gc
import inspect
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from helpers import meeting, python, refuses
from leaks import COUNTED, keeps_nothing
from library_tools import from_c, from_shared

import cwrapjit
import cwrapjit.graph as cg

pytestmark = pytest.mark.row("L07", "P13")

TEXT = """
#include <pthread.h>
#include <errno.h>
typedef struct { double a; int k[3]; } par;
typedef struct hidden hidden;
struct hidden { double (*f)(double, void *); void *data; };

double plain(double (*f)(double), double x) { return f ? f(x) : -1; }
int count(int (*f)(int), int n) { int k = 0; for (int i = 0; i < n; i++) { f(i); k++; } return k; }
double loop(double (*f)(double), int n) { double s = 0; for (int i = 0; i < n; i++) s += f(i); return s; }
int64_t wide(int64_t (*f)(unsigned char, short, float, uint64_t, bool), int64_t x)
{ return f(200, -2, 0.5f, x, 2 > 1); }
float narrow(float (*f)(float), float x) { return f(x); }
short small(short (*f)(void)) { return f(); }
bool truth(bool (*f)(bool), bool x) { return f(x); }
double over(double (*f)(unsigned n, const double *x, double *g, void *data), void *data)
{
    double x[] = {1, 2, 3}, g[] = {0, 0, 0};
    double r = f(3, x, g, data) + g[0];
    return r + (g[0] > 0 ? f(3, x, NULL, data) : 0);
}
double table(double (*f)(int m, int n, const int *A)) { int A[] = {1, 2, 3, 4, 5, 6}; return f(2, 3, A); }
double apply(double (*f)(double, par *), double x)
{ par p = {3, {1, 2, 3}}; double r = f(x, &p); return r + p.a; }
double several(double (*f)(int n, par *p), int n)
{ par p[] = {{1, {0}}, {2, {0}}}; double r = f(n, p); return r + p[0].a; }
par valued(par (*f)(par, int)) { par p = {3, {1, 2, 3}}; return f(p, 2); }
int text(int (*f)(const char *), const char *s) { return f(s); }
int first(const char *(*f)(void)) { const char *s = f(); return s ? s[0] : -1; }
void *back(void *(*f)(void *, int), void *p) { return f(p, 1); }
hidden *opened(double (*f)(double, void *), void *data)
{ hidden *h = calloc(1, sizeof *h); h->f = f; h->data = data; return h; }
void set(hidden *h, double (*f)(double, void *), void *data) { h->f = f; h->data = data; }
double use(hidden *h, double x) { return h->f ? h->f(x, h->data) : -1; }
void closed(hidden *h) { free(h); }
hidden *same(hidden *(*f)(hidden *), hidden *h) { return f(h); }
static double (*stored)(double);
void store(double (*f)(double)) { stored = f; }
double use_stored(const double *x) { return stored(*x); }
int numbered(int (*f)(int)) { errno = 7; f(1); return errno; }

typedef struct { int (*f)(int); int x, r; } job;
static void *work(void *p) { job *j = p; j->r = j->f(j->x); return NULL; }
int threads(int (*f)(int), int n)
{
    pthread_t all[8];
    job jobs[8];
    int sum = 0;
    for (int i = 0; i < n; i++) { jobs[i] = (job){f, i, 0}; pthread_create(&all[i], NULL, work, &jobs[i]); }
    for (int i = 0; i < n; i++) { pthread_join(all[i], NULL); sum += jobs[i].r; }
    return sum;
}
"""


def build() -> Any:
    made = cwrapjit.library("t", source=COUNTED + TEXT)
    assert made.mapped and not made.unmapped, made.unmapped
    made.handle("hidden *", free="closed")
    made.refine("over", dims={"f": {"x": "n", "g": "n"}})
    made.refine("table", dims={"f": {"A": "m, n"}})
    made.refine("several", dims={"f": {"p": "n"}})
    made.function("double use_stored(const double x[1])")
    made.function("hidden *opened(double (*f)(double, void *), void *data)", returns="callee", keeps="f")
    made.function("void set(hidden *h, double (*f)(double, void *), void *data)", keeps="f")
    made.function("void store(double (*f)(double))", keeps={"library": "f"})
    return made


@pytest.fixture(scope="module")
def lib() -> Any:
    return build()


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: found.append(str(args.exc_value)))
    return found


# ---- values ---------------------------------------------------------------------------------------


def test_numbers_are_pythons_own(lib):
    got: list[Any] = []

    def f(*args: Any) -> int:
        got.extend(args)
        return args[3]

    assert lib.wide(f, 2**62) == 2**62
    assert got == [200, -2, 0.5, 2**62, True]
    assert [type(each) for each in got] == [int, int, float, int, bool]
    assert lib.narrow(lambda x: x / 2, 3.0) == 1.5
    assert lib.small(lambda: -7) == -7
    assert lib.truth(lambda x: not x, True) is False
    assert lib.plain(np.float64, 2.5) == 2.5  # the callable may be a class
    assert lib.plain(abs, -2.0) == 2
    assert lib.plain(None, 2.0) == -1


@pytest.mark.quick
def test_results_that_do_not_fit(lib):
    for name, result, error, words in (
        ("plain", None, TypeError, "it returned NoneType, where C wants float64"),
        ("plain", 1j, TypeError, "it returned complex"),
        ("small", 2**15, OverflowError, "it returned 32768 is out of range of int16"),
        ("small", 1.5, TypeError, "it returned float"),
        ("count", 2**31, OverflowError, "it returned 2147483648"),
        ("valued", None, TypeError, "it returned NoneType, where C wants par"),
        ("first", 3, TypeError, "it returned int, where C wants str, bytes or None"),
        ("back", 3, TypeError, "it returned int, where C wants a cwrapjit.Pointer or None"),
    ):
        rest = {"plain": (1.0,), "count": (1,), "back": (cwrapjit.Pointer(np.ones(1)),)}.get(name, ())
        call = functools.partial(getattr(lib, name), lambda *_, made=result: made, *rest)
        refuses(error, call, f"t.{name}(): argument f", words)


def test_arrays_are_cs_memory(lib):
    seen: list[Any] = []

    def f(x: np.ndarray, g: np.ndarray | None) -> float:
        if g is None:
            return 100
        seen.append((x.flags.writeable, g.flags.writeable, x.dtype, x.shape))
        g[0] = 5
        return float(x.sum())

    assert lib.over(f) == 6 + 5 + 100
    assert seen == [(False, True, np.dtype(float), (3,))]

    def of_table(A: np.ndarray) -> float:
        assert A.shape == (2, 3) and A.dtype == np.intc
        return float(A[1, 2])

    assert lib.table(of_table) == 6

    def of_structs(p: np.ndarray) -> float:
        p["a"] += 10
        return float(p["a"][1])

    assert lib.several(of_structs, 2) == 12 + 11


def test_arrays_that_are_kept_are_copies_afterwards(lib):
    kept: list[Any] = []

    def f(x: np.ndarray, g: np.ndarray | None) -> float:
        kept.append(x)
        return 0

    for _ in range(3):
        lib.over(f)
    lib.plain(lambda x: x, 1.0)
    assert [each.tolist() for each in kept] == [[1, 2, 3]] * 3
    assert kept[0].base is not kept[1].base


@pytest.mark.quick
def test_views_that_are_kept_are_an_error(lib):
    kept: list[Any] = []

    for view in (lambda x: x[1:], memoryview, lambda x: np.asarray(memoryview(x))):

        def f(x: np.ndarray, g: np.ndarray | None, view: Any = view) -> float:
            kept.append(view(x))
            return 0

        refuses(RuntimeError, lambda f=f: lib.over(f), "t.over(): argument f", "a view of x was kept")

    def seen(x: np.ndarray, g: np.ndarray | None) -> float:
        return sum(memoryview(x))

    assert lib.over(seen) == 6


@pytest.mark.quick
def test_dims_of_callbacks_by_option():
    made = from_c(TEXT)
    declared = "double over(double (*f)(unsigned n, const double *x, double *g, void *data), void *data)"
    made.declare(declared + ";")
    assert made.over(lambda n, x, g: isinstance(x, cwrapjit.Pointer) + n) == 4
    made.refine("over", dims={"f": {"x": "n", "g": "n"}})
    assert made.over(lambda x, g: x.sum()) == 6
    for dims, words in (
        ({"f": {"y": "n"}}, ("dims['f']", "'y'")),
        ({"f": {"n": "n"}}, ("dims['f']", "no pointer")),
        ({"f": {"x": "k"}}, ("dims['f']", "k in a dim")),
        ({"data": {"x": "n"}}, ("data is no function",)),
    ):
        refuses(ValueError, lambda dims=dims: made.function(declared, dims=dims), *words)


@pytest.mark.quick
def test_lists_of_texts_and_references_by_option():
    declared = "int rows(int (*f)(int n, char **values, const int *count, void **odd), int n)"
    made = from_c(
        declared + '{ char *values[] = {"a", 0, "c\\303\\251"}; int two = 2; return f(n, values, &two, 0); }'
    )
    f = made.function(declared, dims={"f": {"values": "n", "count": ()}})
    seen = []

    def take(values: list[str | None], count: int, odd: None) -> int:
        seen.append((values, count, odd))
        return len(values)

    assert [f(take, n) for n in (3, 1, 0)] == [3, 1, 0]
    assert seen == [(["a", None, "c\u00e9"], 2, None), (["a"], 2, None), ([], 2, None)]
    refuses(ValueError, lambda: f(take, -1), "dim 0 of values is negative")
    by_count = made.function(declared, dims={"f": {"values": "count", "count": ()}})
    assert by_count(lambda n, values, odd: len(values) + n, 5) == 7
    for name, dims, word in (
        ("odd", "n", "dims names odd"),
        ("values", ("n", 2), "dims names values"),
        ("values", (), "no const pointer to a number"),
    ):
        refuses(ValueError, lambda d={name: dims}: made.function(declared, dims={"f": d}), word)


@pytest.mark.quick
def test_user_data_is_nobodys_business(lib):
    assert lib.over(lambda x, g: 1.0) == 1
    scale = np.array([4.0])
    assert lib.over("return *(double *)data;", cwrapjit.Pointer(scale)) == 4
    # If it has no void * of its own, the function's void * is an ordinary value.
    got: list[Any] = []

    def f(n: int) -> Any:
        got.append(n)
        return cwrapjit.Pointer(scale)

    assert lib.back(f).address == scale.ctypes.data
    assert got == [1]


def test_user_data_in_the_middle_is_nobodys_business_either():
    lib = cwrapjit.library(
        "t",
        source="double call(double (*f)(double x, void *data), void *data, double x) { return f(x, data); }",
    )
    assert str(inspect.signature(lib.call)) == "(f: Callable, x: float, data: Pointer = None) -> float"
    assert lib.call(lambda x: 3 * x, 2.0) == 6
    assert lib.call("return x + *(double *)data;", 2, cwrapjit.Pointer(np.ones(1))) == 3


@pytest.mark.quick
def test_structs_and_handles(lib):
    seen: list[Any] = []

    def f(x: float, p: Any) -> float:
        seen.append(p)
        assert (p.a, p.k.tolist()) == (3, [1, 2, 3])
        p.a = 7
        return x

    assert lib.apply(f, 1.0) == 8
    refuses(ValueError, lambda: seen[0].a, "this par was freed")

    def g(p: Any, n: int) -> Any:
        p.a += n
        return p

    assert lib.valued(g).a == 5
    h = lib.opened(lambda x: x)
    assert lib.same(lambda each: each, h) == h
    assert lib.same(lambda each: None, h) is None
    refuses(TypeError, lambda: lib.same(lambda each: lib.par(), h), "it returned par, where C wants hidden")
    kept: list[Any] = []
    lib.same(lambda each: kept.append(each), h)
    assert lib.use(kept[0], 3.0) == 3  # kept[0] is the instance that Python owns

    def views(x: float, p: Any) -> float:
        kept.append(p.k)
        return 0

    refuses(RuntimeError, lambda: lib.apply(views, 1.0), "argument f", "a view of", "was kept")


@pytest.mark.quick
def test_text(lib):
    assert lib.text(len, "häh") == 3
    assert lib.first(lambda: "xyz") == ord("x")
    assert lib.first(lambda: b"xyz") == ord("x")
    assert lib.first(lambda: None) == -1
    refuses(UnicodeDecodeError, lambda: lib.text(len, b"\xff"), "invalid start byte")


# ---- exceptions -----------------------------------------------------------------------------------


def test_an_exception_is_raised_after_the_call_and_stops_calls_of_python(lib):
    calls: list[int] = []

    def f(i: int) -> int:
        calls.append(i)
        if i == 2:
            raise KeyError("two")
        return 0

    refuses(KeyError, lambda: lib.count(f, 1000), "two")
    assert calls == [0, 1, 2]
    assert lib.count(lambda i: 0, 5) == 5  # the next call works as before
    refuses(TypeError, lambda: lib.plain(lambda: 1.0, 1.0), "takes 0 positional arguments")
    with pytest.raises(KeyboardInterrupt):
        lib.count(lambda i: (_ for _ in ()).throw(KeyboardInterrupt), 3)


def test_callbacks_within_callbacks(lib):
    def deep(x: float) -> float:
        return x if x > 20 else lib.plain(deep, x + 1) + 1

    assert lib.plain(deep, 0.0) == 42

    def fails(x: float) -> float:
        return lib.plain(lambda _: 1 / 0, x)

    refuses(ZeroDivisionError, lambda: lib.plain(fails, 1.0), "division")

    def catches(x: float) -> float:
        with pytest.raises(ZeroDivisionError):
            lib.plain(lambda _: 1 / 0, x)
        return 3

    assert lib.loop(catches, 4) == 12


def test_errno_is_what_c_left_there(lib):
    def f(x: int) -> int:
        refuses(FileNotFoundError, lambda: open("/missing"), "missing")
        return 0

    assert lib.numbered(f) == 7


# ---- threads --------------------------------------------------------------------------------------


@pytest.mark.quick
def test_any_thread_may_call(lib):
    names: set[int] = set()

    def f(i: int) -> int:
        names.add(threading.get_ident())
        return i

    assert lib.threads(f, 8) == 28
    assert threading.get_ident() not in names and names

    def fails(i: int) -> int:
        raise IndexError(f"in thread {i}")

    refuses(IndexError, lambda: lib.threads(fails, 1), "in thread 0")
    assert lib.threads(f, 2) == 1


def test_threads_of_python_call_at_once(lib):
    def work(k: int) -> None:
        for i in range(200):
            assert lib.loop(lambda x: x + k, 10) == 45 + 10 * k
            with pytest.raises(ZeroDivisionError):
                lib.plain(lambda x: 1 / 0, float(i))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [None] * 4


# ---- lifetimes ------------------------------------------------------------------------------------


class Callable:
    def __call__(self, x: float) -> float:
        return 2 * x


@pytest.mark.quick
@pytest.mark.row("L17")
def test_for_the_call_and_no_longer(lib):
    plain = from_c(TEXT)
    plain.declare("void store(double (*f)(double)); double use_stored(const double x[1]);")
    x = np.ones(1)
    f = Callable()
    gone = weakref.ref(f)
    plain.store(f)
    del f
    assert gone() is None
    refuses(RuntimeError, lambda: plain.use_stored(x), "t.store(): argument f", "after its lifetime")
    refuses(RuntimeError, lambda: plain.use_stored(x), "after its lifetime")


@pytest.mark.row("L17")
def test_keeps_of_instances_and_of_the_library():
    lib = build()
    f, g = Callable(), Callable()
    gone = weakref.ref(f), weakref.ref(g)
    h = lib.opened(f)
    assert lib.use(h, 2.0) == 4
    del f
    gc.collect()
    assert lib.use(h, 3.0) == 6
    lib.set(h, lambda x: x + 1)
    assert lib.use(h, 3.0) == 4
    lib.set(h, lambda x: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        lib.use(h, 3.0)
    lib.set(h, None)
    assert lib.use(h, 3.0) == -1
    lib.store(g)
    del g
    gc.collect()
    assert lib.use_stored(np.array([4.0])) == 8
    del h
    gc.collect()
    assert gone[0]() is None and gone[1]() is not None
    del lib
    gc.collect()
    assert gone[1]() is None


@pytest.mark.row("L17")
def test_outside_of_calls_it_is_unraisable(lib, unraisable):
    ctypes = pytest.importorskip("ctypes")
    kept: list[int] = []
    made = from_c(
        "uintptr_t where(double (*f)(double)) { return (uintptr_t)f; }"
        "void *owned(double (*f)(double)) { return (void *)f; }"
    )
    where = made.function("uintptr_t where(double (*f)(double))", keeps={"library": "f"})
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    kept.append(where(lambda x: 2 * x))
    assert kind(int(kept[0]))(2.0) == 4 and not unraisable
    kept.append(where(lambda x: 1 / 0))
    assert kind(int(kept[1]))(2.0) == 0 and unraisable == ["division by zero"]
    del made, where
    gc.collect()
    assert kind(int(kept[0]))(2.0) == 0
    assert "after its lifetime" in unraisable[-1]


@pytest.mark.row("L17")
@pytest.mark.parametrize("debug", [False, True])
def test_what_a_kept_callback_raises_in_slices_is_theirs(lib, unraisable, debug):
    """The slices are of a text's functions, broadcast functions, vectorize(), ufuncs, kernels, graphs."""
    text = "static double (*stored)(double); void store(double (*f)(double)) { stored = f; }"
    made = cwrapjit.library("t", source=text + "double use(double x) { return stored(x); }", debug=debug)
    made.function("void store(double (*f)(double))", keeps={"library": "f"})
    single = made.function("double use(double x)", name="single")
    call = f"((double (*)(double)){single.address}ull)(x)"

    class Use(cg.COp):
        def make_node(self, x: Any) -> Any:
            return cg.Apply(self, [x], [cg.float64()])

        def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
            return f"double x = {inputs[0]}; {outputs[0]} = {call};"

    x = cg.float64("x")
    kernel = cwrapjit.ElementwiseKernel("double x", "double y", f"y = {call}", "kernel")
    numbers = {
        "single": single,
        "graph": cwrapjit.link([x], Use()(x)),
        "kernel": lambda x: kernel(x, size=1)[0],
    }
    arrays = {
        "of the text": made.use,
        "broadcast": made.function("double use(double x)", name="spread", broadcast=True),
        "vectorize": cwrapjit.vectorize(f"double called(double x) {{ return {call}; }}"),
    }
    if not debug:
        arrays["ufunc"] = made.use.ufunc
    made.store(lambda x: 1 / x)
    for name, each in {**numbers, **arrays}.items():
        assert each(4.0) == 0.25, name
        refuses(ZeroDivisionError, lambda each=each: each(0.0), "division by zero")
        assert each(2.0) == 0.5, name
    for each in arrays.values():
        assert each([1.0, 2.0]).tolist() == [1, 0.5]
        refuses(ZeroDivisionError, lambda each=each: each([1.0, 0.0, 2.0]), "division by zero")
    text = f"{meeting()} double several(double x) {{ meet(x); usleep(50); return {call}; }}"
    several, here = cwrapjit.vectorize(text, threads=2), threading.get_ident()
    made.store(lambda x: 1 / (threading.get_ident() == here))
    refuses(ZeroDivisionError, lambda: several(np.arange(400.0)), "division by zero")
    assert not unraisable


@pytest.mark.row("L17")
def test_at_exit_it_returns_zero():
    text = """
import ctypes
import cwrapjit
lib = cwrapjit.library("t", source='''
#include <stdlib.h>
int on_exit(void (*f)(int, void *), void *data);
static int (*stored)(int);
long write(int file, const void *text, size_t size);
static void last(int status, void *data) { write(1, stored(5) == 0 ? "zero" : "other", 4); }
int store(int (*f)(int)) { stored = f; return stored(1) + on_exit(last, 0); }
''')
store = lib.function("int store(int (*f)(int))", keeps={"library": "f"})
print(store(lambda x: 3 * x), flush=True)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(store))  # the code stays
"""
    done = python(text)
    assert (done.stdout, done.stderr) == ("3\nzero", "")


def test_many_at_once(lib):
    made = from_c(
        "typedef struct { int64_t (*f)(int64_t); } slot; int64_t use(slot *s, int64_t x) { return s->f(x); }"
        "void put(slot *s, int64_t (*f)(int64_t)) { s->f = f; }"
    )
    made.struct("typedef struct { void *f; } slot")
    made.function("void put(slot *s, int64_t (*f)(int64_t))", keeps={"s": "f"})
    made.function("int64_t use(slot *s, int64_t x)")
    slots = [made.slot() for _ in range(100)]
    for k, each in enumerate(slots):
        made.put(each, lambda x, k=k: x + k)
    assert [made.use(each, 10) for each in slots] == [10 + k for k in range(100)]


@pytest.mark.leak
def test_nothing_is_kept(lib):
    def f(x: np.ndarray, g: np.ndarray | None) -> float:
        return float(x[0])

    def fails(x: float) -> float:
        raise KeyError("x")

    def work() -> None:
        assert lib.over(f) == 1
        assert lib.apply(lambda x, p: p.a, 1.0) == 6
        assert lib.valued(lambda p, n: p).a == 3
        assert lib.first(lambda: "abc") == ord("a")
        h = lib.opened(lambda x: x)
        lib.set(h, lambda x: 2 * x)
        assert lib.use(h, 2.0) == 4
        with pytest.raises(KeyError):
            lib.plain(fails, 1.0)
        with pytest.raises(TypeError):
            lib.plain(lambda x: None, 1.0)

    keeps_nothing(work, watched=(f, fails))


MEMBERS = """
typedef struct { double (*f)(void *handle, double x); int n; void *other; } operations;
typedef struct { double (*f)(double x, void *data), (*g)(void *data, double x); void *data; int n; } own;
typedef struct { double (*f)(double x, void *data); int n; void *data; } apart;
double of_apart(apart *a) { return a->f(5, a->data); }
typedef struct { void *first; double (*f)(void *p, double x); } late;
double of_operations(operations *o) { return o->f(o, 2); }
double of_own(own *o) { return o->f(2, o->data) + o->g(o->data, 3); }
double of_late(late *l) { return l->f(l, 4); }
"""


def test_what_comes_first_is_user_data_where_a_void_pointer_is_behind_the_function():
    """This is so for members of structs, unless the struct's void * belongs to another member."""
    lib = cwrapjit.library("t", source=MEMBERS)
    seen = []
    o = lib.operations(f=lambda handle, x: seen.append(handle) or x)
    assert lib.of_operations(o) == 2 and seen[0].address == o.address
    own = lib.own(f=lambda x: x, g=lambda x: 2 * x)
    assert lib.of_own(own) == 8
    assert lib.of_apart(lib.apart(f=lambda x: x)) == 5
    late = lib.late(f=lambda p, x: seen.append(p) or x)
    assert lib.of_late(late) == 4 and seen[1].address == late.address


ITEMS = """
typedef struct item { int v; } item;
int visit(int (*f)(item *const *all, int n))
{ item a = {1}, b = {2}; item *all[] = {&a, 0, &b, 0}; return f(all, 3); }
int visit_to_null(int (*f)(item **all)) { item a = {1}, b = {2}; item *all[] = {&a, &b, 0}; return f(all); }
int visit_named(int (*f)(int n, item *const all[])) { item a = {5}; item *all[] = {&a}; return f(1, all); }
int visit_given(item *i, int (*f)(item **all, int n)) { return f(&i, 1); }
double mean(double (*f)(const double x[], int n)) { double x[] = {1, 2, 3}; return f(x, 3); }
double rows(double (*f)(int n, const double x[][2])) { double x[][2] = {{1, 2}, {3, 4}}; return f(2, x); }
double one(double (*f)(const double x[])) { double x[] = {7}; return f(x); }
"""


def test_callbacks_get_lists_of_handles():
    lib = cwrapjit.library("t", source=ITEMS)
    lib.refine("visit", dims={"f": {"all": "n"}})
    lib.refine("visit_named", dims={"f": {"all": "n"}})
    lib.refine("visit_given", dims={"f": {"all": "n"}})
    lib.refine("visit_to_null", dims={"f": {"all": "list"}})
    kept = []

    def f(*given):
        (all_,) = [each for each in given if isinstance(each, list)]
        kept.append(all_.pop(0))
        return kept[-1].v + sum(10 * each.v for each in all_ if each is not None)

    assert [lib.visit(f), lib.visit_to_null(f), lib.visit_named(f)] == [21, 21, 5]
    for each in kept:  # C owned them
        refuses(ValueError, lambda each=each: each.v, "was freed")
    mine = lib.item(v=8)
    assert lib.visit_given(mine, f) == 8 and kept[-1].v == 8 and kept[-1] == mine
    refuses(ValueError, lambda: lib.refine("visit", dims={"f": {"all": "n, n"}}, replace=True), "lists")


def test_dims_of_callbacks_name_arrays_too():
    lib = cwrapjit.library("t", source=ITEMS)
    lib.refine("mean", dims={"f": {"x": "n"}})
    lib.refine("rows", dims={"f": {"x": "n, 2"}})
    lib.refine("one", dims={"f": {"x": ()}})
    assert lib.mean(lambda x: x.mean()) == 2
    assert lib.rows(lambda x: x[1, 0]) == 3
    assert lib.one(lambda x: x) == 7
    declared = "double rows(double (*f)(int n, const double x[][2]))"
    refuses(ValueError, lambda: lib.function(declared, dims={"f": {"x": "n, 3"}}), "declared as x[][2]")
    refuses(ValueError, lambda: lib.function(declared, dims={"f": {"n": "3"}}), "no pointer")


BY_VALUE = [
    "typedef struct { double d; int i; } s;",
    "typedef struct { char c; double d; int i; } __attribute__((packed)) s;",
    "typedef struct { int i; double d; } __attribute__((aligned(16))) s;",
    "typedef struct { float d[2]; int i; } s;",
]


@pytest.mark.compiler("passes some structs otherwise than libtcc")
@pytest.mark.parametrize("struct", BY_VALUE)
@pytest.mark.parametrize("way", ["source", "sources", "shared"])
def test_structs_by_value_go_as_the_caller_passes_them(tmp_path, way, struct):
    struct = struct.replace("float d[2]", "union { float d; float e[2]; }")
    text = struct + (
        "typedef double (*visit)(int a, s x, int b); typedef struct { visit f; } held;\n"
        "double call(visit f) { s x = {.d = 2, .i = 5}; return f(7, x, 8); }\n"
        "double call_held(held *h) { return call(h->f); }\n"
        "s made(s (*f)(s x)) { s x = {.i = 1}; return f(x); }\n"
        "static double plain(int a, s x, int b) { return a + x.d + b; } visit get(void) { return plain; }\n"
    )
    if way == "source":
        lib = cwrapjit.library("t", source=text)
    else:
        lib = from_c(text) if way == "sources" else from_shared(text, tmp_path)
        lib.declare(struct + text[len(struct) :].partition("double call(")[0])
        lib.declare("double call(visit f); double call_held(held *h); s made(s (*f)(s x)); visit get(void);")
    body = "return a + 10 * x.d + 100 * x.i + 1000 * b;"
    for f in body, lambda a, x, b: a + 10 * x.d + 100 * x.i + 1000 * b:
        assert [lib.call(f), lib.call_held(lib.held(f=f))] == [8527, 8527]
    for f in "x.d = 4; x.i++; return x;", lambda x: lib.s(d=4, i=x.i + 1):
        made = lib.made(f)
        assert (made.d, made.i) == (4, 2)
    assert lib.get()(1, lib.s(d=2.5), 3) == 6.5 and lib.call(lib.get()) == 17


KEPT = """
#include <stdlib.h>
typedef double (*of)(double); typedef struct kept { of f; int n; } kept; int live = 0;
kept *kept_new(of f) { kept *k = malloc(sizeof *k); k->f = f; live++; return k; }
void kept_free(kept *k) { live--; free(k); }
int kept_open(kept **k, of f) { *k = kept_new(f); return 0; }
void kept_fill(kept *k, of f) { k->f = f; live++; }
kept kept_value(of f) { live++; return (kept){f}; } void kept_end(kept *k) { live--; }
void kept_set(kept *k, int n, of f) { k->f = f; k->n = n; }
double kept_use(kept *k, double x) { return k->f(x); }
"""


@pytest.mark.parametrize(
    "init",
    [
        "kept *kept_new(of f)",
        "int kept_open(kept **k, of f)",
        "void kept_fill(kept *k, of f)",
        "kept kept_value(of f)",
    ],
)
def test_objects_keep_functions_that_their_methods_are_given(init):
    lib = from_c(KEPT).declare("typedef double (*of)(double); typedef struct kept { of f; int n; } kept;")
    lib.variable("int live")
    kept = lib.struct(
        "kept",
        init=(init, {"keeps": "f"}),
        free="kept_free" if "*kept" in init or "**" in init else "kept_end",
        methods=[
            ("void kept_set(kept *k, int n, of f)", {"keeps": "f"}),
            "double kept_use(kept *k, double x)",
        ],
    )
    k = kept(lambda x: 2 * x)
    gc.collect()
    assert k.use(3) == 6 and k.use(4) == 8

    def more(x: float) -> float:
        return x + 1

    gone = weakref.ref(more)
    k.set(5, more)
    del more
    gc.collect()
    assert k.use(3) == 4 and k.n == 5 and gone() is not None
    del k
    gc.collect()
    assert gone() is None and lib.live == 0
    own = from_c(KEPT).declare("typedef double (*of)(double); typedef struct kept { of f; int n; } kept;")
    said = ("kept *kept_new(of f)", {"keeps": {"library": "f"}})
    assert own.struct("kept", init=said, free="kept_free")(lambda x: x).n is not None
