"""Fortran as real sources have it: faulty routines among others, constants of modules."""

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

needs_gfortran = pytest.mark.skipif(
    shutil.which("gfortran") is None, reason="no gfortran on this machine (apt install gfortran)"
)


def wrapped(text: str, folder: Path, **options: Any) -> Any:
    """The library whose source and declaration are the text."""
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


@pytest.mark.parametrize("fault", FAULTY)
def test_what_cannot_be_read_is_listed(fault):
    text, reason = FAULTY[fault]
    declared = fortran_parse.parse(GOOD.format(n=1) + text + GOOD.format(n=2), {})
    assert [each.name for each in declared.routines] == ["good1", "good2"]
    assert list(declared.faulty) == ["bad"]
    assert reason in str(declared.faulty["bad"].args[0])
    refuses(cwrapjit.CompileError, lambda: fortran_parse.parse(text, {}), "<fortran>:")


def test_a_fault_in_a_module_leaves_its_other_parts():
    text = (
        "module m\n  integer :: n\n  real(qp) :: r, s\n  type :: t\n    real(qp) :: q\n  end type\ncontains\n"
    )
    text += GOOD.format(n=1) + FAULTY["a line"][0] + GOOD.format(n=2) + "end module\n"
    declared = fortran_parse.parse(text, {})
    assert [each.name for each in declared.routines] == ["good1", "good2"]
    assert [each.name for _, each in declared.variables] == ["n"]
    assert set(declared.faulty) == {"r", "s", "t", "bad"}


@needs_gfortran
def test_what_the_compiler_refuses_is_listed(tmp_path):
    """A wrong interface, a routine that is not there, a variable that is not there: the others map."""
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
    """What count() or another function says of the shape, Fortran knows: there is no second rule for it."""
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
