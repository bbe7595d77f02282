"""Provides types and ops as the documents write them, on cwrapjit's base classes: Double and Add in the
template style, double in the later protocol. (graph_types.py has the same without base classes.)"""

# ruff: noqa: UP031, C408 (the documents fill their texts by %)
from __future__ import annotations

from typing import Any

import cwrapjit
import cwrapjit.graph as cg

# ---- the template style ----------------------------------------------------------------------------


class Double(cg.ResultBase):
    """A double, without error checks."""

    def c_declare(self):
        return "double %(name)s;"

    def c_init(self):
        return "%(name)s = 0.0;"

    def c_extract(self):
        return "%(name)s = PyFloat_AsDouble(py_%(name)s);"

    def c_cleanup(self):
        return ""  # nothing to do

    def c_sync(self):
        return "Py_XDECREF(py_%(name)s); py_%(name)s = PyFloat_FromDouble(%(name)s);"


class CheckedDouble(Double):
    """A double whose extraction checks for errors."""

    def c_extract(self):
        return super().c_extract() + "\nif(PyErr_Occurred()) %(fail)s"


class Add(cg.COp):
    """Adds two nonnegative doubles."""

    def c_var_names(self):
        return "[['x', 'y'], ['z']]"

    def c_validate_update(self):
        return "if (%(x)s < 0 || %(y)s < 0) %(fail)s"  # fail if x or y is negative

    def c_validate_update_cleanup(self):
        return ""  # nothing to do

    def c_code(self):
        return "%(z)s = %(x)s + %(y)s;"

    def c_code_cleanup(self):
        return ""  # nothing to do


class AddFromOp(cg.Op):
    """The same op on the base class Op, as another copy of the document has it."""

    c_var_names = Add.c_var_names
    c_validate_update = Add.c_validate_update
    c_validate_update_cleanup = Add.c_validate_update_cleanup
    c_code = Add.c_code
    c_code_cleanup = Add.c_code_cleanup


def template_op(**texts: Any) -> Any:
    """Returns an op with the variables x, y -> z and the given texts: code=, code_cleanup=, validate=, ..."""
    names = {"validate": "c_validate_update", "validate_cleanup": "c_validate_update_cleanup"}
    methods = {names.get(key, f"c_{key}"): (lambda self, text=text: text) for key, text in texts.items()}
    methods.setdefault("c_var_names", lambda self: [["x", "y"], ["z"]])
    methods.setdefault("c_code", lambda self: "%(z)s = %(x)s + %(y)s;")
    return type("Templated", (cg.Op,), methods)()


def template_type(base: type = CheckedDouble, **texts: Any) -> Any:
    """Returns a class of variables with the given texts: declare=, init=, extract=, sync=, cleanup=."""
    return type("Typed", (base,), {f"c_{key}": (lambda self, text=text: text) for key, text in texts.items()})


# ---- the later protocol ----------------------------------------------------------------------------


class D(cg.CType):
    """Double as in the final version of the document."""

    def filter(self, x, strict=False, allow_downcast=None):
        if strict and not isinstance(x, float):
            raise TypeError("Expected a float!")
        return float(x)

    def values_eq_approx(self, x, y, tolerance=1e-4):
        return abs(x - y) / (x + y) < tolerance

    def __str__(self):
        return "double"

    def c_declare(self, name, sub):
        return """
        double %(name)s;
        """ % dict(name=name)

    def c_init(self, name, sub):
        return """
        %(name)s = 0.0;
        """ % dict(name=name)

    def c_extract(self, name, sub, **kwargs):
        return """
        if (!PyFloat_Check(py_%(name)s)) {
            PyErr_SetString(PyExc_TypeError, "expected a float");
            %(fail)s
        }
        %(name)s = PyFloat_AsDouble(py_%(name)s);
        """ % dict(sub, name=name)

    def c_sync(self, name, sub):
        return """
        Py_XDECREF(py_%(name)s);
        py_%(name)s = PyFloat_FromDouble(%(name)s);
        if (!py_%(name)s) {
            printf("PyFloat_FromDouble failed on: %%f\\n", %(name)s);
            Py_XINCREF(Py_None);
            py_%(name)s = Py_None;
        }
        """ % dict(name=name)

    def c_cleanup(self, name, sub):
        return ""


class Unfiltered(D):
    """A double whose filter() accepts every argument."""

    filter = cg.CType.filter


class Binary(cg.COp):
    """Computes z = x SIGN y."""

    def __init__(self, name, sign):
        self.name = name
        self.sign = sign

    def __str__(self):
        return self.name

    def c_code(self, node, name, inputs, outputs, sub):
        (x, y), (z,) = inputs, outputs
        return f"{z} = {x} {self.sign} {y};"


double = D()
add = Binary("add", "+")
mul = Binary("mul", "*")


def filled_op(code: str, cleanup: str = "", ninputs: int = 2, **methods: Any) -> Any:
    """Returns an op of the later protocol. Its texts contain {x}, {y}, ..., {z} and {fail}."""

    def fill(text: str, inputs: Any, outputs: Any, sub: Any) -> str:
        words = dict(zip("xyuvw", inputs, strict=False), z=outputs[0], fail=sub["fail"])
        for word, value in words.items():
            text = text.replace("{" + word + "}", value)
        return text

    def c_code(self, node, name, inputs, outputs, sub):
        return fill(code, inputs, outputs, sub)

    def c_code_cleanup(self, node, name, inputs, outputs, sub):
        return fill(cleanup, inputs, outputs, sub)

    return type("Filled", (cg.COp,), {"c_code": c_code, "c_code_cleanup": c_code_cleanup, **methods})()


def said(error: cwrapjit.CompileError) -> str:
    """Returns the texts and file names of all errors in a CompileError."""
    return "\n".join(f"{one} {one.filename}" for one in (error, *error.errors))
