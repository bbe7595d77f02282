"""The function of an elementwise kernel for one combination of types: its C text, and who faults belong to.

Parameters are the operands of that function, the operation is the slice, and macros behind the preamble give
elements their names. A raw parameter is an operand all of whose dims are the slice's, so that each slice has
the whole of it; one that is written to is shared. The index is an operand without memory
(csrc/kernel/adapt.c).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._cwrapjit import CompileError, Function
from cwrapjit.kernels import ctext
from cwrapjit.kernels.parameters import Parameter
from cwrapjit.kernels.scalars import c_type, value_type

_FIRST_BYTE = 0xFFFF800000000000  # see adapt.c


class Shape(NamedTuple):
    """What is known of an array beside its type where it is raw."""

    ndim: int
    dense: bool


def is_checked(options: Mapping[str, Any]) -> bool:
    """Whether indices are checked: by debug=True, or where that is not given, by the configuration."""
    given = options.get("debug")
    return bool(_cwrapjit.config.debug) if given is None else given is not False


class Statement:
    """The texts of a kernel, and the functions that they become."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Parameter],
        outputs: Sequence[Parameter],
        texts: Mapping[str, str],
        returns_tuple: bool,
        options: Mapping[str, Any],
    ) -> None:
        self._name, self._who, self._options = name, f"{name}()", options
        self._params, self._nin = (*inputs, *outputs), len(inputs)
        self._texts, self._returns_tuple = texts, returns_tuple
        self._operands = self._operand_names()
        self._words = ctext.words(texts["operation"], texts["loop_prep"], texts["after_loop"])
        self.needs_index = bool(self._words & {"i", "_ind"})

    def _operand_names(self) -> list[str]:
        """Names in the function, which keeps a few for itself."""
        taken = {each.name for each in self._params}
        names = []
        for each in self._params:
            name = each.name
            while name == "out" or re.fullmatch(r"output\d*", name) or (name in taken and name != each.name):
                name += "_"
            names.append(name)
        return names

    def function(
        self,
        dtypes: Sequence[np.dtype[Any]],
        types: Mapping[str, np.dtype[Any]],
        shapes: Sequence[Shape | None],
        indexed: bool,
    ) -> Function:
        every = zip(self._params, self._operands, dtypes, shapes, strict=True)
        raws = []
        for k, (each, operand, dtype, shape) in enumerate(every):
            if each.raw:
                if k >= self._nin and dtype.char == "e":
                    raise TypeError(
                        f"{self._who}: {each.name!r} is raw, written to and float16, for which C has no "
                        "operators; "
                        "take float32, or an output that is not raw"
                    )
                ndim, dense = (shape.ndim, shape.dense) if shape is not None else (None, False)
                raws.append(ctext.Raw(each.name, operand, ndim, dense, k >= self._nin, c_type(dtype)))
        header, early = self._header(dtypes, types, raws)
        body, prefix = self._body(dtypes, raws, indexed)
        own = [k for k in range(self._nin, len(self._params)) if not self._params[k].raw]
        shared = [k for k in range(self._nin, len(self._params)) if self._params[k].raw]
        order = [*range(self._nin), *([-1] if indexed else []), *shared, *own]
        key = tuple(np.dtype(np.int8) if k < 0 else dtypes[k] for k in order)
        try:
            return _cwrapjit.function(
                self._name,
                signature=self._signature(shapes, indexed, shared, own),
                header=header,
                Ccode_slice_eval={key: body},
                **self._options,
            )
        except CompileError as error:
            self._locate(error, prefix, early)
            raise

    def _signature(
        self, shapes: Sequence[Shape | None], indexed: bool, shared: Sequence[int], own: Sequence[int]
    ) -> str:
        def shown(k: int) -> str:
            name, shape = self._operands[k], shapes[k]
            dims = range(shape.ndim) if shape is not None else ()
            return f"{name}({', '.join(f'{name}_{axis}' for axis in dims)})"

        inputs = [shown(k) for k in range(self._nin)]
        inputs += ["i()"] if indexed else []
        inputs += [f"shared {shown(k)}" for k in shared]
        outputs = ", ".join(shown(k) for k in own)
        if len(own) == 1 and self._returns_tuple and not shared:
            outputs = f"({outputs},)"
        return f"{', '.join(inputs)} -> {outputs}"

    def _header(
        self, dtypes: Sequence[np.dtype[Any]], types: Mapping[str, np.dtype[Any]], raws: Sequence[ctext.Raw]
    ) -> tuple[str, int]:
        """The text in front of the slice, and the lines in front of the preamble."""
        checked = is_checked(self._options)
        used = self._words | ctext.words(self._texts["preamble"])
        before, behind = ctext.helpers(self._texts["preamble"], used, (*dtypes, *types.values()))
        letters = ctext.letter_types(types)
        names = "".join(
            f"#define {each.name} {ctext.loaded(f'item__{operand}()', dtype)}\n"
            for k, (each, operand, dtype) in enumerate(zip(self._params, self._operands, dtypes, strict=True))
            if (not each.raw or any(raw.name == each.name and raw.ndim is None for raw in raws))
            and not self._is_rounded(k, dtype)
        )
        names += "".join(ctext.raw_accessor(raw, checked) for raw in raws if raw.ndim is not None)
        if "_ind" in self._words:
            names += "#define cwj_index_along(axis) (i / strides_full__i[axis] % dims_full__i[axis])\n"
        front = before + letters
        return f"{front}{self._texts['preamble']}\n{behind}{names}", front.count("\n")

    def _is_rounded(self, k: int, dtype: np.dtype[Any]) -> bool:
        """An element that texts compute with as another type than the one it has in memory."""
        return k >= self._nin and dtype.char == "e" and not self._params[k].raw

    def _body(
        self, dtypes: Sequence[np.dtype[Any]], raws: Sequence[ctext.Raw], indexed: bool
    ) -> tuple[str, int]:
        """The slice, and how many characters stand in front of the operation in its first line."""
        texts = {
            what: ctext.rewrite(self._texts[what], raws, self._who, what)
            for what in ("loop_prep", "operation", "after_loop")
        }
        prefix = ""
        if self.needs_index and indexed:
            prefix = f"const npy_intp i = (npy_intp)((npy_uintp)data_slice__i - {_FIRST_BYTE:#x}u); (void)i; "
        stores = ""
        for k, (operand, dtype) in enumerate(zip(self._operands, dtypes, strict=True)):
            if self._is_rounded(k, dtype):
                name, item = self._params[k].name, f"item__{operand}()"
                prefix += f"{value_type(dtype)} {name} = {ctext.loaded(item, dtype)}; "
                stores += f"{item} = {ctext.stored(name, dtype)};"
        prep = texts["loop_prep"]
        if prep.strip():
            if not re.search(r"//|#", prep):
                prep = prep.replace("\n", " ")
            prefix += f"{prep}{chr(10) if '//' in prep or '#' in prep else ''}; "
        skips = "continue" in ctext.words(self._texts["operation"])
        wraps = skips or bool(texts["after_loop"].strip())
        prefix += ("do { " if skips else "{ ") if wraps else ""
        # On the operation's last line where that can be: compilers find some faults at the next word.
        last = texts["operation"].rpartition("\n")[2]
        end = "\n;" if "//" in last or "#" in last else " ;"
        end += ("\n} while (0);" if skips else "\n}") if wraps else ""
        return f"{prefix}{texts['operation']}{end}{stores}{texts['after_loop']}\n;return true;", len(prefix)

    def _locate(self, error: CompileError, prefix: int, early: int) -> None:
        """Say where in the user's own texts the faults are."""
        for each in {id(e): e for e in (error, *error.errors)}.values():
            file, line = each.filename or "", each.lineno
            if line is None:
                continue
            if file.endswith(" header>"):
                each.lineno = max(line - early, 1)
                continue
            each.text = each.text.removesuffix(" ;") if each.text else each.text  # ours
            if prefix and line == 1:
                each.text = each.text[prefix:] if each.text else each.text
                if each.offset and each.offset > prefix:
                    each.offset -= prefix
                    if each.end_offset and each.end_offset > prefix:
                        each.end_offset -= prefix
                elif each.offset:
                    each.offset = each.end_offset = None
