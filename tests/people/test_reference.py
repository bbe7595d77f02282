"""Tests that docs/api.md has all that is public, with parameters, types, results, errors and examples."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import documents
import pytest

import cwrapjit
import cwrapjit.graph as cg
from cwrapjit import _imports, _options
from cwrapjit.library.options import OPTIONS
from cwrapjit.library.public import Library
from cwrapjit.notebook.options import ARGUMENTS, Options

PAGE = (documents.DOCS / "api.md").read_text(encoding="utf-8")
NOTEBOOK = (documents.DOCS / "notebook.md").read_text(encoding="utf-8")
STUBS = ast.parse(Path(cwrapjit.__file__).with_name("_cwrapjit.pyi").read_text(encoding="utf-8"))

DIRECTIVE = re.compile(r"^\.\. (\w+):: ([\w.]+)(.*)\n((?:   .*\n|\n(?= ))*)", re.MULTILINE)
TITLE = re.compile(r"^##+ .*", re.MULTILINE)
LINE = re.compile(r"^([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*): ", re.MULTILINE)  # of a docstring: parameters
ROW = re.compile(r"^\| `(\w+)`[^|]*\| (.*) \|$", re.MULTILINE)
# Methods that graphs call: text above them says what their arguments are.
OF_GRAPHS = re.compile(r"c_\w+|filter|values_eq\w*|make_node|perform|COp.get_params")


class Entry(NamedTuple):
    """An object of the page, and the text from it to the next one."""

    name: str
    object: Any
    is_made: bool  # by another callable: the page says Function()
    members: tuple[str, ...]
    part: str

    def callables(self) -> Iterator[tuple[str, Any]]:
        """Yields what users call: the object and its methods."""
        if callable(self.object) and not self.is_made:
            yield self.name, self.object
        for member in self.members:
            each = getattr(self.object, member)
            is_method = callable(each) and not OF_GRAPHS.fullmatch(member)
            if is_method and not OF_GRAPHS.fullmatch(f"{self.name}.{member}"):
                yield f"{self.name}.{member}", each


def entries() -> dict[str, Entry]:
    made: dict[str, Entry] = {}
    place = ""
    directives = list(DIRECTIVE.finditer(PAGE))
    for k, found in enumerate(directives):
        kind, name, after, options = found.groups()
        if kind == "currentmodule":
            place = name
        elif kind in ("autofunction", "autoclass"):
            home, _, last = (name if "." in name else f"{place}.{name}").rpartition(".")
            thing = getattr(_imports.load(home), last)
            given = re.findall(r"members:(.*)", options)
            members = [each.strip() for text in given for each in text.split(",") if each.strip()]
            if "" in given:  # all of its own
                members += [each for each in vars(thing) if not each.startswith("_")]
            end = directives[k + 1].start() if k + 1 < len(directives) else len(PAGE)
            made[last] = Entry(last, thing, after == "()", tuple(members), PAGE[found.end() : end])
    return made


ENTRIES = entries()
CALLABLES = [
    pytest.param(entry, each, id=name) for entry in ENTRIES.values() for name, each in entry.callables()
]
of_each_callable = pytest.mark.parametrize(("entry", "each"), CALLABLES)


def below(title: str) -> str:
    """Returns the text between a title and the next one."""
    return TITLE.split(PAGE.partition(f"\n## {title}\n")[2])[0]


def rows(text: str) -> dict[str, list[str]]:
    """Returns the cells of the rows of tables, by the name in the first cell."""
    return {name: rest.split(" | ") for name, rest in ROW.findall(text)}


COMMON = rows(below("Common options"))
FUNCTION = rows(ENTRIES["function"].part)


def documented(each: Any) -> str:
    return inspect.getdoc(each) or ""


def named_in(doc: str) -> set[str]:
    """Returns the parameters that the lines of a docstring describe."""
    return {name for names in LINE.findall(doc) for name in names.split(", ")}


def parameters(each: Any) -> list[str]:
    """Returns their names, without those that methods pass, and **unknown, which is refused."""
    named = inspect.signature(each).parameters.values()
    return [p.name for p in named if p.name not in ("self", "library") and p.annotation != "NoReturn"]


@pytest.mark.row("U12", "S10")
def test_the_page_has_every_public_name() -> None:
    data = {name for text in re.findall(r"^\.\. (?:data|class):: (.*(?:\n {3,}\w+$)*)", PAGE, re.MULTILINE)
            for name in re.findall(r"^ *(\w+)", text, re.MULTILINE)}  # fmt: skip
    assert {*cwrapjit.__all__, *cg.__all__} - {*ENTRIES, *data} == set()
    kinds = (cwrapjit.Function, cwrapjit.module, cwrapjit.Config, cwrapjit.Pointer, cg.Graph, cg.BoundGraph)
    for kind in (*kinds, Library):
        public = {name for name in vars(kind) if not name.startswith("_")}
        assert public <= {*ENTRIES[kind.__name__].members}
        assert [name for name in public if not getattr(kind, name).__doc__] == []
    for kind in (cwrapjit.CompileError, cwrapjit.CompileWarning, cwrapjit.Fault):
        public = {name for name in vars(kind) if not name.startswith("_")}
        assert public <= {*rows(below("Errors and warnings"))}


@pytest.mark.row("U12", "S10")
@of_each_callable
def test_parameters_are_described(entry: Entry, each: Any) -> None:
    """In lines of the docstring or in rows of tables. Short docstrings of methods in C are prose."""
    known = named_in(documented(each)) | {*rows(entry.part)}
    if "common options](#common" in entry.part:
        known |= {*COMMON}
    if not (inspect.isfunction(each) or inspect.isclass(each)):
        known |= {*re.findall(r"\w+", documented(each))}
    if each is cwrapjit.module or each is cwrapjit.module.write:
        known |= {*re.findall(r"`(\w+)`", entry.part)}
    if each is Library.function:  # see the next test
        known.add("options")
    if each is cwrapjit.module.function:  # "takes the arguments of function()"
        known |= {*FUNCTION}
    assert [name for name in parameters(each) if name not in known] == []


@pytest.mark.row("U12", "S10")
def test_options_of_library_functions_are_described() -> None:
    assert named_in(documented(Library.function)) == {"declaration", *OPTIONS}


@pytest.mark.row("U12", "S10")
@of_each_callable
def test_results_errors_and_an_example_are_there(entry: Entry, each: Any) -> None:
    doc = documented(each)
    is_short = not parameters(each) or each.__name__ in ("wait", "clone")
    if is_short or re.search(r"as there\.|as for register_", doc):
        return  # another docstring says it, or there is little to say
    said = f"{doc}\n{entry.part}"
    assert re.search(r"\b[Rr]aise", said) or doc.startswith("True if"), "no errors"
    assert inspect.isclass(each) or re.search(r"\b([Rr]eturn|Register|Declares a variable|True if)", said)
    assert ">>>" in f"{said}{documented(entry.object)}" or "```python" in said, "no example"


# ---- types, defaults, and who takes what -------------------------------------------------------------

ALIASES = {
    node.target.id: node.value
    for node in STUBS.body
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None
}
(DEFINED,) = (node for node in STUBS.body if isinstance(node, ast.FunctionDef) and node.name == "function")


def words(annotation: ast.expr) -> set[str]:
    """Returns the plain types and the literal values of an annotation."""
    found: set[str] = set()
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name) and node.id in ALIASES:
            found |= words(ALIASES[node.id])
        elif isinstance(node, ast.Name) and node.id in ("str", "int", "bool", "dict"):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(f'"{node.value}"')
    return found


@pytest.mark.row("U12", "S10")
def test_types_and_defaults_of_function_are_those_of_its_signature() -> None:
    arguments = DEFINED.args
    annotations = {each.arg: each.annotation for each in (*arguments.args, *arguments.kwonlyargs)}
    tables = {**COMMON, **FUNCTION}
    assert {*annotations} == {*tables}
    for name, parameter in inspect.signature(cwrapjit.function).parameters.items():
        kind, usual, *rest = tables[name]
        annotation = annotations[name]
        assert annotation is not None
        wanted = words(annotation)
        values = {word for word in wanted if word[0] == '"'}
        assert values <= {*re.findall(r"`(\"[\w-]+\")`", " ".join((kind, *rest)))}, f"{name}: {kind}"
        assert "`dict`" in kind or "dict" not in wanted, f"{name}: {kind}"
        if name in COMMON and not kind.startswith(("list", "number")):
            assert {*re.findall(r"`(\w+)`", kind)} - {"None"} == wanted - values, f"{name}: {kind}"
        if parameter.default in (parameter.empty, ...):
            assert usual.startswith("required"), name
        elif parameter.default is not None:
            assert usual == f"`{parameter.default!r}`".replace("'", '"'), name


@pytest.mark.row("U12", "S10")
def test_front_ends_take_the_options_that_the_page_says() -> None:
    taken = {
        "F": {*inspect.signature(cwrapjit.function).parameters},
        "M": {*inspect.signature(cwrapjit.module).parameters},
        "V": {*_options.OfSlices.__optional_keys__},
        "E": {*_options.OfElements.__optional_keys__},
        "R": {*_options.OfReductions.__optional_keys__},
        "L": {*inspect.signature(Library).parameters},
        "G": {*inspect.signature(cwrapjit.link).parameters},
        "C": {*Options.__dataclass_fields__},
        "J": {*inspect.signature(cwrapjit.jit).parameters},
    }
    for name, (*_, letters) in COMMON.items():
        assert letters.split() == [letter for letter, options in taken.items() if name in options], name
    assert taken["V"] - {*COMMON} == set()
    assert taken["M"] - {*COMMON} == {"name", "docstring"}


@pytest.mark.row("U12", "S10")
def test_settings_have_the_defaults_that_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rows(below("Settings and tools"))
    settings = [name for name in vars(cwrapjit.Config) if not name.startswith("_")]
    assert {*settings} == {*found}
    for name in settings:
        doc = getattr(cwrapjit.Config, name).__doc__
        variables = re.findall(r"\$(CWRAPJIT_\w+)", doc)
        assert re.findall(r"CWRAPJIT_\w+", found[name][2] if len(found[name]) > 2 else "") == variables
        for variable in variables:
            monkeypatch.delenv(variable, raising=False)
            usual = repr(getattr(cwrapjit.config, name)).replace("'", '"')
            assert found[name][1].startswith(f"`{usual}`"), name


@pytest.mark.row("U12", "S10")
def test_options_of_cells_are_in_their_table() -> None:
    listed = re.findall(r"^\| `-.*\|$", NOTEBOOK, re.MULTILINE)
    for flags, keywords in ARGUMENTS:
        (row,) = [row for row in listed if re.search(rf"`{flags[0]}\b", row)]
        values = [value for value in keywords.get("choices", ()) if value not in ("allow",)]
        assert [value for value in values if value not in row] == []


# ---- examples of docstrings --------------------------------------------------------------------------


def examples() -> Iterator[Any]:
    finder = doctest.DocTestFinder(recurse=False)
    for entry in ENTRIES.values():
        things = {entry.name: entry.object}
        things |= {f"{entry.name}.{name}": getattr(entry.object, name) for name in entry.members}
        for name, each in things.items():
            if ">>>" in documented(each) and (inspect.isfunction(each) or inspect.isclass(each)):
                (found,) = finder.find(each, name, module=False, globs={})
                without = shutil.which("gfortran") is None and "fortran(" in found.docstring
                reason = "no gfortran on this machine (apt install gfortran)"
                yield pytest.param(found, id=name, marks=[pytest.mark.skipif(without, reason=reason)])


@pytest.mark.row("U12", "S10")
@pytest.mark.parametrize("example", [*examples()])
def test_examples_of_docstrings_print_what_they_promise(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # progress() needs tqdm, which makes no bar here.
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=dict))
    report: list[str] = []
    done = doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert done.attempted > 0 and done.failed == 0, "".join(report)
