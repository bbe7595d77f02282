"""Pickles and hashes of what is compiled: C text and options, compiled again where a pickle is loaded.

A pickle is load(FORMAT, version, kind, content). What one process has loaded or pickled is found again by
its content for as long as somebody holds it, so that it is compiled once. Functions of a module share its
sources' variables; so do those that pickles bring.
"""

from __future__ import annotations

import hashlib
import os
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from cwrapjit import _cwrapjit
from cwrapjit._build import Source
from cwrapjit._errors import CompileError
from cwrapjit._imports import load as imported

FORMAT = 1  # of what load() takes; higher where older versions could not read it

# Held while something is made of a pickle, so that two threads make one. A fork waits for it.
_turn = threading.RLock()
os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)
_known: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()
# By the digest of an environment, those who have it.
_holders: dict[bytes, list[weakref.ref[Any]]] = {}
# Which graph is which.
_numbers: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()


class _Definition(NamedTuple):
    """What definition_of() says of a function, and what a pickle of one has."""

    module: str | None
    environment: tuple[Any, ...]  # header and the lists of the C side
    options: dict[str, Any]
    arguments: dict[str, Any]


class _Module(NamedTuple):
    """What a pickle of a module has."""

    name: str
    docstring: str | None
    environment: tuple[Any, ...]
    options: dict[str, Any]
    functions: tuple[tuple[str, Any], ...]  # by attribute, in their order


class _Graph(NamedTuple):
    """What a pickle of a graph has: a number of its own, and the arguments of link()."""

    number: bytes
    inputs: Any
    outputs: Any
    keywords: dict[str, Any]


class _Library(NamedTuple):
    """What a pickle of a library has: its journal."""

    number: bytes
    keywords: dict[str, Any]
    steps: tuple[Any, ...]


class _Member(NamedTuple):
    """What a pickle of a library's function has."""

    library: Any
    attribute: str


class _Made(NamedTuple):
    """What a pickle has of what Python makes: a kernel's class, for one, and what it is called with."""

    maker: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


# ---- pickles ---------------------------------------------------------------------------------------------


def reduced(thing: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What __reduce__() returns."""
    kind, content = _content(thing)
    key = _key(kind, content)
    with _turn:
        if now(type(thing)) is type(thing):
            if kind != "library":  # of equal ones the last: headers on the disk may have changed
                _known[key] = thing
            _known.setdefault(key, thing)
            _hold(content, thing)
    return load, (FORMAT, _cwrapjit.__version__, kind, tuple(content))


def load(*parts: Any) -> Any:
    """What a pickle brings: the object that this process has of it, or a new one, compiled now."""
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
            thing = None  # it has changed
        if thing is None or isinstance(found, _Library):
            thing = _made(version, form, found, thing)
            _known[key] = thing
        _hold(found, thing)
    return thing


def _made(version: str, form: _Form, found: Any, present: Any) -> Any:
    who = form.name(found)
    try:
        return _complete_library(found, present) if isinstance(found, _Library) else form.make(found)
    except CompileError as error:
        error.msg = f"{who}, from a pickle of cwrapjit {version}, does not compile here: {error.msg}"
        raise
    except OSError as error:
        raise OSError(f"{who} cannot be made from a pickle of cwrapjit {version}: {error}") from error
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{who} cannot be made from a pickle of cwrapjit {version}: {error}") from error


# ---- what pickles hold -------------------------------------------------------------------------------------


def _damaged(version: str, why: str) -> ValueError:
    return ValueError(f"a pickle of cwrapjit {version} is damaged: {why}")


def _checked(version: str, form: _Form, content: Any) -> Any:
    """The content, whose parts are of the right types."""
    fields = form.holds._fields
    if type(content) is not tuple or len(content) != len(fields):
        raise _damaged(version, f"wanted {len(fields)} parts: {', '.join(fields)}")
    for name, value in zip(fields, content, strict=True):
        wanted = _PARTS[name]
        if not isinstance(value, wanted):
            raise _damaged(version, f"{name} is of type {type(value).__name__}")
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            raise _damaged(version, f"the names of {name} are no text")
    found = form.holds(*content)
    reason = form.objection(found)
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
    """As the C side takes it."""
    header, lists = environment
    return header, (tuple(Source(*each) for each in lists[0]), *lists[1:])


def _object_to_function(found: _Definition) -> str | None:
    sets = found.arguments.get("Ccode_slice_eval") if isinstance(found.arguments, dict) else None
    if type(sets) is not tuple or not all(type(each) is tuple and len(each) == 2 for each in sets):
        return "Ccode_slice_eval holds no pairs of types and text"
    return _object_to_environment(found.environment)


def _object_to_module(found: _Module) -> str | None:
    for each in found.functions:
        if type(each) is not tuple or len(each) != 2 or type(each[0]) is not str:
            return "functions holds no pairs of names and functions"
        if not isinstance(each[1], _cwrapjit.Function):
            return f"{each[0]!r} is no function but {type(each[1]).__name__}"
    return _object_to_environment(found.environment)


def _object_to_made(found: _Made) -> str | None:
    if not any(found.maker is each for each in _makers()) and not (
        isinstance(found.maker, type) and issubclass(found.maker, tuple(_kernels()))
    ):
        return f"{found.maker!r} makes nothing of cwrapjit's"
    return None if isinstance(found.arguments, tuple) else "arguments are no tuple"


_STEPS = frozenset("declare fortran function handle interface refine struct variable".split())


def _object_to_library(found: _Library) -> str | None:
    for step in found.steps:
        if type(step) is not tuple or list(map(type, step)) != [str, tuple, dict] or step[0] not in _STEPS:
            return f"{step!r} is no step of a library"
    return None


def _object_to_member(found: _Member) -> str | None:
    if isinstance(found.library, imported("cwrapjit.library.face").Library):
        return None
    return f"the function {found.attribute!r} is of no library but of {type(found.library).__name__}"


def _kernels() -> Iterator[type]:
    yield imported("cwrapjit.kernels.elementwise").ElementwiseKernel
    yield imported("cwrapjit.kernels.reduction").ReductionKernel


def _makers() -> Iterator[Callable[..., Any]]:
    yield imported("cwrapjit.kernels.vectorize").vectorize


# ---- making things again -----------------------------------------------------------------------------------


def _make_function(found: _Definition) -> Any:
    arguments = {**found.arguments, **found.options}
    arguments["Ccode_slice_eval"] = dict(arguments["Ccode_slice_eval"])
    return _cwrapjit.define_again(found.module, _built(found.environment), _holder(found), arguments)


def _make_module(found: _Module) -> Any:
    made = _cwrapjit.module_again(
        found.name, found.docstring, _built(found.environment), _holder(found), found.options
    )
    for name, function in found.functions:
        setattr(made, name, function)
    return made


def _make_graph(found: _Graph) -> Any:
    made = _cwrapjit.link(found.inputs, found.outputs, **found.keywords)
    _numbers[made] = found.number
    return made


def _complete_library(found: _Library, present: Any) -> Any:
    """The library that is there, or a new one, with all that the pickle's has."""
    made = imported("cwrapjit.library.face").Library(**found.keywords) if present is None else present
    if present is None:
        made._core.journal.origin, made._core.journal.brought = found.number, 0
    imported("cwrapjit.library.journal").catch_up(made, found.number, found.steps)
    return made


def _make_member(found: _Member) -> Any:
    try:
        made = getattr(found.library, found.attribute)
    except AttributeError as error:
        raise ValueError(str(error)) from None
    if not hasattr(made, "__dict__"):
        raise ValueError(f"{found.attribute} is no function there")
    if found.library._core.journal.brought is not None:
        vars(made)["_home"] = found.library  # which nobody else may hold here
    return made


def _make_made(found: _Made) -> Any:
    return found.maker(*found.arguments, **found.keywords)


class _Form(NamedTuple):
    """What is known of a kind of pickle."""

    holds: Any
    objection: Callable[[Any], str | None]  # what is wrong with a content
    make: Callable[[Any], Any]
    name: Callable[[Any], str]


_FORMS = {
    "function": _Form(
        _Definition,
        _object_to_function,
        _make_function,
        lambda found: (
            ".".join(str(each) for each in (found.module, found.arguments.get("name")) if each) + "()"
        ),
    ),
    "module": _Form(_Module, _object_to_module, _make_module, lambda found: f"module {found.name}"),
    "graph": _Form(_Graph, lambda found: None, _make_graph, lambda found: "link()"),
    "library": _Form(
        _Library,
        _object_to_library,
        lambda found: None,
        lambda found: f"library {found.keywords.get('name')!r}",
    ),
    "member": _Form(_Member, _object_to_member, _make_member, lambda found: f"{found.attribute}()"),
    "made": _Form(_Made, _object_to_made, _make_made, lambda found: f"{found.maker.__name__}()"),
}

# ---- who shares what ---------------------------------------------------------------------------------------


def _environment_key(content: Any) -> bytes | None:
    """None: it has none, or, as a function without a module, one for itself."""
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
        _holders[key] = holders  # the last one of the others may have gone meanwhile


def _holder(content: Any) -> Any:
    key = _environment_key(content)
    for each in list(_holders.get(key, ())) if key is not None else ():
        thing = each()
        if thing is not None:
            return thing
    return None


# ---- content ---------------------------------------------------------------------------------------------


def now(kind: Any) -> Any:
    """The class or function that goes by this name now: the package may have been imported again.
    What is neither stays."""
    is_named = isinstance(kind, (type, types.FunctionType))
    if not is_named or str(kind.__module__).partition(".")[0] != "cwrapjit":
        return kind
    return getattr(imported(kind.__module__), kind.__qualname__, kind)


def digest(thing: Any) -> bytes:
    """Bytes that things of the same content have in common."""
    if issubclass(now(type(thing)), _cwrapjit.Function):
        return _digest("function", _Definition(*_cwrapjit.definition_of(thing)))
    return _digest(*_content(thing))


def token(thing: Any) -> tuple[str, str]:
    """What __dask_tokenize__() returns: the same in each process."""
    kind, content = _content(thing)
    body: Any = content
    if isinstance(content, _Graph):  # variables, types and ops, of whatever classes
        body = imported("pickle").dumps(content[1:], 4)
    elif isinstance(content, _Library):
        body = content[1:]
    elif isinstance(content, _Member):
        body = (*_journal(content).content()[1:], content.attribute)
    return type(thing).__name__, _digest(kind, body).hex()


def _content(thing: Any) -> tuple[str, Any]:
    """Its kind, and what a pickle holds of it."""
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
        return "function", _Definition(*_cwrapjit.definition_of(thing))
    if hasattr(thing, "_made_by"):
        maker, arguments, keywords = thing._made_by()
        return "made", _Made(now(maker), arguments, keywords)
    return "library", _Library(*thing._core.journal.content())


class _Gone:
    """Stands for a library of which nothing is left but functions."""

    def __init__(self, journal: Any) -> None:
        self._core = types.SimpleNamespace(journal=journal)

    def __reduce__(self) -> Any:
        content = self._core.journal.content()
        return load, (FORMAT, _cwrapjit.__version__, "library", content)


def _member(function: Any) -> _Member:
    journal = vars(function)["_journal"]
    library = journal.library()
    if library is None:
        return _Member(_Gone(journal), getattr(function, "__name__", ""))
    for name, each in list(library._core.members()):
        if each is function:
            return _Member(library, name)
    raise TypeError(f"cannot pickle {function!r}: it is no attribute of its library any more")


def _journal(member: _Member) -> Any:
    return member.library._core.journal


def _key(kind: str, content: Any) -> bytes:
    """By which a process finds what it has. Objects of graphs have no content that could be compared."""
    if isinstance(content, (_Graph, _Library)):
        content = content.number
    elif isinstance(content, _Member):
        content = _journal(content).content()[0], content.attribute
    return _digest(kind, content)


def _digest(kind: str, content: Any) -> bytes:
    text = repr((kind, _plain(content)))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plain(value: Any) -> Any:
    """The value as something whose repr() says all of it, and the same in each process."""
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
    if isinstance(value, types.FunctionType):  # there are many of the name "<lambda>"
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
