from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from inspect import Signature
from os import PathLike
from signal import Signals
from types import ModuleType
from typing import Any, ClassVar, Literal, NoReturn, Protocol, TypeAlias, final, type_check_only

import numpy as np
from typing_extensions import Self, disjoint_base

from cwrapjit._explain import Explanation

__version__: str

_Path: TypeAlias = str | PathLike[str]
_List: TypeAlias = tuple[_Path, ...] | list[_Path] | list[str]
_Macros: TypeAlias = Sequence[str | tuple[str, str | None]]
_Dim: TypeAlias = int | str
_Shape: TypeAlias = Sequence[_Dim]
_Extra: TypeAlias = Sequence[str]
_Optimize: TypeAlias = Literal["auto", "off", "eager"]
_Threads: TypeAlias = int | Literal["auto"]
_Cast: TypeAlias = Literal["no", "safe"]
_Cookie: TypeAlias = Literal["readwrite", "readonly"]
_Border: TypeAlias = Literal[
    "reflect", "nearest", "wrap", "mirror", "constant", "grid-mirror", "grid-wrap", "grid-constant"
]

@type_check_only
class _Writable(Protocol):
    def write(self, text: str, /) -> object: ...

class CompileError(SyntaxError):
    errors: Sequence[CompileError]

class CompileWarning(UserWarning):
    msg: str
    filename: str | None
    lineno: int | None
    offset: int | None
    text: str | None

class Fault(RuntimeError):
    signal: Signals | None
    address: int | None
    filename: str | None
    lineno: int | None
    text: str | None

@final
class Config:
    @property
    def optimize(self) -> _Optimize: ...
    @optimize.setter
    def optimize(self, value: _Optimize | None) -> None: ...
    @property
    def threads(self) -> _Threads: ...
    @threads.setter
    def threads(self, value: _Threads | None) -> None: ...
    @property
    def compiler(self) -> str | None: ...
    @compiler.setter
    def compiler(self, value: str | None) -> None: ...
    @property
    def processes(self) -> int: ...
    @processes.setter
    def processes(self, value: int | None) -> None: ...
    @property
    def debug(self) -> bool: ...
    @debug.setter
    def debug(self, value: bool | None) -> None: ...
    @property
    def compile_memory(self) -> int: ...
    @compile_memory.setter
    def compile_memory(self, value: int | None) -> None: ...
    @property
    def compiled_graphs(self) -> int: ...

config: Config
watcher: ContextVar[Any]  # see cwrapjit/_progress.py

@final
class Function:
    # Those of an instance, as for Python's functions.
    __name__: str
    __qualname__: str
    __doc__: str | None
    __module__: str
    __dict__: dict[str, Any]
    @property
    def __signature__(self) -> Signature: ...
    @property
    def source(self) -> str: ...
    @property
    def signature(self) -> str: ...
    @property
    def output_dims(self) -> dict[str, str]: ...
    @property
    def windows(self) -> dict[str, dict[str, Any]]: ...
    @property
    def types(self) -> tuple[str, ...]: ...
    @property
    def tier(self) -> str: ...
    @property
    def tier_error(self) -> CompileError | RuntimeError | None: ...
    @property
    def address(self) -> int: ...
    @property
    def capsule(self) -> object: ...
    @property
    def ufunc(self) -> np.ufunc: ...
    def explain(self) -> Explanation | None: ...
    def wait(self, timeout: float | None = None) -> bool: ...
    def diagnose(self) -> list[CompileWarning] | None: ...
    def _facts(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __dask_tokenize__(self) -> tuple[str, str]: ...

@final
class module(ModuleType):
    def __init__(
        self,
        name: str,
        docstring: str | None = "",
        header: str | None = "",
        *,
        sources: _List = (),
        include_dirs: _List = (),
        define_macros: _Macros = (),
        libraries: _List = (),
        library_dirs: _List = (),
        optimize: _Optimize | None = None,
        fastmath: bool | None = None,
        debug: bool | None = None,
        threads: _Threads | None = None,
        unordered: bool | None = None,
        inplace: bool | None = None,
        gil: bool | None = None,
        cast: _Cast | None = None,
        cookie: _Cookie | None = None,
    ) -> None: ...
    def function(
        self,
        name: str,
        docstring: str | None = "",
        args_input: Sequence[str] = (),
        prototype_input: Sequence[_Shape] = (),
        prototype_output: Sequence[_Dim] | Sequence[_Shape] | None = ...,
        Ccode_slice_eval: Mapping[Any, str] = ...,
        Ccode_validate: str | None = None,
        Ccode_cookie_struct: str | None = "",
        Ccode_cookie_cleanup: str | None = "",
        extra_args: Sequence[_Extra] = (),
        *,
        signature: str | None = None,
        args_inout: Sequence[str] = (),
        output_dims: dict[str, str] | None = None,
        args_shared: Sequence[str] = (),
        windows: dict[str, _Shape] | None = None,
        border: _Border | dict[str, _Border] | None = None,
        cval: complex | dict[str, complex] | None = None,
        axes: dict[str, Sequence[int]] | None = None,
        window_steps: dict[str, Sequence[int]] | None = None,
        optimize: _Optimize | None = None,
        fastmath: bool | None = None,
        debug: bool | None = None,
        threads: _Threads | None = None,
        unordered: bool | None = None,
        inplace: bool | None = None,
        gil: bool | None = None,
        cast: _Cast | None = None,
        cookie: _Cookie | None = None,
        identity: complex | np.number[Any] | np.bool_ | None = None,
        associative: bool | None = None,
        c_function: str | None = None,
    ) -> Function: ...
    def write(self, file: _Writable | None = None) -> None: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __dask_tokenize__(self) -> tuple[str, str]: ...
    def register(self) -> None: ...

def function(
    name: str,
    docstring: str | None = "",
    args_input: Sequence[str] = (),
    prototype_input: Sequence[_Shape] = (),
    prototype_output: Sequence[_Dim] | Sequence[_Shape] | None = ...,
    Ccode_slice_eval: Mapping[Any, str] = ...,
    Ccode_validate: str | None = None,
    Ccode_cookie_struct: str | None = "",
    Ccode_cookie_cleanup: str | None = "",
    extra_args: Sequence[_Extra] = (),
    *,
    header: str | None = "",
    sources: _List = (),
    include_dirs: _List = (),
    define_macros: _Macros = (),
    libraries: _List = (),
    library_dirs: _List = (),
    signature: str | None = None,
    args_inout: Sequence[str] = (),
    output_dims: dict[str, str] | None = None,
    args_shared: Sequence[str] = (),
    windows: dict[str, _Shape] | None = None,
    border: _Border | dict[str, _Border] | None = None,
    cval: complex | dict[str, complex] | None = None,
    axes: dict[str, Sequence[int]] | None = None,
    window_steps: dict[str, Sequence[int]] | None = None,
    optimize: _Optimize | None = None,
    fastmath: bool | None = None,
    debug: bool | None = None,
    threads: _Threads | None = None,
    unordered: bool | None = None,
    inplace: bool | None = None,
    gil: bool | None = None,
    cast: _Cast | None = None,
    cookie: _Cookie | None = None,
    identity: complex | np.number[Any] | np.bool_ | None = None,
    associative: bool | None = None,
    c_function: str | None = None,
) -> Function: ...

@final
class BoundGraph:
    @property
    def cells(self) -> tuple[list[Any], ...]: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def graph(self) -> Graph: ...
    def run(self) -> int: ...

@final
class Graph:
    @property
    def __signature__(self) -> Signature: ...
    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def compiler(self) -> str: ...
    @property
    def tier(self) -> str: ...
    @property
    def tier_error(self) -> CompileError | RuntimeError | None: ...
    @property
    def cells(self) -> tuple[list[Any], ...]: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def blocks(self) -> tuple[str, ...]: ...
    @property
    def inputs(self) -> tuple[Any, ...]: ...
    @property
    def outputs(self) -> tuple[Any, ...]: ...
    def run(self) -> int: ...
    def once(self, *storages: list[Any]) -> int: ...
    def bind(self, *storages: list[Any]) -> BoundGraph: ...
    def wait(self, timeout: float | None = None) -> bool: ...
    def diagnose(self) -> list[CompileWarning] | None: ...
    def _made_by(self) -> tuple[Any, Any, dict[str, Any]]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __dask_tokenize__(self) -> tuple[str, str]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def link(
    inputs: Iterable[Any],
    outputs: Any,
    *,
    mode: Literal["struct", "function"] = "struct",
    per_op: bool = False,
    validate: bool = True,
    check: bool = False,
    name: str = "graph",
    python: bool = False,
    updates: dict[Any, Any] | None = None,
    optimize: _Optimize | None = None,
    fastmath: bool | None = None,
    debug: bool | None = None,
) -> Graph: ...
def backend() -> str: ...
def optimizer() -> dict[str, Any]: ...
def live() -> dict[str, int]: ...
def lose(size: int, /) -> None: ...
def make_filter(type: int, ndim: int, cls: type, slow: Callable[..., Any], /) -> Callable[..., Any]: ...
def read_scalar(type: int, value: object, /) -> Any: ...
def declared_names(who: str, text: str, name: str, /) -> tuple[str, ...]: ...
def expression_standing(expression: str, before: str, /) -> str: ...
def label_node(op: Any, inputs: tuple[Any, ...], /) -> str: ...
def label_variable(variable: Any, /) -> str | None: ...
def refuse_answer(
    object: Any, about: str, is_op: bool, method: str, type: type[Exception], text: str, /
) -> NoReturn: ...

# For cwrapjit._travel; no part of the public interface.
def definition_of(
    function: Function, /
) -> tuple[str | None, tuple[Any, ...], dict[str, Any], dict[str, Any]]: ...
def build_of(module: module, /) -> tuple[tuple[Any, ...], dict[str, Any]]: ...
def module_again(
    name: str, docstring: str | None, environment: tuple[Any, ...], holder: object, options: dict[str, Any], /
) -> module: ...
def define_again(
    module: str | None, environment: tuple[Any, ...], holder: object, arguments: dict[str, Any], /
) -> Function: ...

# The C side of cwrapjit.library; no part of the public interface.
@final
class LibraryFunction:
    __name__: str
    __qualname__: str
    __doc__: str | None
    __module__: str
    __dict__: dict[str, Any]
    @property
    def __signature__(self) -> Signature: ...
    @property
    def tier_error(self) -> CompileError | RuntimeError | None: ...
    @property
    def address(self) -> int: ...
    @property
    def capsule(self) -> object: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...
    def _fits(self, *args: Any, **kwargs: Any) -> tuple[bool, ...] | None: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...
    def __dask_tokenize__(self) -> tuple[str, str]: ...

@final
class Pointer:
    @property
    def address(self) -> int: ...
    @property
    def item(self) -> str: ...
    @property
    def base(self) -> Any: ...
    @property
    def readonly(self) -> bool: ...
    def __new__(cls, object: Any) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@disjoint_base
class Instance:
    __cwrapjit_layout__: ClassVar[Layout]
    @property
    def address(self) -> int: ...
    @property
    def referenced_objects(self) -> list[Any]: ...
    @property
    def __cwrapjit_base__(self) -> Any: ...
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def _cwrapjit_close(self) -> None: ...

@final
class Layout:
    @property
    def name(self) -> str: ...
    @property
    def fields(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def free_name(self) -> str: ...
    @property
    def automatic(self) -> bool: ...
    def exchange(self, other: Layout, /) -> None: ...
    def __new__(
        cls,
        name: str,
        fields: str,
        size: int,
        alignment: int,
        owner: object,
        free: int = 0,
        needs_init: bool = False,
        has_pointers: bool = True,
        free_name: str = "",
        automatic: bool = False,
        end: int = 0,
        nbound: int = 0,
    ) -> Self: ...

@final
class Field:
    __name__: str
    dtype: Any
    def __new__(
        cls,
        layout: Layout,
        name: str,
        offset: int,
        kind: str,
        dtype: Any = None,
        dims: tuple[Any, ...] = (),
        of: Any = None,
        readonly: bool = False,
        reason: str = "",
        item: str = "",
        is_const: bool = False,
    ) -> Self: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...
    def __set__(self, instance: object, value: Any, /) -> None: ...
    def __delete__(self, instance: object, /) -> None: ...

@final
class Initializer:
    def __new__(cls, function: Callable[..., Any], adopts: bool) -> Self: ...
    def __call__(self, instance: Instance, /, *args: Any, **kwargs: Any) -> None: ...

def instance_at(cls: type[Instance], address: int, base: object = None, /) -> Any: ...
def keep(instance: Instance, object: object, copied: bool = False, which: int = 0, /) -> None: ...
def library_environment(
    name: str,
    sources: _List = (),
    libraries: _List = (),
    include_dirs: _List = (),
    define_macros: _Macros = (),
    library_dirs: _List = (),
    header: str = "",
    debug: bool = False,
    text: str | None = None,
) -> object: ...
def library_has_state(environment: object, /) -> bool: ...
def check_loops(who: str, fastmath: object, threads: object, /) -> None: ...
def find_typeless(text: str, /) -> tuple[str, int, int] | None: ...
def compile_thunks(
    environment: object,
    text: str,
    names: Sequence[str],
    optimize: bool = False,
    file: str | None = None,
    before: str = "",
    after: str = "",
    opening: str = "",
    line: int = 0,
) -> tuple[object, list[int]]: ...
def callback_entry() -> int: ...

@final
class Trampolines:
    def __new__(cls) -> Self: ...
    def add(self, unit: object, places: int, addresses: list[int], /) -> None: ...
    @property
    def scarce(self) -> bool: ...
    @property
    def counts(self) -> tuple[int, int]: ...

@final
class Closure:
    @property
    def address(self) -> int: ...
    @property
    def callable(self) -> Any: ...

@final
class CallbackKind:
    def __new__(
        cls, who: str, trampolines: Trampolines, arguments: tuple[Any, ...], result: tuple[Any, ...]
    ) -> Self: ...
    def __call__(self, callable: Any, /) -> Closure: ...

def capsule_parts(capsule: object, /) -> tuple[str | None, int, int]: ...
def library_diagnose(environment: object, /) -> list[CompileWarning] | None: ...
def library_compiled(environment: object, name: str, /) -> bool: ...
def library_symbol(environment: object, name: str, /) -> int | None: ...
def wrap_function(description: Any, /) -> LibraryFunction: ...
def scalar_at(address: int, type: str, /) -> Any: ...
def store_scalar(address: int, type: str, value: object, name: str, /) -> None: ...
def array_at(
    address: int,
    type: str | np.dtype[Any],
    shape: Sequence[int],
    order: Literal["C", "F"] = "C",
    owner: object = None,
    writeable: bool = True,
    free: int = 0,
) -> Any: ...

@disjoint_base
class Dispatch:
    # Those of an instance, as for Python's functions.
    __name__: str
    __qualname__: str
    def __init__(
        self,
        resolve: Callable[[tuple[Any, ...], dict[str, Any]], Callable[..., Any]] | None = None,
        *,
        name: str | None = None,
        doc: str | None = None,
        ranks: Iterable[int] = (),
        lists: Iterable[int] = (),
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    @property
    def combinations(self) -> tuple[Callable[..., Any], ...]: ...
    def forget(self) -> None: ...
    def __init_subclass__(cls) -> None: ...
    def __reduce__(self) -> NoReturn: ...

@final
class Adapted:
    @property
    def target(self) -> Any: ...
    def __new__(
        cls,
        target: Callable[..., Any],
        name: str,
        nargs: int,
        inputs: tuple[int, ...],
        casts: tuple[Any, ...],
        given: tuple[int, ...],
        shared: tuple[bool, ...],
        dtypes: tuple[Any, ...],
        spread: tuple[int, ...],
        size: int,
        tuple_out: bool,
        form: int,
    ) -> Self: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __reduce__(self) -> NoReturn: ...
