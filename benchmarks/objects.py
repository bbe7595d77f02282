"""Structs and handles of libraries: the cost of calls with them, and of making and ending an object.

All is measured against cffi's API mode. Both libraries are built from one C text, with the same flags.
cffi's objects are ended by ffi.gc(), as usual; cffi has no methods, so a method in Python is compared with
the plain function.
"""

import sys
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import _common as common
import _native as native
import _race as race

import cwrapjit

TYPES = "typedef struct { double x, y; int n; } point;\ntypedef struct account account;\n"
FUNCTIONS = """
double point_sum(const point *p);
void point_shift(point *p, double by);
account *account_open(double balance);
double account_balance(const account *a);
int account_add(account *a, double amount);
void account_close(account *a);
"""
TEXT = (
    "#include <stdlib.h>\n"
    + TYPES
    + """
struct account { double balance; };
double point_sum(const point *p) { return p->x + p->y; }
void point_shift(point *p, double by) { p->x += by; }
account *account_open(double balance)
{
    account *opened = malloc(sizeof *opened);
    opened->balance = balance;
    return opened;
}
double account_balance(const account *a) { return a->balance; }
int account_add(account *a, double amount) { a->balance += amount; return 0; }
void account_close(account *a) { free(a); }
"""
)
FLAGS = ("-O2",)
BUDGET_S = 3.0
CASES = {
    "double f(const point *)": 1.0,
    "void f(point *, double)": 1.0,
    "double f(const account *)": 1.0,
    "method: int add(account *, double)": 1.0,
    "make an account and end it": 1.0,
    "make a point of three members": 1.0,
    "read a member": 1.0,
}


def by_cwrapjit(path: Path) -> list[Callable[[], Any]]:
    lib = cwrapjit.library("objects", path, header=TYPES)
    point = lib.struct("point")
    account = lib.handle(
        "account *",
        init="account *account_open(double balance)",
        free="account_close",
        methods=["int account_add(account *a, double amount)"],
    )
    add_up = lib.function("double point_sum(const point *p)")
    shift = lib.function("void point_shift(point *p, double by)")
    balance = lib.function("double account_balance(const account *a)")
    p, a = point(1.0, 2.0, 3), account(5.0)
    return [
        lambda: add_up(p),
        lambda: shift(p, 0.0),
        lambda: balance(a),
        lambda: a.add(0.0),
        lambda: account(5.0) and None,
        lambda: point(1.0, 2.0, 3) and None,
        lambda: p.x,
    ]


def by_cffi(cffi: Any, folder: Path) -> list[Callable[[], Any]]:
    builder = cffi.FFI()
    builder.cdef(TYPES + FUNCTIONS)
    builder.set_source("_bench_objects", TEXT, extra_compile_args=list(FLAGS))
    spec = util.spec_from_file_location("_bench_objects", builder.compile(tmpdir=str(folder)))
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lib, new, gc = module.lib, module.ffi.new, module.ffi.gc
    add_up, shift, balance, add = lib.point_sum, lib.point_shift, lib.account_balance, lib.account_add
    make, end = lib.account_open, lib.account_close
    p, a = new("point *", (1.0, 2.0, 3)), gc(make(5.0), end)
    return [
        lambda: add_up(p),
        lambda: shift(p, 0.0),
        lambda: balance(a),
        lambda: add(a, 0.0),
        lambda: gc(make(5.0), end) and None,
        lambda: new("point *", (1.0, 2.0, 3)) and None,
        lambda: p.x,
    ]


def ten(action: Callable[[], Any]) -> Callable[[], None]:
    def repeated() -> None:  # one loop of ours around ten calls: its cost stays out of the ratios
        action(), action(), action(), action(), action()
        action(), action(), action(), action(), action()

    return repeated


def measure(
    case: str, ours: Callable[[], Any], theirs: Callable[[], Any] | None, quick: bool
) -> dict[str, float]:
    """Median seconds of one action, above that of an empty one, which all contenders share."""
    actions = {"nothing": ten(lambda: None), "cwrapjit": ten(ours)}
    if theirs is not None:
        if ours() != theirs():
            raise SystemExit(f"{case}: {ours()} and {theirs()}")
        actions["cffi, API mode"] = ten(theirs)
    medians = race.medians(race.race(actions, BUDGET_S, quick))
    empty = medians.pop("nothing")
    return {name: (value - empty) / 10 for name, value in medians.items()}


def main() -> int:
    given = common.arguments("Structs and handles of libraries.")
    cffi = common.optional("cffi")
    with common.scratch() as scratch:
        folder = Path(scratch)
        ours = by_cwrapjit(native.build(TEXT, "bench_objects", FLAGS, folder))
        theirs = by_cffi(cffi, folder) if cffi is not None else [None] * len(CASES)
        measured = {
            case: measure(case, *pair, given.quick)
            for case, pair in zip(CASES, zip(ours, theirs, strict=True), strict=True)
        }
    rows, shown = [], []
    for case, wanted in CASES.items():
        own, other = measured[case]["cwrapjit"], measured[case].get("cffi, API mode")
        figure = f"{case}: cwrapjit / cffi, API mode"
        share = own / other if other else None
        rows.append(
            common.target(figure, f"<= {wanted:g}", share, share <= wanted)
            if share is not None
            else common.target(figure, f"<= {wanted:g}", "no cffi", None)
        )
        shown.append((case, f"{1e9 * own:.0f}", f"{1e9 * other:.0f}" if other else "", f"{share or 0:.2f}"))
    common.table(
        "Calls with structs and handles, above an empty lambda",
        ("", "cwrapjit ns", "cffi, API mode ns", "ratio"),
        shown,
    )
    common.print_targets(rows, given)
    common.save("objects", {"median_s": measured, "targets": rows}, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
