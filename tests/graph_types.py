"""Provides types and ops for tests of graphs that implement the protocol alone: none derives from cwrapjit's.

There are two styles: the methods of templates take no arguments and return texts with `%(name)s`; those of
filled types and ops get the names. `Trace` records what C code does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any


class Variable:
    """A value of a graph: a type, a name, and the node that computes it."""

    def __init__(self, type: Any, name: str | None = None, owner: Any = None) -> None:
        self.type = type
        self.name = name
        self.owner = owner

    def __repr__(self) -> str:
        return self.name or "variable"


class Constant(Variable):
    """A variable with a fixed value."""

    def __init__(self, type: Any, data: Any) -> None:
        super().__init__(type)
        self.data = data


class Apply:
    """An op with its inputs and outputs."""

    def __init__(self, op: Any, inputs: Sequence[Any], types: Sequence[Any]) -> None:
        self.op = op
        self.inputs = list(inputs)
        self.outputs = [Variable(type, owner=self) for type in types]


class Type:
    """A type that creates a variable when it is called with a name."""

    def __call__(self, name: str | None = None) -> Variable:
        return Variable(self, name)

    def __str__(self) -> str:
        return type(self).__name__


class Trace:
    """Records words of C code: `mark("code")` is a C statement, `words()` the words since its last call."""

    def __init__(self, size: int = 4096) -> None:
        self._said = (ctypes.c_long * size)()
        self._words: list[str] = []

    def mark(self, word: str) -> str:
        if word not in self._words:
            self._words.append(word)
        at = ctypes.addressof(self._said)
        number = self._words.index(word)
        return f"{{ long *said = (long *){at}ull; said[1 + said[0]++] = {number}; }}"

    def words(self) -> list[str]:
        found = [self._words[self._said[1 + k]] for k in range(self._said[0])]
        self._said[0] = 0
        return found


class Cell:
    """A number that C and Python share: `cell.c` is an lvalue in C, `cell.value` the same in Python."""

    def __init__(self, value: int = 0) -> None:
        self._memory = ctypes.c_long(value)
        # Goes through a variable: libtcc truncates a constant address to 32 bits when it writes through it.
        self.c = f"(*({{ long *at = (long *){ctypes.addressof(self._memory)}ull; at; }}))"

    @property
    def value(self) -> int:
        return int(self._memory.value)

    @value.setter
    def value(self, value: int) -> None:
        self._memory.value = value


# ---- templates -------------------------------------------------------------------------------------


class Template(Type):
    """A type with templates, a double's by default. Other texts by keyword: extract=, init=, ..."""

    c_templates = True

    def __init__(self, simple: bool = False, **texts: str) -> None:
        self.c_is_simple = simple
        self.texts = {
            "declare": "double %(name)s;",
            "init": "%(name)s = 0.0;",
            "extract": "%(name)s = PyFloat_AsDouble(py_%(name)s);",
            "sync": "Py_XDECREF(py_%(name)s); py_%(name)s = PyFloat_FromDouble(%(name)s);",
            "cleanup": "",
            **texts,
        }

    def c_declare(self) -> str:
        return self.texts["declare"]

    def c_init(self) -> str:
        return self.texts["init"]

    def c_extract(self) -> str:
        return self.texts["extract"]

    def c_sync(self) -> str:
        return self.texts["sync"]

    def c_cleanup(self) -> str:
        return self.texts["cleanup"]


CHECKED = "%(name)s = PyFloat_AsDouble(py_%(name)s);\nif(PyErr_Occurred()) %(fail)s"

DBL = Template()
DBLC = Template(extract=CHECKED)


class TemplateOp:
    """Computes z = x + y of nonnegative numbers. Other texts by keyword: validate=, code=, ..."""

    def __init__(self, names: Any = (("x", "y"), ("z",)), type: Any = None, **texts: str) -> None:
        self.names = [list(names[0]), list(names[1])]
        self.type = type
        self.texts = {
            "validate": "if (%(x)s < 0 || %(y)s < 0) %(fail)s" if "code" not in texts else "",
            "validate_cleanup": "",
            "code": "%(z)s = %(x)s + %(y)s;",
            "code_cleanup": "",
            **texts,
        }

    def __call__(self, *inputs: Any) -> Any:
        node = Apply(self, inputs, [self.type or inputs[0].type] * len(self.names[1]))
        return node.outputs[0] if len(node.outputs) == 1 else node.outputs

    def __str__(self) -> str:
        return "Add"

    def c_var_names(self) -> Any:
        return self.names

    def c_validate_update(self) -> str:
        return self.texts["validate"]

    def c_validate_update_cleanup(self) -> str:
        return self.texts["validate_cleanup"]

    def c_code(self) -> str:
        return self.texts["code"]

    def c_code_cleanup(self) -> str:
        return self.texts["code_cleanup"]


ADD = TemplateOp()


# ---- filled types and ops --------------------------------------------------------------------------


class D(Type):
    """The later document's double. With a trace, each text reports what it does: "extract x"."""

    def __init__(self, trace: Trace | None = None, label: str = "") -> None:
        self.trace = trace
        self.label = label

    def __str__(self) -> str:
        return "double"

    def say(self, word: str) -> str:
        return "" if self.trace is None else self.trace.mark(f"{word} {self.label}".strip())

    def filter(self, x: Any, strict: bool = False, allow_downcast: bool | None = None) -> float:
        if strict and not isinstance(x, float):
            raise TypeError("Expected a float!")
        return float(x)

    def values_eq_approx(self, x: float, y: float, tolerance: float = 1e-4) -> bool:
        return abs(x - y) / (x + y) < tolerance

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"double {name};"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{self.say('init')} {name} = 0.0;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kw: Any) -> str:
        return f"""{self.say("extract")}
            if (!PyFloat_Check(py_{name})) {{
                PyErr_SetString(PyExc_TypeError, "expected a float");
                {sub["fail"]}
            }}
            {name} = PyFloat_AsDouble(py_{name});"""

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return f"""{self.say("sync")}
            Py_XDECREF(py_{name});
            py_{name} = PyFloat_FromDouble({name});
            if (!py_{name}) {{ Py_XINCREF(Py_None); py_{name} = Py_None; }}"""

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return self.say("cleanup")


class Unfiltered(D):
    """A double without filter(): calls pass every object on, and the extraction checks it."""

    filter = None  # type: ignore[assignment]


class FilledOp:
    """An op of the later protocol: {x}, {y}, {u}, {v}, {w} are inputs, {z} is the output, {fail} fails."""

    def __init__(
        self,
        code: str = "{z} = {x} + {y};",
        cleanup: str = "",
        name: str = "Op",
        type: Any = None,
        python: Callable[..., Any] | None = None,
        version: tuple[Any, ...] | None = None,
    ) -> None:
        self.texts = (code, cleanup)
        self.name = name
        self.type = type
        self.python = python
        if version is not None:
            self.c_code_cache_version = lambda: version

    def __call__(self, *inputs: Any) -> Variable:
        return Apply(self, inputs, [self.type or inputs[0].type]).outputs[0]

    def __str__(self) -> str:
        return self.name

    def _fill(self, text: str, inputs: list[str], outputs: list[str], sub: dict[str, str]) -> str:
        words = dict(zip("xyuvw", inputs, strict=False), z=outputs[0], fail=sub["fail"])
        for word, value in words.items():
            text = text.replace("{" + word + "}", value)
        return text

    def c_code(self, node: Any, name: str, inputs: list[str], outputs: list[str], sub: Any) -> str:
        return self._fill(self.texts[0], inputs, outputs, sub)

    def c_code_cleanup(self, node: Any, name: str, inputs: list[str], outputs: list[str], sub: Any) -> str:
        return self._fill(self.texts[1], inputs, outputs, sub)

    def perform(self, node: Any, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        if self.python is None:
            raise NotImplementedError("no Python reference")
        output_storage[0][0] = self.python(*inputs)


double = D()
add = FilledOp("{z} = {x} + {y};", name="add", python=lambda x, y: x + y)
mul = FilledOp("{z} = {x} * {y};", name="mul", python=lambda x, y: x * y)


class Array(Type):
    """A vector of doubles. With `fetched` it has c_extract_out, which takes over the last run's object."""

    def __init__(self, fetched: bool = True) -> None:
        if fetched:
            self.c_extract_out = self._extract_out

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"PyArrayObject *{name};"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = NULL;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kw: Any) -> str:
        return f"""
            {name} = NULL;
            if (!PyArray_Check(py_{name})) {{
                PyErr_SetString(PyExc_TypeError, "expected an array");
                {sub["fail"]}
            }}
            {name} = (PyArrayObject *)py_{name};
            Py_INCREF((PyObject *){name});"""

    def _extract_out(self, name: str, sub: dict[str, str], check_input: bool = True, **kw: Any) -> str:
        return f"if (py_{name} == Py_None) {{ {name} = NULL; }} else {{ {self.c_extract(name, sub)} }}"

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return f"""
            if ((PyObject *){name} != py_{name}) {{
                Py_XDECREF(py_{name});
                py_{name} = {name} ? (PyObject *){name} : Py_None;
                Py_INCREF(py_{name});
            }}"""

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return f"Py_XDECREF((PyObject *){name});"

    def values_eq(self, x: Any, y: Any) -> bool:
        return bool((x == y).all())


# Computes z = 2 * x, and reuses z's array if the length fits.
TWICE = """
{
    npy_intp n = PyArray_DIM({x}, 0);
    if (!{z} || PyArray_DIM({z}, 0) != n) {
        Py_XDECREF((PyObject *){z});
        {z} = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_DOUBLE);
        if (!{z}) {fail}
    }
    for (npy_intp i = 0; i < n; i++)
        *(double *)PyArray_GETPTR1({z}, i) = 2 * *(double *)PyArray_GETPTR1({x}, i);
}
"""
twice = FilledOp(TWICE, name="twice", python=lambda x: 2 * x)
