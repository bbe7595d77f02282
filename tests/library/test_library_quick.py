"""Calls of numbers and instances by position go a short way.

It must refuse, keep and end what the long way does. The speed that it is there for is measured in
benchmarks/objects.py.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from leaks import keeps_nothing

import cwrapjit

pytestmark = pytest.mark.row("L14")

TEXT = """
#include <stdlib.h>
#include <Python.h>

typedef struct { double x, y; int n; } point;
typedef struct { int64_t n; double *items; } vector;
typedef struct account { double balance; } account;
int live = 0;

double point_sum(const point *p) { return p->x + p->y; }
void point_shift(point *p, double by) { p->x += by; }
double point_dot(const point *p, const point *q) { return p->x * q->x + p->y * q->y; }
account *account_open(double balance)
{
    account *opened = balance < 0 ? NULL : malloc(sizeof *opened);
    if (opened != NULL) {
        opened->balance = balance;
        live++;
    }
    return opened;
}
double account_balance(const account *a) { return a->balance; }
int account_add(account *a, double amount) { a->balance += amount; return 0; }
void account_close(account *a) { live--; free(a); }
double vector_first(vector *v) { return v->items[0]; }
int account_raise(const account *a)
{
    PyErr_SetString(PyExc_KeyError, a->balance > 0 ? "rich" : "poor");
    return 1;
}
"""


class Bank:
    def __init__(self) -> None:
        lib = self.lib = cwrapjit.library("bank", source=TEXT, gil=True)
        self.point = lib.struct("point")
        self.account = lib.handle(
            "account *", init="account *account_open(double balance)", free="account_close"
        )


@pytest.fixture
def bank() -> Bank:
    return Bank()


def by_name(function: Callable[..., Any], *args: Any) -> Any:
    """A call that goes the long way."""
    names = list(function.__signature__.parameters)  # type: ignore[attr-defined]
    return function(*args[:-1], **{names[len(args) - 1]: args[-1]})


def both_ways(function: Callable[..., Any], *args: Any) -> list[Any]:
    return [function(*args), by_name(function, *args)]


def test_both_ways_agree(bank: Bank) -> None:
    lib, p, q, a = bank.lib, bank.point(1.0, 2.0), bank.point(3.0, 4.0), bank.account(5.0)
    assert both_ways(lib.point_sum, p) == [3.0, 3.0]
    assert both_ways(lib.point_dot, p, q) == [11.0, 11.0] and both_ways(lib.point_dot, p, p) == [5.0, 5.0]
    assert both_ways(lib.account_add, a, 2) == [0, 0] and lib.account_balance(a) == 9.0
    assert both_ways(lib.point_shift, p, np.float32(0.5)) == [None, None] and p.x == 2.0


def test_both_ways_refuse_the_same(bank: Bank) -> None:
    lib, p, a = bank.lib, bank.point(1.0, 2.0), bank.account(5.0)
    closed, never = bank.account(1.0), bank.account.__new__(bank.account)
    closed.close()
    cases = [
        (lib.account_balance, (p,), TypeError),
        (lib.account_balance, (None,), TypeError),
        (lib.account_balance, (5.0,), TypeError),
        (lib.account_balance, (closed,), ValueError),
        (lib.account_balance, (never,), ValueError),
        (lib.account_add, (a, "1"), TypeError),
        (lib.account_raise, (a,), KeyError),
    ]
    for function, args, wanted in cases:
        with pytest.raises(wanted) as short:
            function(*args)
        with pytest.raises(wanted) as long:
            by_name(function, *args)
        assert str(short.value) == str(long.value)


def test_derived_classes_and_those_of_other_libraries(bank: Bank) -> None:
    class Mine(bank.account):  # type: ignore[name-defined, misc]
        pass

    other = Bank()
    mine, theirs = Mine(3.0), other.account(4.0)
    assert bank.lib.account_balance(mine) == 3.0
    assert bank.lib.account_balance(theirs) == 4.0 and other.lib.account_balance(mine) == 3.0


def test_instances_are_kept_while_c_has_them() -> None:
    lib = cwrapjit.library(
        "slow",
        source="""
        #include <unistd.h>
        typedef struct { volatile int go; double value; volatile int begun; } box;
        double wait_for(const box *b)
        {
            ((box *)b)->begun = 1;
            while (!b->go)
                usleep(1000);
            return b->value;
        }
        """,
    )
    box = lib.struct("box")
    b, results = box(0, 7.0, 0), []
    thread = threading.Thread(target=lambda: results.append(lib.wait_for(b)))
    thread.start()
    while not b.begun:
        time.sleep(0.001)
    refuses(RuntimeError, b.close, "a call is using this box")
    b.go = 1
    thread.join()
    assert results == [7.0]
    b.close()


def test_numbers_that_free_an_instance(bank: Bank) -> None:
    a = bank.account(1.0)

    class Acting(np.int64):
        def __index__(self) -> int:
            a.close()
            return 3

    count = bank.lib.function("int account_add(account *a, int64_t amount)", name="count")
    refuses(ValueError, lambda: count(a, Acting(1)), "was freed")
    assert bank.lib.live == 0


def test_numbers_are_asked_once(bank: Bank) -> None:
    asked = []

    class Asked(np.int64):
        def __index__(self) -> int:
            asked.append(1)
            return 3

    count = bank.lib.function("int account_add(account *a, int64_t amount)", name="count")
    refuses(TypeError, lambda: count(bank.point(1.0), Asked(1)), "type account for argument a, got point")
    assert len(asked) == 1
    assert count(bank.account(1.0), Asked(1)) == 0 and len(asked) == 2


def test_initialisers_take_over_and_end_once(bank: Bank) -> None:
    made = [bank.account(float(i)) for i in range(50)]
    assert bank.lib.live == 50 and [bank.lib.account_balance(a) for a in made] == [*range(50)]
    refuses(RuntimeError, lambda: bank.account(-1.0), "account was made: the initialiser returned None")
    refuses(TypeError, lambda: made[0].__init__(1.0), "is initialised already")
    refuses(TypeError, lambda: bank.account.__init__(3, 1.0), "wanted an instance to initialise, got int")
    refuses(TypeError, lambda: bank.account(), "balance")
    refuses(TypeError, lambda: bank.account(1.0, balances=1.0), "balances")
    made.clear()
    gc.collect()
    assert bank.lib.live == 0
    assert bank.lib.account_balance(bank.account(balance=2.0)) == 2.0


@pytest.mark.leak
def test_calls_and_instances_keep_nothing(bank: Bank) -> None:
    lib, p, a = bank.lib, bank.point(1.0, 2.0), bank.account(5.0)

    def work() -> None:
        lib.point_dot(p, p)
        lib.account_add(a, 1.0)
        bank.account(2.0)
        refuses(KeyError, lambda: lib.account_raise(a), "rich")
        refuses(RuntimeError, lambda: bank.account(-1.0), "account was made")

    keeps_nothing(work, watched=(p, a))
