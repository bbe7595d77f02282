"""C snippets become broadcasting NumPy functions in the running session, without a build.

>>> import numpy as np, cwrapjit as cj
>>> m = cj.module("innerlib", "An inner product module in C")
>>> inner = m.function(
...     "inner", "Inner product",
...     args_input=("a", "b"), prototype_input=(("n",), ("n",)), prototype_output=(),
...     Ccode_slice_eval={np.float64: '''
...         item__output() = 0;
...         for (int i = 0; i < dims_slice__a[0]; i++)
...             item__output() += item__a(i) * item__b(i);
...         return true;'''})
>>> print(inner(np.arange(4.0), np.arange(8.0).reshape(2, 4)))
[14. 38.]
"""

from __future__ import annotations

from typing import Any

from cwrapjit._cwrapjit import (
    CompileError,
    CompileWarning,
    Config,
    Function,
    __version__,
    config,
    function,
    module,
)

__all__ = [
    "CompileError",
    "CompileWarning",
    "Config",
    "Function",
    "__version__",
    "config",
    "function",
    "module",
    "show_config",
]


def show_config(mode: str = "stdout") -> Any:
    """Print versions, paths and defaults; mode="dicts" returns them instead."""
    from cwrapjit import _config

    return _config.show_config(mode)
