from typing import Literal, overload

from cwrapjit._cwrapjit import CompileError as CompileError
from cwrapjit._cwrapjit import CompileWarning as CompileWarning
from cwrapjit._cwrapjit import Config as Config
from cwrapjit._cwrapjit import Fault as Fault
from cwrapjit._cwrapjit import Function as Function
from cwrapjit._cwrapjit import __version__ as __version__
from cwrapjit._cwrapjit import config as config
from cwrapjit._cwrapjit import function as function
from cwrapjit._cwrapjit import link as link
from cwrapjit._cwrapjit import module as module
from cwrapjit.library.face import Library as library

__all__ = [
    "CompileError",
    "CompileWarning",
    "Config",
    "Fault",
    "Function",
    "__version__",
    "config",
    "function",
    "library",
    "link",
    "module",
    "show_config",
]

@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, str | int | None]: ...
