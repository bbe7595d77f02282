"""Pickles and hashes of compiled objects. They hold C text and options; loading a pickle compiles again.

A pickle is load(FORMAT, version, kind, content). An object that this process has loaded or pickled is found
by its content as long as it is alive, so that it is compiled only once. Functions of one module share the
variables of its sources; so do functions from pickles."""

from __future__ import annotations

import hashlib
import os
import threading
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._build import Source
from cwrapjit._errors import CompileError
from cwrapjit._imports import load as imported

FORMAT = 1  # format of load()'s arguments; incremented when older versions cannot read it

# Held while an object is made from a pickle, so that two threads do not make it twice. fork() waits for it.
_turn = threading.RLock()
os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)
_known: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
# Objects that have an environment, by the environment's digest.
_holders: dict[bytes, list[weakref.ref[Any]]] = {}
# The numbers that identify graphs.
_numbers: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()


# ---- contents of pickles -----------------------------------------------------------------------------------
# called(): the name for messages; objection(): what is wrong; make(): the object; `present`: an equal one.


class _Definition(NamedTuple):
    """The content of a function's pickle, from definition_of()."""

    module: str | None
    environment: tuple[Any, ...]  # header and the lists of the C side
    options: dict[str, Any]
    arguments: dict[str, Any]

    def called(self) -> str:
        return ".".join(str(each) for each in (self.module, self.arguments.get("name")) if each) + "()"

    def objection(self) -> str | None:
        sets = self.arguments.get("Ccode_slice_eval") if isinstance(self.arguments, dict) else None
        if type(sets) is not tuple or not all(type(each) is tuple and len(each) == 2 for each in sets):
            return "Ccode_slice_eval holds no pairs of types and text"
        return _object_to_environment(self.environment)

    def make(self, present: Any) -> Any:
        arguments = {**self.arguments, **self.options}
        arguments["Ccode_slice_eval"] = dict(arguments["Ccode_slice_eval"])
        header, lists = environment = _built(self.environment)
        if self.module is None:
            return _cwrapjit.function(header=header, **dict(zip(_LISTS, lists, strict=True)), **arguments)
        return _cwrapjit.module_again(self.module, "", environment, _holder(self), {}).function(**arguments)


class _Module(NamedTuple):
    """The content of a module's pickle."""

    name: str
    docstring: str | None
    environment: tuple[Any, ...]
    options: dict[str, Any]
    functions: tuple[tuple[str, Any], ...]  # (attribute, function), in their order

    def called(self) -> str:
        return f"module {self.name}"

    def objection(self) -> str | None:
        for each in self.functions:
            if type(each) is not tuple or len(each) != 2 or type(each[0]) is not str:
                return "functions holds no pairs of names and functions"
            if not isinstance(each[1], _cwrapjit.Function):
                return f"{each[0]!r} is no function but {type(each[1]).__name__}"
        return _object_to_environment(self.environment)

    def make(self, present: Any) -> Any:
        made = _cwrapjit.module_again(
            self.name, self.docstring, _built(self.environment), _holder(self), self.options
        )
        for name, function in self.functions:
            setattr(made, name, function)
        return made


class _Graph(NamedTuple):
    """The content of a graph's pickle: its number, and the arguments of link()."""

    number: bytes
    inputs: Any
    outputs: Any
    keywords: dict[str, Any]

    def called(self) -> str:
        return "link()"

    def objection(self) -> str | None:
        return None

    def make(self, present: Any) -> Any:
        made = imported("cwrapjit.graph.linking").link(self.inputs, self.outputs, **self.keywords)
        _numbers[made] = self.number
        return made


class _Library(NamedTuple):
    """The content of a library's pickle: its journal."""

    number: bytes
    keywords: dict[str, Any]
    steps: tuple[Any, ...]

    def called(self) -> str:
        return f"library {self.keywords.get('name')!r}"

    def objection(self) -> str | None:
        for step in self.steps:
            is_step = type(step) is tuple and list(map(type, step)) == [str, tuple, dict]
            if not is_step or step[0] not in _STEPS:
                return f"{step!r} is no step of a library"
        return None

    def make(self, present: Any) -> Any:
        """Returns the present library or a new one, with everything that the pickle has."""
        made = imported("cwrapjit.library.public").Library(**self.keywords) if present is None else present
        if present is None:
            made._core.journal.origin, made._core.journal.brought = self.number, 0
        imported("cwrapjit.library.journal").catch_up(made, self.number, self.steps)
        return made


class _Member(NamedTuple):
    """The content of the pickle of a library's function."""

    library: Any
    attribute: str

    def called(self) -> str:
        return f"{self.attribute}()"

    def objection(self) -> str | None:
        if isinstance(self.library, imported("cwrapjit.library.public").Library):
            return None
        return f"the function {self.attribute!r} is of no library but of {type(self.library).__name__}"

    def make(self, present: Any) -> Any:
        try:
            made = getattr(self.library, self.attribute)
        except AttributeError as error:
            raise ValueError(str(error)) from None
        if not hasattr(made, "__dict__"):
            raise ValueError(f"{self.attribute} is no function there")
        if self.library._core.journal.brought is not None:
            vars(made)["_home"] = self.library  # may be the only reference to the library
        return made


class _Made(NamedTuple):
    """The content of other pickles: the maker, such as a kernel's class, and its arguments."""

    maker: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]

    def called(self) -> str:
        return f"{self.maker.__name__}()"

    def objection(self) -> str | None:
        elementwise = imported("cwrapjit.kernels.elementwise").ElementwiseKernel
        kernels = (elementwise, imported("cwrapjit.kernels.reduction").ReductionKernel)
        is_kernel = isinstance(self.maker, type) and issubclass(self.maker, kernels)
        if not is_kernel and self.maker is not imported("cwrapjit.kernels.vectorize").vectorize:
            return f"{self.maker!r} makes nothing of cwrapjit's"
        return None if isinstance(self.arguments, tuple) else "arguments are no tuple"

    def make(self, present: Any) -> Any:
        return self.maker(*self.arguments, **self.keywords)


# ---- pickles ---------------------------------------------------------------------------------------------


def reduced(thing: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Returns the value of __reduce__()."""
    kind, content = _content(thing)
    key = _key(kind, content)
    with _turn:
        if now(type(thing)) is type(thing):
            if kind != "library":  # keeps the last of equal objects: header files may have changed
                _known[key] = thing
            _known.setdefault(key, thing)
            _hold(content, thing)
    return load, (FORMAT, _cwrapjit.__version__, kind, tuple(content))


def load(*parts: Any) -> Any:
    """Returns the object for a pickle: the one that this process has, or a new one, compiled now."""
    if len(parts) != 4 or type(parts[0]) is not int or type(parts[1]) is not str:
        raise ValueError(
            f"cwrapjit {_cwrapjit.__version__}: a pickle is damaged: it does not say its version"
        )
    format, version, kind, content = parts
    if format > FORMAT:
        raise ValueError(
            f"a pickle of cwrapjit {version} cannot be loaded by cwrapjit {_cwrapjit.__version__}, which is "
            f"older: its format is {format}, and formats up to {FORMAT} are known"
        )
    form = _FORMS.get(kind) if isinstance(kind, str) else None
    if form is None or format < 1:
        raise _damaged(version, f"there is no kind {kind!r} of format {format}")
    found = _checked(version, form, content)
    key = _key(kind, found)
    with _turn:
        thing = _known.get(key)
        if isinstance(thing, _cwrapjit.module) and digest(thing) != key:
            thing = None  # it has been changed
        if thing is None or isinstance(found, _Library):
            thing = _made(version, form, found, thing)
            _known[key] = thing
        _hold(found, thing)
    return thing


def _made(version: str, form: Any, found: Any, present: Any) -> Any:
    who = found.called()
    try:
        return found.make(present)
    except CompileError as error:
        error.msg = f"{who}, from a pickle of cwrapjit {version}, does not compile here: {error.msg}"
        raise
    except OSError as error:
        raise OSError(f"{who} cannot be made from a pickle of cwrapjit {version}: {error}") from error
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{who} cannot be made from a pickle of cwrapjit {version}: {error}") from error


def _damaged(version: str, why: str) -> ValueError:
    return ValueError(f"a pickle of cwrapjit {version} is damaged: {why}")


def _checked(version: str, form: Any, content: Any) -> Any:
    """Returns the content as a named tuple after checking the types of its parts. Raises ValueError."""
    fields = form._fields
    if type(content) is not tuple or len(content) != len(fields):
        raise _damaged(version, f"wanted {len(fields)} parts: {', '.join(fields)}")
    for name, value in zip(fields, content, strict=True):
        wanted = _PARTS[name]
        if not isinstance(value, wanted):
            raise _damaged(version, f"{name} is of type {type(value).__name__}")
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            raise _damaged(version, f"the names of {name} are no text")
    found = form(*content)
    reason = found.objection()
    if reason is not None:
        raise _damaged(version, reason)
    return found


_PARTS: dict[str, tuple[type, ...]] = {
    "module": (str, type(None)), "name": (str,), "docstring": (str, type(None)), "environment": (tuple,),
    "options": (dict,), "arguments": (dict, tuple), "functions": (tuple,), "keywords": (dict,),
    "maker": (object,), "number": (bytes,), "inputs": (object,), "outputs": (object,),
    "steps": (tuple,), "library": (object,), "attribute": (str,),
}  # fmt: skip


def _object_to_environment(environment: tuple[Any, ...]) -> str | None:
    header, lists = environment if len(environment) == 2 else (None, None)
    if type(header) is not str or type(lists) is not tuple or len(lists) != 5:
        return "the environment is no header with five lists"
    if not all(type(each) is tuple for each in lists):
        return "the environment's lists are no tuples"
    pairs = all(type(each) is tuple and [type(part) for part in each] == [str, bytes] for each in lists[0])
    return None if pairs else "sources holds no pairs of paths and texts"


def _built(environment: tuple[Any, ...]) -> tuple[Any, ...]:
    """Converts the environment to the form of the C side."""
    header, lists = environment
    return header, (tuple(Source(*each) for each in lists[0]), *lists[1:])


_LISTS = ("sources", "include_dirs", "define_macros", "libraries", "library_dirs")
_STEPS = frozenset("declare fortran function handle interface refine struct variable".split())


_FORMS: dict[str, Any] = {
    "function": _Definition,
    "module": _Module,
    "graph": _Graph,
    "library": _Library,
    "member": _Member,
    "made": _Made,
}

# ---- shared environments -----------------------------------------------------------------------------------


def _environment_key(content: Any) -> bytes | None:
    """Returns None if there is no environment, or a private one, as of a function without a module."""
    name = getattr(content, "name" if isinstance(content, _Module) else "module", None)
    return None if name is None else _digest("environment", (name, content.environment))


def _hold(content: Any, thing: Any) -> None:
    key = _environment_key(content)
    if key is None:
        return
    holders = _holders.setdefault(key, [])
    if all(each() is not thing for each in holders):

        def forget(gone: weakref.ref[Any]) -> None:
            left = _holders.get(key, [])
            if gone in left:
                left.remove(gone)
            if not left:
                _holders.pop(key, None)

        holders.append(weakref.ref(thing, forget))
        _holders[key] = holders  # the last other holder may have gone meanwhile


def _holder(content: Any) -> Any:
    key = _environment_key(content)
    for each in list(_holders.get(key, ())) if key is not None else ():
        thing = each()
        if thing is not None:
            return thing
    return None


# ---- content ---------------------------------------------------------------------------------------------


def now(kind: Any) -> Any:
    """Returns the class or function that has this name now, as the package may have been imported again.
    Anything else is returned as it is."""
    is_named = isinstance(kind, (type, types.FunctionType))
    if not is_named or str(kind.__module__).partition(".")[0] != "cwrapjit":
        return kind
    return getattr(imported(kind.__module__), kind.__qualname__, kind)


def digest(thing: Any) -> bytes:
    """Returns bytes that objects of the same content have in common."""
    if issubclass(now(type(thing)), _cwrapjit.Function):
        return _digest("function", _Definition(*_cwrapjit.definition_of(thing)))
    return _digest(*_content(thing))


def token(thing: Any) -> tuple[str, str]:
    """Returns the value of __dask_tokenize__(), which is the same in each process."""
    kind, content = _content(thing)
    body: Any = content
    if isinstance(content, _Graph):  # variables, types and ops, of any classes
        body = imported("pickle").dumps(content[1:], 4)
    elif isinstance(content, _Library):
        body = content[1:]
    elif isinstance(content, _Member):
        body = (*_journal(content).content()[1:], content.attribute)
    return type(thing).__name__, _digest(kind, body).hex()


def _content(thing: Any) -> tuple[str, Any]:
    """Returns the kind of an object, and the content of its pickle."""
    kind = now(type(thing))
    if issubclass(kind, _cwrapjit.module):
        environment, options = _cwrapjit.build_of(thing)
        functions = [
            (name, each)
            for name, each in list(vars(thing).items())
            if issubclass(now(type(each)), _cwrapjit.Function)
        ]
        return "module", _Module(thing.__name__, thing.__doc__, environment, options, tuple(functions))
    if issubclass(kind, _cwrapjit.Graph):
        with _turn:
            number = _numbers.setdefault(thing, os.urandom(16))
        return "graph", _Graph(number, *thing._made_by())
    if kind.__module__ == "cwrapjit" and kind.__name__ in ("LibraryFunction", "Function"):
        if "_journal" in vars(thing):
            return "member", _member(thing)
        if kind.__name__ == "LibraryFunction" or "_library" in vars(thing):
            raise TypeError(f"cannot pickle {thing!r}: it is no attribute of its library")
        if "_given" in vars(thing):
            return "made", _Made(imported("cwrapjit.kernels.vectorize").vectorize, (), vars(thing)["_given"])
        return "function", _Definition(*_cwrapjit.definition_of(thing))
    if hasattr(thing, "_made_by"):
        maker, arguments, keywords = thing._made_by()
        return "made", _Made(now(maker), arguments, keywords)
    return "library", _Library(*thing._core.journal.content())


class _Gone:
    """Stands for a library that no longer exists, or for one in the state before a step that replaced a
    function: as that is a different library."""

    def __init__(self, journal: Any, steps: int | None = None) -> None:
        number, arguments, all_steps = journal.content()
        if steps is not None:
            number = _digest("library", (number, steps))
        content = number, arguments, all_steps[:steps]
        self._core = types.SimpleNamespace(journal=types.SimpleNamespace(content=lambda: content))

    def __reduce__(self) -> Any:
        content = self._core.journal.content()
        return load, (FORMAT, _cwrapjit.__version__, "library", content)


def _member(function: Any) -> _Member:
    journal = vars(function)["_journal"]
    library = journal.library()
    for name, each in list(library._core.table.items()) if library is not None else ():
        if each is function:
            return _Member(library, name)
    if "_replaced" in vars(function):
        attribute, steps = vars(function)["_replaced"]
        return _Member(_Gone(journal, steps), attribute)
    if library is None:
        return _Member(_Gone(journal), getattr(function, "__name__", ""))
    raise TypeError(f"cannot pickle {function!r}: it is no attribute of its library any more")


def _journal(member: _Member) -> Any:
    return member.library._core.journal


def _key(kind: str, content: Any) -> bytes:
    """The key under which a process finds an object. Objects in graphs cannot be compared by content."""
    if isinstance(content, (_Graph, _Library)):
        content = content.number
    elif isinstance(content, _Member):
        content = _journal(content).content()[0], content.attribute
    return _digest(kind, content)


def _digest(kind: str, content: Any) -> bytes:
    text = repr((kind, _plain(content)))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plain(value: Any) -> Any:
    """Converts the value to one whose repr() is complete, and the same in each process."""
    if value is None or type(value) in (str, bytes, bool, int, float, complex):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(_plain(each) for each in value)
    if isinstance(value, Mapping):
        return "dict", sorted((repr(_plain(key)), _plain(each)) for key, each in value.items())
    if isinstance(value, np.dtype):
        return "dtype", _written(value)
    if isinstance(value, (np.generic, np.ndarray)) and not value.dtype.hasobject:
        array = np.asarray(value)
        return type(value).__name__, _written(array.dtype), array.shape, array.tobytes()
    if isinstance(value, str):
        return str.__str__(value)
    if issubclass(now(type(value)), (_cwrapjit.Function, _cwrapjit.module)):
        return "of cwrapjit", digest(value)
    if isinstance(value, types.FunctionType):  # many are named "<lambda>"
        cells = tuple(_plain(each.cell_contents) for each in value.__closure__ or ())
        return "function", value.__module__, value.__qualname__, _code(value.__code__), cells
    if isinstance(value, type):
        return "named", value.__module__, value.__qualname__
    return type(value).__qualname__, imported("pickle").dumps(value, 4)


def _code(code: types.CodeType) -> Any:
    constants = tuple(_code(each) if isinstance(each, types.CodeType) else each for each in code.co_consts)
    return code.co_code, code.co_names, constants


def _written(dtype: np.dtype[Any]) -> str:
    return dtype.str if dtype.names is None else imported("cwrapjit._records").expression_of(dtype)
