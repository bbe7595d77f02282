"""The options of %%cwrapjit and %cwrapjit."""

from __future__ import annotations

import argparse
import dataclasses
import keyword
import os
import re
import shlex
from typing import Any, Literal, NoReturn

from cwrapjit._imports import load

_WORD = re.compile(r"""\s*((?:[^\s"']|"(?:\\.|[^"\\])*"|'[^']*')+)""")


@dataclasses.dataclass
class Options:
    include_dirs: list[str]
    library_dirs: list[str]
    libraries: list[str]
    define_macros: list[tuple[str, str | None]]
    fastmath: bool | None
    threads: int | Literal["auto"] | None
    cast: Literal["no", "safe", "same_kind"] | None
    copies: Literal["allow", "warn"] | None
    optimize: Literal["auto", "eager", "off"] | None
    debug: Literal[True] | None
    cc: str | None
    name: str | None
    module: str | None
    annotate: bool
    verbose: bool


def refuse(reason: str, magic: str = "%%cwrapjit") -> NoReturn:
    """Raises UsageError, which IPython shows as one line."""
    raise load("IPython.core.error").UsageError(f"{magic}: {reason}")


# ---- values ----------------------------------------------------------------------------------------


def _folder(text: str) -> str:
    path = os.path.expanduser(text)
    if not os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"there is no folder {text!r}")
    return path


def _macro(text: str) -> tuple[str, str | None]:
    name, given, value = text.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*(\([^)]*\))?", name):
        raise argparse.ArgumentTypeError(f"{text!r} is neither NAME nor NAME=VALUE")
    return name, value if given else None


def _threads(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdecimal() or not 1 <= int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of threads nor auto")
    return int(text)


def _command(text: str) -> str:
    program = next(iter(text.split()), "")
    if load("shutil").which(program) is None:
        raise argparse.ArgumentTypeError(f"there is no program {program!r}")
    return text


def _python_name(text: str) -> str:
    if not text.isidentifier() or keyword.iskeyword(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name in Python")
    return text


def _text(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} is no name")
    return text


def _argument(help: str, *flags: str, **keywords: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    return flags, {"help": help, **keywords}


def _several(help: str, flag: str, dest: str, metavar: str, kind: Any) -> Any:
    return _argument(help, flag, dest=dest, metavar=metavar, type=kind, action="append", default=[])


def _chosen(help: str, flag: str, *values: str) -> Any:
    return _argument(f"{help}: {', '.join(values)}.", flag, metavar=flag[2:].upper(), choices=values)


ARGUMENTS = (
    _several("Look for headers there, too.", "-I", "include_dirs", "FOLDER", _folder),
    _several("Look for libraries there, too.", "-L", "library_dirs", "FOLDER", _folder),
    _several("A shared library that the text calls: m, gsl, or a path.", "-l", "libraries", "NAME", _text),
    _several("A macro, NAME or NAME=VALUE.", "-D", "define_macros", "MACRO", _macro),
    _argument(
        "The cc tier may change the last bits, and uses vectorised sin, exp, ...",
        "--fastmath",
        action="store_true",
        default=None,
    ),
    _argument(
        "How many threads share the slices of a call, or auto: one per processor.",
        "--threads",
        metavar="N",
        type=_threads,
    ),
    _chosen("Which arrays are converted for a call (usually safe)", "--cast", "no", "safe", "same_kind"),
    _chosen("Whether calls that copy an argument warn (allow: they do not)", "--copies", "allow", "warn"),
    _chosen("When the cc tier begins", "--optimize", "auto", "eager", "off"),
    _argument(
        "Faults in calls are exceptions, a cwrapjit.Fault, with the line.",
        "--debug",
        action="store_const",
        const=True,
    ),
    _argument(
        "The C compiler of the session from now on, as cwrapjit.config.compiler.",
        "--cc",
        metavar="COMPILER",
        type=_command,
    ),
    _argument(
        "What messages call the text. Whatever was bound under this name before is replaced.",
        "--name",
        metavar="NAME",
        type=_text,
    ),
    _argument(
        "Bind the library itself, under this name, and not its functions. Variables, enumerators and macros "
        "of the text are its attributes, too.",
        "--module",
        metavar="NAME",
        type=_python_name,
    ),
    _argument(
        "Show what the system's compiler makes of each line, and the generated C.",
        "-a",
        dest="annotate",
        action="store_true",
    ),
    _argument("Say what was compiled, and how long it took.", "-v", dest="verbose", action="store_true"),
)
_CHOICES = {flag: list(keywords.get("choices", ())) for flags, keywords in ARGUMENTS for flag in flags}
_TAKES_VALUE = {flag for flags, keywords in ARGUMENTS if "metavar" in keywords for flag in flags}


# ---- reading ---------------------------------------------------------------------------------------


def described(magic: Any, shown: str) -> Any:
    """Adds our options to a magic: `magic.parser` reads them, and the help lists them."""
    arguments = load("IPython.core.magic_arguments")
    for flags, keywords in reversed(ARGUMENTS):
        magic = arguments.argument(*flags, **keywords)(magic)
    magic = arguments.magic_arguments(shown)(magic)
    magic.parser.allow_abbrev = False  # split_line() knows no abbreviations
    return magic


def read(parser: Any, line: str, magic: str) -> Options:
    """Reads the options of a line. Raises UsageError."""
    wrong = load("IPython.core.error").UsageError
    try:
        found, others = parser.parse_known_args(shlex.split(line))
    except ValueError as error:  # from shlex: an unclosed quote
        refuse(f"{error}: {line}", magic)
    except wrong as error:
        refuse(f"{error} ({magic}? tells the options)", magic)
    if others and others[0].startswith("-"):
        known = [flag for action in parser._actions for flag in action.option_strings]
        near = load("cwrapjit._options").hint(others[0], known)
        refuse(f"there is no option {others[0]}{near} ({magic}? tells them)", magic)
    if others:
        refuse(f"what is {others[0]!r}? The C text begins in the next line", magic)
    return Options(**vars(found))


def split_line(line: str) -> tuple[str, str]:
    """Splits a line into its options and the C text after them."""
    at = 0
    wants_value = False
    while word := _WORD.match(line, at):
        if not wants_value and not word[1].startswith("-"):
            break
        if word[1] == "--":
            return line[:at], line[word.end() :]
        at = word.end()
        wants_value = not wants_value and word[1] in _TAKES_VALUE
    return line[:at], line[at:]


def complete(shell: Any, event: Any) -> list[str]:
    """Completes options and their values for IPython; nothing within C text."""
    before = event.text_until_cursor.removesuffix(event.symbol).lstrip().partition(" ")[2]
    options, text = split_line(before)
    words = options.replace("=", " ").split()
    if text.strip() or not words or words[-1] not in _TAKES_VALUE:
        return [] if text.strip() else list(_CHOICES)
    return _CHOICES[words[-1]]
