"""Tests Fortran: bind(c) routines with C declarations, and ordinary routines with their interface."""

from __future__ import annotations

import gc
import inspect
import shutil
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers import refuses, run_quietly, same
from hypothesis import example, given, settings
from leaks import keeps_nothing

import cwrapjit
from cwrapjit.library import fortran_parse

GFORTRAN = shutil.which("gfortran")
needs_gfortran = pytest.mark.skipif(
    GFORTRAN is None, reason="no gfortran on this machine (apt install gfortran)"
)

BIND_C = """
module routines
  use iso_c_binding
  implicit none
contains
  subroutine scale(n, x) bind(c)
    integer(c_int), value :: n
    real(c_double), intent(inout) :: x(n)
    x = 2 * x
  end subroutine
  subroutine row_sums(m, n, a, s) bind(c)
    integer(c_int), value :: m, n
    real(c_double), intent(in) :: a(m, n)
    real(c_double), intent(out) :: s(m)
    s = sum(a, dim=2)
  end subroutine
  function strided_sum(n, stride, x) bind(c) result(s)
    integer(c_long_long), value :: n, stride
    real(c_double), intent(in) :: x(*)
    real(c_double) :: s
    integer(c_long_long) :: i
    s = 0
    do i = 0, n - 1
      s = s + x(1 + i * stride)
    end do
  end function
  function shifted(x, by) bind(c) result(y)
    real(c_double), value :: x
    real(c_double), intent(in), optional :: by
    real(c_double) :: y
    y = x + 3
    if (present(by)) y = x + by
  end function
  subroutine squares(n, data, length) bind(c)
    integer(c_int), value :: n
    type(c_ptr), intent(out) :: data
    integer(c_long_long), intent(out) :: length
    integer(c_long_long), pointer :: made(:)
    integer(c_int) :: i
    allocate(made(n))
    made = [(int(i, c_long_long)**2, i = 1, n)]
    data = c_loc(made)
    length = n
  end subroutine
  subroutine release(data) bind(c)
    type(c_ptr), value :: data
    integer(c_long_long), pointer :: made
    call c_f_pointer(data, made)
    deallocate(made)
  end subroutine
end module
"""


def build_shared(source: str, folder: Path, name: str) -> Path:
    """Compiles Fortran text to a shared object, with its .mod files in the same folder."""
    assert GFORTRAN is not None
    (folder / f"{name}.f90").write_text(source)
    made = folder / f"lib{name}.so"
    command = [GFORTRAN, "-shared", "-fPIC", f"-J{folder}", f"{name}.f90", "-o", str(made)]
    subprocess.run(command, cwd=folder, check=True, timeout=600, capture_output=True)
    return made


@pytest.fixture(scope="module")
def bound(tmp_path_factory) -> Any:
    if GFORTRAN is None:
        pytest.skip("no gfortran on this machine (apt install gfortran)")
    return cwrapjit.library("bound", build_shared(BIND_C, tmp_path_factory.mktemp("bound"), "bound"))


@pytest.mark.row("F01")
def test_bind_c_routines(bound):
    """C declares the routines; an interface with bind(c) does the same, and needs no module."""
    scale, x = bound.function("void scale(int n, double x[n])"), np.arange(4.0)
    assert scale(x) is None
    assert x.tolist() == [0, 2, 4, 6]
    text = 'real(c_double) function other(x, by) bind(c, name="shifted")\n real(c_double), value :: x\n'
    other = bound.fortran(text + " real(c_double), intent(in), optional :: by\nend function")
    assert (other(1.0), other(1.0, by=1.0)) == (4, 2)
    text = "subroutine scale(n, x) bind(c)\n use iso_c_binding\n integer(c_int), value :: n\n"
    bound.fortran(text + " real(c_double), intent(inout) :: x(n)\nend subroutine", name="again")(x)
    assert x.tolist() == [0, 4, 8, 12]


@pytest.mark.row("F01")
def test_rank_two_is_fortran_ordered(bound):
    declaration = "void row_sums(int m, int n, const double a[m][n], double s[m])"
    row_sums = bound.function(declaration, out="s", order="F")
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert row_sums(a).tolist() == [3, 12]
    refuses(TypeError, lambda: row_sums(np.ascontiguousarray(a)), "argument a", "order")


@pytest.mark.row("F01")
def test_a_strided_view_is_passed_with_its_stride(bound):
    declaration = "double strided_sum(long long n, long long stride, const double x[n])"
    total = bound.function(declaration, strides={"stride": ("x", "first")})
    x = np.arange(10.0)
    assert total(x[1::2]) == 25
    assert total(x[::-3]) == 18
    assert total(x[:0]) == 0


@pytest.mark.row("F01")
def test_an_absent_optional_is_null(bound):
    shifted = bound.function("double shifted(double x, const double *by)", optional="by")
    assert shifted(1.0) == 4
    assert shifted(1.0, None) == 4
    assert shifted(1.0, 0.0) == 1
    assert shifted(x=1.0, by=10.0) == 11


@pytest.mark.row("F01")
def test_a_result_through_a_pointer_to_a_pointer(bound):
    declaration = "void squares(int n, long long **data, long long *length)"
    squares = bound.function(declaration, returns=("length", "callee", "release"))
    assert same(squares(4), np.array([1, 4, 9, 16]))
    assert squares(0).shape == (0,)


# Ordinary routines.

ORDINARY = """
module ordinary
  implicit none
  integer, parameter :: dp = kind(1d0)
  integer :: counter = 3
  logical :: loud = .true.
  real(dp), allocatable :: grid(:, :)
  real(dp), protected :: fixed = 1.5_dp
  integer, private :: secret = 7
  type :: point
    real(dp) :: x = 0, y = 0
    integer :: tag = -1
    real(dp), allocatable :: trace(:)
  contains
    procedure :: shift => shift_point
    procedure :: norm => norm_of_point
  end type
  type(point) :: origin
contains
  real(dp) function total(x)
    real(dp), intent(in) :: x(:)
    total = sum(x)
  end function
  subroutine number_cells(x)
    integer, intent(inout) :: x(:, :, :)
    integer :: i, j, k
    do k = 1, size(x, 3); do j = 1, size(x, 2); do i = 1, size(x, 1)
      x(i, j, k) = i + 10 * j + 100 * k
    end do; end do; end do
  end subroutine
  real(dp) function weighted(x, w)
    real(dp), intent(in) :: x(:)
    real(dp), intent(in), optional :: w(:)
    weighted = sum(x)
    if (present(w)) weighted = sum(x * w)
  end function
  function first_squares(n) result(p)
    integer, intent(in) :: n
    integer, allocatable :: p(:)
    integer :: i
    p = [(i * i, i = 1, n)]
  end function
  subroutine table(x, rows)
    real(dp), intent(in) :: x(:)
    real(dp), allocatable, intent(out) :: rows(:, :)
    allocate(rows(2, size(x)))
    rows(1, :) = x
    rows(2, :) = -x
  end subroutine
  subroutine perhaps(n, p)
    integer, intent(in) :: n
    integer, allocatable, intent(out) :: p(:)
    if (n >= 0) allocate(p(n), source=n)
  end subroutine
  subroutine product(m, n, k, a, b, c, info)
    integer, intent(in) :: m, n, k
    real(dp), intent(in) :: a(m, k), b(k, n)
    real(dp), intent(out) :: c(m, n)
    integer, intent(out) :: info
    c = matmul(a, b)
    info = k
  end subroutine
  function diagonal(x) result(d)
    real(dp), intent(in) :: x(:)
    real(dp) :: d(size(x), size(x) + 1)
    integer :: i
    d = 0
    do i = 1, size(x)
      d(i, i) = x(i)
    end do
  end function
  logical function is_even(n, inverted)
    integer, value :: n
    logical, intent(in), optional :: inverted
    is_even = mod(n, 2) == 0
    if (present(inverted)) is_even = is_even .neqv. inverted
  end function
  complex(dp) function rotated(z)
    complex(dp), intent(in) :: z
    rotated = z * (0, 1)
  end function
  integer function vowels(text)
    character(len=*), intent(in) :: text
    integer :: i
    vowels = 0
    do i = 1, len(text)
      if (index("aeiou", text(i:i)) > 0) vowels = vowels + 1
    end do
  end function
  subroutine names(self, args, from, lambda, kwlist, size, r)
    integer, intent(in) :: self, args, from, lambda, kwlist, size
    integer, intent(out) :: r
    r = self + 10 * args + 100 * from + 1000 * lambda + 10000 * kwlist + 100000 * size
  end subroutine
  subroutine make_grid(m, n)
    integer, intent(in) :: m, n
    if (allocated(grid)) deallocate(grid)
    allocate(grid(m, n))
    grid = 0
    counter = counter + 1
  end subroutine
  real(dp) function grid_sum()
    grid_sum = sum(grid)
  end function
  subroutine shift_point(self, dx, dy)
    class(point), intent(inout) :: self
    real(dp), intent(in) :: dx
    real(dp), intent(in), optional :: dy
    self%x = self%x + dx
    if (present(dy)) self%y = self%y + dy
  end subroutine
  real(dp) function norm_of_point(self)
    class(point), intent(in) :: self
    norm_of_point = hypot(self%x, self%y)
  end function
  function traced(x) result(p)
    real(dp), intent(in) :: x
    type(point) :: p
    p%x = x
    p%trace = [x, 2 * x]
  end function
  real(dp) function applied(f, x)
    interface
      real(kind(1d0)) function f(x)
        real(kind(1d0)), intent(in) :: x
      end function
    end interface
    real(dp), intent(in) :: x
    applied = f(x)
  end function
end module
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> Path:
    if GFORTRAN is None:
        pytest.skip("no gfortran on this machine (apt install gfortran)")
    return build_shared(ORDINARY, tmp_path_factory.mktemp("ordinary"), "ordinary")


@pytest.fixture(scope="module")
def ordinary(compiled) -> Any:
    lib = cwrapjit.library("ordinary", compiled, include_dirs=[compiled.parent])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lib.fortran(ORDINARY)
    return lib


@pytest.mark.row("F02")
def test_an_assumed_shape_sum_over_a_strided_view(compiled):
    lib = cwrapjit.library("one", compiled, include_dirs=[compiled.parent])
    declaration = "real(8) function total(x)\n  real(8), intent(in) :: x(:)\nend function"
    total = lib.fortran(declaration, module="ordinary", doc="Adds up.")
    x = np.arange(10.0)
    assert total(x[1::2]) == 25
    assert total(x[::-3]) == 18
    assert total(x) == lib.total(x) == 45
    assert total(x[:0]) == 0
    assert total.__name__ == "total"
    assert total.__doc__ == "Adds up."


@pytest.mark.row("F02")
def test_no_compiler_is_a_clear_error(monkeypatch, tmp_path):
    lib, text = cwrapjit.library("none"), "subroutine f()\nend"
    monkeypatch.delenv("CWRAPJIT_FC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    refuses(RuntimeError, lambda: lib.fortran(text), "no Fortran compiler", "gfortran", "CWRAPJIT_FC")
    monkeypatch.setenv("CWRAPJIT_FC", "no-such-fortran -O3")
    refuses(RuntimeError, lambda: lib.fortran(text), "no-such-fortran")


@pytest.mark.row("F02")
def test_an_absent_optional_array_is_absent(ordinary):
    x = np.arange(4.0)
    assert ordinary.weighted(x) == 6
    assert ordinary.weighted(x, None) == 6
    assert ordinary.weighted(x, x[::-1]) == 4
    assert ordinary.weighted(w=np.zeros(4), x=x) == 0


@pytest.mark.row("F02")
def test_allocatable_results_are_given_to_numpy(ordinary):
    r = ordinary.first_squares(4)
    assert same(r, np.array([1, 4, 9, 16], np.int32)) and type(r.base).__name__ == "PyCapsule"
    t = ordinary.table(np.arange(3.0))
    assert t.tolist() == [[0, 1, 2], [0, -1, -2]] and t.flags.f_contiguous
    assert ordinary.table(np.arange(0.0)).shape == (2, 0)
    assert ordinary.first_squares(0).shape == (0,)
    assert ordinary.perhaps(2).tolist() == [2, 2]
    refuses(RuntimeError, lambda: ordinary.perhaps(-1), "perhaps", "NULL")


@pytest.mark.row("F02")
def test_variables_of_a_module_are_live(ordinary):
    before = ordinary.counter
    assert isinstance(before, int)
    assert ordinary.grid is None or ordinary.grid.ndim == 2
    ordinary.make_grid(2, 3)
    assert ordinary.counter == before + 1
    ordinary.counter = 10
    ordinary.make_grid(2, 3)
    assert ordinary.counter == 11
    ordinary.counter = before
    assert ordinary.grid.shape == (2, 3)
    ordinary.grid[1, 2] = 5
    assert ordinary.grid_sum() == 5
    assert ordinary.loud is True
    ordinary.loud = False
    assert ordinary.loud is False
    refuses(TypeError, lambda: setattr(ordinary, "counter", "three"), "counter, got str")
    refuses(AttributeError, lambda: setattr(ordinary, "grid", np.ones((2, 3))), "reallocate")
    assert ordinary.fixed == 1.5
    refuses(AttributeError, lambda: setattr(ordinary, "fixed", 2.0), "protected")
    refuses(AttributeError, lambda: ordinary.secret, "secret")


@pytest.mark.row("F02")
def test_a_derived_type_is_a_class(ordinary):
    p = ordinary.point(3.0, y=4.0)
    assert (p.x, p.y, p.tag) == (3, 4, -1)
    assert p.norm() == 5
    assert p.shift(1.0) is None
    p.shift(1.0, dy=-4.0)
    assert (p.x, p.y) == (5, 0)
    p.tag = 8
    assert p.tag == 8
    assert p.trace is None
    q = ordinary.traced(2.0)
    assert isinstance(q, ordinary.point)
    trace = q.trace
    del q
    gc.collect()
    assert trace.tolist() == [2, 4]
    assert ordinary.norm_of_point(p) == 5
    ordinary.origin.x = 7.0
    assert ordinary.origin.x == 7
    refuses(TypeError, lambda: setattr(p, "x", "a"), "for x, got str")
    refuses(TypeError, lambda: ordinary.norm_of_point(object()), "type point", "got object")
    refuses(TypeError, lambda: ordinary.point(1.0, x=2.0), "component 'x'")


AXIS = st.tuples(st.integers(0, 4), st.integers(0, 2), st.sampled_from([-3, -2, -1, 1, 2, 3]))


@pytest.mark.quick
@settings(max_examples=60)
@given(st.lists(AXIS, min_size=3, max_size=3))
def test_any_section_is_taken(ordinary, axes):
    whole = np.full([first + 3 * length + 1 for length, first, _ in axes], -1, np.int32, order="F")
    view = whole[tuple(slice(first, None) for _, first, _ in axes)]
    view = view[tuple(slice(None, None, step) for *_, step in axes)]
    view = view[tuple(slice(length) for length, *_ in axes)]
    ordinary.number_cells(view)
    i, j, k = np.indices(view.shape) + 1
    np.testing.assert_array_equal(view, i + 10 * j + 100 * k)
    assert (whole == -1).sum() == whole.size - view.size


@pytest.mark.leak
def test_nothing_leaks(ordinary):
    x = np.ones(20_000)
    keeps_nothing(lambda: ordinary.table(x), watched=(x,))
    keeps_nothing(lambda: (ordinary.traced(1.0), ordinary.point(1.0)), 500)


@pytest.mark.quick
def test_other_layouts_are_refused(ordinary):
    x = np.zeros((3, 4, 2), np.int32)
    refuses(TypeError, lambda: ordinary.number_cells(x), "number_cells", "argument x", "F-ordered")
    assert not x.any()
    wrong = np.zeros((3, 4, 2), order="F")
    refuses(TypeError, lambda: ordinary.number_cells(wrong), "argument x", "float64, not int32")
    refuses(TypeError, lambda: ordinary.total(np.broadcast_to(1.0, 3)), "argument x", "broadcast")


def test_explicit_shapes_hide_sizes(ordinary):
    a, b = np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.asfortranarray(np.arange(12.0).reshape(3, 4))
    c, info = ordinary.product(a, b)
    np.testing.assert_array_equal(c, a @ b)
    assert c.flags.f_contiguous
    assert info == 3
    refuses(ValueError, lambda: ordinary.product(a, b[:2].copy(order="F")), "argument b is 2", "must be 3 (k")
    np.testing.assert_array_equal(ordinary.diagonal(np.arange(3.0)), np.eye(3, 4) * np.arange(3.0)[:, None])


def test_scalars_of_all_kinds(ordinary):
    assert ordinary.is_even(4) is True
    assert ordinary.is_even(4, True) is False
    assert ordinary.is_even(4, False) is True
    assert ordinary.rotated(1 + 2j) == -2 + 1j
    assert ordinary.vowels("education") == 5
    assert ordinary.vowels("") == 0
    assert ordinary.names(1, 2, 3, 4, 5, 6) == 654321
    assert ordinary.names(1, args=2, from_=3, lambda_=4, kwlist=5, size=6) == 654321
    assert list(inspect.signature(ordinary.names).parameters)[:3] == ["self", "args", "from_"]
    assert ordinary.names.__doc__ == "subroutine names(self, args, from, lambda, kwlist, size, r)"


def test_callbacks_are_refused(compiled):
    lib = cwrapjit.library("callbacks", compiled, include_dirs=[compiled.parent])
    text = "real(8) function applied(f, x)\n  real(8), external :: f\n  real(8), intent(in) :: x\nend"
    with pytest.warns(UserWarning, match="applied"):
        applied = lib.fortran(text, module="ordinary")
    refuses(NotImplementedError, lambda: applied(len, 1.0), "applied")


@needs_gfortran
def test_an_external_routine_needs_no_module(tmp_path):
    source = "subroutine axpy(n, a, x, y)\n integer n\n double precision a, x(n), y(n)\n y = y + a*x\nend\n"
    lib = cwrapjit.library("external", build_shared(source, tmp_path, "external"))
    axpy = lib.fortran(
        "subroutine axpy(n, a, x, y)\n integer n\n double precision a, x(n), y(n)\nend", defaults={"a": 1.0}
    )
    x, y = np.arange(3.0), np.ones(3)
    axpy(x, y)
    axpy(x, y, a=2.0)
    assert y.tolist() == [1, 4, 7]
    refuses(ValueError, lambda: axpy(x, np.ones(4)), "argument y is 4", "must be 3 (n")
    refuses(AttributeError, lambda: lib.fortran("subroutine absent(x)\n real :: x\nend"), "absent_")


SEED = """
module tmp
  use, intrinsic :: ISO_C_Binding, only : b4 => C_BOOL , f64 => C_DOUBLE &
        , i64 => C_INT64_T
  implicit none
  integer(i64), bind(c) :: n
  real(f64), allocatable, target :: x(:)
  logical(b4), private :: initialised = .False._b4
contains
!........................................
  subroutine tmp__init()
    implicit none
    n = 6_i64
    if (.not. initialised) allocate(x(0:n - 1_i64))
    initialised = .True._b4
  end subroutine tmp__init
  subroutine tmp__free()
    if (allocated(x)) deallocate(x)
    initialised = .False._b4
  end subroutine tmp__free
  subroutine f2(x, Out_0001)
    integer(i64), allocatable, intent(out) :: Out_0001(:)
    integer(i64), intent(in) :: x(0:)
    allocate(Out_0001(0:size(x, kind=i64) - 1_i64))
    Out_0001 = x + 3_i64
    return
  end subroutine f2
  function f3(x, z) result(Out_0001)
    integer(i64) :: Out_0001
    integer(i64), optional, value :: x
    real(f64), optional, value :: z
    Out_0001 = 2_i64
    if (present(x)) Out_0001 = x + 3_i64
    if (present(z)) Out_0001 = Out_0001 + 100 * nint(z)
  end function f3
  subroutine f4(x, Out_0001)
    real(f64), allocatable, intent(out) :: Out_0001(:)
    real(f64), optional, intent(in) :: x(0:)
    if (present(x)) then
      Out_0001 = x + 3_i64
    else
      allocate(Out_0001(0:2_i64), source=1.0_f64)
    end if
  end subroutine f4
end module tmp
"""


@needs_gfortran
def test_an_array_keeps_its_library_in_memory(tmp_path):
    source = "module kept\n real(8) :: x(1000) = 1\nend module"
    lib = cwrapjit.library("kept", build_shared(source, tmp_path, "kept"), include_dirs=[tmp_path])
    lib.fortran(source)
    x = lib.x
    del lib
    gc.collect()
    assert x.sum() == 1000


@needs_gfortran
@pytest.mark.row("F02")
def test_the_seeds_own_examples(tmp_path):
    lib = cwrapjit.library("tmp", build_shared(SEED, tmp_path, "tmp"), include_dirs=[tmp_path])
    lib.fortran(SEED)
    assert lib.unmapped == {}
    assert lib.x is None
    lib.tmp__init()
    assert (lib.n, lib.x.shape, lib.x.dtype) == (6, (6,), np.float64)
    lib.tmp__free()
    assert lib.x is None
    refuses(AttributeError, lambda: lib.initialised, "initialised")
    assert lib.f2(np.array([1, 2, 3])).tolist() == [4, 5, 6]
    assert (lib.f3(), lib.f3(None), lib.f3(0), lib.f3(z=1.0), lib.f3(1, 2.0)) == (2, 2, 3, 102, 204)
    assert [lib.f4().tolist(), lib.f4(None).tolist()] == [[1, 1, 1]] * 2
    assert lib.f4(np.arange(4.0)[::2]).tolist() == [3, 5]


@needs_gfortran
def test_the_shape_of_what_is_only_written_can_be_said(tmp_path):
    source = """module ramps
    contains
    subroutine ramp(x, y)
      real, intent(in) :: x(:)
      real, intent(out) :: y(:)
      y = x(size(x):1:-1)
    end subroutine
    end module"""
    lib = cwrapjit.library("ramps", build_shared(source, tmp_path, "ramps"), include_dirs=[tmp_path])
    in_place = lib.fortran(source, name="in_place")
    made = lib.fortran(source, name="made", shapes={"y": "size(x)"})
    x, y = np.arange(3, dtype=np.float32), np.zeros(6, np.float32)
    assert in_place(x, y[::2]) is None
    assert y.tolist() == [2, 0, 1, 0, 0, 0]
    assert made(x).tolist() == [2, 1, 0]
    refuses(TypeError, lambda: lib.fortran(source, shapes={"z": "3"}), "ramp", "'z'")


@needs_gfortran
def test_an_assumed_size_needs_a_shape(tmp_path):
    text = """subroutine double_all(n, x)
      integer n
      double precision x(*)
      x(1:n) = 2*x(1:n)
    end"""
    lib = cwrapjit.library("sizes", build_shared(text, tmp_path, "sizes"))
    refuses(NotImplementedError, lambda: lib.fortran(text), "x: ", "shapes=", "unsafe=True")
    double_all = lib.fortran(text, shapes={"x": "n"})
    x = np.ones(3)
    double_all(x)
    assert x.tolist() == [2, 2, 2]
    lib.fortran(text, unsafe=True)(2, x)
    assert x.tolist() == [4, 4, 2]


FIXED = """\
C     In the manner of 1978: columns, types by first letters, sizes behind a star.
      SUBROUTINE DAXPBY(N, A, X,
     $                  INCX, B, Y)
      IMPLICIT REAL*8 (A-H, O-Z)
      INTEGER*4 N
      DIMENSION X(*), Y(N)
      DO 10 I = 1, N
         Y(I) = A*X(1 + (I - 1)*INCX) + B*Y(I)
   10 CONTINUE
      END
      DOUBLE PRECISION FUNCTION DFIRST(Y)
      DOUBLE PRECISION Y(3)
      DFIRST = Y(1)
      END
"""
CARDS = """\
      SUBROUTINE HALVES(X, LOW, INFO)                                   HALV0001
      DOUBLE PRECISION X, LOW                                           HALV0002
      INTEGER INFO                                                      HALV0003
      INFO = 0                                                          HALV0004
      IF (X .LT. 0) INFO = -1                                           HALV0005
      LOW = X / 2                                                       HALV0006
      END                                                               HALV0007
"""


@pytest.mark.row("F02", "L13")
@needs_gfortran
def test_fixed_form_is_read(tmp_path):
    (tmp_path / "axpby.f").write_text(FIXED)
    sources = {"sources": [tmp_path / "axpby.f"]}
    routine, function = FIXED.split("      END\n", 1)
    shapes = {"X": "1 + (N - 1)*INCX"}
    daxpby = cwrapjit.library("a").fortran(routine + "      END\n", shapes=shapes, **sources)
    dfirst = cwrapjit.library("b").fortran(function, **sources)
    x, y = np.array([1.0, -1, 2, -1, 3]), np.ones(3)
    daxpby(2.0, x, 2, 10.0, y)
    assert y.tolist() == [12, 14, 16]
    assert dfirst(y) == 12
    # The declaration names no results, but the source shows them. A status is never lost.
    (tmp_path / "halves.f").write_text(CARDS)
    halves = cwrapjit.library("halves").fortran(CARDS, sources=[tmp_path / "halves.f"])
    assert halves(3.0, 0.0, 9) == (1.5, 0)
    assert halves(-3.0, 0.0, 9) == (-1.5, -1)


@pytest.mark.row("F02")
def test_what_is_read_without_a_compiler():
    """Implicit types count in sources only. An interface block may stand alone."""
    (routine,) = fortran_parse.parse("subroutine f(x, n)\n x = n\nend", {}).routines
    assert [(each.type.base, each.type.kind) for each in routine.arguments] == [("real", 4), ("integer", 4)]
    for none in "subroutine f(x)\nend", "subroutine f(x)\nimplicit none\nx = 1\nend":
        refuses(cwrapjit.CompileError, lambda none=none: fortran_parse.parse(none, {}), "x of f has no type")
    text = "interface\n subroutine f(x)\n  real :: x\n end subroutine\nend interface\n"
    (routine,) = fortran_parse.parse(text, {}).routines
    assert (routine.name, routine.module) == ("f", "")


def test_without_fparser_the_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fparser", None)
    lib = cwrapjit.library("plain")
    refuses(ModuleNotFoundError, lambda: lib.fortran("subroutine f()\nend"), "pip install fparser")


def test_options_of_wrong_types():
    lib = cwrapjit.library("options")
    text = "subroutine f(x)\n real, intent(out) :: x\nend"
    refuses(TypeError, lambda: lib.fortran(text, out="x"), "options.fortran()", "'out'", "intent(out)")
    for option, value in {"sources": "m.f90", "flags": "-O3", "kinds": 8, "shapes": ["n"]}.items():
        refuses(TypeError, partial(lib.fortran, "subroutine f()\nend", **{option: value}), option)
    refuses(TypeError, lambda: lib.fortran(b"subroutine f()"), "str", "bytes")


@needs_gfortran
def test_sources_are_compiled_along(tmp_path):
    (tmp_path / "m.f90").write_text(ORDINARY)
    lib = cwrapjit.library("sources")
    text = "subroutine make_grid(m, n)\n integer, intent(in) :: m, n\nend\nreal(8) function grid_sum()\nend"
    made = lib.fortran(text, module="ordinary", sources=[tmp_path / "m.f90"])
    assert made == (lib.make_grid, lib.grid_sum)
    lib.make_grid(2, 2)
    assert lib.grid_sum() == 0


BAD = {
    "subroutine f(x": ("no Fortran", ":1:1"),
    "subroutine f(x)\n  real(qp) :: x\nend": ("unknown kind 'qp'", ":2:8", "kinds="),
    "subroutine f(x)\nend": ("x of f has no type", ":1:14"),
    "subroutine f(x)\n  real, intent(sideways) :: x\nend": ("no Fortran", ":2:3"),
    "hello world": ("no Fortran", ":1:1"),
    "": ("nothing is declared",),
}


def test_what_does_not_parse_says_where():
    for text, words in BAD.items():
        lib = cwrapjit.library("bad")
        refuses(cwrapjit.CompileError, partial(lib.fortran, text), "<fortran of bad>", *words)


def test_what_has_no_mapping_says_why():
    lib = cwrapjit.library("unmapped")
    for declaration, reason in (
        ("character(len=8), intent(in) :: x(3, 2)", "characters"),
        ("real, pointer :: x(:)", "pointer"),
        ("type(thing), intent(in) :: x", "thing"),
        ("real, intent(in) :: x(m)", "'m'"),
    ):
        text = f"subroutine f(x)\n  {declaration}\nend subroutine"
        refuses(NotImplementedError, partial(lib.fortran, text), "f: x: ", reason)


@needs_gfortran
def test_a_wrong_interface_is_the_compilers_error(compiled):
    lib = cwrapjit.library("wrong", compiled, include_dirs=[compiled.parent])
    text = "real(4) function total(x)\n  real(4), intent(in) :: x(:)\nend function"
    refuses(cwrapjit.CompileError, lambda: lib.fortran(text, module="ordinary"), "Type mismatch")
    refuses(cwrapjit.CompileError, lambda: lib.fortran(text, module="nowhere"), "nowhere.mod", "include_dirs")


@needs_gfortran
def test_nothing_is_left_on_the_disk(compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    lib = cwrapjit.library("clean", compiled, include_dirs=[compiled.parent])
    lib.fortran("real(8) function grid_sum()\nend", module="ordinary")
    assert list(tmp_path.iterdir()) == []


WORDS = (
    "subroutine function real(8) integer end :: ( ) , : * x n module type contains intent(in) & ! ' ;".split()
)


@settings(max_examples=40)
@given(st.lists(st.sampled_from([*WORDS, "\n", "\n"]), max_size=14))
@example(["integer", "(", "real(8)"])
@example(["type", ":", "\n", "n", "\n", "x", "subroutine", "type"])
@example(["n", ":", "end", "module", "type"])
def test_no_text_surprises_the_reader(words):
    try:
        fortran_parse.parse(" ".join(words), {})
    except cwrapjit.CompileError as error:
        assert "<fortran>:" in str(error)


@needs_gfortran
def test_characters_in_the_words_of_fortran_77(tmp_path: Path) -> None:
    declared = ["character*(*) s", "character s*(*)", "character(*) s", "character*4 s", "character s*4"]
    declared += ["character*(4) s", "character(len=4) s"]
    text = "".join(
        f"      subroutine length{i}(s, n)\n      {each}\n      integer n\n      n = len(s)\n      end\n"
        for i, each in enumerate(declared)
    )
    (tmp_path / "old.f").write_text(text)
    lib = cwrapjit.library("old")
    lib.fortran(text, sources=[tmp_path / "old.f"])
    assert not lib.unmapped
    lengths = [getattr(lib, f"length{i}")("abc", 0) for i in range(len(declared))]
    assert lengths == [3, 3, 3, 4, 4, 4, 4]


@needs_gfortran
def test_a_result_whose_length_is_an_argument(tmp_path: Path) -> None:
    text = """
    function grid(n, step, m) result(x)
      implicit none
      integer, intent(in) :: n, m
      real(8), intent(in) :: step
      real(8) :: x(n, 2 * m)
      integer :: i
      do i = 1, n
        x(i, :) = i * step
      end do
    end function
    """
    (tmp_path / "grid.f90").write_text(text)
    grid = cwrapjit.library("grids").fortran(text, sources=[tmp_path / "grid.f90"])
    assert np.array_equal(grid(3, 0.5, 1), [[0.5, 0.5], [1.0, 1.0], [1.5, 1.5]])
    refuses(ValueError, lambda: grid(-1, 0.5, 1), "grids.grid()")


# ---- constants of other modules; Fortran 77 ----------------------------------------------------------------

KIND_MODULE = """\
module kinds
  implicit none
  integer, parameter :: dp = kind(1.0d0), i8 = selected_int_kind(18), most = 4
end module
"""
USERS = """\
module users
  use kinds, only: dp, i8
  implicit none
contains
  subroutine scale(n, x, a)
    integer, intent(in) :: n
    real(dp), intent(inout) :: x(n)
    real(dp), intent(in) :: a
    x = x*a
  end subroutine
  integer(i8) function large(n)
    integer, intent(in) :: n
    large = int(n, i8)*1000000000_i8*1000
  end function
end module
subroutine outside(n, y)
  use kinds, wp => dp
  implicit none
  integer, intent(in) :: n
  real(wp), intent(out) :: y(most)
  y = n
end subroutine
"""


@pytest.mark.row("L13")
@needs_gfortran
@pytest.mark.parametrize("way", ["one text", "behind", "text before", "mod", "sources"])
def test_kinds_of_other_modules(tmp_path, way):
    files = [tmp_path / "kinds.f90", tmp_path / "users.f90"]
    for file, text in zip(files, (KIND_MODULE, USERS), strict=True):
        file.write_text(text)
    options = {"sources": files} if way == "sources" else {}
    if way != "sources":
        flags = ["-J", str(tmp_path), "-fPIC", "-shared", "-o", str(tmp_path / "libusers.so")]
        run_quietly([GFORTRAN, *map(str, files), *flags])
        lib = cwrapjit.library("users", tmp_path / "libusers.so", include_dirs=[tmp_path])
    else:
        lib = cwrapjit.library("users")
    if way == "text before":
        lib.fortran(KIND_MODULE)
        assert lib.most == 4
    text = {"one text": KIND_MODULE + USERS, "behind": USERS + KIND_MODULE}.get(way, USERS)
    lib.fortran(text, **options)
    x = np.ones(3)
    lib.scale(x, 2.0)
    assert x.tolist() == [2, 2, 2] and lib.large(3) == 3 * 10**12 and lib.outside(3).tolist() == [3] * 4


def test_routines_come_in_the_order_of_the_text():
    """The order in which they are read does not matter."""
    routine = "subroutine {0}(n)\n integer, intent(in) :: n\nend subroutine\n".format
    text = f"{routine('one')}module m\ncontains\n{routine('two')}end module\n{routine('three')}"
    assert [each.name for each in fortran_parse.parse(text, {}).routines] == ["one", "two", "three"]


@needs_gfortran
def test_a_kind_that_no_module_has_says_where_it_was_looked_for(tmp_path):
    lib = cwrapjit.library("users", include_dirs=[tmp_path])
    words = "unknown kind 'dp'", "no kinds.mod", "include_dirs="
    refuses(cwrapjit.CompileError, lambda: lib.fortran(USERS), *words)
    assert fortran_parse.parse(USERS, {"dp": 8, "i8": 8, "wp": 8, "most": 4}).routines[0].name == "scale"


CAPITALS = """\
      SUBROUTINE DSC(N, DA, DX)
      INTEGER N
      DOUBLE PRECISION DA, DX(*)
      DX(1:N) = DA*DX(1:N)
      END
      DOUBLE PRECISION FUNCTION ASUM(N, DX)
      INTEGER N
      DOUBLE PRECISION DX(2, *)
      ASUM = SUM(DX(:, 1:N))
      END
      SUBROUTINE APPLY(F, X, Y)
      EXTERNAL F
      DOUBLE PRECISION F, X, Y
      Y = F(X)
      END
      SUBROUTINE SETC(V)
      DOUBLE PRECISION V, A, B(3)
      COMMON /BLK/ A, B
      A = V
      END
      DOUBLE PRECISION FUNCTION GETC()
      DOUBLE PRECISION A, B(3)
      COMMON /BLK/ A, B
      GETC = A
      END
"""


@pytest.mark.row("L13", "F02")
@needs_gfortran
def test_a_file_of_fortran_77(tmp_path):
    (tmp_path / "capitals.f").write_text(CAPITALS)
    lib = cwrapjit.library("capitals")
    with pytest.warns(UserWarning, match="apply: argument f of apply is a procedure"):
        lib.fortran(CAPITALS, sources=[tmp_path / "capitals.f"], shapes={"DX": "N"})
    assert lib.mapped == ["dsc", "getc", "setc"]
    assert set(lib.unmapped) == {"asum", "apply", "common /blk/"}
    assert "interface is not said" in lib.unmapped["apply"] and "want 2 dims" in lib.unmapped["asum"]
    x = np.ones(3)
    lib.dsc(2.0, x)
    lib.setc(v=4.5)
    assert x.tolist() == [2, 2, 2] and lib.getc() == 4.5
    assert lib.dsc.__doc__ == "subroutine dsc(n, da, dx)"
    text = CAPITALS.replace("DX(2, *)", "DX(2, N)")
    again = cwrapjit.library("again")
    with pytest.warns(UserWarning):
        again.fortran(text, sources=[tmp_path / "capitals.f"], shapes={"dx": "n"})
    assert again.asum(np.ones((2, 3), order="F")) == 6, "what is said of dx is of another routine"
    refuses(TypeError, lambda: again.fortran(CAPITALS, shapes={"dz": "n"}), "no routine here has", "'dz'")
