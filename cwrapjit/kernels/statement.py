"""Makes the function of an elementwise kernel for one combination of types, and locates errors.

Parameters are operands of the function, the operation is the slice, and macros after the preamble give
elements their names. All dims of a raw parameter are core dims, so that each slice has the whole array; raw
outputs are shared. The index is an operand without memory (csrc/kernel/adapt.c). With loop_prep or after_loop
a slice is a row of elements, and contains the loop."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._cwrapjit import CompileError, Function
from cwrapjit._tokens import words
from cwrapjit.kernels import ctext
from cwrapjit.kernels.parameters import Parameter
from cwrapjit.kernels.scalars import c_type, value_type

_AROUND = {"loop_prep": "in front of", "after_loop": "behind"}
_FIRST_BYTE = 0xFFFF800000000000  # see adapt.c
_ALONG = "({ const npy_intp cwj_axis = %s; i / strides_full__i[cwj_axis] %% dims_full__i[cwj_axis]; })"


class Shape(NamedTuple):
    """What a function depends on, besides the type, for a raw array."""

    ndim: int
    dense: bool


def is_checked(options: Mapping[str, Any]) -> bool:
    """True if indices are checked: by debug=True, or if that is not given, by config.debug."""
    given = options.get("debug")
    return bool(_cwrapjit.config.debug) if given is None else given is not False


class Statement:
    """The texts of a kernel, which become functions."""

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
        self._texts = {what: ctext.without_unroll(text) for what, text in texts.items()}
        self._returns_tuple = returns_tuple
        self._operands = self._operand_names()
        self._words = words(texts["operation"], texts["loop_prep"], texts["after_loop"])
        self.needs_index = bool(self._words & {"i", "_ind"})
        self.has_rows = bool((texts["loop_prep"] + texts["after_loop"]).strip())
        if self.has_rows:
            self._check_rows()

    def _check_rows(self) -> None:
        """Refuses an element's names in texts that run before or after a whole row."""
        around = {what: words(self._texts[what]) for what in ("loop_prep", "after_loop")}
        for what, names in around.items():
            if "i" in names:
                raise ValueError(
                    f"{self._who}: {what}: i is an element's, and {what} is {_AROUND[what]} all of them"
                )
        shared = {each.name for each in self._params[self._nin :] if each.raw}
        written = sorted(shared & (around["loop_prep"] | around["after_loop"]))
        if written and self._options.get("threads") not in (None, 1):
            raise ValueError(
                f"{self._who}: loop_prep or after_loop has {written[0]!r}, which all threads share: "
                "threads must be 1"
            )
        if written:
            self._options = {**self._options, "threads": 1}

    def _check_around(self, rows: Sequence[bool] | None) -> None:
        for what in _AROUND if rows is not None else ():
            names = words(self._texts[what])
            for each, row in zip(self._params, rows or (), strict=True):
                if row and each.name in names:
                    raise TypeError(
                        f"{self._who}: {what}: {each.name} is an element's, and {what} is {_AROUND[what]} "
                        "all of them"
                    )

    def _operand_names(self) -> list[str]:
        """Returns the operands' names, which avoid those that function() reserves."""
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
        rows: Sequence[bool] | None = None,
    ) -> Function:
        """rows: tells which parameters have the last axis, along which a slice is a row; None: a slice is one
        element."""
        self._check_around(rows)
        own = [k for k in range(self._nin, len(self._params)) if not self._params[k].raw]
        shared = [k for k in range(self._nin, len(self._params)) if self._params[k].raw]
        order = [*range(self._nin), *([-1] if indexed else []), *shared, *own]
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
                written, checked = k >= self._nin, is_checked(self._options)
                raws.append(ctext.Raw(each.name, operand, ndim, dense, written, c_type(dtype), checked))
        header = self._header(dtypes, types, raws, rows)
        body = self._body(dtypes, raws, indexed, rows)
        key = tuple(np.dtype(np.int8) if k < 0 else dtypes[k] for k in order)
        # A row reads and writes its elements one after the other.
        options: dict[str, Any] = {"cast": "safe", "inplace": rows is not None, **self._options}

        def place(file: bytes, line: int) -> tuple[str, int, str] | None:
            return header.place(file, line) or body.place(file, line)

        try:
            made = _cwrapjit.function(
                self._name,
                signature=self._signature(shapes, indexed, shared, own, rows),
                header=header.text,
                Ccode_slice_eval={key: body.text},
                **options,
            )
        except CompileError as error:
            ctext.restore(error, place)
            raise
        if indexed:
            made.__dict__["_takes_plain"] = True
        if is_checked(self._options):
            made.__dict__["_place"] = place
        return made

    def _signature(
        self,
        shapes: Sequence[Shape | None],
        indexed: bool,
        shared: Sequence[int],
        own: Sequence[int],
        rows: Sequence[bool] | None,
    ) -> str:
        def shown(k: int) -> str:
            name, shape = self._operands[k], shapes[k]
            if rows is not None and rows[k]:
                return f"{name}(n)"
            dims = range(shape.ndim) if shape is not None else ()
            return f"{name}({', '.join(f'{name}_{axis}' for axis in dims)})"

        inputs = [shown(k) for k in range(self._nin)]
        inputs += ["i()" if rows is None else "i(n)"] if indexed else []
        inputs += [f"shared {shown(k)}" for k in shared]
        outputs = ", ".join(shown(k) for k in own)
        if len(own) == 1 and self._returns_tuple and not shared:
            outputs = f"({outputs},)"
        return f"{', '.join(inputs)} -> {outputs}"

    def _header(
        self,
        dtypes: Sequence[np.dtype[Any]],
        types: Mapping[str, np.dtype[Any]],
        raws: Sequence[ctext.Raw],
        rows: Sequence[bool] | None,
    ) -> ctext.Written:
        """Returns the text before the slice."""
        checked = is_checked(self._options)
        used = self._words | words(self._texts["preamble"])
        before, behind = ctext.helpers(self._texts["preamble"], used, (*dtypes, *types.values()))
        letters = ctext.letter_types(types)
        names = "".join(
            f"#define {each.name} {ctext.loaded(_item(operand, k, rows), dtype)}\n"
            for k, (each, operand, dtype) in enumerate(zip(self._params, self._operands, dtypes, strict=True))
            if (not each.raw or any(raw.name == each.name and raw.ndim is None for raw in raws))
            and not self._is_rounded(k, dtype)
        )
        names += "".join(ctext.raw_accessor(raw) for raw in raws if raw.ndim is not None)
        if "_ind" in self._words:
            axis = ctext.checked_axis("_ind.get()", "Ndims_full__i", "axis") if checked else "axis"
            names += f"#define cwr_index_along(axis) {_ALONG % axis}\n"
        header, preamble = ctext.Written(self._name, "header"), self._texts["preamble"]
        header.own(*f"{before}{letters}".splitlines())
        header.users("", preamble, ctext.rewrite(preamble, (), self._who, "preamble", {}))
        header.own(behind + names)
        return header

    def _is_rounded(self, k: int, dtype: np.dtype[Any]) -> bool:
        """True for an output that texts compute with in another type than it has in memory."""
        return k >= self._nin and dtype.char == "e" and not self._params[k].raw

    def _body(
        self,
        dtypes: Sequence[np.dtype[Any]],
        raws: Sequence[ctext.Raw],
        indexed: bool,
        rows: Sequence[bool] | None,
    ) -> ctext.Written:
        """Returns the slice."""
        texts = {
            what: ctext.rewrite(self._texts[what], raws, self._who, what)
            for what in ("loop_prep", "operation", "after_loop")
        }
        loads = stores = ""
        if self.needs_index and indexed:
            address = "data_slice__i" if rows is None else "&item__i(cwj_k)"
            loads = f"const npy_intp i = (npy_intp)((npy_uintp){address} - {_FIRST_BYTE:#x}u); (void)i; "
        for k, (operand, dtype) in enumerate(zip(self._operands, dtypes, strict=True)):
            if self._is_rounded(k, dtype):
                name, item = self._params[k].name, _item(operand, k, rows)
                loads += f"{value_type(dtype)} {name} = {ctext.loaded(item, dtype)}; "
                stores += f"{item} = {ctext.stored(name, dtype)};"
        slice, operation = ctext.Written(self._name, "slice"), texts["operation"]
        if texts["loop_prep"].strip():
            slice.users("loop_prep", self._texts["loop_prep"], texts["loop_prep"])
            slice.own(";")
        skips = "continue" in words(operation)
        loop = "for (npy_intp cwj_k = 0; cwj_k < dims_slice__i[0]; cwj_k++)" if rows is not None else ""
        # Braces would hide that the operation closes one of them.
        opens, closes = ("{ ", "}") if loop or texts["after_loop"].strip() else ("", "")
        before, end = f"{loop} {opens}{loads}{'do { ' if skips else ''}", ";"
        # On the operation's last line if possible: compilers report some errors at the next word.
        last = operation.rpartition("\n")[2]
        if "//" not in last and "#" not in last:
            operation, end = f"{operation} ;", ""
        slice.users("", self._texts["operation"], f"{before}{operation}")
        slice.own(f"{end}{'} while (0);' if skips else ''}{stores}{closes}")
        slice.users("after_loop", self._texts["after_loop"], texts["after_loop"])
        slice.own(";return 1;")
        return slice


def _item(operand: str, k: int, rows: Sequence[bool] | None) -> str:
    """Returns an element in C."""
    return f"item__{operand}({'cwj_k' if rows is not None and rows[k] else ''})"
