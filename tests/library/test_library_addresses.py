"""Members that point to memory of unknown extent take arrays, buffers and Pointers, and keep them."""

from __future__ import annotations

import gc
import os
import random
import weakref

import numpy as np
import pytest
from leaks import keeps_nothing
from library_tools import from_c

import cwrapjit

SEEDS = int(os.environ.get("CWRAPJIT_LIBRARY_SEEDS", "10"))

TYPES = """
struct job { const double *x; double *y; unsigned char *bytes; const void *any;
             int64_t n; struct job *next; };
union either { double *x; struct job *job; const double *z; };
"""
CODE = (
    TYPES
    + r"""
static double sum(const double *x, int64_t n) { double s = 0; while (n-- > 0) s += *x++; return s; }
double total(const struct job *j) { return (j->x ? sum(j->x, j->n) : 0) + (j->y ? sum(j->y, j->n) : 0); }
void advance(struct job *j) { j->x++; j->bytes++; j->n--; }
int first(const struct job *j) { return j->bytes[0]; }
"""
)


def jobs():
    lib = from_c(CODE)
    lib.declare(
        TYPES
        + "double total(const struct job *j); void advance(struct job *j); int first(const struct job *j);"
    )
    return lib


@pytest.mark.row("L04")
def test_pointer_members_keep_what_they_are_given():
    lib = jobs()
    x, text = np.arange(3.0), bytearray(b"abc")
    job = lib.job(x=x, bytes=text, n=3)
    assert lib.total(job) == 3.0 and lib.first(job) == ord("a")
    assert job.x is x and job.bytes is text and job.y is None and job.any is None
    assert {id(each) for each in job.referenced_objects} == {id(x), id(text)}
    with pytest.raises(BufferError):
        text.append(1)
    pointer = job.y = cwrapjit.Pointer(np.ones(3))
    assert job.y is pointer and lib.total(job) == 6.0
    job.bytes = job.any = None
    text.append(1)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is not None and lib.total(job) == 6.0
    job.x = None
    gc.collect()
    assert alive() is None and lib.total(job) == 3.0


@pytest.mark.row("L04")
def test_pointers_that_c_moves():
    lib = jobs()
    x = np.arange(3.0)
    job = lib.job(x=x, bytes=bytearray(b"abc"), n=3)
    lib.advance(job)
    moved = job.x
    assert type(moved) is cwrapjit.Pointer and moved.address == x.ctypes.data + 8 and moved.readonly
    assert moved.item == "float64" and lib.total(job) == 3.0 and not job.bytes.readonly
    other = lib.job(x=moved, n=1)
    job.x = None
    del job, moved
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is not None and lib.total(other) == 1.0


@pytest.mark.quick
def test_what_is_no_memory_for_the_member():
    lib = jobs()
    job = lib.job()
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    job.x = read_only
    for name, value, error, text in (
        ("x", 3, TypeError, "type Pointer, array, buffer or None for attribute x, got int"),
        ("x", np.zeros(3, "f4"), TypeError, "wanted a pointer to float64, got one to float32"),
        ("x", np.zeros(6)[::2], TypeError, "contiguous"),
        ("y", read_only, ValueError, "attribute y of struct job: this memory is read-only"),
        ("bytes", b"abc", ValueError, "read-only"),
        ("any", np.array([None]), TypeError, "objects"),
        ("any", [1.0], TypeError, "got list"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            setattr(job, name, value)
    assert job.x is read_only and job.y is None and job.any is None
    job.any = b"abc"
    assert job.any == b"abc"


@pytest.mark.quick
def test_unions_of_pointers():
    """What another member keeps under the same address is none of this one's."""
    lib = jobs()
    lib.struct("union either")
    u, job = lib.either(), lib.job(n=1)
    u.job = job
    assert type(u.x) is cwrapjit.Pointer
    x = u.x = np.ones(3)
    assert u.x is x and len(u.referenced_objects) == 1
    other = np.zeros(1)
    u = lib.either(x=x, z=other)
    assert u.x is u.z is other and x.tolist() == [1.0] * 3


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_programs(seed):
    """Whatever is assigned, copied and dropped: C sees what Python believes it sees."""
    rng, lib = random.Random(seed), jobs()
    live = [(lib.job(n=0), None)]
    for _ in range(60):
        k = rng.randrange(len(live))
        job, x = live[k]
        what = rng.randrange(6)
        if what == 0:
            x = np.arange(float(rng.randrange(1, 9)))
            job.x, job.n = rng.choice((x, cwrapjit.Pointer(x))), len(x)
            live[k] = job, x.tolist()
        elif what == 1:
            job.x = None
            live[k] = job, None
        elif what == 2:
            live.append((lib.job(x=job.x, n=job.n), x))
        elif what == 3 and x and len(x) > 1:
            job.bytes = bytearray(9)
            lib.advance(job)
            live[k] = job, x[1:]
        elif what == 4 and len(live) > 1:
            del live[k]
        else:
            job.next = live[rng.randrange(len(live))][0]
        del job
        if rng.random() < 0.2:
            gc.collect()
        for each, numbers in live:
            assert lib.total(each) == sum(numbers or ())


@pytest.mark.leak
def test_nothing_is_kept():
    lib = jobs()

    def use():
        job = lib.job(x=np.zeros(1000), bytes=bytearray(1000), n=3)
        lib.advance(job)
        job.next = lib.job(x=job.x, any=job.bytes)
        job.x = cwrapjit.Pointer(np.zeros(100))
        with pytest.raises(TypeError):
            job.x = 3
        with pytest.raises(ValueError):
            job.bytes = b"abc"

    keeps_nothing(use)
