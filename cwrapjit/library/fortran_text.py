"""Holds what Fortran text declares, its types in C and NumPy, and the helpers of every wrapper module."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from cwrapjit.library import types
from cwrapjit.library.description import Parameter

NUMPY = {
    ("integer", 1): "int8", ("integer", 2): "int16", ("integer", 4): "intc", ("integer", 8): "int64",
    ("real", 4): "float32", ("real", 8): "float64", ("complex", 4): "complex64", ("complex", 8): "complex128",
    **{("logical", kind): "bool" for kind in (1, 2, 4, 8)},
}  # fmt: skip
ISO = {
    "int8": "integer(c_int8_t)", "int16": "integer(c_int16_t)", "intc": "integer(c_int)",
    "int64": "integer(c_int64_t)", "float32": "real(c_float)", "float64": "real(c_double)",
    "complex64": "complex(c_float_complex)", "complex128": "complex(c_double_complex)",
    "bool": "logical(c_bool)",
}  # fmt: skip
# C types of numbers by dtype ("int8" is signed char, as that comes after char), and of all else.
NUMBERS = {each.dtype: each for each in types.BASIC.values() if isinstance(each, types.Scalar)}
POINTER = types.Pointer(types.Void())
INT64 = "integer(c_int64_t)"
# Names that emitted text uses, and that no local variable may hide.
_RESERVED = set(
    "allocated associated c_associated c_f_pointer c_f_procpointer c_loc c_null_ptr c_ptr int merge"
    " null product repeat shape size transfer cwj_layout cwj_shifted cwj_text cwj_texts cwj_letters"
    " cwj_made_text cwj_memory".split()
)


class Names:
    """Makes unique names. Fortran ignores case."""

    def __init__(self) -> None:
        self.taken = set(_RESERVED)

    def fresh(self, wanted: str) -> str:
        base = wanted[:48]
        name, number = base, 0
        while name.lower() in self.taken or re.match(r"(c|cwj)_", name.lower()):
            number += 1
            name = f"{base.removeprefix('c_').removeprefix('cwj_')}_{number:04}"
            if name.lower() not in self.taken:
                break
        self.taken.add(name.lower())
        return name


@dataclasses.dataclass
class Slot:
    """One dummy of a bind(c) procedure, in C, in Fortran and for the call path."""

    name: str
    c: Any  # its type
    fortran: str
    parameter: Parameter


def item_size(variable: Variable) -> int:
    """Returns the bytes of an item in NumPy."""
    if variable.kind.base == "logical":
        return 1
    return variable.kind.kind * (2 if variable.kind.base == "complex" else 1)


def declared(kind: Type) -> str:
    """Returns a type as the routine declares it."""
    if kind.base in ("type", "class"):
        return f"type({kind.name})"
    return f"{kind.base}({kind.kind})"


def folded(line: str) -> str:
    """Breaks a line of Fortran, which may have 132 columns."""
    indent = line[: len(line) - len(line.lstrip())]
    lines = []
    while len(line) > 120:
        at = max(line.rfind(", ", 0, 116) + 1, line.rfind(" ", 0, 116) if ", " not in line[:116] else 0)
        lines.append(line[:at] + " &")
        line = indent + "  & " + line[at:].lstrip()
    return "\n".join(lines + [line])


HELPERS = """\
  pure subroutine cwj_layout(shape, strides, layout, offset)
    ! Strides in elements as a section of a whole array: per dim the whole's extent, first, last and step.
    ! offset: from the first element to the lowest in memory, not above 0; 1: no section has these strides.
    integer(c_int64_t), intent(in) :: shape(:), strides(:)
    integer(c_int64_t), intent(out) :: layout(:, :), offset
    integer(c_int64_t) :: above, below, span
    integer :: dim
    offset = 0
    layout(:, 1) = shape
    layout(:, 2) = 1
    layout(:, 3) = shape
    layout(:, 4) = 1
    if (any(shape == 0)) return
    above = 0
    do dim = size(shape), 1, -1
      below = merge(abs(strides(dim)), 0_c_int64_t, shape(dim) > 1)
      below = merge(1_c_int64_t, divisor(below, above), dim == 1)
      if (below == 0) below = 1
      if (shape(dim) > 1) then
        if (strides(dim) == 0 .or. mod(strides(dim), below) /= 0) then
          offset = 1
          return
        end if
        layout(dim, 4) = strides(dim) / below
      end if
      span = (shape(dim) - 1) * abs(layout(dim, 4)) + 1
      layout(dim, 1) = span
      if (above > 0) then
        layout(dim, 1) = above / below
        if (layout(dim, 1) < span) then
          offset = 1
          return
        end if
      end if
      if (layout(dim, 4) > 0) then
        layout(dim, 3) = span
      else
        layout(dim, 2) = span
        layout(dim, 3) = 1
        offset = offset - (span - 1) * below
      end if
      if (any(shape(dim:) > 1)) above = below
    end do
  end subroutine cwj_layout
  pure function divisor(a, b) result(x)
    integer(c_int64_t), intent(in) :: a, b
    integer(c_int64_t) :: x, y, z
    x = a
    y = b
    do while (y /= 0)
      z = mod(x, y)
      x = y
      y = z
    end do
  end function divisor
  pure function cwj_shifted(pointer, bytes) result(shifted)
    type(c_ptr), intent(in) :: pointer
    integer(c_int64_t), intent(in) :: bytes
    type(c_ptr) :: shifted
    shifted = transfer(transfer(pointer, 0_c_intptr_t) + bytes, shifted)
  end function cwj_shifted
  subroutine cwj_text(pointer, least, text)
    type(c_ptr), intent(in) :: pointer
    integer(c_int64_t), intent(in) :: least
    character(len=:), allocatable, intent(out) :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_int64_t) :: i, length
    length = cwj_length(pointer)
    call c_f_pointer(pointer, letters, [length])
    allocate(character(len=max(length, least)) :: text)
    text = repeat(" ", int(max(length, least)))
    do i = 1, length
      text(i:i) = letters(i)
    end do
  end subroutine cwj_text
  subroutine cwj_texts(pointers, count, least, fixed, texts)
    ! As many texts, all of the longest one's length; fixed: of length `least`, as an assignment cuts them.
    type(c_ptr), intent(in) :: pointers
    integer(c_int64_t), intent(in) :: count, least
    logical, intent(in) :: fixed
    character(len=:), allocatable, intent(out) :: texts(:)
    type(c_ptr), pointer :: each(:)
    character(len=:), allocatable :: one
    integer(c_int64_t) :: i, length
    call c_f_pointer(pointers, each, [count])
    length = least
    do i = 1, merge(0_c_int64_t, count, fixed)
      length = max(length, cwj_length(each(i)))
    end do
    allocate(character(len=length) :: texts(count))
    do i = 1, count
      call cwj_text(each(i), 0_c_int64_t, one)
      texts(i) = one
    end do
  end subroutine cwj_texts
  subroutine cwj_letters(text, pointer, room)
    ! Text without the blanks at its end, NUL behind it; room counts that, too.
    character(len=*), intent(in) :: text
    type(c_ptr), intent(in) :: pointer
    integer(c_int64_t), intent(in) :: room
    character(kind=c_char), pointer :: letters(:)
    integer(c_int64_t) :: i, length
    length = min(len_trim(text, kind=c_int64_t), room - 1)
    call c_f_pointer(pointer, letters, [room])
    do i = 1, length
      letters(i) = text(i:i)
    end do
    letters(length + 1) = c_null_char
  end subroutine cwj_letters
  function cwj_made_text(text) result(pointer)
    character(len=*), intent(in) :: text
    type(c_ptr) :: pointer
    integer(c_int64_t) :: room
    room = len_trim(text, kind=c_int64_t) + 1
    pointer = cwj_memory(room)
    if (c_associated(pointer)) call cwj_letters(text, pointer, room)
  end function cwj_made_text
"""

INTERFACES = """\
  interface
    function cwj_memory(size) bind(c, name="malloc") result(memory)
      import :: c_ptr, c_int64_t
      integer(c_int64_t), value :: size
      type(c_ptr) :: memory
    end function cwj_memory
    function cwj_length(text) bind(c, name="strlen") result(length)
      import :: c_ptr, c_int64_t
      type(c_ptr), value :: text
      integer(c_int64_t) :: length
    end function cwj_length
  end interface
"""


_MARK = re.compile(r"""[][(),]|'[^']*(?:'|$)|"[^"]*(?:"|$)""")


@dataclasses.dataclass
class Type:
    """A type: its kind in bytes (of one part for complex), or the name of a derived type."""

    base: str  # "integer", "real", "complex", "logical", "character", "type" or "class"
    kind: int = 0
    length: str = ""  # of characters
    name: str = ""


@dataclasses.dataclass
class Variable:
    """A dummy argument, a component, a module's variable or a function's result."""

    name: str
    type: Type | None = None
    attributes: set[str] = dataclasses.field(default_factory=set)
    intent: str = ""
    # Lower and upper bounds; ("", ":") if assumed; the last may be ("1", "*").
    shape: tuple[tuple[str, str], ...] = ()
    initial: str = ""
    interface: Routine | None = None  # of a procedure, if it is known

    @property
    def kind(self) -> Type:
        """Returns the type, which must be known."""
        assert self.type is not None
        return self.type

    @property
    def assumed_shape(self) -> bool:
        return bool(self.shape) and all(upper == ":" for _, upper in self.shape)


@dataclasses.dataclass
class Routine:
    """A subroutine or, with a result, a function."""

    name: str
    arguments: list[Variable]
    result: Variable | None = None
    module: str = ""
    bind: str | None = None  # C's name, if it has bind(c)
    elemental: bool = False
    constants: dict[str, int] = dataclasses.field(default_factory=dict)  # by lower-case name
    generic: str = ""  # the public generic name of a private routine


@dataclasses.dataclass
class Derived:
    """A derived type; `methods` are pairs of a name in the type and the routine's name."""

    name: str
    module: str = ""
    components: list[Variable] = dataclasses.field(default_factory=list)
    methods: list[tuple[str, str]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Declared:
    """All that a text declares."""

    routines: list[Routine] = dataclasses.field(default_factory=list)
    types: list[Derived] = dataclasses.field(default_factory=list)
    variables: list[tuple[str, Variable]] = dataclasses.field(default_factory=list)  # (module, variable)
    generics: dict[str, list[str]] = dataclasses.field(default_factory=dict)  # names of several routines
    commons: set[str] = dataclasses.field(default_factory=set)  # blocks
    faulty: dict[str, Exception] = dataclasses.field(default_factory=dict)  # what is not understood, by name


def split(text: str) -> list[str]:
    """Splits a list at commas outside parentheses and quotes."""
    parts, depth, start = [], 0, 0
    for match in _MARK.finditer(text):
        depth += (match[0] in "([") - (match[0] in ")]")
        if match[0] == "," and depth == 0:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    parts.append(text[start:].strip())
    return parts if parts != [""] else []
