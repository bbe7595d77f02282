"""Tests Fortran as in real sources: faulty routines among others, and constants of modules."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import refuses
from leaks import keeps_nothing

import cwrapjit
from cwrapjit.library import fortran_parse

pytestmark = pytest.mark.row("L13")
needs_gfortran = pytest.mark.skipif(
    shutil.which("gfortran") is None, reason="no gfortran on this machine (apt install gfortran)"
)


def wrapped(text: str, folder: Path, **options: Any) -> Any:
    """Returns a library with the text as its source and its declaration."""
    (folder / "source.f90").write_text(text)
    lib = cwrapjit.library("needs")
    lib.fortran(text, sources=[folder / "source.f90"], **options)
    return lib


GOOD = "subroutine good{n}(x)\n  real(8), intent(inout) :: x\n  x = x + {n}\nend subroutine good{n}\n"
FAULTY = {
    "a kind": ("real(qp) function bad(x)\n  real(8) :: x\nend function bad\n", "unknown kind 'qp'"),
    "a line": (
        "pure real(8) function bad(x)\n  real(8) :: x\n  bad = = x\nend function\n",
        ":7:3: this is no",
    ),
    "a return": ("subroutine bad(*)\nend\n", "'*'"),
}


def test_what_cannot_be_read_is_listed():
    for text, reason in FAULTY.values():
        declared = fortran_parse.parse(GOOD.format(n=1) + text + GOOD.format(n=2), {})
        assert [each.name for each in declared.routines] == ["good1", "good2"]
        assert list(declared.faulty) == ["bad"]
        assert reason in str(declared.faulty["bad"].args[0])
        refuses(cwrapjit.CompileError, lambda text=text: fortran_parse.parse(text, {}), "<fortran>:")


def test_a_fault_in_a_module_leaves_its_other_parts():
    text = "module m\n integer :: n\n real(qp) :: r, s\n type :: t\n  real(qp) :: q\n end type\ncontains\n"
    text += GOOD.format(n=1) + FAULTY["a line"][0] + GOOD.format(n=2) + "end module\n"
    declared = fortran_parse.parse(text, {})
    assert [each.name for each in declared.routines] == ["good1", "good2"]
    assert [each.name for _, each in declared.variables] == ["n"]
    assert set(declared.faulty) == {"r", "s", "t", "bad"}


@needs_gfortran
def test_what_the_compiler_refuses_is_listed(tmp_path):
    """A wrong interface, a missing routine and a missing variable are listed; the others are mapped."""
    text = "module m\n  integer :: n = 4\ncontains\n" + GOOD.format(n=1) + "end module\n"
    (tmp_path / "m.f90").write_text(text)
    lib = cwrapjit.library("needs")
    declared = text.replace("integer :: n", "integer :: absent\n  integer :: n")
    wrong = "subroutine good1(x)\n  real(4), intent(inout) :: x\nend\n"
    declared = declared.replace("end module", wrong.replace("good1", "missing") + "end module")
    lib.fortran(declared, sources=[tmp_path / "m.f90"])
    assert (lib.n, lib.good1(1.0)) == (4, 2)
    assert set(lib.unmapped) == {"absent", "missing"}
    assert "absent" in lib.unmapped["absent"]
    refuses(AttributeError, lambda: lib.missing, "missing")
    text = GOOD.format(n=1) + GOOD.format(n=2)
    (tmp_path / "two.f90").write_text(GOOD.format(n=2))
    lib.fortran(text.replace("good1", "gone"), sources=[tmp_path / "two.f90"])
    assert lib.good2(1.0) == 3
    assert "no symbol gone_" in lib.unmapped["gone"]


CONSTANTS = """
module constants
  implicit none
  integer, parameter :: dp = kind(1d0), nmax = 3
  real(dp), parameter :: pi = 3.25_dp, table(2, 2) = reshape([1d0, 2d0, 3d0, 4d0], [2, 2])
  integer(8), parameter :: steps(*) = [5, 6, 7]
  complex(dp), parameter :: unit = (0, 1)
  logical, parameter :: yes = .true.
  integer, parameter, private :: secret = 1
  integer later
  parameter (later = nmax + 1)
contains
  subroutine fill(x)
    real(dp), intent(out) :: x(nmax)
    x = pi
  end subroutine
end module
"""


@needs_gfortran
def test_constants_of_a_module(tmp_path):
    lib = wrapped(CONSTANTS, tmp_path)
    assert (lib.dp, lib.nmax, lib.pi, lib.unit, lib.yes, lib.later) == (8, 3, 3.25, 1j, True, 4)
    assert lib.table.tolist() == [[1, 3], [2, 4]]
    assert lib.steps.tolist() == [5, 6, 7]
    assert np.array_equal(lib.fill(), [3.25] * 3)
    refuses(ValueError, lambda: lib.table.fill(0), "read-only")
    refuses(AttributeError, lambda: setattr(lib, "pi", 3.0), "pi is a constant of constants")
    refuses(AttributeError, lambda: lib.secret, "secret")
    assert not lib.unmapped


RESULTS = """
module results
contains
function positive(x) result(r)
  real(8), intent(in) :: x(:)
  real(8) :: r(count(x > 0))
  r = pack(x, x > 0)
end function
function above(x, least) result(r)
  real(8), intent(in) :: x(:, :), least
  logical :: r(size(x, 1), size(x, 2))
  r = x > least
end function
function signs(x) result(r)
  integer, intent(in) :: x(:)
  logical(2) :: r(count(x /= 0))
  r = pack(x, x /= 0) > 0
end function
end module
"""


@needs_gfortran
def test_results_of_any_shape(tmp_path):
    """Fortran computes the shape, whatever function it depends on; cwrapjit has no rule of its own."""
    lib = wrapped(RESULTS, tmp_path)
    x = np.array([1.0, -2.0, 3.0, 0.0])
    for each in (x, x[::-2], -x, x[:0], x[1:2]):
        assert np.array_equal(lib.positive(each), each[each > 0])
    assert lib.signs(np.array([3, 0, -1, 5], np.int32)).tolist() == [True, False, True]
    table = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    result = lib.above(table, 2.5)
    assert result.dtype == bool
    assert np.array_equal(result, table > 2.5)
    assert not lib.unmapped


LOGICALS = """
module logicals
contains
integer function number(x, mask)
  logical, intent(in) :: x(:)
  logical(8), intent(in), optional :: mask(:)
  number = count(x)
  if (present(mask)) number = count(x .and. mask)
end function
subroutine flip(x)
  logical, intent(inout) :: x(:, :)
  x = .not. x
end subroutine
subroutine turn(n, m, x)
  integer, intent(in) :: n, m
  logical(2) :: x(n, m)
  x(n, :) = .not. x(n, :)
end subroutine
subroutine first(n, x)
  integer, intent(in) :: n
  logical, intent(out) :: x(n)
  x(1) = .true.
end subroutine
subroutine found(x, y)
  real(8), intent(in) :: x(:)
  logical, allocatable, intent(out) :: y(:)
  y = x > 0
end subroutine
end module
"""


@needs_gfortran
def test_arrays_of_logicals_of_any_kind(tmp_path):
    lib = wrapped(LOGICALS, tmp_path)
    x = np.array([True, False, True, True, False])
    assert (lib.number(x), lib.number(x[::2]), lib.number(x[:0])) == (3, 2, 0)
    assert lib.number(x, x[::-1]) == np.count_nonzero(x & x[::-1])
    table = np.zeros((3, 4), bool, order="F")
    lib.flip(table[::2, 1:3])
    wanted = np.zeros((3, 4), bool)
    wanted[::2, 1:3] = True
    assert np.array_equal(table, wanted)
    lib.turn(table)
    wanted[2] = ~wanted[2]
    assert np.array_equal(table, wanted)
    assert lib.first(3).tolist() == [True, False, False]
    assert lib.found(np.array([1.0, -1.0])).tolist() == [True, False]
    table.flags.writeable = False
    refuses(ValueError, lambda: lib.flip(table), "flip")
    refuses(TypeError, lambda: lib.number(x.view(np.int8)), "number", "int8")
    assert not lib.unmapped


TEXTS = """
module texts
contains
subroutine hello(name, out, length)
  character(len=*), intent(in) :: name
  character(len=12), intent(out) :: out
  integer, intent(out) :: length
  out = "hello "//name
  length = len(out)
end subroutine
function marked(name) result(r)
  character(len=*), intent(in) :: name
  character(len=len(name) + 2) :: r
  r = "> "//name
end function
character(len=5) function fixed(blank)
  logical, intent(in) :: blank
  fixed = merge("   ", "abc", blank)
end function
function twice(name)
  character(len=*), intent(in) :: name
  character(len=:), allocatable :: twice
  twice = name//name
end function
subroutine letters(n, s)
  integer, intent(in) :: n
  character(len=n), intent(out) :: s
  s = "abcdefgh"
end subroutine
subroutine louder(s)
  character(len=6), intent(inout) :: s
  s = trim(s)//"!"
end subroutine
end module
"""
ROOM = """
subroutine times(n, s, room)
  integer, intent(in) :: n
  character(len=*), intent(out) :: s
  integer, intent(out) :: room
  s = repeat("xyz", n)
  room = len(s)
end subroutine
"""


@needs_gfortran
def test_characters_come_back(tmp_path):
    lib = wrapped(TEXTS, tmp_path)
    assert lib.hello("you") == ("hello you", 12)
    assert lib.hello("everybody") == ("hello everyb", 12)
    assert lib.marked("x y") == "> x y"
    assert (lib.marked(""), lib.twice("ä"), lib.twice("")) == (">", "ää", "")
    assert (lib.fixed(False), lib.fixed(True)) == ("abc", "")
    assert [lib.letters(n) for n in (3, 20, 0, -1)] == ["abc", "abcdefgh", "", ""]
    assert [lib.louder(text) for text in ("ab", "", "abcdefgh")] == ["ab!", "!", "abcdef"]
    refuses(TypeError, lambda: lib.louder(3), "louder", "int")
    assert not lib.unmapped


@needs_gfortran
def test_room_for_characters_is_said(tmp_path):
    lib = wrapped(ROOM, tmp_path, shapes={"s": "2*n"})
    assert lib.times(3) == ("xyzxyz", 6)
    assert lib.times(0) == ("", 0)
    lib = wrapped(ROOM, tmp_path, shapes={"s": 80})
    assert lib.times(2) == ("xyzxyz", 80)
    refuses(NotImplementedError, lambda: wrapped(ROOM, tmp_path), "times: s: ", "shapes={'s': 80}")


@needs_gfortran
@pytest.mark.leak
def test_characters_are_freed(tmp_path):
    lib = wrapped(TEXTS, tmp_path)
    keeps_nothing(lambda: (lib.twice("x" * 5000), lib.hello("you"), lib.louder("a")))


ELEMENTAL = """
module elements
contains
elemental real(8) function power(x, n) result(r)
  real(8), intent(in) :: x
  integer, intent(in) :: n
  r = x**n
end function
elemental subroutine parts(z, r, positive)
  complex(8), intent(in) :: z
  real(8), intent(out) :: r
  logical, intent(out) :: positive
  r = abs(z)
  positive = real(z) > 0
end subroutine
pure elemental complex(8) function turned(x, yes)
  real(8), intent(in) :: x
  logical, intent(in) :: yes
  turned = merge((0, 1), (1, 0), yes)*x
end function
elemental subroutine grow(x)
  real(8), intent(inout) :: x
  x = x + 1
end subroutine
end module
"""


@needs_gfortran
def test_elemental_routines_broadcast(tmp_path):
    lib = wrapped(ELEMENTAL, tmp_path)
    x, n = np.linspace(-2, 2, 6).reshape(3, 2)[::2], np.arange(3, dtype=np.int32)[:, None, None]
    assert np.allclose(lib.power(x, n), x**n, rtol=1e-14)
    assert lib.power(2.0, 3) == 8
    assert lib.power(n=3, x=2.0) == 8
    z = np.array([3 + 4j, -1])
    length, positive = lib.parts(z)
    assert length.tolist() == [5, 1]
    assert positive.tolist() == [True, False]
    assert np.array_equal(lib.turned(x, x > 0), np.where(x > 0, 1j, 1) * x)
    assert lib.grow(1.0) == 2
    refuses(TypeError, lambda: lib.power(x, 0.5), "'n' is a Python float")
    refuses(ValueError, lambda: lib.power(np.ones(2), np.ones(3, np.int32)), "shape (3,)")
    assert not lib.unmapped


PROCEDURES = """
module solvers
  implicit none
  abstract interface
    function real_function(x) result(y)
      real(8), intent(in) :: x
      real(8) :: y
    end function
  end interface
contains
  function trapezoid(f, a, b) result(area)
    interface
      function f(x) result(y)
        import
        real(8), intent(in) :: x
        real(8) :: y
      end function
    end interface
    real(8), intent(in) :: a, b
    real(8) :: area
    area = (b - a) * (f(a) + f(b)) / 2
  end function
  function twice(f, x) result(r)
    procedure(real_function) :: f
    real(8), intent(in) :: x
    real(8) :: r
    r = 2 * f(x)
  end function
  subroutine euler(rhs, n, y, h, steps)
    interface
      subroutine rhs(n, t, y, dy, stop_it)
        integer, intent(in) :: n
        real(8), intent(in) :: t, y(n)
        real(8), intent(out) :: dy(n)
        logical, intent(inout) :: stop_it
      end subroutine
    end interface
    integer, intent(in) :: n, steps
    real(8), intent(inout) :: y(n)
    real(8), intent(in) :: h
    real(8) :: dy(n)
    logical :: stop_it
    integer :: k
    stop_it = .false.
    do k = 1, steps
      call rhs(n, (k - 1) * h, y, dy, stop_it)
      if (stop_it) return
      y = y + h * dy
    end do
  end subroutine
  subroutine matrices(f, n)
    interface
      subroutine f(a, n)
        integer, intent(in) :: n
        real(8), intent(in) :: a(n, n)
      end subroutine
    end interface
    integer, intent(in) :: n
  end subroutine
  subroutine unknown(f)
    external :: f
    call f()
  end subroutine
end module
"""


@needs_gfortran
def test_procedures_are_arguments(tmp_path):
    with pytest.warns(UserWarning, match="argument f of unknown is a procedure"):
        lib = wrapped(PROCEDURES, tmp_path)
    assert lib.trapezoid(lambda x: x**2, 1.0, 3.0) == 10
    assert lib.trapezoid("return 3 * *x;", 0.0, 2.0) == 6, "C text knows Fortran's addresses"
    assert lib.twice(f=lambda x: x + 1, x=4.0) == 10
    sin = cwrapjit.library("m", libraries=["m"]).function("double sin(double x)")
    refuses(TypeError, lambda: lib.twice(sin, 1.0), "twice", "argument f", "double (*)(const double *x)")
    times = []

    def decay(t: float, y: np.ndarray, dy: np.ndarray, stop_it: np.ndarray) -> None:
        times.append(t)
        dy[:] = -y
        stop_it[0] = t > 0.5

    y = np.array([1.0, -2.0])
    lib.euler(decay, y, 0.25, steps=10)
    assert times == [0, 0.25, 0.5, 0.75]
    np.testing.assert_array_equal(y, np.array([1.0, -2.0]) * 0.75**3)
    refuses(ZeroDivisionError, lambda: lib.trapezoid(lambda x: 1 / 0, 0.0, 1.0), "zero")
    refuses(TypeError, lambda: lib.trapezoid(lambda x: "1", 0.0, 1.0), "argument f", "returned str")
    assert "f: a procedure whose argument a has 2 dims" in lib.unmapped["matrices"]


TEXTS_AND_TYPES = """
module lists
  implicit none
  type :: spot
    real(8) :: x, y
  end type
contains
  function total(names) result(n)
    character(len=*), intent(in) :: names(:)
    integer :: n
    n = sum(len_trim(names)) + 100 * len(names)
  end function
  function cut(n, names) result(r)
    integer, intent(in) :: n
    character(len=3), intent(in) :: names(n)
    character(len=3) :: r
    r = names(n)
  end function
  subroutine months(names)
    character(len=4), intent(out) :: names(3)
    names = ["jan ", "feb ", "sept"]
  end subroutine
  function centre(p) result(c)
    type(spot), intent(in) :: p(:)
    type(spot) :: c
    c%x = sum(p%x) / size(p)
    c%y = sum(p%y) / size(p)
  end function
  subroutine shift(p, n, by)
    integer, intent(in) :: n
    type(spot), intent(inout) :: p(n)
    real(8), intent(in) :: by
    p%x = p%x + by
  end subroutine
  subroutine add_up(p, s)
    real(8), pointer, intent(in) :: p(:)
    real(8), intent(out) :: s
    s = sum(p)
  end subroutine
end module
"""


@pytest.mark.quick
@needs_gfortran
def test_arrays_of_characters_and_of_types(tmp_path):
    lib = wrapped(TEXTS_AND_TYPES, tmp_path)
    assert lib.total(["ab", "cde", ""]) == 305 and lib.total(("x",)) == 101 and lib.total([]) == 0
    assert lib.cut(["abcdef", "xyzw"]) == "xyz", "as an assignment cuts"
    assert lib.months().tolist() == [b"jan ", b"feb ", b"sept"]
    refuses(TypeError, lambda: lib.total(["a", 1]), "list[str]", "an item of type int")
    refuses(TypeError, lambda: lib.total("abc"), "list[str]", "got str")
    spots = [lib.spot() for _ in range(3)]
    for k, spot in enumerate(spots):
        spot.x, spot.y = k, 10.0 * k
    made = lib.centre(spots)
    assert (made.x, made.y) == (1, 10)
    assert lib.shift(tuple(spots), by=0.5) is None
    assert [spot.x for spot in spots] == [0.5, 1.5, 2.5]
    lib.shift([spots[0], spots[0]], by=1.0)
    assert spots[0].x == 1.5, "of one that is there twice the last copy counts"
    lib.shift([], by=1.0)
    refuses(TypeError, lambda: lib.centre([spots[0], None]), "list[spot]", "an item of type NoneType")
    refuses(TypeError, lambda: lib.centre(spots[0]), "list[spot]", "got spot")
    with spots[1]:
        pass
    refuses(ValueError, lambda: lib.centre(spots), "freed")
    assert lib.add_up(np.arange(6.0)[::2]) == 6
    assert not lib.unmapped


@pytest.mark.leak
@needs_gfortran
def test_lists_keep_nothing(tmp_path):
    lib = wrapped(TEXTS_AND_TYPES, tmp_path)
    spot = lib.spot()

    def work() -> None:
        lib.shift([spot, spot], by=1.0)
        lib.centre([spot])
        refuses(TypeError, lambda: lib.centre([spot, 5]), "an item of type int")
        lib.total(["a", "bc"])
        lib.months()

    keeps_nothing(work, watched=(spot,))


GENERIC = """
module shapes
  implicit none
  private
  public :: area, later
  interface area
    module procedure circle, box
  end interface
  interface
    module function later(x) result(y)
      real(8), intent(in) :: x
      real(8) :: y
    end function
  end interface
contains
  function circle(r) result(a)
    real(8), intent(in) :: r
    real(8) :: a
    a = 3 * r * r
  end function
  function box(w, h) result(a)
    integer, intent(in) :: w, h
    integer :: a
    a = w * h
  end function
end module
submodule (shapes) bodies
contains
  module procedure later
    y = x + 1
  end procedure
end submodule
"""


@needs_gfortran
def test_generic_names_and_submodules(tmp_path):
    lib = wrapped(GENERIC, tmp_path)
    assert lib.area(2.0) == 12 and lib.area(2, 3) == 6 and lib.later(1.0) == 2
    assert lib.mapped == ["area", "later"] and not lib.unmapped
    refuses(TypeError, lambda: lib.area("2"), "area", "Unexpected type")
