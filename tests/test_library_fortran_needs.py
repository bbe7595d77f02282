"""Fortran as real sources have it: faulty routines among others, constants of modules."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import refuses

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
